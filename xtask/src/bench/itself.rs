//! `judge-aa`: a candidate against itself. Every "better" or "worse" is a false alarm.

use super::{Entry, Finding, Record, Rig};
use anyhow::Result;
use model::Judgement;

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "judge-aa",
    asks: "a candidate against itself at length 128: how often does the judge see a difference?",
    runs: 200,
    measure,
};

/// An honest vectorised attention: fast enough that a batch holds several calls.
pub const CANDIDATE: &str = "crates/zoo/candidates/one-shape.twin.c";

/// False alarms allowed: 6 of 200, as many as a rate of 1 % gives in all but 3 of 1,000 such benches.
const ALLOWED: f64 = 6.0 / 200.0;

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let judgements = rig.judge_over(
        record,
        &["problems/attention-prefill", CANDIDATE, "--against", CANDIDATE, "--workloads", "len=128"],
    )?;
    let n = judgements.len();
    let alarms = count(&judgements, "better") + count(&judgements, "worse");
    let allowed = (ALLOWED * n as f64).floor() as usize;
    let broken = judgements.iter().filter(|judgement| !judgement.verdict.is_measured()).count();
    let mut rows = tally(&judgements);
    rows.push(("false alarms".into(), share(alarms, n)));
    rows.push(("not measured".into(), broken.to_string()));
    let target = format!("at most {allowed} false alarms in {n} runs, and every run measured");
    Ok(Finding { rows, milliseconds: Vec::new(), target, met: alarms <= allowed && broken == 0 })
}

/// How many have this verdict.
pub fn count(judgements: &[Judgement], verdict: &str) -> usize {
    judgements.iter().filter(|judgement| judgement.verdict.name() == verdict).count()
}

/// One row a verdict that occurred.
pub fn tally(judgements: &[Judgement]) -> Vec<(String, String)> {
    let names = ["better", "worse", "equivalent", "undecided", "quarantined", "refused", "failed"];
    let counts = names.map(|name| (name.to_owned(), count(judgements, name)));
    counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name, n.to_string())).collect()
}

/// `k of n`, with the exact interval of its rate (Clopper and Pearson, 95 %).
pub fn share(k: usize, n: usize) -> String {
    let rate = stats::clopper_pearson(k, n, 0.05);
    let percent = |x: f64| 100.0 * x;
    format!("{k} of {n}: {:.1} % [{:.1}, {:.1}]", percent(k as f64 / n as f64), percent(rate.low), percent(rate.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_carry_their_interval() {
        assert_eq!(share(0, 200), "0 of 200: 0.0 % [0.0, 1.8]");
        assert_eq!(share(45, 50), "45 of 50: 90.0 % [78.2, 96.7]");
    }
}
