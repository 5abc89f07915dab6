//! Rungs 1 and 10: the candidate builds, is right and stays fast in another layout.

use super::{ALPHA, Climb, Finding, Judge, fixed, gate, speedup};
use crate::judge::EnvError;
use model::{Arm, Fidelity, Language, Slice, Source, Verdict};

/// Moves every function and loop: what a gain from lucky alignment does not survive.
const OTHER_LAYOUT: [&str; 2] = ["-falign-functions=64", "-falign-loops=64"];
/// The same for rustc.
const OTHER_LAYOUT_RUST: [&str; 2] = ["-Cllvm-args=-align-all-functions=6", "-Cllvm-args=-align-loops=64"];

fn other_layout(source: &Source) -> Source {
    let mut source = source.clone();
    source.flags.retain(|flag| !flag.starts_with("-falign-") && !flag.starts_with("-Cllvm-args=-align-"));
    match source.language {
        Language::C | Language::Cpp => source.flags.extend(OTHER_LAYOUT.map(str::to_owned)),
        Language::Rust => source.flags.extend(OTHER_LAYOUT_RUST.map(str::to_owned)),
        // An interpreter lays out its own code; a fresh process is all that there is.
        Language::Python => {}
    }
    source
}

/// Rung 1.
pub fn two_layouts(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let first = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect::<Vec<_>>();
    let mut judgements = Vec::new();
    for source in [climb.source.clone(), other_layout(&climb.source)] {
        let job = gate(judge, Arm::Source(source), Slice::Named(first.clone()));
        judgements.push(judge.judge(&job)?);
    }
    let detail = judgements
        .iter()
        .map(|judgement| match judgement.artefact {
            Some(digest) => format!("{} {}", digest.short(), judgement.verdict.name()),
            None => judgement.verdict.to_string(),
        })
        .collect::<Vec<_>>()
        .join("; ");
    let passed = judgements.iter().all(|judgement| judgement.verdict.is_measured());
    Ok(Finding::new(passed, format!("artefacts {detail}"), judgements))
}

/// Rung 10: new runners, new inputs, the other layout, against the last baseline named.
pub fn fresh(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let Some(baseline) = climb.baselines.last() else { return Ok(Finding::not_run("no baseline was given")) };
    let mut job = fixed(Arm::Source(other_layout(&climb.source)), baseline, Slice::Declared);
    job.fidelity = Fidelity::Fixed { alpha: ALPHA, process_pairs: 8 };
    let judgement = judge.judge(&job)?;
    let passed = judgement.verdict == Verdict::Better;
    Ok(Finding::new(passed, format!("against {baseline}: {}", speedup(&judgement)), vec![judgement]))
}
