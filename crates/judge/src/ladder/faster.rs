//! Rungs 5, 6 and 7: faster than every baseline, on every declared shape, and on shapes that nobody has seen.

use super::{Climb, Finding, HELD_OUT, Judge, all_better, fixed, speedup};
use crate::judge::EnvError;
use model::{Arm, Fidelity, Job, Judgement, Seconds, Slice, Verdict};
use std::fmt::Write;

/// Rung 5: better than each baseline over the declared shapes; the candidate against itself is the control.
pub fn declared(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let mut finding = against_each(judge, climb, &Slice::Declared)?;
    let first = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect();
    let itself = Arm::Source(climb.source.clone());
    let control = judge.judge(&Job {
        candidate: itself.clone(),
        against: itself,
        slice: Slice::Named(first),
        fidelity: Fidelity::Fixed { alpha: super::ALPHA, process_pairs: super::PROCESS_PAIRS },
        margin: 0.0,
        cap: Seconds(60.0),
    })?;
    let _ = write!(finding.detail, "; control, itself against itself: {}", speedup(&control));
    finding.judgements.push(control);
    Ok(finding)
}

/// Rung 6: the worst shape of rung 5's comparison, measured again against the last baseline named.
pub fn sweep(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let Some(baseline) = climb.baselines.last() else { return Ok(Finding::not_run("no baseline was given")) };
    let judgement = judge.judge(&fixed(Arm::Source(climb.source.clone()), baseline, Slice::Declared))?;
    let timed = judgement.shapes.iter().filter_map(|shape| Some((shape, shape.ln?.value)));
    let worst = timed.max_by(|a, b| a.1.total_cmp(&b.1));
    let detail = match worst {
        Some((shape, ln)) => format!("worst case against {baseline}: {:.2}x at {}", (-ln).exp(), shape.workload.name),
        None => judgement.verdict.to_string(),
    };
    Ok(Finding::new(all_better(&judgement), detail, vec![judgement]))
}

/// Rung 7: shapes drawn from the declared ranges now, from fresh entropy.
pub fn held_out(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let mut finding = against_each(judge, climb, &Slice::HeldOut { n: HELD_OUT })?;
    let _ = write!(finding.detail, "; look number {}", climb.looks + 1);
    Ok(finding)
}

fn against_each(judge: &mut Judge, climb: &Climb, slice: &Slice) -> Result<Finding, EnvError> {
    let mut judgements: Vec<Judgement> = Vec::new();
    let mut details = Vec::new();
    for baseline in &climb.baselines {
        let judgement = judge.judge(&fixed(Arm::Source(climb.source.clone()), baseline, slice.clone()))?;
        details.push(format!("against {baseline}: {} ({})", judgement.verdict.name(), speedup(&judgement)));
        judgements.push(judgement);
    }
    let passed = judgements.iter().all(|judgement| judgement.verdict == Verdict::Better);
    Ok(Finding::new(passed && !judgements.is_empty(), details.join("; "), judgements))
}
