//! The verbs: each module resolves its arguments, does its work through the other crates, and prints.
//!
//! Must not hold logic that two verbs need: that lives beside this folder.

mod compare;
mod device;
mod export;
mod foreign;
mod judge;
mod ledger;
mod map;
mod mine;
mod new;
mod report;
mod run;
mod score;
mod selftest;
mod verify;

#[cfg(test)]
pub use run::specification;

use crate::args::{Args, Verb};
use crate::outcome::{Done, Failure, Outcome};

/// Does what was asked.
///
/// # Errors
/// Each with its exit code.
pub fn run(args: &Args) -> Outcome {
    match &args.verb {
        Verb::Run(args) => run::run(args),
        Verb::Map(args) => map::run(args),
        Verb::Score(args) => score::run(args),
        Verb::Judge(args) => judge::run(args),
        Verb::Mine(args) => mine::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Ledger(args) => ledger::run(args),
        Verb::Export(args) => export::run(args),
        Verb::New(args) => new::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Selftest(args) => selftest::run(args),
    }
}

/// Prints a value as indented JSON.
fn print_json(value: &impl serde::Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::environment(error, "this is a fault of rooflab: please report it"))?;
    println!("{text}");
    Ok(Done::Complete)
}
