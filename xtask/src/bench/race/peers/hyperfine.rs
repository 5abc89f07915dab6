//! hyperfine: A's runs, then B's, without a shell.
//!
//! It has no budget, so its runs are counted out from how long a run takes now. Its own statement is a ratio of means
//! with a ±, "B ran 1.01 ± 0.02 times faster than A": read as a claim when the ± leaves 1 out. Its users also run the
//! Welch test that comes with it (`scripts/welch_ttest.py`, which says "different" at p below 5 %): a second reading.

use super::super::ground::{Ground, asked};
use super::super::window::{Answer, Claim, Difference, Reading, SECONDS, microseconds};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;
use stats::robust::{mean, median, variance};
use std::fs;
use std::path::Path;

/// Runs of each arm before those that count: its own advice is a few.
const WARM_UP: usize = 3;

/// Seconds for the start of hyperfine itself.
const OWN: f64 = 0.03;

/// Seconds that hyperfine spends on a run besides the run.
const PER_RUN: f64 = 0.0001;

/// p below which `scripts/welch_ttest.py` calls two commands different.
const WELCH: f64 = 0.05;

#[derive(Deserialize)]
struct Export {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    times: Vec<f64>,
}

/// One window.
///
/// # Errors
/// When it doesn't answer.
pub fn ask(ground: &Ground, difference: Difference) -> Result<Answer> {
    let [a, b] = difference.arms();
    let runs = runs(median(&ground.look(&a)?)).to_string();
    let export = ground.empty("hyperfine")?.join("export.json");
    let mut command = ground.command(Path::new("hyperfine"));
    let warm_up = WARM_UP.to_string();
    command.args(["--shell=none", "--style=basic", "--warmup", &warm_up, "--runs", &runs, "--export-json"]);
    command.arg(&export).args([&a, &b]);
    let (output, wall) = asked(&mut command)?;
    let says = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let exported = fs::read_to_string(&export).with_context(says)?;
    answer(&exported, &String::from_utf8_lossy(&output.stdout), wall.as_secs_f64()).with_context(says)
}

/// Runs of each arm that fill a window when one takes this long.
fn runs(seconds: f64) -> usize {
    let both = ((SECONDS - OWN) / (seconds + PER_RUN)) as usize;
    (both / 2).saturating_sub(WARM_UP).max(2)
}

fn answer(exported: &str, printed: &str, wall_s: f64) -> Result<Answer> {
    let Export { results } = serde_json::from_str(exported)?;
    let [a, b] = results.as_slice() else { anyhow::bail!("{} commands instead of 2", results.len()) };
    let (a, b) = (&a.times, &b.times);
    let effect = mean(b) / mean(a) - 1.0;
    // As it computes the line that it prints: the slower over the faster, with the relative deviations of single runs.
    let ratio = if effect > 0.0 { 1.0 + effect } else { 1.0 / (1.0 + effect) };
    let spread = |times: &[f64]| variance(times) / mean(times).powi(2);
    let deviation = ratio * (spread(a) + spread(b)).sqrt();
    let welch = stats::welch(a, b);
    let own = Claim::of(ratio - deviation > 1.0, effect);
    Ok(Answer {
        wall_s,
        readings: vec![
            Reading::new("its ±", own),
            Reading::new("Welch's t on its times, 5 %", Claim::of(welch.p < WELCH, effect)),
            Reading::new("Welch's t on its times, 1 %", Claim::of(welch.p < 0.01, effect)),
        ],
        effect: Some(effect),
        interval: None,
        p: Some(welch.p),
        says: statement(printed),
        raw: json!({ "a": microseconds(a), "b": microseconds(b), "ratio": ratio, "deviation": deviation }),
    })
}

/// The lines of its summary: which ran faster, and by how much.
fn statement(printed: &str) -> Vec<String> {
    let lines = printed.lines().map(str::trim).skip_while(|line| *line != "Summary").skip(1);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Claim::{Faster, None as Silent, Slower};

    const PRINTED: &str = "Benchmark 1: more/a\n  Time (mean ± σ): 8 ms\n\nSummary\n  'more/a' ran\n    1.01 ± 0.02 times \
                           faster than 'more/b'\n";

    fn ask(a: &[f64], b: &[f64]) -> Answer {
        let exported = json!({ "results": [{ "times": a, "mean": 1.0 }, { "times": b }] });
        answer(&exported.to_string(), PRINTED, 5.0).expect("an export")
    }

    #[test]
    fn its_statement_is_a_claim_when_the_deviation_leaves_one_out() {
        let check = |a: &[f64], b: &[f64], expected: [Claim; 3]| {
            let claims: Vec<Claim> = ask(a, b).readings.iter().map(|reading| reading.claim).collect();
            assert_eq!(claims, expected, "{a:?} {b:?}");
        };
        check(&[8.0, 8.1, 7.9, 8.0], &[9.0, 9.1, 8.9, 9.0], [Slower; 3]);
        check(&[9.0, 9.1, 8.9, 9.0], &[8.0, 8.1, 7.9, 8.0], [Faster; 3]);
        check(&[8.0, 9.0, 7.0, 8.0], &[8.1, 9.0, 7.0, 8.0], [Silent; 3]);
        // Many runs make the mean sure, and leave the spread of single runs as it is.
        let around = |center: f64| (0..200).map(|i| center + 0.1 * f64::from(i % 5 - 2)).collect::<Vec<f64>>();
        check(&around(8.0), &around(8.08), [Silent, Slower, Slower]);
    }

    #[test]
    fn its_words_are_kept() {
        assert_eq!(ask(&[1.0, 1.1], &[1.0, 1.1]).says, ["'more/a' ran", "1.01 ± 0.02 times faster than 'more/b'"]);
        assert!(answer("{\"results\":[]}", "", 5.0).is_err());
    }

    #[test]
    fn runs_fill_the_window() {
        assert_eq!(runs(0.0099), 248 - WARM_UP);
        assert_eq!(runs(10.0), 2);
    }
}
