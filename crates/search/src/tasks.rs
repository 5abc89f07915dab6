//! What is left to do when the search has ended, as data: the app executes it and emits the events.

use crate::campaign::{Campaign, Policy};
use crate::mining::{hunks, without, without_jump};
use model::{Arm, CandidateId, Source};
use std::collections::BTreeSet;

/// One thing to do after the search.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Compare over all declared workloads with a fixed number of process pairs; emit `Compared`.
    Compare {
        /// `winner/naive`, `stock/ceiling`, ...: B, a slash, A.
        name: String,
        /// B.
        candidate: Arm,
        /// A.
        against: Arm,
    },
    /// Judge the winner without one hunk against the winner; emit `Ablated`.
    Ablate {
        /// The hunk in words: the name in the event.
        hunk: String,
        /// B: the winner without it.
        candidate: Arm,
        /// A: the winner.
        against: Arm,
    },
    /// Climb the ladder; emit `Verified`.
    Verify {
        /// Whom.
        id: CandidateId,
    },
}

/// Those not done yet, in order.
pub fn remaining(campaign: &Campaign, policy: &Policy) -> Vec<Task> {
    let Some(best) = campaign.best() else { return Vec::new() };
    let mut tasks = comparisons(campaign);
    tasks.retain(|task| !matches!(task, Task::Compare { name, .. } if campaign.comparisons.contains_key(name)));
    if best.id == CandidateId(0) {
        return tasks;
    }
    tasks.extend(ablations(campaign, policy));
    if campaign.certificate.is_none() {
        tasks.push(Task::Verify { id: best.id });
    }
    tasks
}

/// The winner against every baseline.
fn comparisons(campaign: &Campaign) -> Vec<Task> {
    let (Some(spec), Some(best)) = (&campaign.spec, campaign.best()) else { return Vec::new() };
    let winner = Arm::Source(best.proposal.source.clone());
    let of = |name: &str| Task::Compare {
        name: format!("winner/{name}"),
        candidate: winner.clone(),
        against: Arm::Baseline(name.to_owned()),
    };
    let others = spec.baselines.iter().filter(|baseline| baseline.source.as_ref() != Some(&best.proposal.source));
    others.map(|baseline| of(&baseline.name)).collect()
}

/// The winner without one jump of its lineage each, then without one hunk of its difference to candidate 0 each.
fn ablations(campaign: &Campaign, policy: &Policy) -> Vec<Task> {
    let (Some(best), Some(base)) = (campaign.best(), campaign.archive.get(CandidateId(0))) else { return Vec::new() };
    let (winner, base) = (&best.proposal.source, &base.proposal.source);
    let done = |name: &str| campaign.ablations.iter().any(|(hunk, _)| hunk == name);
    let mut parts: Vec<(String, Source)> = Vec::new();
    for id in campaign.archive.ancestors(best.id) {
        let Some(jump) = campaign.archive.get(id) else { continue };
        if let Some(source) = without_jump(campaign, best.id, id) {
            parts.push((format!("candidate {}: {}", id.0, jump.proposal.note), source));
        }
    }
    parts.extend(hunks(base, winner).into_iter().map(|hunk| (hunk.words.clone(), without(winner, base, &hunk))));
    let mut seen = BTreeSet::new();
    parts
        .into_iter()
        .filter(|(_, source)| source != base && seen.insert(source.digest()))
        .take(policy.max_ablations)
        .filter(|(words, _)| !done(words))
        .map(|(hunk, source)| Task::Ablate {
            hunk,
            candidate: Arm::Source(source),
            against: Arm::Source(winner.clone()),
        })
        .collect()
}
