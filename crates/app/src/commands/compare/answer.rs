//! The answer of `rooflab compare` for people: a sentence, a table, what it rests on.
//!
//! Must not decide: it shows what was found.

use crate::text::{align, line, percent};
use ::compare::{ArmReport, Levels, Outcome as Found};
use model::{Bytes, Seconds};
use stats::Decision;

/// Widest name in the table; longer ones lose their middle.
const WIDEST_NAME: usize = 44;

/// All of it, lines ended.
pub fn show(found: &Found) -> String {
    let heads = ["arm", "time", "user", "system", "peak memory", "against the first", "interval", "verdict"];
    let rows: Vec<[String; 8]> =
        std::iter::once(heads.map(String::from)).chain(found.arms.iter().map(|arm| row(arm, found))).collect();
    let mut lines = vec![found.sentence().replace('`', "'")];
    if !found.arms.is_empty() {
        lines.extend([String::new(), align(&with_content(rows)), String::new()]);
    }
    lines.push(line("pairs", &pairs(found)));
    lines.extend(noise(found).map(|text| line("noise", &text)));
    lines.extend(found.levels.as_ref().map(Levels::words).map(|text| line("repeats", &text)));
    let drift = found.control.as_ref().map(|control| signed(control.drift.exp_m1()));
    lines.extend(drift.map(|drift| line("drift", &format!("{drift}, the first arm measured again last"))));
    lines.extend(found.unknowable.iter().map(|text| line("unknown", text)));
    lines.extend(found.notes.iter().map(|text| line("note", text)));
    lines.extend(found.warnings.iter().map(|warning| line("warning", &warning.to_string())));
    lines.join("\n") + "\n"
}

fn pairs(found: &Found) -> String {
    let took = Seconds(found.elapsed);
    let rule = match found.rule.as_str() {
        "anytime" if found.aborted.is_some() || found.discarded.is_some() => "looked at after each",
        "anytime" if looked_last(found) => "looked at after each, and once more when the budget was spent",
        "anytime" => "looked at after each, until the evidence decided",
        "fixed" => "as many as were asked for, looked at once",
        "e-bh" => "of each arm, judged together (e-BH)",
        _ => "none: the samples were taken one arm after the other",
    };
    if found.pairs == 0 {
        return format!("{rule}, seed {}", found.seed);
    }
    format!("{} in {took}, {rule}; error rate {}, seed {}", found.pairs, percent(found.alpha), found.seed)
}

fn looked_last(found: &Found) -> bool {
    found.verdict == Decision::Undecided || found.comparisons.iter().any(|pair| !pair.is_control && pair.p.is_some())
}

/// Where sigma comes from and what it allows.
fn noise(found: &Found) -> Option<String> {
    let resolvable = found.resolvable.map(|least| format!("the budget resolves {}", percent(least)));
    let sigma = found.sigma.map(|sigma| {
        let of = found.sigma_of.as_ref().map_or(String::new(), |of| format!(", {}", of.words()));
        format!("{} a pair{of}", percent(sigma))
    });
    let parts: Vec<String> = sigma.into_iter().chain(resolvable).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Without the columns that say nothing.
fn with_content(rows: Vec<[String; 8]>) -> Vec<[String; 8]> {
    let is_empty: [bool; 8] = std::array::from_fn(|i| rows[1..].iter().all(|row| row[i] == "-"));
    let keep = |row: [String; 8]| {
        let mut kept = row.into_iter().enumerate().filter(|(i, _)| !is_empty[*i]).map(|(_, cell)| cell);
        std::array::from_fn(|_| kept.next().unwrap_or_default())
    };
    rows.into_iter().map(keep).collect()
}

fn row(arm: &ArmReport, found: &Found) -> [String; 8] {
    let absent = || "-".to_owned();
    // A clock of 1 us shows 0 for less.
    let shown = |seconds: f64| if seconds > 0.0 { Seconds(seconds).to_string() } else { "0".to_owned() };
    let time = |seconds: Option<f64>| seconds.map_or_else(absent, shown);
    let comparison = found.comparisons.iter().find(|comparison| comparison.arm == arm.name);
    let end = |end: Option<f64>| end.map_or_else(|| "unbounded".to_owned(), signed);
    [
        shortened(&arm.name),
        time(arm.median),
        time(arm.user),
        time(arm.system),
        arm.peak_memory.map_or_else(absent, |bytes| Bytes(bytes as f64).to_string()),
        comparison.and_then(|comparison| comparison.effect).map_or_else(absent, signed),
        comparison.map_or_else(absent, |c| format!("{} to {}", end(c.interval[0]), end(c.interval[1]))),
        comparison.map_or_else(absent, |c| {
            let control = if c.is_control { " (control)" } else { "" };
            format!("{}{control}", c.verdict.name())
        }),
    ]
}

fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if letters.len() <= WIDEST_NAME {
        return letters.into_iter().collect();
    }
    let half = (WIDEST_NAME - 3) / 2;
    letters[..half].iter().chain(&['.'; 3]).chain(&letters[letters.len() - half..]).collect()
}

pub(super) fn signed(effect: f64) -> String {
    format!("{}{}", if effect < 0.0 { "" } else { "+" }, percent(effect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::compare::{Comparison, Settings, SigmaOf};

    fn arm(name: &str, median: f64) -> ArmReport {
        ArmReport {
            name: name.into(),
            median: Some(median),
            user: None,
            system: Some(0.001),
            peak_memory: None,
            samples: Vec::new(),
        }
    }

    #[test]
    fn an_answer() {
        let comparison = Comparison {
            arm: "sleep 0.0202".into(),
            against: "sleep 0.02".into(),
            is_control: false,
            verdict: Decision::Worse,
            effect: Some(0.0098),
            interval: [Some(0.004), None],
            e: Some(200.0),
            p: None,
            accepted: None,
            units: Vec::new(),
        };
        let found = Found {
            verdict: Decision::Worse,
            rule: "anytime".into(),
            pairs: 34,
            elapsed: 3.5,
            sigma: Some(0.012),
            sigma_of: Some(SigmaOf::Day { pairs: 20, age: 7200.0 }),
            resolvable: Some(0.003),
            comparisons: vec![comparison],
            arms: vec![arm("sleep 0.02", 0.02), arm("sleep 0.0202", 0.0202)],
            seed: 7,
            ..Found::empty(&Settings::default())
        };
        insta::assert_snapshot!(show(&found), @r"
        'sleep 0.0202' is slower than 'sleep 0.02' by 0.98 % [+0.40 %, unbounded]

        arm           time     system   against the first  interval              verdict
        sleep 0.02    20.0 ms  1.00 ms  -                  -                     -
        sleep 0.0202  20.2 ms  1.00 ms  +0.98 %            +0.40 % to unbounded  worse

        pairs       34 in 3.50 s, looked at after each, until the evidence decided; error rate 1.0 %, seed 7
        noise       1.2 % a pair, from 20 pairs of A with itself, 2 h ago; the budget resolves 0.30 %
        ");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("a\nb"), "a b");
        let short = shortened(&format!("old {} new", "x".repeat(99)));
        assert!(short.len() <= WIDEST_NAME && short.starts_with("old x") && short.ends_with("x new"), "{short}");
    }
}
