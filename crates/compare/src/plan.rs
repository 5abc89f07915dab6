//! What is compared and how, after all arguments have been read. Holds no logic beyond checks of its own figures.

use crate::arms::{commands::CommandsPlan, git::GitPlan, sql::SqlPlan};
use crate::{CompareError, samples::Reading};
use stats::{Noise, Question};
use std::path::PathBuf;

/// A comparison, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What.
    pub target: Target,
    /// How.
    pub settings: Settings,
}

/// What is compared. The first arm is A, the base; the others are measured against it.
#[derive(Clone, Debug)]
pub enum Target {
    /// Commands, each run a fresh process.
    Commands(CommandsPlan),
    /// Two states of a git repository.
    Git(GitPlan),
    /// Two SQL statements or settings on a PostgreSQL.
    Sql(SqlPlan),
    /// Samples that somebody else took.
    Samples {
        /// A's file, or one that holds both.
        a: PathBuf,
        /// B's file.
        b: Option<PathBuf>,
        /// Format, unit, names.
        reading: Reading,
    },
}

/// Which time decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Wall-clock time.
    #[default]
    Wall,
    /// User plus system time.
    Cpu,
    /// User time.
    User,
}

/// How many units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Until the question is answered, the budget is spent or there are this many.
    Anytime {
        /// Most units.
        max: usize,
    },
    /// Exactly so many, looked at once.
    Fixed(usize),
}

/// How a comparison is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Error rate of the verdict.
    pub alpha: f64,
    /// Differences of ln time inside +-margin do not matter.
    pub margin: f64,
    /// Seconds for everything, A/A and control included.
    pub budget: f64,
    /// When to stop.
    pub pairs: Pairs,
    /// Which time decides.
    pub metric: Metric,
    /// Difference, or a gate on "worse by more than the margin".
    pub question: Question,
    /// Seed of the coin.
    pub seed: u64,
    /// The day's noise on this machine for A, when it need not be measured again. It plans and it sets the clip; the
    /// verdict's guarantee does not depend on it.
    pub noise: Option<DaysNoise>,
}

/// Noise that an earlier session measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DaysNoise {
    /// Of ln(t_A' / t_A).
    pub noise: Noise,
    /// Seconds since it was measured.
    pub age: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            alpha: 0.01,
            margin: 0.005,
            budget: 60.0,
            pairs: Pairs::Anytime { max: 10_000 },
            metric: Metric::Wall,
            question: Question::Difference,
            seed: 0,
            noise: None,
        }
    }
}

impl Settings {
    /// Rejects figures that no comparison can run with.
    ///
    /// # Errors
    /// [`CompareError::Usage`], naming the flag.
    pub fn check(&self) -> Result<(), CompareError> {
        let usage = |message: String| Err(CompareError::Usage(message));
        if !(self.alpha > 0.0 && self.alpha < 0.5) {
            return usage(format!("--alpha is {}: use a value above 0 and below 0.5, e.g. 0.01", self.alpha));
        }
        if !(self.margin >= 0.0 && self.margin < 1.0) {
            return usage(format!("--margin is {}: use a percentage of at least 0, e.g. 0.5%", self.margin));
        }
        if !(self.budget > 0.0 && self.budget.is_finite()) {
            return usage(format!("--budget is {} s: use a positive time, e.g. 60s", self.budget));
        }
        match self.pairs {
            Pairs::Fixed(n) if 2.0_f64.powi(1 - n.min(1000) as i32) > self.alpha => usage(format!(
                "--pairs {n} can never reach an error rate of {}: use at least {}",
                self.alpha,
                (1.0 - self.alpha.log2()).ceil()
            )),
            Pairs::Anytime { max: 0 } => usage("--max-pairs is 0: use at least 20".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_figures_name_their_flag() {
        let check = |settings: Settings, expected: &str| {
            let message = settings.check().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        let sound = Settings::default();
        assert!(sound.check().is_ok());
        check(Settings { alpha: 0.0, ..sound.clone() }, "--alpha");
        check(Settings { alpha: f64::NAN, ..sound.clone() }, "--alpha");
        check(Settings { margin: -0.1, ..sound.clone() }, "--margin");
        check(Settings { budget: f64::INFINITY, ..sound.clone() }, "--budget");
        check(Settings { pairs: Pairs::Fixed(5), ..sound.clone() }, "use at least 8");
        check(Settings { pairs: Pairs::Anytime { max: 0 }, ..sound.clone() }, "--max-pairs");
        assert!(Settings { pairs: Pairs::Fixed(8), ..sound }.check().is_ok());
    }
}
