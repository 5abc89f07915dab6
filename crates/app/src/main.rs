//! The `rooflab` binary: a role first, then arguments, then a verb.
//!
//! Must stay short: what a verb does is in `commands`, what the loop does beside them.

mod actions;
mod args;
mod artefacts;
mod batch;
mod ceilings;
mod commands;
mod driver;
mod duration;
mod evaluator;
mod interrupt;
mod judges;
mod machine;
mod notice;
mod outcome;
mod phases;
mod plan;
mod progress;
mod proposers;
mod role;
#[cfg(test)]
mod sample;
mod session;
mod store;
mod terminal;
mod text;
mod view;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    role::play(std::env::args().nth(1).as_deref());
    let args = args::Args::parse();
    commands::run(&args).map_or_else(outcome::Failure::report, ExitCode::from)
}
