//! Location and scale that a tenth of wild values does not move. Must not decide anything.

/// A scaled median absolute deviation estimates sigma of a normal distribution: 1 / Phi^-1(3/4).
pub const MAD_TO_SIGMA: f64 = 1.4826;

/// Median. NaN for an empty slice.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let middle = *middle;
    if n % 2 == 1 {
        return middle;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(middle);
    f64::midpoint(lower, middle)
}

/// Median of |value|. NaN for an empty slice.
pub fn median_absolute(values: &[f64]) -> f64 {
    median(&values.iter().map(|y| y.abs()).collect::<Vec<_>>())
}

/// 1.4826 x the median absolute deviation from the median. NaN for an empty slice.
pub fn mad_sigma(values: &[f64]) -> f64 {
    let center = median(values);
    MAD_TO_SIGMA * median(&values.iter().map(|y| (y - center).abs()).collect::<Vec<_>>())
}

/// The q-quantile, 0 <= q <= 1, by linear interpolation between order statistics (Hyndman and Fan's type 7).
/// NaN for an empty slice.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    quantile_sorted(&values, q)
}

/// As [`quantile`], of values in ascending order.
pub fn quantile_sorted(values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let index = position.floor() as usize;
    let (low, high) = (values[index], values[(index + 1).min(last)]);
    if low == high { low } else { low + (position - index as f64) * (high - low) }
}

/// exp of the mean of ln. NaN for an empty slice or a negative value; 0 when a value is 0.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Arithmetic mean. NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Unbiased sample variance. NaN for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    values.iter().map(|x| (x - center).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        let check = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
        check(median(&[3.0]), 3.0);
        check(median(&[4.0, 1.0]), 2.5);
        check(median(&[9.0, 1.0, 5.0]), 5.0);
        check(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        check(median_absolute(&[-4.0, 1.0, 2.0]), 2.0);
        check(mad_sigma(&[1.0, 2.0, 3.0, 4.0, 100.0]), 1.4826);
        check(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), 1.75);
        check(quantile(&[4.0, 1.0, 3.0, 2.0], 1.0), 4.0);
        check(quantile(&[4.0, 1.0, 3.0, 2.0], 0.0), 1.0);
        check(geometric_mean(&[1.0, 4.0]), 2.0);
        check(mean(&[1.0, 4.0]), 2.5);
        check(variance(&[1.0, 2.0, 3.0]), 1.0);
        assert!(median(&[]).is_nan() && quantile(&[], 0.5).is_nan() && mad_sigma(&[]).is_nan());
    }

    #[test]
    fn one_wild_value_in_ten_moves_neither_median_nor_sigma_far() {
        let mut values: Vec<f64> = (0..100).map(f64::from).collect();
        let (center, sigma) = (median(&values), mad_sigma(&values));
        for value in values.iter_mut().take(10) {
            *value = 1e12;
        }
        assert!((median(&values) - center).abs() < 0.3 * sigma);
        assert!((mad_sigma(&values) / sigma - 1.0).abs() < 0.25);
    }

    proptest! {
        #[test]
        fn median_is_the_half_quantile(values in prop::collection::vec(-1e6_f64..1e6, 1..60)) {
            prop_assert!((median(&values) - quantile(&values, 0.5)).abs() < 1e-6);
        }

        #[test]
        fn shift_and_scale(values in prop::collection::vec(-1e3_f64..1e3, 2..60), a in 0.1_f64..10.0, b in -1e3_f64..1e3) {
            let moved: Vec<f64> = values.iter().map(|x| a * x + b).collect();
            prop_assert!((median(&moved) - (a * median(&values) + b)).abs() < 1e-6);
            prop_assert!((mad_sigma(&moved) - a * mad_sigma(&values)).abs() < 1e-6);
            prop_assert!(quantile(&values, 0.2) <= quantile(&values, 0.7));
        }
    }
}
