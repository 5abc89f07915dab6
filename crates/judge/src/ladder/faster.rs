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

/// Process pairs at most, a shape, in the sweep: where ten leave a shape undecided, the anytime test may go on.
const SWEEP_PAIRS: u32 = 60;

/// Rung 6: every declared shape, against the last baseline named, each until the anytime test decides it.
pub fn sweep(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let Some(baseline) = climb.baselines.last() else { return Ok(Finding::not_run("no baseline was given")) };
    let mut judgements = Vec::new();
    for workload in judge.problem.workloads.clone() {
        // One job a shape, so that no shape's answer decides whether another is asked.
        judgements.push(judge.judge(&Job {
            candidate: Arm::Source(climb.source.clone()),
            against: Arm::Baseline(baseline.clone()),
            slice: Slice::Named(vec![workload.name]),
            fidelity: Fidelity::Anytime { alpha: super::ALPHA, max_process_pairs: SWEEP_PAIRS },
            margin: 0.0,
            cap: Seconds(60.0),
        })?);
    }
    let shapes = judgements.iter().flat_map(|judgement| &judgement.shapes);
    let worst = shapes.filter_map(|shape| Some((shape, shape.ln?.value))).max_by(|a, b| a.1.total_cmp(&b.1));
    let sweep = judgements.iter().map(speedup).collect::<Vec<_>>().join(", ");
    let detail = match worst {
        Some((shape, ln)) => {
            format!("worst case against {baseline}: {:.2}x at {} ({sweep})", (-ln).exp(), shape.workload.name)
        }
        None => sweep,
    };
    Ok(Finding::new(judgements.iter().all(all_better), detail, judgements))
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
