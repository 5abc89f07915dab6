//! The sign-flip test for a fixed number of units. Never to be looked at on the way.

use crate::clip::psi;
use crate::splitmix::SplitMix;

/// Up to this many units all 2^n sign vectors are enumerated.
pub const EXACT_UP_TO: usize = 16;

/// Sign vectors drawn beyond that: the smallest p is then 1e-4.
pub const RESAMPLES: u32 = 9_999;

/// Sums that differ by rounding alone are ties, and a tie counts against the difference.
const TIE: f64 = 1e-12;

/// Two-sided p of "y is symmetric about 0": exact up to [`EXACT_UP_TO`] units, else over [`RESAMPLES`] random sign
/// vectors with the observed one counted. 1 for an empty slice.
pub fn sign_flip_p(ys: &[f64], clip: f64, seed: u64) -> f64 {
    sign_flip_p_with(ys, clip, RESAMPLES, seed)
}

/// As [`sign_flip_p`], with the number of random sign vectors beyond the exact range: the smallest p is
/// 1 / (`resamples` + 1), so a test at a small alpha needs many.
pub fn sign_flip_p_with(ys: &[f64], clip: f64, resamples: u32, seed: u64) -> f64 {
    assert!(ys.iter().all(|y| !y.is_nan()), "y is NaN: a unit without a time must not be counted");
    let values: Vec<f64> = ys.iter().map(|y| psi(*y, clip)).collect();
    if values.len() <= EXACT_UP_TO { exact(&values) } else { resampled(&values, resamples, seed) }
}

fn threshold(values: &[f64]) -> f64 {
    values.iter().sum::<f64>().abs() - TIE * values.iter().map(|y| y.abs()).sum::<f64>()
}

/// Over all sign vectors. Their sums come in pairs +-s, so the last sign is held fixed.
pub(crate) fn exact(values: &[f64]) -> f64 {
    let Some((last, rest)) = values.split_last() else { return 1.0 };
    let threshold = threshold(values);
    let mut sums = vec![*last];
    sums.reserve(1 << rest.len());
    for value in rest {
        for i in 0..sums.len() {
            sums.push(sums[i] - value);
            sums[i] += value;
        }
    }
    sums.iter().filter(|sum| sum.abs() >= threshold).count() as f64 / sums.len() as f64
}

fn resampled(values: &[f64], resamples: u32, seed: u64) -> f64 {
    let threshold = threshold(values);
    let mut random = SplitMix::new(seed);
    let reached = (0..resamples).filter(|_| signed_sum(values, &mut random).abs() >= threshold).count();
    (reached as f64 + 1.0) / (f64::from(resamples) + 1.0)
}

fn signed_sum(values: &[f64], random: &mut SplitMix) -> f64 {
    let mut sum = 0.0;
    for chunk in values.chunks(64) {
        let mut bits = random.bits();
        for value in chunk {
            // The coin goes straight into the sign bit: no branch to mispredict.
            sum += f64::from_bits(value.to_bits() ^ (bits << 63));
            bits >>= 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_samples_exactly() {
        let check = |ys: &[f64], expected: f64| assert_eq!(sign_flip_p(ys, 1.0, 7), expected, "{ys:?}");
        check(&[], 1.0);
        check(&[0.5], 1.0);
        check(&[0.5, 0.5], 0.5);
        check(&[0.5, -0.5], 1.0);
        check(&[0.0; 6], 1.0);
        // Five of a sign cannot reach 5 %, eight reach 0.8 %.
        check(&[0.1; 5], 2.0 / 32.0);
        check(&[0.1; 8], 2.0 / 256.0);
        // 3 + 2 + 1 = 6 is reached by +++ and ---; 3 + 2 - 1 = 4 by those, ++- and --+.
        check(&[0.3, 0.2, 0.1], 2.0 / 8.0);
        check(&[0.3, 0.2, -0.1], 4.0 / 8.0);
        // The clip makes 100 as large as 1.
        check(&[100.0, 1.0, -1.0], 1.0);
    }

    #[test]
    fn resampling_agrees_with_enumeration() {
        let ys: Vec<f64> = (0..16).map(|i| f64::from(i % 7) * 0.1 - 0.18).collect();
        let (exact, drawn) = (exact(&ys), resampled(&ys, 20_000, 3));
        assert!((exact - drawn).abs() < 0.015, "{exact} {drawn}");
    }

    #[test]
    fn the_observed_vector_counts() {
        assert_eq!(sign_flip_p_with(&[1.0; 40], 1.0, 999, 1), 1e-3);
        assert_eq!(sign_flip_p_with(&[0.0; 40], 1.0, 999, 1), 1.0);
    }

    fn signed(y: f64, coin: u32) -> f64 {
        if coin & 1 == 1 { y } else { -y }
    }

    proptest! {
        #[test]
        fn symmetric_scaled_and_in_range(ys in prop::collection::vec(-1.0..1.0, 0..24), scale in 1e-3..1e3) {
            let p = sign_flip_p_with(&ys, 0.5, 200, 1);
            let mirrored: Vec<f64> = ys.iter().map(|y| -y).collect();
            let scaled: Vec<f64> = ys.iter().map(|y| y * scale).collect();
            prop_assert!(p > 0.0 && p <= 1.0);
            prop_assert_eq!(p, sign_flip_p_with(&mirrored, 0.5, 200, 1));
            prop_assert_eq!(p, sign_flip_p_with(&scaled, 0.5 * scale, 200, 1));
        }

        /// p is uniform under the null: over all sign vectors, the share with p <= a is at most a.
        #[test]
        fn valid_at_every_level(ys in prop::collection::vec(0.01..1.0, 1..9), level in 0.01..1.0) {
            let n = ys.len();
            let rejected = (0..1_u32 << n).filter(|signs| {
                let flipped: Vec<f64> = (0..n).map(|i: usize| signed(ys[i], signs >> i)).collect();
                exact(&flipped) <= level
            }).count();
            prop_assert!(rejected as f64 <= level * f64::from(1_u32 << n));
        }
    }
}
