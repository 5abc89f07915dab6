//! `rooflab run`: the whole loop for one problem.

mod preview;
mod target;

use crate::actions::{self, Setting};
use crate::args::RunArgs;
use crate::artefacts::{self, Folder};
use crate::ceilings::Bounds;
use crate::driver::{Driver, Parts};
use crate::interrupt;
use crate::judges::Judges;
use crate::machine;
use crate::notice::{Lines, Notice, Phase, Spent, Voice};
use crate::outcome::{Done, Failure, Outcome};
use crate::phases::{Credentials, Subject};
use crate::plan::{Choice, Confinement, Format, RunPlan, Start};
use crate::proposers::{self, Purpose};
use crate::session::{self, Bench};
use crate::store::{self, CampaignJournal};
use crate::terminal::Terminal;
use jiff::Timestamp;
use judge::message::Ready;
use ledger::Ledger;
use map::Depth;
use model::{BaselineSpec, CampaignSpec, Event, Seconds};
use problems::{BaselineCode, Problem};
use search::Policy;
use std::time::Instant;

/// Earlier campaigns that a prompt may speak of.
const EARLIER: usize = 3;

/// Runs it.
///
/// # Errors
/// When the input makes no sense, the environment fails, or someone pressed Ctrl-C. Finding nothing is no error.
pub fn run(args: &RunArgs) -> Outcome {
    let mut plan = RunPlan::new(args)?;
    let voice = match plan.format {
        Format::Text => Voice::new(Terminal::new(std::io::stdout())),
        Format::Json => Voice::new(Lines(std::io::stdout())),
    };
    if plan.choice != Choice::Made {
        plan.folder = target::choose(&plan, &voice)?;
    }
    let problem = session::problem(&plan.folder)?;
    if plan.proposers.purpose != Purpose::Search {
        return preview::run(&plan, &problem);
    }
    let mut ledger = store::open(&plan.place)?;
    let campaign = begin(&mut ledger, &plan, &problem)?;
    interrupt::listen();
    voice.say(&Notice::Began {
        problem: &problem.name,
        campaign: &campaign.id,
        seed: campaign.spec.seed,
        entries: campaign.events.len(),
    });
    go_on(&plan, &problem, ledger, campaign, &voice)
}

/// A campaign, new or taken up.
struct Taken {
    id: String,
    spec: CampaignSpec,
    events: Vec<Event>,
}

/// Finds the unfinished campaign, or makes the specification of a new one. Writes nothing yet.
fn begin(ledger: &mut Ledger, plan: &RunPlan, problem: &Problem) -> Result<Taken, Failure> {
    let unfinished = ledger.unfinished(&problem.digest)?;
    match (&plan.start, unfinished) {
        (Start::Resume, None) => Err(Failure::usage(
            format!("{} has no unfinished campaign of {}", plan.place.ledger.display(), problem.name),
            "leave out --resume to begin one; a campaign of a problem whose folder has changed can't go on",
        )),
        (Start::Resume, Some(id)) => {
            let events = ledger.campaign_events(&id)?;
            let Some(Event::Started { spec }) = events.first() else { return Err(store::headless(&id)) };
            Ok(Taken { id, spec: spec.clone(), events })
        }
        (Start::Fresh { seed, hypothesis, limits }, _) => {
            let now = Timestamp::now();
            let id = ledger::campaign_id(&problem.name, now, u64::from(std::process::id()));
            let limits = limits.or(problem.budget.search);
            let spec = CampaignSpec {
                budget_seconds: limits.budget.map(|budget| budget.0),
                hypothesis: hypothesis.clone(),
                unconfined: plan.confinement == Confinement::Waived,
                ..specification(problem, *seed, limits.candidates)
            };
            Ok(Taken { id, spec, events: Vec::new() })
        }
    }
}

/// A confined campaign without a limit in time.
pub fn specification(problem: &Problem, seed: u64, max_candidates: Option<u32>) -> CampaignSpec {
    CampaignSpec {
        problem: problem.name.clone(),
        problem_digest: problem.digest,
        seed,
        budget_seconds: None,
        max_candidates,
        hypothesis: String::new(),
        baselines: problem.baselines.iter().map(spec_of).collect(),
        unconfined: false,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn spec_of(baseline: &problems::Baseline) -> BaselineSpec {
    let source = match &baseline.code {
        BaselineCode::Source(source) => Some(source.clone()),
        BaselineCode::Builtin(_) => None,
    };
    BaselineSpec { name: baseline.name.clone(), strength: baseline.strength.name().to_owned(), source }
}

fn go_on(plan: &RunPlan, problem: &Problem, mut ledger: Ledger, campaign: Taken, voice: &Voice) -> Outcome {
    let map = machine::obtain(&mut ledger, voice, Depth::Quick)?;
    let bounds = Bounds::new(problem, &map);
    let selftest = ledger.latest_selftest(&map.fingerprint, env!("CARGO_PKG_VERSION"))?;
    let scene = proposers::scene(problem, Some((&map, &bounds)), &earlier(&ledger, problem, &campaign.id)?);
    let folder = plan.place.out.join(&campaign.id);
    let mut proposer = plan.proposers.open(campaign.spec.seed, scene, &folder, voice)?;
    let bench =
        Bench { folder: plan.folder.clone(), confinement: plan.confinement, map: Some(map), voice: voice.clone() };
    let (judge, opened) = bench.open_aloud(Ready::Declared)?;
    let mut judges = Judges::new(bench, judge);
    let Taken { id, spec, events } = campaign;
    let mut journal = CampaignJournal { ledger: &mut ledger, campaign: id.clone(), problem: problem.digest };
    let start = Instant::now();
    let parts = Parts {
        evaluator: &mut judges,
        journal: &mut journal,
        voice: voice.clone(),
        clock: &|| Seconds::from(start.elapsed()),
        stop: &interrupt::asked,
        farewell: farewell(plan),
    };
    let mut driver = Driver::new(parts, events, spent(&spec));
    let first = if driver.events().is_empty() { Event::Started { spec } } else { Event::Resumed };
    driver.record(first)?;
    let mut setting = Setting {
        subject: Subject { problem, bounds: &bounds },
        proposer: proposer.as_mut(),
        policy: Policy::default(),
        sustained: plan.sustained,
        credentials: Credentials { selftest, sandbox: opened.sandbox },
    };
    actions::run(&mut driver, &mut setting)?;
    driver.enter(Phase::Report, None);
    drop(driver);
    let written = artefacts::write(&ledger, &id, &Folder::new(&plan.place.out, &id), Some(problem))?;
    let summary = report::terminal::summary(&written.view);
    voice.say(&Notice::Finished { summary: &summary, report: &written.report });
    Ok(Done::Complete)
}

/// Campaigns of the same problem that a prompt may speak of: the newest few, oldest first.
fn earlier(ledger: &Ledger, problem: &Problem, id: &str) -> Result<Vec<Vec<Event>>, Failure> {
    let digest = problem.digest.to_string();
    let same = ledger.campaigns()?.into_iter().filter(|other| other.problem_digest == digest && other.id != id);
    let mut newest: Vec<String> = same.map(|other| other.id).collect();
    newest.drain(..newest.len().saturating_sub(EARLIER));
    newest.iter().map(|id| Ok(ledger.campaign_events(id)?)).collect()
}

/// How to go on, as a line that can be pasted.
fn farewell(plan: &RunPlan) -> String {
    let (ledger, folder, out) = (plan.place.ledger.display(), plan.folder.display(), plan.place.out.display());
    let place = format!("--out {out} --ledger {ledger}{}", plan.proposers.again);
    format!("interrupted; all that was judged is in {ledger}. Go on with:\n  rooflab run {folder} {place} --resume")
}

fn spent(spec: &CampaignSpec) -> Spent {
    Spent {
        time: Seconds(0.0),
        candidates: 0,
        budget: spec.budget_seconds.map(Seconds),
        max_candidates: spec.max_candidates,
    }
}
