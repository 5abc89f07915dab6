//! `judge-rate`: how many candidates an hour the judge gets through, and where its time goes.

use super::itself::{CANDIDATE, tally};
use super::slow::STOCK;
use super::{Asked, Entry, Finding, Record, Rig};
use crate::workspace::root;
use anyhow::{Context, Result};
use model::{Overhead, Seconds};

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "judge-rate",
    asks: "distinct candidates against the stock baseline, compiled and judged one by one: how many an hour?",
    runs: 60,
    measure,
};

/// Judged candidates an hour, compilation included.
const WANTED: f64 = 600.0;

/// A part of the judge's time, by name.
type Part = (&'static str, fn(&Overhead) -> Seconds);

const PARTS: [Part; 5] = [
    ("build", |o| o.build),
    ("draws", |o| o.draw),
    ("runners, start and end", |o| o.runners),
    ("calls", |o| o.calls),
    ("checks", |o| o.check),
];

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let text = std::fs::read_to_string(root().join(CANDIDATE)).context(CANDIDATE)?;
    let folder = std::env::temp_dir().join(format!("rooflab-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("candidate.c");
    let path = file.to_str().context("a temporary folder in UTF-8")?;
    let mut asked = Vec::new();
    for i in 0..rig.runs() {
        // Another constant each time: the same digest twice would let a cache answer.
        std::fs::write(&file, format!("{text}\nstatic const volatile int serial = {i};\n"))?;
        asked.push(rig.judge(&["problems/attention-prefill", path, "--against", STOCK])?);
        record.push(&asked[i])?;
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(finding(&asked))
}

fn finding(asked: &[Asked]) -> Finding {
    let n = asked.len() as f64;
    let mean = |seconds: &dyn Fn(&Asked) -> f64| asked.iter().map(seconds).sum::<f64>() / n;
    let wall = mean(&|a| a.wall.as_secs_f64());
    let total = mean(&|a| a.judgement.overhead.total.0);
    let parts = PARTS.map(|(name, part)| (name, mean(&|a| part(&a.judgement.overhead).0)));
    let milliseconds = table(wall, total, &parts);
    let judgements: Vec<_> = asked.iter().map(|a| a.judgement.clone()).collect();
    let mut rows = tally(&judgements);
    rows.push(("one process each, an hour".into(), format!("{:.0}", 3600.0 / wall)));
    rows.push(("one open judge, an hour".into(), format!("{:.0}", 3600.0 / total)));
    rows.extend(milliseconds.iter().map(|(name, ms)| {
        let share = format!(" ({:.0} %)", ms / 10.0 / total);
        (format!("a candidate: {name}"), format!("{ms:.1} ms{}", if *name == START { "" } else { share.as_str() }))
    }));
    let target = format!("at least {WANTED} judged candidates an hour from an open judge, as in a campaign");
    Finding { rows, milliseconds, target, met: 3600.0 / total >= WANTED }
}

/// Once a process: the judge's start, the oracle's build, the first tolerance. An open judge has it behind it.
const START: &str = "start and problem, once a process";

/// Where a judged candidate's time goes, in milliseconds, from means in seconds. The calls are what a bare run would take.
fn table(wall: f64, total: f64, parts: &[(&'static str, f64)]) -> Vec<(&'static str, f64)> {
    let named: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let calls: f64 = parts.iter().filter(|(name, _)| *name == "calls").map(|(_, seconds)| seconds).sum();
    let first = (START, wall - total);
    let last = [("the rest", total - named), ("all of it", total), ("all but the calls", total - calls)];
    let seconds = [first].into_iter().chain(parts.iter().copied()).chain(last);
    seconds.map(|(name, seconds)| (name, 1e3 * seconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_whole() {
        let parts = [("build", 0.125), ("draws", 0.25), ("calls", 1.5), ("checks", 0.0)];
        let table = table(3.0, 2.0, &parts);
        let expected = [
            (START, 1000.0),
            ("build", 125.0),
            ("draws", 250.0),
            ("calls", 1500.0),
            ("checks", 0.0),
            ("the rest", 125.0),
            ("all of it", 2000.0),
            ("all but the calls", 500.0),
        ];
        assert_eq!(table, expected);
    }
}
