//! What is left to do when the search has ended, as data: the app executes it and emits the events.

use crate::ablation::{self, Part};
use crate::campaign::{Campaign, Policy};
use model::{Arm, CandidateId, Source};

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
    /// Judge the winner without one part (`ablation::source`) against the winner; emit `Ablated`. Where there is no such
    /// source, emit it with `ablation::needed` instead of a judgement.
    Ablate {
        /// Its words are the name in the event.
        part: Part,
        /// A: the winner.
        winner: Source,
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
    // The starting point has nothing to compare itself with but itself.
    if best.id == CandidateId(0) {
        return Vec::new();
    }
    let mut tasks = comparisons(campaign);
    tasks.retain(|task| !matches!(task, Task::Compare { name, .. } if campaign.comparisons.contains_key(name)));
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

/// The winner without one part each.
fn ablations(campaign: &Campaign, policy: &Policy) -> Vec<Task> {
    let Some(best) = campaign.best() else { return Vec::new() };
    let done = |part: &Part| campaign.ablations.iter().any(|(words, _)| *words == part.words);
    let task = |part: Part| Task::Ablate { part, winner: best.proposal.source.clone() };
    let parts = ablation::parts(campaign).into_iter().take(policy.max_ablations);
    parts.filter(|part| !done(part)).map(task).collect()
}
