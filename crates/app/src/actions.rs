//! Executes the campaign's actions until it is done: propose, judge, promote, compare, ablate, verify.
//!
//! Must not decide what comes next: `search::Campaign::next` does, from the events alone. Every judgement that it asks
//! for becomes an event before the next action is asked for.

use crate::driver::Driver;
use crate::evaluator::Climb;
use crate::notice::{Expected, Phase};
use crate::outcome::Failure;
use crate::phases::{self, Subject};
use model::{Arm, CandidateId, Event, Fidelity, Job, Judgement, Seconds, Slice, Source, Verdict};
use search::{Action, Context, Policy, Proposer, Task};
use std::collections::BTreeMap;

/// Process pairs at most, a workload, for a first judgement: twice the fewest at which the anytime test can decide at
/// 1 % (13). What needs more is noise to a search.
const SEARCH_PAIRS: u32 = 26;
/// Process pairs at most for the fresh test: its share of alpha shrinks with every test.
const PROMOTION_PAIRS: u32 = 60;
/// Process pairs for the winner's figures in the report.
const WINNER_PAIRS: u32 = 12;
/// Process pairs at most for one hunk of the ablation.
const ABLATION_PAIRS: u32 = 26;
/// Error rate of the figures in the report.
const ALPHA: f64 = phases::ALPHA;
/// One candidate may take this long: at 600 an hour the mean is 6 s, and most end at the first workload.
const SEARCH_CAP: Seconds = Seconds(20.0);
/// One promotion may take this long.
const PROMOTION_CAP: Seconds = Seconds(60.0);
/// One of the winner's comparisons may take this long: plain loops take a second a call at the longest shapes.
const WINNER_CAP: Seconds = Seconds(90.0);
/// One hunk may take this long.
const ABLATION_CAP: Seconds = Seconds(15.0);
/// What the ladder takes beside its sustained rung: builds, edge shapes, twins, held-out shapes.
const LADDER: Seconds = Seconds(90.0);

/// What a campaign is executed with.
pub struct Setting<'a> {
    /// The problem, and what bounds it.
    pub subject: Subject<'a>,
    /// Who offers candidates.
    pub proposer: &'a mut dyn Proposer,
    /// Error rates and patience.
    pub policy: Policy,
    /// Length of the sustained rung.
    pub sustained: Seconds,
}

/// Runs the campaign from where its events leave it to its end.
///
/// # Errors
/// When the environment fails or someone asked to stop. The events so far are in the ledger.
pub fn run(driver: &mut Driver<'_>, setting: &mut Setting<'_>) -> Result<(), Failure> {
    remind(driver, setting.proposer);
    let before = search_time(driver.events());
    let mut begun = None;
    loop {
        driver.pause()?;
        let sitting = begun.map_or(0.0, |begun: Seconds| driver.now().0 - begun.0);
        let elapsed = Seconds(before.0 + sitting);
        driver.spend(elapsed);
        let action = driver.campaign().next(elapsed, &setting.policy);
        if matches!(action, Action::Propose { .. } | Action::Judge { .. }) && begun.is_none() {
            phases::baselines(driver, &setting.subject)?;
            driver.enter(Phase::Search, driver.spent().left().map(Expected::AtMost));
            begun = Some(driver.now());
        }
        if matches!(action, Action::Done) {
            return Ok(());
        }
        execute(driver, setting, action)?;
    }
}

fn execute(driver: &mut Driver<'_>, setting: &mut Setting<'_>, action: Action) -> Result<(), Failure> {
    match action {
        Action::Start => unreachable!("a campaign is run after its first event"),
        Action::MeasureNoise { baseline } => noise(driver, setting, baseline),
        Action::Propose { n } => propose(driver, setting, n),
        Action::Judge { id, against, alpha } => {
            let fidelity = Fidelity::Anytime { alpha, max_process_pairs: SEARCH_PAIRS };
            let judgement = judge(driver, [id, against], fidelity, SEARCH_CAP)?;
            setting.proposer.told(id, &judgement);
            driver.record(Event::Judged { id, against, judgement })
        }
        Action::Promote { id, against, alpha } => {
            let fidelity = Fidelity::Anytime { alpha, max_process_pairs: PROMOTION_PAIRS };
            let judgement = judge(driver, [id, against], fidelity, PROMOTION_CAP)?;
            driver.record(match judgement.verdict {
                Verdict::Better => Event::Promoted { id, judgement },
                _ => Event::NotPromoted { id, judgement },
            })
        }
        Action::EndSearch { why } => driver.record(Event::SearchEnded { why }),
        Action::After(task) => after(driver, setting, task),
        Action::Finish => {
            phases::winner_ceilings(driver, &setting.subject)?;
            driver.record(Event::Finished)
        }
        Action::Done => Ok(()),
    }
}

fn noise(driver: &mut Driver<'_>, setting: &Setting<'_>, baseline: CandidateId) -> Result<(), Failure> {
    driver.enter(Phase::Noise, None);
    let arm = Arm::Source(source(driver, baseline)?);
    let judgement = driver.judge(&phases::figure(arm.clone(), arm, setting.subject.first()))?;
    driver.record(Event::NoiseMeasured { judgement })
}

fn propose(driver: &mut Driver<'_>, setting: &mut Setting<'_>, n: usize) -> Result<(), Failure> {
    let problem = setting.subject.problem;
    // The candidate sees constants as macros in upper case.
    let constants: BTreeMap<String, i64> =
        problem.constants.iter().map(|(name, value)| (name.to_uppercase(), *value)).collect();
    let context = Context { campaign: driver.campaign(), hints: &problem.hints, constants: &constants };
    let proposals = setting.proposer.propose(&context, n);
    if proposals.is_empty() {
        return driver.record(Event::SearchEnded { why: "nothing left to try".to_owned() });
    }
    for proposal in proposals {
        let id = driver.campaign().archive.next_id();
        let refusal = driver.campaign().refusal(&proposal);
        driver.record(Event::Proposed { id, proposal })?;
        if let Some(why) = refusal {
            driver.record(Event::Skipped { id, why })?;
        }
    }
    Ok(())
}

fn judge(
    driver: &mut Driver<'_>,
    [id, against]: [CandidateId; 2],
    fidelity: Fidelity,
    cap: Seconds,
) -> Result<Judgement, Failure> {
    let candidate = Arm::Source(source(driver, id)?);
    let against = Arm::Source(source(driver, against)?);
    driver.judge(&Job { candidate, against, slice: Slice::Declared, fidelity, margin: phases::MARGIN, cap })
}

fn after(driver: &mut Driver<'_>, setting: &mut Setting<'_>, task: Task) -> Result<(), Failure> {
    match task {
        Task::Compare { name, candidate, against } => {
            driver.enter(Phase::Compare, left(driver, setting, WINNER_CAP, |task| matches!(task, Task::Compare { .. })));
            let fidelity = Fidelity::Fixed { alpha: ALPHA, process_pairs: WINNER_PAIRS };
            let slice = Slice::Declared;
            let job = Job { candidate, against, slice, fidelity, margin: phases::MARGIN, cap: WINNER_CAP };
            let judgement = driver.judge(&job)?;
            driver.record(Event::Compared { name, judgement })
        }
        Task::Ablate { hunk, candidate, against } => {
            phases::winner_ceilings(driver, &setting.subject)?;
            driver.enter(Phase::Mine, left(driver, setting, ABLATION_CAP, |task| matches!(task, Task::Ablate { .. })));
            let fidelity = Fidelity::Anytime { alpha: ALPHA, max_process_pairs: ABLATION_PAIRS };
            let slice = Slice::Declared;
            let job = Job { candidate, against, slice, fidelity, margin: phases::MARGIN, cap: ABLATION_CAP };
            let judgement = driver.judge(&job)?;
            driver.record(Event::Ablated { hunk, judgement })
        }
        Task::Verify { id } => {
            phases::winner_ceilings(driver, &setting.subject)?;
            driver.enter(Phase::Verify, Some(Expected::About(setting.sustained + LADDER)));
            let baselines = setting.subject.problem.baselines.iter().map(|baseline| baseline.name.clone()).collect();
            let source = source(driver, id)?;
            let certificate = driver.climb(Climb { source, baselines, sustained: setting.sustained, looks: 0 })?;
            driver.record(Event::Verified { id, certificate: Box::new(certificate) })
        }
    }
}

/// What the tasks of a kind that are left can take.
fn left(driver: &Driver<'_>, setting: &Setting<'_>, cap: Seconds, kind: fn(&Task) -> bool) -> Option<Expected> {
    let count = search::tasks::remaining(driver.campaign(), &setting.policy).iter().filter(|task| kind(task)).count();
    Some(Expected::AtMost(cap * count as f64))
}

/// After an interruption the proposer is told all recorded judgements again, in order.
fn remind(driver: &Driver<'_>, proposer: &mut dyn Proposer) {
    for event in driver.events() {
        if let Event::Judged { id, judgement, .. } = event {
            proposer.told(*id, judgement);
        }
    }
}

/// Time that earlier sittings spent on searching: their judgements' own, since no clock survives a kill.
fn search_time(events: &[Event]) -> Seconds {
    events
        .iter()
        .map(|event| match event {
            Event::Judged { judgement, .. }
            | Event::Promoted { judgement, .. }
            | Event::NotPromoted { judgement, .. } => judgement.overhead.total,
            _ => Seconds(0.0),
        })
        .sum()
}

fn source(driver: &Driver<'_>, id: CandidateId) -> Result<Source, Failure> {
    let candidate = driver.campaign().archive.get(id);
    candidate.map(|candidate| candidate.proposal.source.clone()).ok_or_else(|| {
        let what = format!("candidate #{} is not in the campaign", id.0);
        Failure::environment(what, "the ledger lacks its entry: `rooflab ledger check` says what else is damaged")
    })
}
