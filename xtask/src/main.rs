//! The workshop: `cargo xtask test | tidy | bench | ci`.
//!
//! Must not hold anything that the product needs: rooflab builds and runs without it.

mod bench;
mod needs;
/// The judge's own search: what it would not find is no use to the tests.
#[path = "../../crates/judge/src/pythons.rs"]
mod pythons;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [-- ARGS]           fmt, tidy, clippy, and every test; ARGS go to the test runner
cargo xtask tidy                     hold the tree against its own rules
cargo xtask bench [NAME] [OPTIONS]   measure rooflab itself; without a name, list what there is
    --runs N    repeat N times instead of the entry's own number
    --out DIR   write to DIR instead of runs/bench/DATE-NAME, or -2 and so on where that day's is finished
cargo xtask ci                       what CI runs: test";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first().map(|(verb, rest)| (verb.as_str(), rest)) {
        Some(("test", rest)) => test::run(rest),
        Some(("ci", [])) => test::run(&[]),
        Some(("tidy", [])) => tidy::run(),
        Some(("bench", rest)) => bench::run(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
