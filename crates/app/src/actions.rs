//! Executes the campaign's actions until it is done: propose, judge, promote, compare, ablate, verify.
//!
//! Must not decide what comes next: `search::Campaign::next` does, from the events alone. Every judgement that it asks
//! for becomes an event before the next action is asked for.

use crate::driver::Driver;
use crate::evaluator::Climb;
use crate::notice::{Expected, Phase};
use crate::outcome::Failure;
use crate::phases::{self, Credentials, Subject};
use model::{Arm, CandidateId, Event, Fidelity, Job, Judgement, Seconds, Slice, Source, Verdict};
use problems::Problem;
use search::ablation::{self, Part};
use search::{Action, Context, Policy, Proposer, Silence, Task};
use std::collections::BTreeMap;

/// Process pairs at most, a workload, for a first judgement: twice the fewest at which the anytime test can decide at
/// 1 % (13). What needs more is noise to a search.
pub const SEARCH_PAIRS: u32 = 26;
/// Process pairs at most for the fresh test: its share of alpha shrinks with every test.
const PROMOTION_PAIRS: u32 = 60;
/// Process pairs for the winner's figures in the report.
const WINNER_PAIRS: u32 = 12;
/// Process pairs at most for one hunk of the ablation.
const ABLATION_PAIRS: u32 = 26;
/// Error rate of the figures in the report.
const ALPHA: f64 = phases::ALPHA;
/// One candidate may take this long, on the first workload: at 600 an hour the mean is 6 s.
const SEARCH_CAP: Seconds = Seconds(10.0);
/// One promotion may take this long, all workloads together: the longest decide nothing where plain loops still take
/// a second a call, and their gates take most of it.
const PROMOTION_CAP: Seconds = Seconds(10.0);
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
    /// What is known of the judge.
    pub credentials: Credentials,
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
            let start = source(driver, CandidateId(0))?;
            phases::canaries(driver, &setting.subject, (&start, &setting.credentials))?;
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
            // The cascade: the other workloads are for survivors, and those face a fresh test on all of them.
            let judgement = judge(driver, [id, against], setting.subject.first(), (fidelity, SEARCH_CAP))?;
            setting.proposer.told(id, &judgement);
            driver.record(Event::Judged { id, against, judgement })
        }
        Action::Promote { id, against, alpha } => {
            let fidelity = Fidelity::Anytime { alpha, max_process_pairs: PROMOTION_PAIRS };
            let judgement = judge(driver, [id, against], Slice::Declared, (fidelity, PROMOTION_CAP))?;
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
    let constants = macros(problem);
    let context = Context { campaign: driver.campaign(), hints: &problem.hints, constants: &constants };
    let proposals = setting.proposer.propose(&context, n);
    if proposals.is_empty() {
        // Whoever was asked may have been stopped with us.
        driver.pause()?;
        return match setting.proposer.silence() {
            Silence::Done => driver.record(Event::SearchEnded { why: "nothing left to try".to_owned() }),
            Silence::Spent(why) => driver.record(Event::SearchEnded { why }),
            Silence::Trouble(why) => Err(Failure::environment(why, "mend it, and go on with --resume")),
        };
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
    slice: Slice,
    (fidelity, cap): (Fidelity, Seconds),
) -> Result<Judgement, Failure> {
    let candidate = Arm::Source(source(driver, id)?);
    let against = Arm::Source(source(driver, against)?);
    driver.judge(&Job { candidate, against, slice, fidelity, margin: phases::MARGIN, cap })
}

fn after(driver: &mut Driver<'_>, setting: &mut Setting<'_>, task: Task) -> Result<(), Failure> {
    match task {
        Task::Compare { name, candidate, against } => {
            let time = left(driver, setting, WINNER_CAP, |task| matches!(task, Task::Compare { .. }));
            driver.enter(Phase::Compare, Some(time));
            let fidelity = Fidelity::Fixed { alpha: ALPHA, process_pairs: WINNER_PAIRS };
            let slice = Slice::Declared;
            let job = Job { candidate, against, slice, fidelity, margin: phases::MARGIN, cap: WINNER_CAP };
            let judgement = driver.judge(&job)?;
            driver.record(Event::Compared { name, judgement })
        }
        Task::Ablate { part, winner } => ablate(driver, setting, part, winner),
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

fn ablate(driver: &mut Driver<'_>, setting: &Setting<'_>, part: Part, winner: Source) -> Result<(), Failure> {
    let constants = macros(setting.subject.problem);
    let Some(source) = ablation::source(driver.campaign(), &constants, &part) else {
        return driver.record(Event::Ablated { hunk: part.words, judgement: ablation::needed(&winner) });
    };
    phases::winner_ceilings(driver, &setting.subject)?;
    let time = left(driver, setting, ABLATION_CAP, |task| matches!(task, Task::Ablate { .. }));
    driver.enter(Phase::Mine, Some(time));
    let fidelity = Fidelity::Anytime { alpha: ALPHA, max_process_pairs: ABLATION_PAIRS };
    let (candidate, against) = (Arm::Source(source), Arm::Source(winner));
    let job = Job { candidate, against, slice: Slice::Declared, fidelity, margin: phases::MARGIN, cap: ABLATION_CAP };
    let judgement = driver.judge(&job)?;
    driver.record(Event::Ablated { hunk: part.words, judgement })
}

/// The candidate sees constants as macros in upper case.
pub fn macros(problem: &Problem) -> BTreeMap<String, i64> {
    problem.constants.iter().map(|(name, value)| (name.to_uppercase(), *value)).collect()
}

/// What the tasks of a kind that are left can take.
fn left(driver: &Driver<'_>, setting: &Setting<'_>, cap: Seconds, kind: fn(&Task) -> bool) -> Expected {
    let count = search::tasks::remaining(driver.campaign(), &setting.policy).iter().filter(|task| kind(task)).count();
    Expected::AtMost(cap * count as f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::Bounds;
    use crate::driver::{Journal, Parts};
    use crate::evaluator::Evaluator;
    use crate::notice::{Listener, Notice, Spent, Voice};
    use crate::sample;
    use judge::client::JudgeError;
    use model::Certificate;
    use problems::Problem;
    use search::Embedded;
    use std::cell::Cell;
    use std::path::Path;

    /// Judges by the digest: a third better, a third worse, a sixth broken; the same question has the same answer.
    struct Oracle<'a> {
        asked: &'a Cell<usize>,
        breaks_at: usize,
        /// What it says of the broken twin and of the slowed one.
        canaries: [Verdict; 2],
    }

    fn invalid() -> Verdict {
        Verdict::Failed { stage: model::Stage::Invalid, cause: "row 3".into() }
    }

    fn sound() -> [Verdict; 2] {
        [invalid(), Verdict::Worse]
    }

    impl Evaluator for Oracle<'_> {
        fn judge(&mut self, job: &Job) -> Result<Judgement, JudgeError> {
            self.asked.set(self.asked.get() + 1);
            if self.asked.get() == self.breaks_at {
                return Err(JudgeError::Gone);
            }
            if job.candidate == job.against {
                return Ok(sample::judgement(Verdict::Equivalent, &[("rows=1", 0.0)]));
            }
            let Arm::Source(source) = &job.candidate else {
                return Ok(sample::judgement(Verdict::Worse, &[("rows=1", 0.5)]));
            };
            if source.text.contains("rooflab_original") {
                let canary = usize::from(job.fidelity != Fidelity::Gate);
                return Ok(sample::judgement(self.canaries[canary].clone(), &[("rows=1", 0.7)]));
            }
            let kind = u8::from_str_radix(&source.digest().to_string()[..2], 16).unwrap() % 6;
            Ok(match kind {
                0 | 1 => sample::judgement(Verdict::Better, &[("rows=1", -0.1)]),
                2 | 3 => sample::judgement(Verdict::Worse, &[("rows=1", 0.1)]),
                4 => sample::judgement(Verdict::Undecided, &[("rows=1", 0.0)]),
                _ => sample::judgement(invalid(), &[]),
            })
        }

        fn climb(&mut self, climb: &Climb) -> Result<Certificate, JudgeError> {
            Ok(sample::certificate(&climb.source, climb.looks + 1))
        }
    }

    #[derive(Default)]
    struct Memory {
        events: Vec<Event>,
        looks: u32,
    }

    impl Journal for Memory {
        fn append(&mut self, event: &Event) -> Result<(), Failure> {
            self.events.push(event.clone());
            Ok(())
        }

        fn look(&mut self) -> Result<u32, Failure> {
            self.looks += 1;
            Ok(self.looks - 1)
        }
    }

    struct Deaf;

    impl Listener for Deaf {
        fn hear(&mut self, _notice: &Notice<'_>) {}
    }

    fn problem() -> Problem {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/rms-norm-silu");
        Problem::load(&folder).unwrap()
    }

    /// One sitting: it ends when the campaign does, at the `breaks_at`-th judgement, or after the `stops_at`-th.
    fn sit(memory: &mut Memory, ends: [usize; 2], seed: u64) -> Result<(), Failure> {
        sit_with(memory, ends, seed, sound())
    }

    fn sit_with(
        memory: &mut Memory,
        [breaks_at, stops_at]: [usize; 2],
        seed: u64,
        canaries: [Verdict; 2],
    ) -> Result<(), Failure> {
        let problem = problem();
        let bounds = Bounds::new(&problem, &sample::map());
        let asked = Cell::new(0);
        let events = memory.events.clone();
        let begins = events.is_empty();
        let parts = Parts {
            evaluator: &mut Oracle { asked: &asked, breaks_at, canaries },
            journal: memory,
            voice: Voice::new(Deaf),
            clock: &|| Seconds(0.0),
            stop: &|| asked.get() >= stops_at,
            farewell: "go on with --resume".into(),
        };
        let spent = Spent { time: Seconds(0.0), candidates: 0, budget: None, max_candidates: Some(CANDIDATES) };
        let mut driver = Driver::new(parts, events, spent);
        let spec = crate::commands::specification(&problem, seed, Some(CANDIDATES));
        driver.record(if begins { Event::Started { spec } } else { Event::Resumed })?;
        let mut setting = Setting {
            subject: Subject { problem: &problem, bounds: &bounds },
            proposer: &mut Embedded::new(seed),
            policy: Policy::default(),
            sustained: Seconds(1.0),
            credentials: Credentials::default(),
        };
        run(&mut driver, &mut setting)
    }

    const NEVER: usize = usize::MAX;
    const CANDIDATES: u32 = 8;

    fn names(events: &[Event]) -> Vec<String> {
        let name = |event: &Event| serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned();
        events.iter().map(name).collect()
    }

    fn position(names: &[String], name: &str) -> usize {
        names.iter().position(|other| other == name).unwrap_or_else(|| panic!("no {name} among {names:?}"))
    }

    #[test]
    fn a_campaign_runs_to_its_end() {
        let mut memory = Memory::default();
        sit(&mut memory, [NEVER, NEVER], 1).unwrap();
        let names = names(&memory.events);
        let order = [
            "started",
            "noise_measured",
            "judge_checked",
            "compared",
            "proposed",
            "judged",
            "promoted",
            "search_ended",
            "verified",
        ];
        let positions = order.map(|name| position(&names, name));
        assert!(positions.is_sorted(), "{names:?}");
        assert_eq!(names.last().unwrap(), "finished");
        assert_eq!(names.iter().filter(|name| *name == "proposed").count(), CANDIDATES as usize);
        assert_eq!(memory.looks, 1);
        let compared: Vec<&str> = memory
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Compared { name, .. } => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let expected = ["naive/ceiling", "two-pass/ceiling", "start/stock", "winner/naive", "winner/two-pass"];
        assert_eq!(compared[..5], expected);
        assert_eq!(compared[5..], ["winner/ceiling"]);
    }

    #[test]
    fn a_campaign_taken_up_goes_on_as_if_it_had_not_stopped() {
        let mut whole = Memory::default();
        sit(&mut whole, [NEVER, NEVER], 3).unwrap();
        let judgements = whole.events.len();
        for at in (1..judgements).step_by(3) {
            let mut parts = Memory::default();
            match sit(&mut parts, [NEVER, at], 3) {
                Ok(()) => break,
                Err(Failure::Interrupted(text)) => assert_eq!(text, "go on with --resume"),
                Err(other) => panic!("{other:?}"),
            }
            sit(&mut parts, [NEVER, NEVER], 3).unwrap();
            parts.events.retain(|event| *event != Event::Resumed);
            assert_eq!(names(&parts.events), names(&whole.events), "stopped after {at}");
            assert_eq!(parts.events, whole.events, "stopped after {at}");
        }
    }

    #[test]
    fn a_judge_that_misses_a_canary_searches_nothing() {
        let check = |canaries: [Verdict; 2], said: &str| {
            let mut memory = Memory::default();
            let failure = sit_with(&mut memory, [NEVER, NEVER], 1, canaries).unwrap_err();
            assert_eq!(failure.code(), 4);
            let Failure::Environment(report) = failure else { panic!() };
            assert!(report.to_string().contains(said), "{report}");
            let names = names(&memory.events);
            assert_eq!(names.last().unwrap(), "judge_checked", "{names:?}");
            // Mended, it is asked again, and the campaign goes on.
            sit(&mut memory, [NEVER, NEVER], 1).unwrap();
            assert_eq!(memory.events.last(), Some(&Event::Finished));
        };
        check([Verdict::Equivalent, Verdict::Worse], "wrong output equivalent");
        check([Verdict::Better, Verdict::Worse], "wrong output better");
        check([Verdict::Failed { stage: model::Stage::Build, cause: "no".into() }, Verdict::Worse], "failed (build)");
        check([invalid(), Verdict::Undecided], "twice undecided");
        check([invalid(), Verdict::Equivalent], "twice equivalent");
        check([invalid(), Verdict::Better], "twice better");
    }

    #[test]
    fn a_failed_environment_ends_the_run_and_keeps_what_was_judged() {
        let mut memory = Memory::default();
        let failure = sit(&mut memory, [8, NEVER], 1).unwrap_err();
        assert_eq!(failure.code(), 4);
        assert!(matches!(memory.events[0], Event::Started { .. }));
        assert!(memory.events.iter().all(|event| *event != Event::Finished));
        sit(&mut memory, [NEVER, NEVER], 1).unwrap();
        assert_eq!(memory.events.last(), Some(&Event::Finished));
    }
}
