//! A candidate as the steps that made it, read back from the ledger's notes, so that they can be taken again.

use super::edits::{self, Offer};
use super::syntax::Code;
use super::{pick, source};
use crate::campaign::Campaign;
use model::{CandidateId, Proposal, Source};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Moves whose note names every step from the start of the lineage on; any other's names its own alone.
const WHOLE: &[&str] = &["restructure", "revise", "crossover"];

/// One edit that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Kind of edit.
    pub kind: String,
    /// What, in the offer's words.
    pub what: String,
}

impl Step {
    /// The step that an offer stands for.
    pub fn of(kind: &str, offer: &Offer) -> Self {
        Self { kind: kind.to_owned(), what: offer.what.clone() }
    }

    /// What it works on: the first word.
    pub fn target(&self) -> &str {
        target(&self.what)
    }

    /// Whether both do the same to the same, if otherwise.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.target() == other.target()
    }
}

/// What an edit works on, out of its words.
pub fn target(what: &str) -> &str {
    what.split(' ').next().unwrap_or(what)
}

/// Steps as a note: `row-block i by 16; register-tile s 16j x 16ir, acc 8ir x 32d`.
pub fn note(steps: &[Step]) -> String {
    let mut note = String::new();
    let mut before = "";
    for step in steps {
        let kind = if before == step.kind { "" } else { step.kind.as_str() };
        let between = match (before, kind) {
            ("", _) => "",
            (_, "") => ",",
            _ => ";",
        };
        let words = [kind, &step.what].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        note.push_str(between);
        note.push_str(if note.is_empty() { "" } else { " " });
        note.push_str(&words);
        before = &step.kind;
    }
    note
}

/// The steps that a proposal's note names; none for a crossover of texts or another proposer's.
pub fn own_steps(proposal: &Proposal) -> Vec<Step> {
    let known =
        edits::edit(&proposal.edit).is_some() || proposal.edit == "chain" || WHOLE.contains(&proposal.edit.as_str());
    if known { read(&proposal.note).unwrap_or_default() } else { Vec::new() }
}

fn read(note: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for group in note.split("; ") {
        let (kind, rest) = group.split_once(' ')?;
        edits::edit(kind)?;
        steps.extend(rest.split(", ").map(|what| Step { kind: kind.to_owned(), what: what.to_owned() }));
    }
    Some(steps)
}

/// The candidate that a lineage of known steps starts from, and the steps.
pub fn genome(campaign: &Campaign, id: CandidateId) -> Option<(CandidateId, Vec<Step>)> {
    let mut later: Vec<Step> = Vec::new();
    let mut whole = false;
    let mut at = id;
    loop {
        let proposal = &campaign.archive.get(at)?.proposal;
        let own = own_steps(proposal);
        let parent = proposal.parents.first().copied().filter(|parent| *parent < at);
        let (Some(parent), false) = (parent, own.is_empty()) else { return Some((at, later)) };
        // Once all steps are known, what is left to find is where they start.
        if !whole {
            later.splice(0..0, own);
        }
        whole |= WHOLE.contains(&proposal.edit.as_str());
        at = parent;
    }
}

/// The offer that is most like a step: the same words; else another of the kind on the same target.
pub fn find(code: &Code, step: &Step, rng: &mut ChaCha8Rng) -> Option<Offer> {
    let offers = edits::edit(&step.kind)?.all(code);
    if let Some(offer) = offers.iter().find(|offer| offer.what == step.what) {
        return Some(offer.clone());
    }
    let alike = offers.into_iter().filter(|offer| target(&offer.what) == step.target());
    pick(alike.collect(), rng)
}

/// A source after these steps and no others; none when one of them has no place. Only the numbers that tell equal
/// words apart may differ.
pub fn replay(base: &Source, constants: &BTreeMap<String, i64>, steps: &[&Step]) -> Option<Code> {
    let start = Code::parse(&base.text, &base.flags, constants)?;
    let plain = |what: &str| what.split(" #").next().unwrap_or(what).to_owned();
    steps.iter().try_fold(start, |code, step| {
        let offers = edits::edit(&step.kind)?.all(&code);
        let same = offers.iter().find(|offer| offer.what == step.what);
        let offer = same.or_else(|| offers.iter().find(|offer| plain(&offer.what) == plain(&step.what)))?;
        let after = source(offer);
        Code::parse(&after.text, &after.flags, constants)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back() {
        let check = |note_text: &str, expected: Option<&[(&str, &str)]>| {
            let steps = read(note_text);
            let found = steps.as_ref().map(|all| all.iter().map(|s| (s.kind.as_str(), s.what.as_str())).collect());
            assert_eq!(found, expected.map(<[_]>::to_vec), "{note_text}");
            assert_eq!(steps.map(|all| note(&all)), expected.map(|_| note_text.to_owned()));
        };
        check(
            "row-block i by 16; register-tile s 16j x 16ir, acc 8ir x 32d; flag -O2",
            Some(&[
                ("row-block", "i by 16"),
                ("register-tile", "s 16j x 16ir"),
                ("register-tile", "acc 8ir x 32d"),
                ("flag", "-O2"),
            ]),
        );
        check("candidate 4 with 1 changes of candidate 1", None);
        check("", None);
    }
}
