//! The tests that others use, for the self-validation's tables. Nothing of ours decides by them.

use crate::robust::{mean, variance};
use crate::special::{normal_cdf, t_two_sided};

/// A rival's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// t, or z.
    pub statistic: f64,
    /// Two-sided.
    pub p: f64,
}

/// Welch's t of b against a, above 0 when b is larger. p is 1 where either has fewer than two values or both have none
/// but equal ones.
pub fn welch(a: &[f64], b: &[f64]) -> Rival {
    if a.len() < 2 || b.len() < 2 {
        return Rival { statistic: 0.0, p: 1.0 };
    }
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let difference = mean(b) - mean(a);
    if va + vb == 0.0 {
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Rival { statistic: difference.signum() * if p == 1.0 { 0.0 } else { f64::INFINITY }, p };
    }
    let statistic = difference / (va + vb).sqrt();
    let df = (va + vb).powi(2) / (va * va / (a.len() as f64 - 1.0) + vb * vb / (b.len() as f64 - 1.0));
    Rival { statistic, p: t_two_sided(statistic, df) }
}

/// Mann and Whitney's test of b against a by the normal approximation with ties and continuity corrected; z is above 0
/// when b is larger. p is 1 for an empty side.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Rival {
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let mut all: Vec<(f64, bool)> = a.iter().map(|x| (*x, false)).chain(b.iter().map(|x| (*x, true))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut ties, mut start) = (0.0, 0.0, 0);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let t = group.len() as f64;
        let rank = start as f64 + f64::midpoint(t, 1.0);
        rank_sum += rank * group.iter().filter(|(_, of_b)| *of_b).count() as f64;
        ties += t * t * t - t;
        start += group.len();
    }
    let u = rank_sum - nb * (nb + 1.0) / 2.0;
    let n = na + nb;
    let sigma = (na * nb / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)))).sqrt();
    let off = u - na * nb / 2.0;
    // Also where a side is empty, or all values are the same.
    if off == 0.0 {
        return Rival { statistic: 0.0, p: 1.0 };
    }
    let statistic = off.signum() * (off.abs() - 0.5).max(0.0) / sigma;
    Rival { statistic, p: (2.0 * normal_cdf(-statistic.abs())).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference values: scipy.stats.ttest_ind(equal_var=False) and mannwhitneyu(method="asymptotic").
    #[test]
    fn agrees_with_scipy() {
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4];
        let found = welch(&a, &b);
        assert!(
            (found.statistic - 2.852_954_870_171_5).abs() < 1e-10 && (found.p - 0.008_071_938_172_195).abs() < 1e-10,
            "{found:?}"
        );
        let found = mann_whitney(&a, &b);
        assert!((found.p - 0.005_788_641_486_744).abs() < 1e-10 && found.statistic > 0.0, "{found:?}");
    }

    #[test]
    fn welch_by_hand() {
        // Equal spreads; one side without any.
        let same = welch(&[1.0, 3.0], &[2.0, 4.0]);
        assert!(
            (same.statistic - 0.5_f64.sqrt()).abs() < 1e-12
                && (same.p - t_two_sided(0.5_f64.sqrt(), 2.0)).abs() < 1e-12
        );
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 3.0]).statistic, 1.0);
        // Squared standard errors 1 and 26/12; degrees of freedom (19/6)^2 / (1/1 + (13/6)^2 / 3) = 1083/277.
        let found = welch(&[1.0, 3.0], &[2.0, 3.0, 7.0, 8.0]);
        let expected = t_two_sided(3.0 / (19.0_f64 / 6.0).sqrt(), 1083.0 / 277.0);
        assert!((found.p - expected).abs() < 1e-12, "{found:?} {expected}");
    }

    #[test]
    fn degenerate_samples_say_nothing() {
        for test in [welch, mann_whitney] {
            assert_eq!(test(&[1.0], &[]).p, 1.0);
            assert_eq!(test(&[], &[1.0]).p, 1.0);
            assert_eq!(test(&[], &[]).p, 1.0);
            assert_eq!(test(&[1.0, 1.0], &[1.0, 1.0]).p, 1.0);
        }
        assert_eq!(welch(&[1.0], &[1.0, 2.0, 4.0]).p, 1.0);
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).statistic, 0.0);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), Rival { statistic: f64::INFINITY, p: 0.0 });
        assert_eq!(welch(&[2.0, 2.0], &[1.0, 1.0]), Rival { statistic: f64::NEG_INFINITY, p: 0.0 });
    }

    proptest! {
        #[test]
        fn exchange_changes_the_sign(a in prop::collection::vec(0.0..9.0, 2..20), b in prop::collection::vec(0.0..9.0, 2..20)) {
            for test in [welch, mann_whitney] {
                let (one, other) = (test(&a, &b), test(&b, &a));
                prop_assert!((one.statistic + other.statistic).abs() < 1e-9);
                prop_assert!((one.p - other.p).abs() < 1e-9 && (0.0..=1.0).contains(&one.p));
            }
        }
    }
}
