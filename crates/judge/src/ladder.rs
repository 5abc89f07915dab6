//! The ladder from a winning candidate to a certificate: one file a rung, one line each in the table below.
//!
//! A rung that is not climbed is said to be not run, and why. Must not skip a rung in silence.

mod builds;
mod control;
mod correct;
mod faster;
mod intended;
mod sustained;

use crate::judge::{EnvError, Judge};
use crate::twin::{Twin, twin};
use model::{
    Arm, Certificate, Fidelity, Fingerprint, Job, Judgement, Rung, RungOutcome, Seconds, Slice, Source, Verdict,
};

/// Error rate of each rung's tests.
const ALPHA: f64 = 0.01;
/// Process pairs of each rung's comparisons: the fewest that can reach ALPHA by sign flips are 8.
const PROCESS_PAIRS: u32 = 10;
/// Held-out shapes drawn for rung 7.
const HELD_OUT: usize = 3;

/// Who climbs.
pub struct Climb {
    /// The candidate.
    pub source: Source,
    /// Baselines to beat, by name.
    pub baselines: Vec<String>,
    /// Length of the sustained rung.
    pub sustained: Seconds,
    /// Earlier looks at the held-out slice.
    pub looks: u32,
}

/// What a rung found out.
struct Finding {
    outcome: RungOutcome,
    detail: String,
    judgements: Vec<Judgement>,
}

impl Finding {
    fn new(passed: bool, detail: impl Into<String>, judgements: Vec<Judgement>) -> Self {
        let outcome = if passed { RungOutcome::Passed } else { RungOutcome::Failed };
        Self { outcome, detail: detail.into(), judgements }
    }

    fn not_run(why: &str) -> Self {
        Self { outcome: RungOutcome::NotRun, detail: why.to_owned(), judgements: Vec::new() }
    }
}

type Step = fn(&mut Judge, &Climb) -> Result<Finding, EnvError>;

/// The rungs, in order.
const RUNGS: [(&str, Step); 12] = [
    ("builds from clean sources, in two layouts", builds::two_layouts),
    ("the intended code ran", intended::ran),
    ("correct against float64 at declared and edge shapes", correct::everywhere),
    ("a broken twin fails, a slowed twin slows", control::twins),
    ("faster, paired and interleaved", faster::declared),
    ("faster over the size sweep, worst case stated", faster::sweep),
    ("held-out shapes", faster::held_out),
    ("sustained", sustained::holds),
    ("end to end, predicted beside observed", |_, _| {
        Ok(Finding::not_run("no program that calls the kernel was given"))
    }),
    ("fresh process, fresh seeds, another build", builds::fresh),
    ("the exact state that a merge would produce", |_, _| {
        Ok(Finding::not_run("the candidate is no patch to a repository"))
    }),
    ("another machine", |_, _| Ok(Finding::not_run("only this machine was given"))),
];

/// Climbs as far as it goes; the first rungs that fail end the climb, since what follows would rest on them.
///
/// # Errors
/// The environment's failures.
pub fn climb(judge: &mut Judge, climb: &Climb, say: &mut dyn FnMut(&str)) -> Result<Certificate, EnvError> {
    let mut rungs: Vec<Rung> = Vec::new();
    for (i, (name, step)) in RUNGS.iter().enumerate() {
        let unsound = rungs.iter().find(|rung| rung.outcome == RungOutcome::Failed && rung.number <= 4);
        let finding = if let Some(fallen) = unsound {
            Finding::not_run(&format!("rung {} failed", fallen.number))
        } else {
            say(&format!("rung {} of {}: {name}", i + 1, RUNGS.len()));
            step(judge, climb)?
        };
        rungs.push(Rung {
            number: i as u32 + 1,
            name: (*name).to_owned(),
            outcome: finding.outcome,
            detail: finding.detail,
            judgements: finding.judgements,
        });
    }
    Ok(Certificate {
        problem: judge.problem.name.clone(),
        problem_digest: judge.problem.digest,
        candidate: climb.source.digest(),
        machine: judge.map.as_ref().map_or_else(unknown_machine, |map| map.fingerprint.clone()),
        trust: judge.trust(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        held_out_looks: climb.looks + 1,
        rungs,
    })
}

fn unknown_machine() -> Fingerprint {
    Fingerprint {
        cpu: "not mapped".to_owned(),
        cores: 0,
        features: Vec::new(),
        kernel: String::new(),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        probes: 0,
    }
}

/// A comparison with a fixed number of process pairs.
fn fixed(candidate: Arm, against: &str, slice: Slice) -> Job {
    Job {
        candidate,
        against: Arm::Baseline(against.to_owned()),
        slice,
        fidelity: Fidelity::Fixed { alpha: ALPHA, process_pairs: PROCESS_PAIRS },
        margin: 0.0,
        cap: Seconds(120.0),
    }
}

/// Correctness alone.
fn gate(judge: &Judge, candidate: Arm, slice: Slice) -> Job {
    let base = judge.problem.baselines.first().map_or_else(String::new, |baseline| baseline.name.clone());
    Job { candidate, against: Arm::Baseline(base), slice, fidelity: Fidelity::Gate, margin: 0.0, cap: Seconds(120.0) }
}

fn source_twin(judge: &Judge, climb: &Climb, kind: Twin) -> Arm {
    Arm::Source(twin(&judge.problem, &climb.source, kind))
}

/// `1.23x [1.20, 1.27]` of a shape, or its verdict where nothing was timed.
fn speedup(judgement: &Judgement) -> String {
    let shape = |shape: &model::ShapeJudgement| match shape.ln {
        Some(ln) => {
            let speed = ln.map(|ln| (-ln).exp());
            format!(
                "{} {:.2}x [{:.2}, {:.2}]",
                shape.workload.name, speed.value, speed.interval.low, speed.interval.high
            )
        }
        None => format!("{} {}", shape.workload.name, shape.verdict),
    };
    judgement.shapes.iter().map(shape).collect::<Vec<_>>().join(", ")
}

/// Whether every shape was measured as better.
fn all_better(judgement: &Judgement) -> bool {
    !judgement.shapes.is_empty() && judgement.shapes.iter().all(|shape| shape.verdict == Verdict::Better)
}
