//! `rooflab verify`: the ladder, for one file.

use super::print_json;
use crate::args::VerifyArgs;
use crate::machine;
use crate::notice::Voice;
use crate::outcome::{Done, Outcome};
use crate::plan::{self, Confinement, Format, Place};
use crate::session::{Bench, baseline_names, problem};
use crate::terminal::Quiet;
use crate::{store, text};
use jiff::Timestamp;
use judge::message::Ready;
use ledger::Draft;

/// Kind of the ledger's entry.
const KIND: &str = "certificate";

/// Runs it.
///
/// # Errors
/// When the environment fails. A candidate that falls is no error: the certificate says where.
pub fn run(args: &VerifyArgs) -> Outcome {
    let folder = plan::problem_folder(&args.problem)?;
    let problem = problem(&folder)?;
    let source = plan::source(&args.candidate, &args.flags)?;
    let place = Place::new(&args.place);
    let mut ledger = store::open(&place)?;
    let voice = Voice::new(Quiet);
    let map = machine::stored(&place);
    let bench = Bench { folder, confinement: Confinement::from_flag(args.unconfined), map, voice };
    let (mut judge, _) = bench.open_aloud(Ready::Shortest)?;
    let before = ledger.count_look(Timestamp::now(), None, &problem.digest)? - 1;
    let certificate = judge.climb(&source, &baseline_names(&problem), args.sustained, before)?;
    ledger.append(&Draft::new(Timestamp::now(), KIND), &certificate)?;
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&certificate);
    }
    println!("{}", text::certificate(&certificate));
    Ok(Done::Complete)
}
