//! Order statistics of a few samples. Pure.

use model::Interval;

/// Scale from the median absolute deviation to the standard deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Best, middle and quartiles of a set of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) best: f64,
    pub(crate) median: f64,
    pub(crate) quartiles: Interval,
    pub(crate) samples: usize,
}

impl Summary {
    /// Of at least one rate.
    pub(crate) fn of(mut rates: Vec<f64>) -> Option<Self> {
        rates.sort_by(f64::total_cmp);
        let quartiles = Interval { low: quantile(&rates, 0.25)?, high: quantile(&rates, 0.75)? };
        let (best, median) = (*rates.last()?, quantile(&rates, 0.5)?);
        Some(Self { best, median, quartiles, samples: rates.len() })
    }
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
        let expected = Summary { best: 5.0, median: 3.0, quartiles: Interval { low: 2.0, high: 4.0 }, samples: 5 };
        assert_eq!(summary, expected);
        assert_eq!(Summary::of(vec![]), None);
    }

    #[test]
    fn sigma_ignores_one_outlier() {
        assert_eq!(robust_sigma(&[-1.0, 0.0, 1.0, 0.0, 1000.0]), Some(1.4826));
        assert_eq!(robust_sigma(&[]), None);
    }
}
