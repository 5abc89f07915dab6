//! The `rooflab` binary: roles first, then arguments, then a verb.

mod args;
mod driver;
mod duration;
mod evaluator;
mod interrupt;
mod notice;
mod outcome;
mod plan;
#[cfg(test)]
mod sample;
mod standing;
mod store;
mod summary;
mod terminal;
mod text;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let _ = args::Args::parse();
    ExitCode::SUCCESS
}
