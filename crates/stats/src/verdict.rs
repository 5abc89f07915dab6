//! What an interval of ln(t_B / t_A) says about B against A. Never forces an answer.

use serde::{Deserialize, Serialize};

/// A closed interval; an end that the data cannot bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Everything: what no data says.
    pub const UNBOUNDED: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether it lies inside +-`margin`.
    pub fn inside(&self, margin: f64) -> bool {
        self.low >= -margin && self.high <= margin
    }

    /// What lies in both; `low` is above `high` where nothing does.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Whether it holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A value and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Hodges-Lehmann estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Estimate {
    /// The interval alone.
    pub fn interval(&self) -> Interval {
        Interval { low: self.low, high: self.high }
    }
}

/// B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// B takes less time: the interval excludes 0 and does not lie inside the margin.
    Better,
    /// B takes more time.
    Worse,
    /// The interval lies inside the margin.
    Equivalent,
    /// None of these.
    Undecided,
}

impl Decision {
    /// What `interval`, of ln(t_B / t_A), says where differences within +-`margin` do not matter.
    pub fn of(interval: Interval, margin: f64) -> Self {
        if margin > 0.0 && interval.inside(margin) {
            Self::Equivalent
        } else if interval.high < 0.0 {
            Self::Better
        } else if interval.low > 0.0 {
            Self::Worse
        } else {
            Self::Undecided
        }
    }

    /// What a gate asks: [`Better`](Self::Better) or [`Worse`](Self::Worse) only when the whole interval lies beyond
    /// the margin.
    pub fn beyond(interval: Interval, margin: f64) -> Self {
        if interval.high < -margin {
            Self::Better
        } else if interval.low > margin {
            Self::Worse
        } else if margin > 0.0 && interval.inside(margin) {
            Self::Equivalent
        } else {
            Self::Undecided
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Decision::{Better, Equivalent, Undecided, Worse};
    use super::*;

    #[test]
    fn names_are_those_of_the_record() {
        for decision in [Better, Worse, Equivalent, Undecided] {
            assert_eq!(format!("{decision:?}").to_lowercase(), decision.name());
        }
    }

    #[test]
    fn table() {
        let check = |low: f64, high: f64, margin: f64, of: Decision, beyond: Decision| {
            assert_eq!(Decision::of(Interval { low, high }, margin), of, "of {low} {high} {margin}");
            assert_eq!(Decision::beyond(Interval { low, high }, margin), beyond, "beyond {low} {high} {margin}");
        };
        check(-0.02, -0.01, 0.005, Better, Better);
        check(0.01, 0.02, 0.005, Worse, Worse);
        check(-0.02, -0.001, 0.005, Better, Undecided);
        check(0.001, 0.02, 0.005, Worse, Undecided);
        check(0.001, 0.004, 0.005, Equivalent, Equivalent);
        check(-0.005, 0.005, 0.005, Equivalent, Equivalent);
        check(-0.006, 0.004, 0.005, Undecided, Undecided);
        check(-0.001, 0.02, 0.005, Undecided, Undecided);
        check(f64::NEG_INFINITY, f64::INFINITY, 0.005, Undecided, Undecided);
        check(0.0, 0.0, 0.0, Undecided, Undecided);
        check(1e-9, 1e-3, 0.0, Worse, Worse);
        check(0.0, 0.02, 0.0, Undecided, Undecided);
        check(0.005, 0.02, 0.005, Worse, Undecided);
    }
}
