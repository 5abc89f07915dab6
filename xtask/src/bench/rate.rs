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

const PARTS: [Part; 6] = [
    ("build", |o| o.build),
    ("runners", |o| o.runners),
    ("draw", |o| o.draw),
    ("calls", |o| o.calls),
    ("check", |o| o.check),
    ("total", |o| o.total),
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
    let judgements: Vec<_> = asked.iter().map(|a| a.judgement.clone()).collect();
    let mut rows = tally(&judgements);
    rows.push(("one process each, an hour".into(), format!("{:.0}", 3600.0 / wall)));
    rows.push(("one open judge, an hour".into(), format!("{:.0}", 3600.0 / total)));
    rows.push(("mean wall time".into(), Seconds(wall).to_string()));
    rows.push(("of that, start and problem".into(), Seconds(wall - total).to_string()));
    for (name, part) in PARTS {
        let seconds = mean(&|a| part(&a.judgement.overhead).0);
        rows.push((format!("judge: {name}"), format!("{} ({:.0} %)", Seconds(seconds), 100.0 * seconds / total)));
    }
    let target = format!("at least {WANTED} judged candidates an hour from an open judge, as in a campaign");
    Finding { rows, target, met: 3600.0 / total >= WANTED }
}
