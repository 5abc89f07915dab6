//! The winner without one part each. A part is an edit where the lineage is known as edits, so that leaving one out and
//! doing the others again gives code; a hunk of text where it is not. Builds sources, judges nothing.

use crate::campaign::Campaign;
use crate::mining::{Hunk, hunks, without};
use crate::proposers::embedded::genome::{self, Step};
use crate::proposers::embedded::{edits, of_code};
use model::{CandidateId, Digest, Judgement, Overhead, Source, Stage, Trust, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// What is said of a part that the rest needs in order to be built at all.
pub const NEEDED: &str = "can't be built without it: later edits rest on it";

/// A part of what the winner has and the base has not.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// In words: the event's name for it.
    pub words: String,
    change: Change,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// All steps like this one: a later one undoes an earlier.
    Steps(Step),
    Flag(String),
    Text(Hunk),
}

/// The winner's parts, those first that are expected to matter most: by the weight of their kind of edit, then in the
/// order in which they were made. The same for the same events.
pub fn parts(campaign: &Campaign) -> Vec<Part> {
    let Some(best) = campaign.best() else { return Vec::new() };
    let Some((root, steps)) = genome::genome(campaign, best.id) else { return Vec::new() };
    let Some(root) = campaign.archive.get(root) else { return Vec::new() };
    let winner = &best.proposal.source;
    let mut found = if steps.is_empty() { texts(campaign, winner) } else { of_steps(&steps) };
    let added = winner.flags.iter().filter(|flag| !steps.is_empty() && !root.proposal.source.flags.contains(flag));
    found.extend(added.map(|flag| Part { words: format!("flag {flag}"), change: Change::Flag(flag.clone()) }));
    let mut seen = BTreeSet::new();
    found.retain(|part| seen.insert(part.words.clone()));
    found
}

fn of_steps(steps: &[Step]) -> Vec<Part> {
    let last = |(at, step): &(usize, &Step)| !steps[at + 1..].iter().any(|later| later.is_like(step));
    let mut kept: Vec<&Step> = steps.iter().enumerate().filter(last).map(|(_, step)| step).collect();
    let weight = |step: &Step| edits::edit(&step.kind).map_or(0.0, |edit| edit.weight);
    kept.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let part =
        |step: &Step| Part { words: format!("{} {}", step.kind, step.what), change: Change::Steps(step.clone()) };
    kept.into_iter().map(part).collect()
}

fn texts(campaign: &Campaign, winner: &Source) -> Vec<Part> {
    let Some(base) = campaign.archive.get(CandidateId(0)) else { return Vec::new() };
    let mut found = hunks(&base.proposal.source, winner);
    found.sort_by_key(|hunk| std::cmp::Reverse(hunk.lines()));
    found.into_iter().map(|hunk| Part { words: hunk.words.clone(), change: Change::Text(hunk) }).collect()
}

/// The winner without a part; none when the rest can't be built without it. `constants` are those that proposers see.
pub fn source(campaign: &Campaign, constants: &BTreeMap<String, i64>, part: &Part) -> Option<Source> {
    let best = campaign.best()?;
    let winner = &best.proposal.source;
    match &part.change {
        Change::Text(hunk) => Some(without(winner, &campaign.archive.get(CandidateId(0))?.proposal.source, hunk)),
        Change::Flag(flag) => {
            let mut source = winner.clone();
            source.flags.retain(|other| other != flag);
            Some(source)
        }
        Change::Steps(step) => {
            let (root, steps) = genome::genome(campaign, best.id)?;
            let base = &campaign.archive.get(root)?.proposal.source;
            let rest: Vec<&Step> = steps.iter().filter(|other| !other.is_like(step)).collect();
            Some(of_code(&genome::replay(base, constants, &rest)?))
        }
    }
}

/// What is recorded in place of a judgement where `source` has none to offer.
pub fn needed(winner: &Source) -> Judgement {
    Judgement {
        candidate: Digest::of(NEEDED),
        against: winner.digest(),
        shapes: Vec::new(),
        verdict: Verdict::Failed { stage: Stage::Propose, cause: NEEDED.to_owned() },
        trust: Trust::Sealed,
        artefact: None,
        log: String::new(),
        remarks: Vec::new(),
        overhead: Overhead::default(),
    }
}
