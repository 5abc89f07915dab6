//! `rooflab new`: a problem's folder that runs as it is.

use crate::args::NewArgs;
use crate::outcome::{Done, Outcome};

/// Runs it.
///
/// # Errors
/// When the name can't be a problem's, or the folder is there already.
pub fn run(args: &NewArgs) -> Outcome {
    let folder = problems::create(&args.parent, &args.name)?;
    println!("{}", folder.display());
    println!(
        "Its function, oracle and baseline are an example: replace them, then `rooflab run {}`.",
        folder.display()
    );
    Ok(Done::Complete)
}
