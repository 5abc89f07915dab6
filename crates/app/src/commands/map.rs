//! `rooflab map`: what this machine sustains.

use super::print_json;
use crate::args::MapArgs;
use crate::machine::{self, Freshness};
use crate::notice::Voice;
use crate::outcome::{Done, Outcome};
use crate::plan::{Format, Place};
use crate::store;
use crate::terminal::Quiet;
use ::map::Depth;

/// Runs it.
///
/// # Errors
/// When nothing can be measured, or the ledger can't be written.
pub fn run(args: &MapArgs) -> Outcome {
    let mut ledger = store::open(&Place::new(&args.place))?;
    let depth = if args.quick { Depth::Quick } else { Depth::Default };
    let freshness = if args.fresh { Freshness::Measured } else { Freshness::Stored };
    let map = machine::obtain(&mut ledger, &Voice::new(Quiet), depth, freshness)?;
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&map);
    }
    print!("{}", report::terminal::map(&map));
    Ok(Done::Complete)
}
