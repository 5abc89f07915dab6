//! `compare-race`: rooflab compare against hyperfine, criterion and tango, on the same two files in windows of 5 s. How
//! often is each right, wrong, silent?
//!
//! Must not favour anyone: tools and differences take turns in a random order within blocks of eight windows, so that
//! the machine's drift falls on all alike, and a race that is stopped anywhere is balanced up to its last block.

mod ground;
mod journal;
mod ours;
mod peers;
mod summary;
mod window;

use super::{Entry, Finding, Record, Rig};
use crate::needs;
use anyhow::{Context, Result};
use ground::Ground;
use journal::Journal;
use window::{Answer, BLOCK, Difference, SEED, Tool, Window, turn};

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "compare-race",
    asks: "rooflab compare, tango, criterion and hyperfine on two files with the same work and with 1 % more, in windows \
           of 5 s: how often is each right, wrong, silent?",
    runs: 75,
    measure,
};

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    needs::meet_peers()?;
    let ground = Ground::build(rig.binary())?;
    let mut journal = Journal::open(record.folder(), &ground)?;
    let wanted = rig.runs() * BLOCK;
    for number in journal.windows().len()..wanted {
        let (tool, difference) = turn(SEED, number);
        let answer = ask(tool, &ground, difference).with_context(|| format!("window {number}: {tool}"))?;
        let window = Window { number, tool, difference, answer };
        eprintln!("{:4} of {wanted}  {window}", number + 1);
        journal.push(window)?;
    }
    summary::write(record.folder(), &journal)?;
    Ok(summary::finding(journal.windows()))
}

fn ask(tool: Tool, ground: &Ground, difference: Difference) -> Result<Answer> {
    match tool {
        Tool::Rooflab => ours::ask(ground, difference),
        Tool::Tango => peers::tango::ask(ground, difference),
        Tool::Criterion => peers::criterion::ask(ground, difference),
        Tool::Hyperfine => peers::hyperfine::ask(ground, difference),
    }
}
