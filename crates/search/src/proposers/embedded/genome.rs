//! A candidate as the steps that made it, read back from the ledger's notes, so that they can be taken again.

use super::edits::{self, Offer};
use super::syntax::Code;
use super::{pick, target};
use crate::campaign::Campaign;
use model::{CandidateId, Proposal};
use rand_chacha::ChaCha8Rng;

/// One edit that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Kind of edit.
    pub kind: String,
    /// What, without the line.
    pub what: String,
    /// The line then; 0 for none.
    pub line: usize,
}

impl Step {
    /// The step that an offer stands for.
    pub fn of(kind: &str, offer: &Offer) -> Self {
        Self { kind: kind.to_owned(), what: offer.what.clone(), line: offer.line }
    }

    fn words(&self) -> String {
        if self.line == 0 {
            format!("{}: {}", self.kind, self.what)
        } else {
            format!("{}: {} (line {})", self.kind, self.what, self.line)
        }
    }
}

/// Steps as a note: `from candidate 0: kind: what (line 3); kind: ...`.
pub fn note(root: Option<CandidateId>, steps: &[Step]) -> String {
    let steps: Vec<String> = steps.iter().map(Step::words).collect();
    let from = root.map_or(String::new(), |root| format!("from candidate {}: ", root.0));
    format!("{from}{}", steps.join("; "))
}

/// The steps that a proposal's note names; none for a crossover of texts or another proposer's.
pub fn own_steps(proposal: &Proposal) -> Vec<Step> {
    if edits::edit(&proposal.edit).is_some() {
        let (what, line) = located(&proposal.note);
        return vec![Step { kind: proposal.edit.clone(), what, line }];
    }
    if !["chain", "restructure", "revise"].contains(&proposal.edit.as_str()) {
        return Vec::new();
    }
    let steps = from(&proposal.note).map_or(proposal.note.as_str(), |(_, steps)| steps);
    let read = |part: &str| {
        let (kind, rest) = part.split_once(": ")?;
        let (what, line) = located(rest);
        Some(Step { kind: kind.to_owned(), what, line })
    };
    steps.split("; ").filter_map(read).collect()
}

fn from(note: &str) -> Option<(CandidateId, &str)> {
    let (id, steps) = note.strip_prefix("from candidate ")?.split_once(": ")?;
    Some((CandidateId(id.parse().ok()?), steps))
}

fn located(text: &str) -> (String, usize) {
    let read = |text: &str| {
        let (what, rest) = text.rsplit_once(" (line ")?;
        Some((what.to_owned(), rest.strip_suffix(')')?.parse().ok()?))
    };
    read(text).unwrap_or_else(|| (text.to_owned(), 0))
}

/// The candidate that a lineage of known steps starts from, and the steps.
pub fn genome(campaign: &Campaign, id: CandidateId) -> Option<(CandidateId, Vec<Step>)> {
    let mut later: Vec<Step> = Vec::new();
    let mut at = id;
    loop {
        let proposal = &campaign.archive.get(at)?.proposal;
        let own = own_steps(proposal);
        let parent = proposal.parents.first().copied();
        let (Some(parent), false) = (parent, own.is_empty()) else { return Some((at, later)) };
        later.splice(0..0, own);
        if let Some((root, _)) = from(&proposal.note) {
            return Some((root, later));
        }
        at = parent;
    }
}

/// The offer that is most like a step: the same words, nearest line; else another of the kind on the same target.
pub fn find(code: &Code, step: &Step, rng: &mut ChaCha8Rng) -> Option<Offer> {
    let offers = (edits::edit(&step.kind)?.offers)(code);
    let same = offers.iter().filter(|offer| offer.what == step.what);
    if let Some(offer) = same.min_by_key(|offer| offer.line.abs_diff(step.line)) {
        return Some(offer.clone());
    }
    let alike = offers.into_iter().filter(|offer| target(&offer.what) == target(&step.what));
    pick(alike.collect(), rng)
}
