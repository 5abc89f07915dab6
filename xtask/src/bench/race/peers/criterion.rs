//! criterion: half of the window for A and its baseline, the other half for B against it. Its verdict is what it prints.

use super::super::ground::{Ground, asked};
use super::super::window::{Answer, Claim, Difference, Reading, SECONDS, microseconds};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use stats::robust::median;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Seconds of its warm-up: it doubles its runs until these have passed, so it takes up to twice as long.
const WARM_UP: f64 = 0.1;

/// Share of half a window that it measures in; the rest is warm-up and its bootstrap.
const MEASURE: f64 = 0.72;

/// Share of the time of its samples that it is told to measure for. It rounds up to whole runs in each sample, so that
/// a guess of its own a little below ours would double every sample.
const TOLD: f64 = 0.75;

/// Its own default for differences that it calls noise.
const DEFAULT_THRESHOLD: f64 = 0.01;

/// Its verdicts: in its words, whether p is small enough, and what it claims.
const VERDICTS: [(&str, bool, Claim); 4] = [
    ("Performance has regressed.", true, Claim::Slower),
    ("Performance has improved.", true, Claim::Faster),
    ("Change within noise threshold.", true, Claim::None),
    ("No change in performance detected.", false, Claim::None),
];

#[derive(Deserialize)]
struct Change {
    mean: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    confidence_interval: Bounds,
    point_estimate: f64,
}

#[derive(Clone, Copy, Deserialize)]
struct Bounds {
    lower_bound: f64,
    upper_bound: f64,
}

impl Bounds {
    /// As its report decides: the whole interval beyond the threshold, on either side.
    fn beyond(self, threshold: f64) -> bool {
        self.lower_bound > threshold || self.upper_bound < -threshold
    }
}

#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    /// Nanoseconds.
    times: Vec<f64>,
}

impl Samples {
    /// Seconds a run, sample by sample.
    fn seconds(&self) -> Vec<f64> {
        self.times.iter().zip(&self.iters).map(|(time, runs)| time / runs * 1e-9).collect()
    }
}

/// One window.
///
/// # Errors
/// When it doesn't answer.
pub fn ask(ground: &Ground, difference: Difference) -> Result<Answer> {
    let [a, b] = difference.arms();
    let home = ground.empty("criterion")?;
    let begun = Instant::now();
    let run = median(&ground.look(&a)?);
    half(ground, &home, &a, ["--save-baseline", "a"], run)?;
    let printed = half(ground, &home, &b, ["--baseline", "a"], run)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let change: Change = read(&home.join("arm/change/estimates.json"))?;
    let samples: [Samples; 2] = [read(&home.join("arm/a/sample.json"))?, read(&home.join("arm/new/sample.json"))?];
    answer(&printed, &change, &samples, wall_s)
}

/// One arm, in as many samples of one run of `run` seconds as fit.
fn half(ground: &Ground, home: &Path, arm: &str, baseline: [&str; 2], run: f64) -> Result<String> {
    let mut command = ground.command(&ground.path("race-criterion"));
    let samples = (MEASURE * SECONDS / 2.0 / run).max(10.0).floor();
    let measure = format!("{:.3}", TOLD * samples * run);
    command.arg("--sample-size").arg(samples.to_string());
    command.env("RACE_ARM", arm).env("CRITERION_HOME", home);
    command.args(["--bench", "--noplot", "--noise-threshold", "1e-9", "--warm-up-time"]).arg(WARM_UP.to_string());
    command.args(["--measurement-time", &measure]).args(baseline);
    let (output, _) = asked(&mut command)?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

fn answer(printed: &str, change: &Change, samples: &[Samples; 2], wall_s: f64) -> Result<Answer> {
    let Change { mean } = change;
    let verdict = VERDICTS.iter().find(|(words, _, _)| printed.contains(words));
    let (_, is_significant, claim) = *verdict.with_context(|| format!("no verdict in `{printed}`"))?;
    let by_default = is_significant && mean.confidence_interval.beyond(DEFAULT_THRESHOLD);
    let says = printed.lines().map(str::trim).filter(|line| line.starts_with("change:") || line.ends_with('.'));
    let [a, b] = samples;
    let Bounds { lower_bound, upper_bound } = mean.confidence_interval;
    Ok(Answer {
        wall_s,
        readings: vec![
            Reading::new("its verdict, 5 %, no noise threshold", claim),
            Reading::new("its verdict by default (threshold 1 %)", Claim::of(by_default, mean.point_estimate)),
        ],
        effect: Some(mean.point_estimate),
        interval: Some([Some(lower_bound), Some(upper_bound)]),
        p: p(printed),
        says: says.map(str::to_owned).collect(),
        raw: json!({
            "a": microseconds(&a.seconds()),
            "b": microseconds(&b.seconds()),
            "runs_a_sample": [a.iters.first(), b.iters.first()],
        }),
    })
}

/// The p that it prints, with two decimals.
fn p(printed: &str) -> Option<f64> {
    printed.split("(p = ").nth(1)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Claim::{Faster, None as Silent, Slower};

    fn printed(verdict: &str) -> String {
        format!(
            "arm                     time:   [8.1 ms 8.2 ms 8.3 ms]\n                        change: [+0.5% +1.0% +1.5%] \
             (p = 0.03 < 0.05)\n                        {verdict}\nFound 3 outliers among 100 measurements (3.00%)\n"
        )
    }

    fn ask(verdict: &str, low: f64, high: f64) -> Result<Answer> {
        let confidence_interval = Bounds { lower_bound: low, upper_bound: high };
        let mean = Estimate { confidence_interval, point_estimate: f64::midpoint(low, high) };
        let samples = [1.0, 2.0].map(|_| Samples { iters: vec![4.0], times: vec![32e6] });
        answer(&printed(verdict), &Change { mean }, &samples, 5.0)
    }

    #[test]
    fn its_verdict_is_what_it_prints() {
        let check = |verdict: &str, interval: [f64; 2], expected: [Claim; 2]| {
            let found = ask(verdict, interval[0], interval[1]).expect("a verdict");
            let claims: Vec<Claim> = found.readings.iter().map(|reading| reading.claim).collect();
            assert_eq!(claims, expected, "{verdict} {interval:?}");
        };
        check("Performance has regressed.", [0.005, 0.015], [Slower, Silent]);
        check("Performance has regressed.", [0.012, 0.015], [Slower, Slower]);
        check("Performance has improved.", [-0.03, -0.02], [Faster, Faster]);
        check("Change within noise threshold.", [-0.001, 0.002], [Silent, Silent]);
        check("No change in performance detected.", [0.011, 0.03], [Silent, Silent]);
        assert!(ask("Something else.", 0.0, 0.1).is_err());
    }

    #[test]
    fn its_figures_are_kept() {
        let found = ask("Performance has regressed.", 0.005, 0.015).expect("a verdict");
        assert_eq!(found.p, Some(0.03));
        assert_eq!(found.says, ["change: [+0.5% +1.0% +1.5%] (p = 0.03 < 0.05)", "Performance has regressed."]);
        assert_eq!(found.raw["a"], json!([8000.0]));
    }
}
