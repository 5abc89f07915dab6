//! rooflab in the race, as somebody would use it who asks whether there is any difference at all: no margin, everything
//! else as it comes. Its identical arms and its control are part of the window.

use super::ground::{Ground, asked};
use super::window::{Answer, Claim, Difference, Reading, SECONDS, microseconds};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

/// The parts of its record that the race keeps.
#[derive(Deserialize)]
struct Record {
    verdict: String,
    effect: Option<f64>,
    interval: [Option<f64>; 2],
    pairs: usize,
    resolvable: Option<f64>,
    sigma: Option<f64>,
    comparisons: Vec<Comparison>,
    arms: Vec<Arm>,
    noise: Vec<f64>,
    control: Option<Control>,
    discarded: Option<String>,
    warnings: Vec<Warning>,
    seed: u64,
}

#[derive(Deserialize)]
struct Comparison {
    e: Option<f64>,
    p: Option<f64>,
}

#[derive(Deserialize)]
struct Arm {
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    wall: f64,
}

#[derive(Deserialize)]
struct Control {
    drift: f64,
}

#[derive(Deserialize)]
struct Warning {
    what: String,
}

/// One window.
///
/// # Errors
/// When it doesn't answer.
pub fn ask(ground: &Ground, difference: Difference) -> Result<Answer> {
    let [a, b] = difference.arms();
    let mut command = ground.command(ground.rooflab());
    let budget = format!("{SECONDS}s");
    command.args(["compare", "--json", "--budget", &budget, "--margin", "0", "--", &a, "--", &b]);
    let (output, wall) = asked(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    answer(&text, wall.as_secs_f64())
        .with_context(|| format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn answer(text: &str, wall_s: f64) -> Result<Answer> {
    let found: Record = serde_json::from_str(text)?;
    let claim = match found.verdict.as_str() {
        "worse" => Claim::Slower,
        "better" => Claim::Faster,
        _ => Claim::None,
    };
    let times = |arm: usize| -> Vec<f64> {
        found.arms.get(arm).map(|arm| arm.samples.iter().map(|sample| sample.wall).collect()).unwrap_or_default()
    };
    let parts_per_million = |ln: &f64| (ln * 1e6).round();
    let raw = json!({
        "a": microseconds(&times(0)),
        "b": microseconds(&times(1)),
        "identical_arms_ppm": found.noise.iter().map(parts_per_million).collect::<Vec<f64>>(),
        "sigma": found.sigma,
        "resolvable": found.resolvable,
        "pairs": found.pairs,
        "e": found.comparisons.first().and_then(|comparison| comparison.e),
        "control_drift": found.control.map(|control| control.drift),
        "seed": found.seed,
    });
    let remarks = found.discarded.into_iter().chain(found.warnings.into_iter().map(|warning| warning.what));
    Ok(Answer {
        wall_s,
        readings: vec![Reading::new("its verdict, alpha 1 %", claim)],
        effect: found.effect,
        interval: Some(found.interval),
        p: found.comparisons.first().and_then(|comparison| comparison.p),
        says: std::iter::once(found.verdict).chain(remarks).collect(),
        raw,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_record_is_read() {
        let check = |verdict: &str, claim: Claim| {
            let text = json!({
                "verdict": verdict, "effect": 0.0098, "interval": [0.004, null], "pairs": 2, "resolvable": 0.006,
                "sigma": 0.02, "comparisons": [{ "e": 120.0 }], "noise": [0.001, -0.0025],
                "arms": [{ "samples": [{ "wall": 0.008 }, { "wall": 0.0081 }] }, { "samples": [{ "wall": 0.0082 }] }],
                "control": { "drift": -0.01 }, "discarded": null, "warnings": [{ "what": "load", "do": "x" }], "seed": 7,
            });
            let found = answer(&text.to_string(), 5.0).expect("a record");
            assert_eq!(found.readings[0].claim, claim, "{verdict}");
            assert_eq!(found.raw["a"], json!([8000.0, 8100.0]));
            assert_eq!(found.raw["identical_arms_ppm"], json!([1000.0, -2500.0]));
            assert_eq!(found.says, [verdict, "load"]);
            assert_eq!(found.interval, Some([Some(0.004), None]));
        };
        check("worse", Claim::Slower);
        check("better", Claim::Faster);
        check("undecided", Claim::None);
        check("equivalent", Claim::None);
        assert!(answer("error: no such command", 5.0).is_err());
    }
}
