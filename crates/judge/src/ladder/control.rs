//! Rung 4: the negative control. A judge that passes a broken twin, or misses a slowed one, has judged nothing.

use super::{ALPHA, Climb, Finding, Judge, gate, source_twin, speedup};
use crate::judge::EnvError;
use crate::twin::Twin;
use model::{Arm, Fidelity, Job, Seconds, Slice, Stage, Verdict};

/// The broken twin must be called wrong, the slowed twin worse.
pub fn twins(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let first = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect::<Vec<_>>();
    let broken = source_twin(judge, climb, Twin::Broken);
    let broken = judge.judge(&gate(judge, broken, Slice::Named(first.clone())))?;
    let slowed = judge.judge(&Job {
        candidate: source_twin(judge, climb, Twin::Slowed),
        against: Arm::Source(climb.source.clone()),
        slice: Slice::Named(first),
        fidelity: Fidelity::Anytime { alpha: ALPHA, max_process_pairs: 30 },
        margin: 0.0,
        cap: Seconds(30.0),
    })?;
    let wrong = matches!(broken.verdict, Verdict::Failed { stage: Stage::Invalid, .. });
    let passed = wrong && slowed.verdict == Verdict::Worse;
    let detail = format!("broken twin: {}; slowed twin: {} ({})", broken.verdict, slowed.verdict, speedup(&slowed));
    Ok(Finding::new(passed, detail, vec![broken, slowed]))
}
