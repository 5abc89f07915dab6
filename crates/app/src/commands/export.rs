//! `rooflab export`: a winner as a C header and a library that a program can link.

use crate::args::ExportArgs;
use crate::notice::Voice;
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{self, Confinement, Place};
use crate::session::{Bench, problem};
use crate::store::{self, Found};
use crate::terminal::Quiet;
use ledger::Ledger;
use std::path::{Path, PathBuf};

/// Runs it.
///
/// # Errors
/// When there is no such candidate, its problem has changed or is not found, or it does not build.
pub fn run(args: &ExportArgs) -> Outcome {
    let ledger = store::open_existing(&Place::of_store(&args.store))?;
    let found = find(&ledger, &args.id)?;
    let folder = folder(args.problem.as_deref(), &found)?;
    let entry = problem(&folder)?.entry;
    std::fs::create_dir_all(&args.out).map_err(|error| Failure::file(&args.out, &error))?;
    let (header, library) = (args.out.join(format!("{entry}.h")), args.out.join(format!("lib{entry}.so")));
    let voice = Voice::new(Quiet);
    let bench = Bench { folder, confinement: Confinement::from_flag(args.unconfined), map: None, voice };
    let (mut judge, _) = bench.open()?;
    let source = &found.candidate.proposal.source;
    let digest = judge.export(source, &absolute(&library)?, &absolute(&header)?)?;
    let text = args.out.join(format!("{entry}.c"));
    std::fs::write(&text, &source.text).map_err(|error| Failure::file(&text, &error))?;
    println!("candidate #{} of {}, library {}", found.candidate.id.0, found.campaign, digest.short());
    for path in [&header, &library, &text] {
        println!("{}", path.display());
    }
    Ok(Done::Complete)
}

fn find(ledger: &Ledger, id: &str) -> Result<Found, Failure> {
    match store::campaign(ledger, id) {
        Ok(campaign) => store::winner(ledger, &campaign.id),
        Err(unknown) => store::candidate(ledger, id)?.ok_or(unknown),
    }
}

/// Where the problem is: as said, else under problems/, and in either case the very one that the campaign had.
fn folder(given: Option<&Path>, found: &Found) -> Result<PathBuf, Failure> {
    let folder = plan::problem_folder(given.unwrap_or(Path::new(&found.problem)))?;
    if problem(&folder)?.digest == found.problem_digest {
        return Ok(folder);
    }
    Err(Failure::usage(
        format!("{} has changed since campaign {}", folder.display(), found.campaign),
        "name the folder as it was then with --problem; the candidate was proven for that one alone",
    ))
}

/// The judge's process has its own idea of where it is.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::file(path, &error))
}
