//! Order statistics of a few samples. Pure.

use model::{Figure, Interval, Quantity};

/// Scale from the median absolute deviation to the standard deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Best, middle and quartiles of a set of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) best: f64,
    pub(crate) median: f64,
    pub(crate) quartiles: Interval,
    /// Where the true median lies, 95 %, whatever the distribution.
    pub(crate) middle: Interval,
    pub(crate) samples: usize,
}

impl Summary {
    /// Of at least one rate.
    pub(crate) fn of(mut rates: Vec<f64>) -> Option<Self> {
        rates.sort_by(f64::total_cmp);
        let quartiles = Interval { low: quantile(&rates, 0.25)?, high: quantile(&rates, 0.75)? };
        let (best, median) = (*rates.last()?, quantile(&rates, 0.5)?);
        Some(Self { best, median, quartiles, middle: middle(&rates)?, samples: rates.len() })
    }

    /// Every rate times `factor`, which is positive.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let scale = |i: Interval| Interval { low: i.low * factor, high: i.high * factor };
        Self {
            best: self.best * factor,
            median: self.median * factor,
            quartiles: scale(self.quartiles),
            middle: scale(self.middle),
            samples: self.samples,
        }
    }

    /// As a figure of what each unit takes, where the rates are units a second.
    pub(crate) fn per_unit(self) -> Self {
        let invert = |i: Interval| Interval { low: 1.0 / i.high, high: 1.0 / i.low };
        Self {
            best: 1.0 / self.best,
            median: 1.0 / self.median,
            quartiles: invert(self.quartiles),
            middle: invert(self.middle),
            samples: self.samples,
        }
    }

    /// As a figure of a map.
    pub(crate) fn figure(&self, name: &str, quantity: Quantity, method: impl Into<String>) -> Figure {
        Figure {
            name: name.to_owned(),
            quantity,
            value: self.median,
            interval: self.middle,
            samples: self.samples as u32,
            method: method.into(),
            witness: None,
        }
    }
}

/// Ranks around the middle whose count below the true median is binomial with one half (Hahn, Meeker 1991); the whole
/// range of fewer than six values.
fn middle(sorted: &[f64]) -> Option<Interval> {
    let n = sorted.len();
    let half = 0.98 * (n as f64).sqrt();
    let low = ((n as f64 / 2.0 - half).floor().max(0.0)) as usize;
    let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n.checked_sub(1)?);
    Some(Interval { low: sorted[low], high: sorted[high] })
}

/// Linear interpolation between the order statistics of a sorted slice.
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let at = p * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

/// The median, if there is a value.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// 1.4826 x the median absolute deviation from the median.
pub(crate) fn robust_sigma(values: &[f64]) -> Option<f64> {
    let middle = median(values.to_vec())?;
    Some(MAD_TO_SIGMA * median(values.iter().map(|x| (x - middle).abs()).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let check = |values: &[f64], expected| assert_eq!(median(values.to_vec()), expected);
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 2.0], Some(2.0));
    }

    #[test]
    fn quartiles_and_best() {
        let summary = Summary::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        let (quartiles, middle) = (Interval { low: 2.0, high: 4.0 }, Interval { low: 1.0, high: 5.0 });
        let expected = Summary { best: 5.0, median: 3.0, quartiles, middle, samples: 5 };
        assert_eq!(summary, expected);
        assert_eq!(Summary::of(vec![]), None);
    }

    #[test]
    fn the_middle_narrows_with_samples() {
        let summary = Summary::of((0..=1000).map(f64::from).collect()).unwrap();
        assert_eq!((summary.middle.low, summary.middle.high), (469.0, 532.0));
        let each = summary.scaled(2.0).per_unit();
        assert_eq!((each.median, each.middle.high), (1e-3, 1.0 / 938.0));
    }

    #[test]
    fn sigma_ignores_one_outlier() {
        assert_eq!(robust_sigma(&[-1.0, 0.0, 1.0, 0.0, 1000.0]), Some(1.4826));
        assert_eq!(robust_sigma(&[]), None);
    }
}
