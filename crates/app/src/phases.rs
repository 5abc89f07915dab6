//! Measurements that the campaign's own actions do not ask for: arms against the ceilings, the start against stock.
//!
//! Each skips what the events already hold, so that a resumed campaign does nothing twice. Must not search.

use crate::ceilings::Bounds;
use crate::driver::Driver;
use crate::notice::Phase;
use crate::outcome::Failure;
use judge::client::JudgeProcess;
use judge::twin::{Twin, twin};
use model::{Arm, Event, Fidelity, Job, Judgement, Seconds, Selftest, Slice, Source, Stage, Verdict};
use problems::{Baseline, BaselineCode, Problem, Strength};
use report::ScoreRow;

/// Error rate of each comparison that the report shows.
pub const ALPHA: f64 = 0.05;
/// Differences of half a percent do not matter.
pub const MARGIN: f64 = 0.005;
/// Process pairs for a figure in the report: the fewest at which the sign-flip test reaches ALPHA with room to spare.
const FIGURE_PAIRS: u32 = 8;
/// One figure may take this long.
const FIGURE_CAP: Seconds = Seconds(30.0);
/// Error rate of the slowed twin's test.
const CANARY_ALPHA: f64 = 0.01;
/// Process pairs at most for the slowed twin: twice the fewest at which the anytime test can decide at 1 % (13).
const CANARY_PAIRS: u32 = 26;
/// One canary may take this long: 13 process pairs of a baseline that takes a second a call are most of it. One that is
/// cut short is undecided, and would stop the campaign.
const CANARY_CAP: Seconds = Seconds(180.0);
/// Name of the comparison of the search's starting point with the stock baseline.
pub const START_STOCK: &str = "start/stock";
/// Name of the winner in comparisons.
const WINNER: &str = "winner";

/// The problem, and what bounds its workloads on this machine.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Which ceiling bounds which workload.
    pub bounds: &'a Bounds,
}

impl Subject<'_> {
    /// The shortest workload.
    pub fn first(&self) -> Slice {
        Slice::Named(vec![self.problem.workloads[0].name.clone()])
    }

    fn all(&self) -> Vec<String> {
        self.problem.workloads.iter().map(|workload| workload.name.clone()).collect()
    }

    /// The workloads that a baseline is scored on. Plain loops can take seconds a call at the longest shapes, so naive
    /// code is scored on the shortest alone.
    pub fn scored(&self, baseline: &Baseline) -> Vec<String> {
        match baseline.strength {
            Strength::Naive => vec![self.problem.workloads[0].name.clone()],
            Strength::Stock | Strength::Tuned => self.all(),
        }
    }

    /// The baseline that the search starts from: the first in a candidate's language.
    fn start(&self) -> Option<&Baseline> {
        self.problem.baselines.iter().find(|baseline| matches!(baseline.code, BaselineCode::Source(_)))
    }

    fn stock(&self) -> Option<&Baseline> {
        self.problem.baselines.iter().find(|baseline| baseline.strength == Strength::Stock)
    }
}

/// What is known of the judge before it is asked anything.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The selftest that it has passed on this machine.
    pub selftest: Option<Selftest>,
    /// Layers of its sandbox that are in force, by name.
    pub sandbox: Vec<String>,
}

/// Every baseline on the workloads that it is scored on, against the ceiling that bounds each.
///
/// # Errors
/// When the judge fails.
pub fn scores(judge: &mut JudgeProcess, subject: &Subject<'_>) -> Result<Vec<ScoreRow>, Failure> {
    let mut rows: Vec<ScoreRow> = Vec::new();
    for baseline in &subject.problem.baselines {
        for (ceiling, workloads) in subject.bounds.groups(&subject.scored(baseline)) {
            let arm = Arm::Baseline(baseline.name.clone());
            let judgement = judge.judge(&figure(arm, Arm::Ceiling(ceiling), Slice::Named(workloads)))?;
            let arm = (baseline.name.as_str(), baseline.strength.name());
            rows.extend(judgement.shapes.iter().filter_map(|shape| subject.bounds.score(shape, arm)));
        }
    }
    Ok(rows)
}

/// The judge is asked about a broken twin and a slowed one of the search's starting point, before anything leans on it.
/// What it says is kept, sound or not; a sound answer is not asked for twice.
///
/// # Errors
/// When it does not call them wrong and slower: a search would optimise whatever it misses. And as [`baselines`].
pub fn canaries(
    driver: &mut Driver<'_>,
    subject: &Subject<'_>,
    (start, credentials): (&Source, &Credentials),
) -> Result<(), Failure> {
    let sound = |event: &Event| matches!(event, Event::JudgeChecked { broken, slowed, .. } if noticed(broken, slowed));
    if driver.events().iter().any(sound) {
        return Ok(());
    }
    driver.enter(Phase::Canaries, None);
    let job = |kind, fidelity| Job {
        candidate: Arm::Source(twin(subject.problem, start, kind)),
        against: Arm::Source(start.clone()),
        slice: subject.first(),
        fidelity,
        margin: MARGIN,
        cap: CANARY_CAP,
    };
    let broken = driver.judge(&job(Twin::Broken, Fidelity::Gate))?;
    let anytime = Fidelity::Anytime { alpha: CANARY_ALPHA, max_process_pairs: CANARY_PAIRS };
    let slowed = driver.judge(&job(Twin::Slowed, anytime))?;
    let are_noticed = noticed(&broken, &slowed);
    let words = format!(
        "this judge can't be trusted: it called a twin of the baseline with a wrong output {}, and one that does its \
         work twice {}",
        broken.verdict, slowed.verdict
    );
    let Credentials { selftest, sandbox } = credentials.clone();
    driver.record(Event::JudgeChecked { broken: broken.into(), slowed: slowed.into(), selftest, sandbox })?;
    if are_noticed {
        return Ok(());
    }
    Err(Failure::environment(
        words,
        "the first has to be failed (invalid), the second worse; `rooflab judge selftest` shows what else goes wrong on \
         this machine, and other load on it can hide even a factor of two. --resume asks again",
    ))
}

/// Whether the judge called both twins what they are.
fn noticed(broken: &Judgement, slowed: &Judgement) -> bool {
    matches!(broken.verdict, Verdict::Failed { stage: Stage::Invalid, .. }) && slowed.verdict == Verdict::Worse
}

/// Every baseline against the ceilings that bound it, and the search's starting point against the stock one.
///
/// # Errors
/// When the environment fails or someone asked to stop.
pub fn baselines(driver: &mut Driver<'_>, subject: &Subject<'_>) -> Result<(), Failure> {
    driver.enter(Phase::Baselines, None);
    for baseline in &subject.problem.baselines {
        let workloads = subject.scored(baseline);
        let arm = Arm::Baseline(baseline.name.clone());
        against_ceilings(driver, subject, &Scored { name: &baseline.name, arm, workloads })?;
    }
    let (Some(start), Some(stock)) = (subject.start(), subject.stock()) else { return Ok(()) };
    if driver.campaign().comparisons.contains_key(START_STOCK) {
        return Ok(());
    }
    let (start, stock) = (Arm::Baseline(start.name.clone()), Arm::Baseline(stock.name.clone()));
    let judgement = driver.judge(&figure(start, stock, subject.first()))?;
    driver.record(Event::Compared { name: START_STOCK.to_owned(), judgement })
}

/// The winner against the ceilings, on all declared workloads; nothing without a winner.
///
/// # Errors
/// As [`baselines`].
pub fn winner_ceilings(driver: &mut Driver<'_>, subject: &Subject<'_>) -> Result<(), Failure> {
    let best = driver.campaign().best().filter(|best| best.proposal.proposer != "baseline");
    let Some(source) = best.map(|best| best.proposal.source.clone()) else { return Ok(()) };
    against_ceilings(driver, subject, &Scored { name: WINNER, arm: Arm::Source(source), workloads: subject.all() })
}

/// A comparison for the report.
pub fn figure(candidate: Arm, against: Arm, slice: Slice) -> Job {
    let fidelity = Fidelity::Fixed { alpha: ALPHA, process_pairs: FIGURE_PAIRS };
    Job { candidate, against, slice, fidelity, margin: MARGIN, cap: FIGURE_CAP }
}

/// What is held against the ceilings.
struct Scored<'a> {
    name: &'a str,
    arm: Arm,
    workloads: Vec<String>,
}

/// One comparison for each ceiling that bounds some of the workloads; all carry the name `NAME/ceiling`. They come in a
/// fixed order, so as many as the events hold are done, whatever each came to.
fn against_ceilings(driver: &mut Driver<'_>, subject: &Subject<'_>, scored: &Scored<'_>) -> Result<(), Failure> {
    let name = format!("{}/ceiling", scored.name);
    let is_done = |event: &&Event| matches!(event, Event::Compared { name: done, .. } if *done == name);
    let done = driver.events().iter().filter(is_done).count();
    for (ceiling, workloads) in subject.bounds.groups(&scored.workloads).into_iter().skip(done) {
        let job = figure(scored.arm.clone(), Arm::Ceiling(ceiling), Slice::Named(workloads));
        let judgement = driver.judge(&job)?;
        driver.record(Event::Compared { name: name.clone(), judgement })?;
    }
    Ok(())
}
