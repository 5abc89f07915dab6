//! What a comparison found: the record that becomes JSON, Markdown, a plot and an exit code. Measures nothing.

use crate::engine::Sample;
use crate::environment::{Snapshot, Warning};
use crate::markdown;
use crate::plan::Metric;
use serde::{Deserialize, Serialize};
use stats::{Clip, Decision, Design, Interval, anytime_interval, hodges_lehmann, robust};
use std::fmt::Write as _;

/// Marks our own files, so that they can be read again.
pub const SCHEMA: &str = "compare/1";

/// Everything about one comparison. Effects are t_B / t_A - 1: 0.02 is 2 % slower than the first arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Schema of this record.
    pub rooflab: String,
    /// B against A; of the first comparison when there are many arms.
    pub verdict: Decision,
    /// Estimated effect. None when nothing could be estimated.
    pub effect: Option<f64>,
    /// Its interval; an end that the data cannot bound is null.
    pub interval: [Option<f64>; 2],
    /// Units counted.
    pub pairs: usize,
    /// Smallest effect that the budget resolves in 9 of 10 runs. None without a noise floor.
    pub resolvable: Option<f64>,
    /// Noise floor: sigma of ln(t_A' / t_A) over identical arms.
    pub sigma: Option<f64>,
    /// What the noise floor was measured on.
    pub sigma_of: Option<SigmaOf>,
    /// Error rate.
    pub alpha: f64,
    /// Differences of ln time inside +-margin do not matter.
    pub margin: f64,
    /// `anytime`, `fixed`, `e-bh` or `sequential`.
    pub rule: String,
    /// Which time decided.
    pub metric: Metric,
    /// Every arm against the first of its group.
    pub comparisons: Vec<Comparison>,
    /// The arms with their runs.
    pub arms: Vec<ArmReport>,
    /// ln(t_A' / t_A) of the identical arms.
    pub noise: Vec<f64>,
    /// The first arm, measured before and again last.
    pub control: Option<Control>,
    /// Why the run does not count.
    pub discarded: Option<String>,
    /// What data of this kind cannot tell.
    pub unknowable: Vec<String>,
    /// What weakens it, each with what to do.
    pub warnings: Vec<Warning>,
    /// Repeats at each level, from the pilot.
    pub levels: Option<Levels>,
    /// The test's design, fixed before the first counted unit.
    pub design: Option<Design>,
    /// The machine at the start.
    pub environment: Option<Snapshot>,
    /// Remarks: revisions, plans.
    pub notes: Vec<String>,
    /// Seed of the coin.
    pub seed: u64,
    /// Seconds that were allowed.
    pub budget: f64,
    /// Seconds that it took.
    pub elapsed: f64,
    /// The error that ended it early. There is no verdict then.
    pub aborted: Option<String>,
}

/// One arm against the first of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of B.
    pub arm: String,
    /// Name of A.
    pub against: String,
    /// Whether this pair takes no changed path and only measures the noise.
    pub is_control: bool,
    /// B against A.
    pub verdict: Decision,
    /// Estimated t_B / t_A - 1.
    pub effect: Option<f64>,
    /// Its interval.
    pub interval: [Option<f64>; 2],
    /// The anytime test's e-value.
    pub e: Option<f64>,
    /// p of the one look at a planned end (after a fixed number of pairs, or when the budget was spent), where it was taken.
    pub p: Option<f64>,
    /// Whether e-BH accepts it among the many; None for two arms.
    pub accepted: Option<bool>,
    /// The units in time.
    pub units: Vec<Unit>,
}

/// One unit of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Seconds since the start.
    pub at: f64,
    /// ln(t_B / t_A).
    pub ln: f64,
}

/// An arm and its counted runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// Its name.
    pub name: String,
    /// Median of the time that decides, seconds. None without runs.
    pub median: Option<f64>,
    /// Median user time, seconds.
    pub user: Option<f64>,
    /// Median system time, seconds.
    pub system: Option<f64>,
    /// Largest peak memory, bytes. None when below what can be seen.
    pub peak_memory: Option<u64>,
    /// Every counted run.
    pub samples: Vec<Sample>,
}

/// The first arm before and after everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Seconds, before.
    pub before: Vec<f64>,
    /// Seconds, last.
    pub after: Vec<f64>,
    /// ln(median after / median before).
    pub drift: f64,
    /// How often it was looked at: a run whose first arm has moved goes on while the budget lasts.
    #[serde(default = "one")]
    pub looks: usize,
}

fn one() -> usize {
    1
}

/// What a noise floor was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "measured")]
pub enum SigmaOf {
    /// Identical arms, in this session.
    Session {
        /// How many pairs of them.
        pairs: usize,
    },
    /// Identical arms, in an earlier session of the day.
    Day {
        /// How many pairs of them.
        pairs: usize,
        /// Seconds since then.
        age: f64,
    },
    /// The spread of the counted pairs about their own median.
    Pairs {
        /// How many.
        pairs: usize,
    },
}

impl SigmaOf {
    /// `20 pairs of A with itself`.
    pub fn words(&self) -> String {
        match *self {
            Self::Session { pairs } => format!("from {pairs} pairs of A with itself"),
            Self::Day { pairs, age } => format!("from {pairs} pairs of A with itself, {} ago", markdown::age(age)),
            Self::Pairs { pairs } => format!("from the spread of its own {pairs} pairs"),
        }
    }
}

/// Kalibera and Jones' allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Levels {
    /// Names, outermost first.
    pub names: Vec<String>,
    /// Repeats that the pilot asks for, outermost first.
    pub repeats: Vec<usize>,
    /// Variance of ln time that each level adds.
    pub variances: Vec<f64>,
    /// Repeats inside a unit that were used.
    pub used: usize,
    /// The difference of ln time that the pilot was asked about.
    #[serde(default)]
    pub wanted: f64,
}

impl Levels {
    /// What was chosen, and why.
    pub fn words(&self) -> String {
        let (outer, inner) = (self.name(0), self.name(1));
        let spread = |i: usize| markdown::percent(self.variances.get(i).copied().unwrap_or(0.0).sqrt());
        let asked = self.repeats.get(1).copied().unwrap_or(self.used);
        let cut = if asked == self.used {
            String::new()
        } else {
            format!(" (the pilot asked for {asked}, which would leave too few {outer}s in the budget)")
        };
        let plural = if self.used == 1 { "" } else { "s" };
        let mut text = format!(
            "{} {inner}{plural} a {outer}{cut}: the pilot shows a spread of {} between {outer}s, {} between {inner}s",
            self.used,
            spread(0),
            spread(1)
        );
        // More are not a plan any more.
        if let Some(units) = self.repeats.first().filter(|units| self.wanted > 0.0 && **units < 1_000_000) {
            let wanted = markdown::percent(self.wanted.exp_m1());
            let _ = write!(text, "; {units} {outer}s would find {wanted}");
        }
        text
    }

    fn name(&self, level: usize) -> &str {
        self.names.get(level).map_or("repeat", String::as_str)
    }
}

/// Answer of `--gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAnswer {
    /// The whole interval lies at or below the margin.
    Passes,
    /// The whole interval lies beyond the margin.
    Fires,
    /// Neither.
    Undecided,
}

/// A point of the running interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunningPoint {
    /// Units so far.
    pub units: usize,
    /// Seconds since the start.
    pub at: f64,
    /// Estimate of t_B / t_A - 1.
    pub effect: f64,
    /// Its interval.
    pub interval: [Option<f64>; 2],
}

/// t_B / t_A - 1 of its logarithm; None where that is unbounded.
pub(crate) fn effect_of(ln: f64) -> Option<f64> {
    ln.is_finite().then(|| ln.exp_m1())
}

pub(crate) fn effects_of(interval: Interval) -> [Option<f64>; 2] {
    [effect_of(interval.low), effect_of(interval.high)]
}

impl Outcome {
    /// The interval of ln(t_B / t_A).
    fn ln_interval(&self) -> Interval {
        let ln = |end: Option<f64>, unbounded: f64| end.map_or(unbounded, f64::ln_1p);
        Interval { low: ln(self.interval[0], f64::NEG_INFINITY), high: ln(self.interval[1], f64::INFINITY) }
    }

    /// Whether B is worse than A with its interval wholly beyond the margin.
    pub fn gate(&self) -> GateAnswer {
        let interval = self.ln_interval();
        if self.discarded.is_some() || self.aborted.is_some() || !self.unknowable.is_empty() {
            GateAnswer::Undecided
        } else if interval.low > self.margin {
            GateAnswer::Fires
        } else if interval.high <= self.margin {
            GateAnswer::Passes
        } else {
            GateAnswer::Undecided
        }
    }

    /// Exit code of a gated run: 0 passes, 1 fires, 3 undecided. (A run without a gate ends with 0.)
    pub fn gate_exit_code(&self) -> u8 {
        match self.gate() {
            GateAnswer::Passes => 0,
            GateAnswer::Fires => 1,
            GateAnswer::Undecided => 3,
        }
    }

    /// The record as JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("an outcome holds nothing that JSON cannot")
    }

    /// Estimate and anytime interval of one of its comparisons after each of about `points` prefixes, evenly spaced:
    /// for plots. The last point is the comparison's own answer. Where no design was kept (the judge keeps its own),
    /// the clip comes from the spread of all the pairs.
    pub fn running(&self, comparison: &Comparison, points: usize) -> Vec<RunningPoint> {
        let lns: Vec<f64> = comparison.units.iter().map(|unit| unit.ln).collect();
        let design = self.design.unwrap_or_else(|| {
            Design::anytime(self.alpha, self.margin, Clip::of_sigma(robust::mad_sigma(&lns)), lns.len().max(1))
        });
        let step = lns.len().div_ceil(points.max(1)).max(1);
        let ends = (1..=lns.len()).filter(|n| n % step == 0 || *n == lns.len());
        ends.map(|n| {
            let (units, at) = (n, comparison.units[n - 1].at);
            if let Some(effect) = comparison.effect.filter(|_| n == lns.len()) {
                return RunningPoint { units, at, effect, interval: comparison.interval };
            }
            let found = anytime_interval(&lns[..n], design.clip, design.n_opt, design.early_alpha(), &[0.0]);
            RunningPoint { units, at, effect: hodges_lehmann(&lns[..n]).exp_m1(), interval: effects_of(found) }
        })
        .collect()
    }

    /// An outcome that has found nothing yet.
    pub fn empty(settings: &crate::Settings) -> Self {
        Self {
            rooflab: SCHEMA.to_owned(),
            verdict: Decision::Undecided,
            effect: None,
            interval: [None, None],
            pairs: 0,
            resolvable: None,
            sigma: None,
            sigma_of: None,
            alpha: settings.alpha,
            margin: settings.margin,
            rule: String::new(),
            metric: settings.metric,
            comparisons: Vec::new(),
            arms: Vec::new(),
            noise: Vec::new(),
            control: None,
            discarded: None,
            unknowable: Vec::new(),
            warnings: Vec::new(),
            levels: None,
            design: None,
            environment: None,
            notes: Vec::new(),
            seed: settings.seed,
            budget: settings.budget,
            elapsed: 0.0,
            aborted: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn with(low: Option<f64>, high: Option<f64>) -> Outcome {
        Outcome { interval: [low, high], ..Outcome::empty(&Settings { margin: 0.005, ..Settings::default() }) }
    }

    #[test]
    fn gate_answers_and_codes() {
        let check = |outcome: Outcome, code: u8| assert_eq!(outcome.gate_exit_code(), code, "{:?}", outcome.interval);
        check(with(Some(0.01), Some(0.02)), 1);
        check(with(Some(0.01), None), 1);
        check(with(Some(0.001), Some(0.02)), 3);
        check(with(Some(0.001), Some(0.004)), 0);
        check(with(None, Some(-0.2)), 0);
        check(with(None, None), 3);
        check(Outcome { discarded: Some("drift".into()), ..with(Some(0.01), Some(0.02)) }, 3);
        check(Outcome { aborted: Some("killed".into()), ..with(Some(0.01), Some(0.02)) }, 3);
        check(Outcome { unknowable: vec!["order".into()], ..with(Some(-0.1), Some(0.0)) }, 3);
    }

    #[test]
    fn an_allocation_in_words() {
        let levels = |repeats: [usize; 2], used: usize| Levels {
            names: vec!["session".into(), "run".into()],
            repeats: repeats.to_vec(),
            variances: vec![0.01_f64.powi(2), 0.03_f64.powi(2)],
            used,
            wanted: 0.005,
        };
        assert_eq!(
            levels([90, 12], 12).words(),
            "12 runs a session: the pilot shows a spread of 1.00 % between sessions, 3.00 % between runs; 90 sessions \
             would find 0.50 %"
        );
        let cut = levels([usize::MAX, 50], 1).words();
        assert!(
            cut.starts_with("1 run a session (the pilot asked for 50, which would leave too few sessions"),
            "{cut}"
        );
        assert!(cut.ends_with("between runs"), "{cut}");
    }

    #[test]
    fn the_running_interval_ends_at_the_answer_with_or_without_a_design() {
        let unit = |i: u32| Unit { at: f64::from(i), ln: 0.02 + 0.001 * f64::from(i % 7) };
        let comparison = Comparison {
            arm: "b".into(),
            against: "a".into(),
            is_control: false,
            verdict: Decision::Worse,
            effect: Some(0.023),
            interval: [Some(0.02), Some(0.03)],
            e: None,
            p: None,
            accepted: None,
            units: (0..60).map(unit).collect(),
        };
        let settings = Settings::default();
        let designed = Design::anytime(settings.alpha, settings.margin, Clip::of_sigma(0.002), 60);
        for design in [None, Some(designed)] {
            let outcome = Outcome { design, ..Outcome::empty(&settings) };
            let running = outcome.running(&comparison, 20);
            assert_eq!(
                running.iter().map(|point| point.units).collect::<Vec<_>>(),
                (1..=20).map(|i| 3 * i).collect::<Vec<_>>()
            );
            let last = running.last().unwrap();
            assert_eq!((last.effect, last.interval), (0.023, [Some(0.02), Some(0.03)]));
            assert!(running[18].interval[0].unwrap() > 0.0 && running[0].interval == [None, None]);
        }
    }

    #[test]
    fn json_names_what_was_promised_and_reads_back() {
        let outcome = with(None, Some(0.02));
        let json: serde_json::Value = serde_json::from_str(&outcome.json()).unwrap();
        for field in ["verdict", "effect", "interval", "pairs", "resolvable"] {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(serde_json::from_str::<Outcome>(&outcome.json()).unwrap(), outcome);
    }
}
