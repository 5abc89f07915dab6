//! The measured phases around the search: noise, baselines, the winner's comparisons, its ablation, its ladder.
//!
//! Each skips what the events already hold, so that a resumed campaign does nothing twice. Must not search.

use crate::ceilings::Bounds;
use crate::driver::Driver;
use crate::evaluator::Climb;
use crate::notice::Phase;
use crate::outcome::Failure;
use crate::standing::START_STOCK;
use model::{Arm, CandidateId, Event, Fidelity, Job, Seconds, Slice, Source};
use problems::{Problem, Strength};

/// Error rate of each comparison that the report shows.
const ALPHA: f64 = 0.05;
/// Process pairs for a figure in the report: the fewest at which the sign-flip test reaches ALPHA with one to spare
/// (statistics: at least 8).
const SCORE_PAIRS: u32 = 8;
/// Process pairs for the winner's own figures.
const WINNER_PAIRS: u32 = 12;
/// Process pairs at most for one hunk of the ablation; the anytime test needs at least 13.
const ABLATION_PAIRS: u32 = 24;
/// Hunks at most: the rest of a long diff is named in the report without a figure.
pub const MAX_HUNKS: usize = 12;
/// Differences of half a percent do not matter.
pub const MARGIN: f64 = 0.005;
/// One baseline's score may take this long.
const SCORE_CAP: Seconds = Seconds(60.0);
/// One of the winner's comparisons may take this long.
const WINNER_CAP: Seconds = Seconds(180.0);
/// One hunk may take this long.
const HUNK_CAP: Seconds = Seconds(20.0);
/// What the ladder takes beside its sustained rung, as observed: builds, edge shapes, twins, held-out lengths.
const LADDER: Seconds = Seconds(60.0);

/// The problem, and what bounds its workloads on this machine.
pub struct Subject<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Which ceiling bounds which workload.
    pub bounds: &'a Bounds,
}

impl Subject<'_> {
    fn first(&self) -> Slice {
        Slice::Named(vec![self.problem.workloads[0].name.clone()])
    }

    /// The baseline that the search starts from: the first in a candidate's language, else the first.
    pub fn start(&self) -> &problems::Baseline {
        let sourced = |baseline: &&problems::Baseline| matches!(baseline.code, problems::BaselineCode::Source(_));
        self.problem.baselines.iter().find(sourced).unwrap_or(&self.problem.baselines[0])
    }

    /// The stock baseline, where there is one.
    pub fn stock(&self) -> Option<&problems::Baseline> {
        self.problem.baselines.iter().find(|baseline| baseline.strength == Strength::Stock)
    }
}

/// Identical arms: the noise floor.
///
/// # Errors
/// When the environment fails or someone asked to stop.
pub fn noise(driver: &mut Driver<'_>, subject: &Subject<'_>) -> Result<(), Failure> {
    if driver.events().iter().any(|event| matches!(event, Event::NoiseMeasured { .. })) {
        return Ok(());
    }
    driver.begin(Phase::Noise, None);
    let arm = Arm::Baseline(subject.start().name.clone());
    let job = fixed(arm.clone(), arm, subject.first(), (SCORE_PAIRS, SCORE_CAP));
    let judgement = driver.judge(&job)?;
    driver.record(Event::NoiseMeasured { judgement })
}

/// Every baseline against the ceilings that bound it, and the search's starting point against the stock one.
///
/// Plain loops can take seconds a call at the longest shapes, so naive code is scored on the shortest alone.
///
/// # Errors
/// As [`noise`].
pub fn baselines(driver: &mut Driver<'_>, subject: &Subject<'_>) -> Result<(), Failure> {
    driver.begin(Phase::Baselines, None);
    for baseline in &subject.problem.baselines {
        let all: Vec<String> = match baseline.strength {
            Strength::Naive => vec![subject.problem.workloads[0].name.clone()],
            Strength::Stock | Strength::Tuned => names(subject.problem),
        };
        let arm = Arm::Baseline(baseline.name.clone());
        against_ceilings(driver, subject, &Scored { name: &baseline.name, arm, workloads: &all, pairs: SCORE_PAIRS })?;
    }
    if let Some(stock) = subject.stock() {
        let (start, stock) = (Arm::Baseline(subject.start().name.clone()), Arm::Baseline(stock.name.clone()));
        compare(driver, START_STOCK, &fixed(start, stock, subject.first(), (SCORE_PAIRS, SCORE_CAP)))?;
    }
    Ok(())
}

/// The winner against every baseline and against the ceilings, on all declared workloads, measured afresh.
///
/// # Errors
/// As [`noise`].
pub fn winner(driver: &mut Driver<'_>, subject: &Subject<'_>, source: &Source) -> Result<(), Failure> {
    driver.begin(Phase::Compare, None);
    let arm = Arm::Source(source.clone());
    for baseline in &subject.problem.baselines {
        let against = Arm::Baseline(baseline.name.clone());
        let job = fixed(arm.clone(), against, Slice::Declared, (WINNER_PAIRS, WINNER_CAP));
        compare(driver, &format!("winner/{}", baseline.name), &job)?;
    }
    let all = names(subject.problem);
    against_ceilings(driver, subject, &Scored { name: "winner", arm, workloads: &all, pairs: WINNER_PAIRS })
}

/// One hunk of the winner's difference, and the winner without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    /// In words.
    pub name: String,
    /// The winner without it.
    pub without: Source,
}

/// The winner without each of its hunks, against the winner.
///
/// # Errors
/// As [`noise`].
pub fn ablation(driver: &mut Driver<'_>, winner: &Source, hunks: &[Hunk]) -> Result<(), Failure> {
    let hunks = &hunks[..hunks.len().min(MAX_HUNKS)];
    driver.begin(Phase::Mine, None);
    for hunk in hunks {
        let done = |event: &Event| matches!(event, Event::Ablated { hunk: name, .. } if *name == hunk.name);
        if driver.events().iter().any(done) {
            continue;
        }
        let job = Job {
            candidate: Arm::Source(hunk.without.clone()),
            against: Arm::Source(winner.clone()),
            slice: Slice::Declared,
            fidelity: Fidelity::Anytime { alpha: ALPHA, max_process_pairs: ABLATION_PAIRS },
            margin: MARGIN,
            cap: HUNK_CAP,
        };
        let judgement = driver.judge(&job)?;
        driver.record(Event::Ablated { hunk: hunk.name.clone(), judgement })?;
    }
    Ok(())
}

/// The ladder, in a fresh judge.
///
/// # Errors
/// As [`noise`].
pub fn verify(
    driver: &mut Driver<'_>,
    subject: &Subject<'_>,
    id: CandidateId,
    source: &Source,
    sustained: Seconds,
) -> Result<(), Failure> {
    if driver.events().iter().any(|event| matches!(event, Event::Verified { id: done, .. } if *done == id)) {
        return Ok(());
    }
    driver.begin(Phase::Verify, Some(sustained + LADDER));
    let baselines = subject.problem.baselines.iter().map(|baseline| baseline.name.clone()).collect();
    let certificate = driver.climb(Climb { source: source.clone(), baselines, sustained, looks: 0 })?;
    driver.record(Event::Verified { id, certificate: Box::new(certificate) })
}

/// What is held against the ceilings.
struct Scored<'a> {
    name: &'a str,
    arm: Arm,
    workloads: &'a [String],
    pairs: u32,
}

/// One comparison for each ceiling that bounds some of the workloads; all carry the name `NAME/ceiling`.
fn against_ceilings(driver: &mut Driver<'_>, subject: &Subject<'_>, scored: &Scored<'_>) -> Result<(), Failure> {
    let name = format!("{}/ceiling", scored.name);
    let known: Vec<String> = measured(driver.events(), &name);
    for (ceiling, workloads) in subject.bounds.groups(scored.workloads) {
        if workloads.iter().all(|workload| known.contains(workload)) {
            continue;
        }
        let slice = Slice::Named(workloads);
        let job = fixed(scored.arm.clone(), Arm::Ceiling(ceiling), slice, (scored.pairs, SCORE_CAP));
        let judgement = driver.judge(&job)?;
        driver.record(Event::Compared { name: name.clone(), judgement })?;
    }
    Ok(())
}

fn compare(driver: &mut Driver<'_>, name: &str, job: &Job) -> Result<(), Failure> {
    if driver.events().iter().any(|event| matches!(event, Event::Compared { name: done, .. } if done == name)) {
        return Ok(());
    }
    let judgement = driver.judge(job)?;
    driver.record(Event::Compared { name: name.to_owned(), judgement })
}

/// Workloads that comparisons of this name already hold.
fn measured(events: &[Event], name: &str) -> Vec<String> {
    let shapes = events.iter().filter_map(|event| match event {
        Event::Compared { name: done, judgement } if done == name => Some(&judgement.shapes),
        _ => None,
    });
    shapes.flatten().map(|shape| shape.workload.name.clone()).collect()
}

fn fixed(candidate: Arm, against: Arm, slice: Slice, (process_pairs, cap): (u32, Seconds)) -> Job {
    Job { candidate, against, slice, fidelity: Fidelity::Fixed { alpha: ALPHA, process_pairs }, margin: MARGIN, cap }
}

fn names(problem: &Problem) -> Vec<String> {
    problem.workloads.iter().map(|workload| workload.name.clone()).collect()
}
