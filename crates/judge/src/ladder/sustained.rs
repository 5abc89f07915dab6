//! Rung 8: still faster when the clocks have settled.

use super::{ALPHA, Climb, Finding, Judge, speedup};
use crate::judge::EnvError;
use model::{Arm, Fidelity, Job, Seconds, Slice, Verdict};
use std::time::Instant;

/// Blocks of comparisons on the first workload until the time is over; the first and the last block must agree.
pub fn holds(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let Some(baseline) = climb.baselines.last() else { return Ok(Finding::not_run("no baseline was given")) };
    let first: Vec<_> = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect();
    let begin = Instant::now();
    let mut blocks = Vec::new();
    while blocks.len() < 2 || begin.elapsed().as_secs_f64() < climb.sustained.0 {
        blocks.push(judge.judge(&Job {
            candidate: Arm::Source(climb.source.clone()),
            against: Arm::Baseline(baseline.clone()),
            slice: Slice::Named(first.clone()),
            fidelity: Fidelity::Fixed { alpha: ALPHA, process_pairs: 8 },
            margin: 0.0,
            cap: Seconds(60.0),
        })?);
        if !blocks.last().is_some_and(|block| block.verdict.is_measured()) {
            break;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let ends: Vec<_> = [blocks.first(), blocks.last()].into_iter().flatten().map(speedup).collect();
    let passed = blocks.last().is_some_and(|block| block.verdict == Verdict::Better);
    let detail =
        format!("{} blocks in {seconds:.0} s against {baseline}: first {}", blocks.len(), ends.join(", last "));
    Ok(Finding::new(passed, detail, blocks))
}
