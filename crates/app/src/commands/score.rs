//! `rooflab score`: the baselines against the ceilings, as `run` scores them, without a campaign.

use super::print_json;
use crate::args::ScoreArgs;
use crate::ceilings::Bounds;
use crate::machine;
use crate::notice::Voice;
use crate::outcome::{Done, Outcome};
use crate::phases::{self, Subject};
use crate::plan::{self, Confinement, Format, Place};
use crate::session::{Bench, problem};
use crate::store;
use crate::terminal::Quiet;
use ::map::Depth;

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
    let rows = phases::scores(&mut judge, &Subject { problem: &problem, bounds: &bounds })?;
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&rows);
    }
    println!("{}: {}", problem.name, problem.title);
    print!("{}", report::terminal::score(&rows));
    Ok(Done::Complete)
}
