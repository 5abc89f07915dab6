//! `rooflab score`: the baselines against the ceilings, as `run` scores them, without a campaign.

use super::print_json;
use crate::args::ScoreArgs;
use crate::ceilings::Bounds;
use crate::machine;
use crate::notice::Voice;
use crate::outcome::{Done, Outcome};
use crate::phases::{Subject, figure};
use crate::plan::{self, Confinement, Format, Place};
use crate::session::{Bench, problem};
use crate::store;
use crate::terminal::Quiet;
use ::map::Depth;
use model::{Arm, Slice};
use report::ScoreRow;

/// Runs it.
///
/// # Errors
/// When the problem does not load or the environment fails.
pub fn run(args: &ScoreArgs) -> Outcome {
    let folder = plan::problem_folder(&args.problem)?;
    let problem = problem(&folder)?;
    let mut ledger = store::open(&Place::new(&args.place))?;
    let voice = Voice::new(Quiet);
    let map = machine::obtain(&mut ledger, &voice, Depth::Quick)?;
    let bounds = Bounds::new(&problem, &map);
    let bench = Bench { folder, confinement: Confinement::from_flag(args.unconfined), map: Some(map), voice };
    let (mut judge, _) = bench.open()?;
    let subject = Subject { problem: &problem, bounds: &bounds };
    let mut rows: Vec<ScoreRow> = Vec::new();
    for baseline in &problem.baselines {
        for (ceiling, workloads) in bounds.groups(&subject.scored(baseline)) {
            let arm = Arm::Baseline(baseline.name.clone());
            let judgement = judge.judge(&figure(arm, Arm::Ceiling(ceiling), Slice::Named(workloads)))?;
            let arm = (baseline.name.as_str(), baseline.strength.name());
            rows.extend(judgement.shapes.iter().filter_map(|shape| bounds.score(shape, arm)));
        }
    }
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&rows);
    }
    println!("{}: {}", problem.name, problem.title);
    print!("{}", report::terminal::score(&rows));
    Ok(Done::Complete)
}
