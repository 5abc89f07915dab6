//! `rooflab report`: a campaign's folder again, from the ledger.

use crate::args::ReportArgs;
use crate::artefacts::{self, Folder};
use crate::outcome::{Done, Outcome};
use crate::plan::Place;
use crate::{session, store};
use std::path::Path;

/// Runs it.
///
/// # Errors
/// When there is no such campaign, or a file can't be written.
pub fn run(args: &ReportArgs) -> Outcome {
    let place = Place::new(&args.place);
    let ledger = store::open_existing(&place)?;
    let campaign = store::campaign(&ledger, &args.campaign)?;
    let problem =
        session::unchanged(args.problem.as_deref().unwrap_or(Path::new(&campaign.problem)), &campaign.problem_digest);
    let folder = Folder::new(&place.out, &campaign.id);
    let written = artefacts::write(&ledger, &campaign.id, &folder, problem.as_ref())?;
    print!("{}", report::terminal::summary(&written.view));
    println!("{}", written.report.display());
    Ok(Done::Complete)
}
