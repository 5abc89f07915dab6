//! `rooflab selftest`: rooflab's own rules on data whose truth is known.

use crate::args::{SelftestArgs, SelftestVerb};
use crate::outcome::Outcome;

/// Runs it.
///
/// # Errors
/// When the environment fails.
pub fn run(args: &SelftestArgs) -> Outcome {
    match &args.what {
        SelftestVerb::Compare { json } => super::compare::selftest(crate::plan::Format::from_flag(*json)),
    }
}
