//! Rung 2: the code that was timed is the candidate's.

use super::{Climb, Finding, Judge, gate, source_twin};
use crate::judge::EnvError;
use crate::twin::Twin;
use model::{Arm, Slice, Stage, Verdict};

/// The candidate whose entry traps must crash; the candidate's artefact is named by digest.
pub fn ran(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let first = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect::<Vec<_>>();
    let trapped = source_twin(judge, climb, Twin::Trapped);
    let trapped = judge.judge(&gate(judge, trapped, Slice::Named(first.clone())))?;
    let real = judge.judge(&gate(judge, Arm::Source(climb.source.clone()), Slice::Named(first)))?;
    let crashed = matches!(trapped.verdict, Verdict::Failed { stage: Stage::Crashed, .. });
    let passed = crashed && real.verdict.is_measured() && real.artefact.is_some();
    let digest = real.artefact.map_or_else(|| "none".to_owned(), |digest| digest.short());
    let detail = format!(
        "artefact {digest}, loaded by descriptor; with a trap at its entry the call ends as {}",
        trapped.verdict
    );
    Ok(Finding::new(passed, detail, vec![real, trapped]))
}
