//! `judge-slow`: the stock baseline made 2 % slower, against itself. Everything but "worse" is a miss.

use super::itself::{count, share, tally};
use super::{Entry, Finding, Record, Rig};
use anyhow::Result;

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "judge-slow",
    asks: "the stock baseline with 2 % more work, against itself at length 128: how often does the judge see it?",
    runs: 50,
    measure,
};

/// The baseline, and the same with a part of its work done twice.
pub const STOCK: &str = "builtin:attention-gemm";
const SLOWED: &str = "builtin:attention-gemm+2%";

/// Share that has to be seen.
const WANTED: f64 = 0.9;

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let judgements =
        rig.judge_over(record, &["problems/attention-prefill", SLOWED, "--against", STOCK, "--workloads", "len=128"])?;
    let n = judgements.len();
    let seen = count(&judgements, "worse");
    let wanted = (WANTED * n as f64).ceil() as usize;
    let mut effects: Vec<f64> =
        judgements.iter().filter_map(|judgement| Some(judgement.ln("len=128")?.value)).collect();
    effects.sort_by(f64::total_cmp);
    let mut rows = tally(&judgements);
    rows.push(("seen as worse".into(), share(seen, n)));
    if let (Some(least), Some(most)) = (effects.first(), effects.last()) {
        let percent = |ln: f64| 100.0 * ln.exp_m1();
        let middle = percent(effects[effects.len() / 2]);
        rows.push((
            "slow-down measured".into(),
            format!("median {middle:.2} %, {:.2} to {:.2} %", percent(*least), percent(*most)),
        ));
    }
    Ok(Finding {
        rows,
        milliseconds: Vec::new(),
        target: format!("worse in at least {wanted} of {n} runs"),
        met: seen >= wanted,
    })
}
