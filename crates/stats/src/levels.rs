//! How often to repeat at each level (build, process, run): Kalibera and Jones, "Rigorous benchmarking in reasonable
//! time" (2013), whose effect-size companion is arXiv:2007.10899.

use crate::noise::units_needed;
use crate::robust::{mean, variance};
use serde::{Deserialize, Serialize};

/// More repeats than this at one level are never worth their time: the level above then has no spread to speak of.
const MOST_REPEATS: usize = 1_000;

/// A balanced nested pilot, e.g. 3 builds x 4 processes x 20 runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot<'a> {
    /// ln time, the innermost level varying fastest.
    pub values: &'a [f64],
    /// Repeats at each level, outermost first. Each at least 2.
    pub counts: &'a [usize],
    /// Seconds that one more repeat at each level costs beyond the repeats inside it, outermost first: a compile, a
    /// process start with its warm-up, a run.
    pub costs: &'a [f64],
}

/// How a budget is best spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// Repeats at each level, outermost first; the outermost is what the wanted effect needs.
    pub repeats: Vec<usize>,
    /// Variance that each level adds by itself, outermost first; 0 where the pilot shows none.
    pub variances: Vec<f64>,
}

/// A pilot that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPilot {
    /// Levels, counts and costs disagree, or the counts' product is not the number of values.
    Shape,
    /// A level has fewer than two repeats, so its spread is unknown.
    TooFew,
    /// A value is not finite, or a cost not positive.
    Value,
}

impl std::fmt::Display for BadPilot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Shape => "the pilot is not balanced: every level needs the same number of repeats in each branch",
            Self::TooFew => "every level of a pilot needs at least two repeats",
            Self::Value => "every value must be finite and every cost above 0",
        })
    }
}

impl std::error::Error for BadPilot {}

impl Pilot<'_> {
    /// The allocation that finds `delta` (of ln time) at 1 % error and 90 % power with least time.
    ///
    /// # Errors
    /// When the pilot is not balanced or too small to show a spread.
    pub fn allocate(&self, delta: f64) -> Result<Allocation, BadPilot> {
        self.check()?;
        let variances = self.variances();
        let mut repeats: Vec<usize> = (1..variances.len())
            .map(|i| {
                let (inner, outer) = (variances[i], variances[i - 1]);
                let best = (self.costs[i - 1] / self.costs[i] * inner / outer).sqrt().ceil();
                if inner == 0.0 { 1 } else { (best as usize).clamp(1, MOST_REPEATS) }
            })
            .collect();
        let mut inside = 1.0;
        let per_outermost: f64 = std::iter::once(1)
            .chain(repeats.iter().copied())
            .zip(&variances)
            .map(|(repeat, variance)| {
                inside *= repeat as f64;
                variance / inside
            })
            .sum();
        repeats.insert(0, units_needed(per_outermost.sqrt(), delta).unwrap_or(usize::MAX).max(2));
        Ok(Allocation { repeats, variances })
    }

    fn check(&self) -> Result<(), BadPilot> {
        let levels = self.counts.len();
        if levels == 0 || levels != self.costs.len() || self.counts.iter().product::<usize>() != self.values.len() {
            return Err(BadPilot::Shape);
        }
        if self.counts.iter().any(|count| *count < 2) {
            return Err(BadPilot::TooFew);
        }
        let sound = self.values.iter().all(|value| value.is_finite()) && self.costs.iter().all(|cost| *cost > 0.0);
        if sound { Ok(()) } else { Err(BadPilot::Value) }
    }

    /// T_i^2 of the paper: the spread of a level's means less what the level inside it explains.
    fn variances(&self) -> Vec<f64> {
        let mut means = self.values.to_vec();
        let mut found = Vec::new();
        let mut inside = 0.0;
        for count in self.counts.iter().rev() {
            let spread = mean(&means.chunks(*count).map(variance).collect::<Vec<_>>());
            found.push(f64::max(spread - inside, 0.0));
            inside = spread / *count as f64;
            means = means.chunks(*count).map(mean).collect();
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_quantile;
    use crate::splitmix::SplitMix;

    /// Values with a given sigma at each of three levels.
    fn pilot(sigmas: [f64; 3], counts: [usize; 3]) -> Vec<f64> {
        let mut random = SplitMix::new(4);
        let mut draw = |sigma: f64| sigma * normal_quantile(random.unit().max(1e-9));
        let mut values = Vec::new();
        for _ in 0..counts[0] {
            let build = draw(sigmas[0]);
            for _ in 0..counts[1] {
                let process = build + draw(sigmas[1]);
                (0..counts[2]).for_each(|_| values.push(process + draw(sigmas[2])));
            }
        }
        values
    }

    fn allocate(sigmas: [f64; 3], costs: [f64; 3]) -> Allocation {
        let counts = [30, 20, 20];
        let values = pilot(sigmas, counts);
        Pilot { values: &values, counts: &counts, costs: &costs }.allocate(0.01).unwrap()
    }

    #[test]
    fn finds_the_spread_of_each_level() {
        let found = allocate([0.02, 0.01, 0.03], [1.0, 1.0, 1.0]).variances;
        for (found, sigma) in found.iter().zip([0.02, 0.01, 0.03]) {
            assert!((found.sqrt() / sigma - 1.0).abs() < 0.35, "{} for {sigma}", found.sqrt());
        }
    }

    #[test]
    fn repeats_go_where_the_spread_is_and_time_is_cheap() {
        let runs = allocate([0.001, 0.001, 0.03], [1.0, 1.0, 1.0]).repeats;
        assert!(runs[2] > 15 && runs[1] <= 3, "{runs:?}");
        let processes = allocate([0.001, 0.03, 0.001], [1.0, 1.0, 1.0]).repeats;
        assert!(processes[1] >= 8 && processes[2] == 1, "{processes:?}");
        let dear_builds = allocate([0.01, 0.01, 0.01], [400.0, 1.0, 1.0]).repeats;
        let cheap_builds = allocate([0.01, 0.01, 0.01], [1.0, 1.0, 1.0]).repeats;
        assert!(dear_builds[1] > 10 * cheap_builds[1] && dear_builds[0] < cheap_builds[0]);
    }

    #[test]
    fn known_allocation() {
        // T^2 inside: ((1-2)^2 x 2) / 1 = 2 each; means 2 and 6: variance 8, less 2/2.
        let pilot = Pilot { values: &[1.0, 3.0, 5.0, 7.0], counts: &[2, 2], costs: &[14.0, 1.0] };
        let found = pilot.allocate(10.0).unwrap();
        assert_eq!(found.variances, [7.0, 2.0]);
        // sqrt(14 x 2 / 7) = 2 inside; outside (3.86 / 10)^2 x (7 + 2/2), at least 2.
        assert_eq!(found.repeats, [2, 2]);
        assert_eq!(pilot.allocate(1.0).unwrap().repeats, [120, 2]);
        // Only the costs' ratio counts.
        let dear = Pilot { costs: &[70.0, 5.0], ..pilot };
        assert_eq!(dear.allocate(1.0).unwrap().repeats, [120, 2]);
    }

    #[test]
    fn bad_pilots() {
        let check = |values: &[f64], counts: &[usize], costs: &[f64], expected: BadPilot| {
            assert_eq!(Pilot { values, counts, costs }.allocate(0.01), Err(expected));
        };
        check(&[1.0, 2.0, 3.0], &[2, 2], &[1.0, 1.0], BadPilot::Shape);
        check(&[1.0, 2.0], &[2], &[1.0, 1.0], BadPilot::Shape);
        check(&[], &[], &[], BadPilot::Shape);
        check(&[1.0, 2.0], &[2, 1], &[1.0, 1.0], BadPilot::TooFew);
        check(&[1.0, f64::NAN], &[2], &[1.0], BadPilot::Value);
        check(&[1.0, 2.0], &[2], &[0.0], BadPilot::Value);
        let said = [BadPilot::Shape, BadPilot::TooFew, BadPilot::Value].map(|bad| bad.to_string());
        assert!(said[0].contains("not balanced") && said[1].contains("two repeats") && said[2].contains("finite"));
    }
}
