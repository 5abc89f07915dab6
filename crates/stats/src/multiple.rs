//! Choosing among many is many tests: e-BH over a finished campaign, and the shares of alpha for promotions.

use std::f64::consts::PI;

/// e-BH (Wang and Ramdas 2022) at false discovery rate `alpha`: indices of the accepted hypotheses, the largest
/// e-value first. Holds under any dependence; the e-values must not have been stopped at 1/alpha.
pub fn e_bh(e_values: &[f64], alpha: f64) -> Vec<usize> {
    let m = e_values.len() as f64;
    let mut order: Vec<usize> = (0..e_values.len()).filter(|i| !e_values[*i].is_nan()).collect();
    order.sort_by(|a, b| e_values[*b].total_cmp(&e_values[*a]));
    let accepted = (1..=order.len()).rev().find(|k| e_values[order[k - 1]] >= m / (*k as f64 * alpha)).unwrap_or(0);
    order.truncate(accepted);
    order
}

/// Share of `alpha` for the k-th promotion, from 1: 6 alpha / (pi^2 k^2). The shares of all k add up to alpha.
pub fn promotion_alpha(alpha: f64, k: u32) -> f64 {
    6.0 * alpha / (PI * f64::from(k.max(1))).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_sets() {
        let check = |e: &[f64], expected: &[usize]| assert_eq!(e_bh(e, 0.1), expected, "{e:?}");
        check(&[], &[]);
        check(&[10.0], &[0]);
        check(&[9.9], &[]);
        check(&[5.0, 20.0], &[1]);
        // The second is below 2 / 0.1 but at least 2 / (2 x 0.1): both.
        check(&[10.0, 15.0], &[1, 0]);
        check(&[f64::NAN, 30.0, 1.0], &[1]);
        check(&[f64::INFINITY, 0.0, 15.0], &[0, 2]);
    }

    #[test]
    fn shares_add_up_to_alpha() {
        let sum: f64 = (1..100_000).map(|k| promotion_alpha(0.01, k)).sum();
        assert!((sum - 0.01).abs() < 1e-6, "{sum}");
        assert_eq!(promotion_alpha(0.01, 2) * 4.0, promotion_alpha(0.01, 1));
    }

    proptest! {
        #[test]
        fn more_evidence_accepts_no_less(e in prop::collection::vec(0.0..500.0, 1..30), factor in 1.0..4.0) {
            let stronger: Vec<f64> = e.iter().map(|e| e * factor).collect();
            let (before, after) = (e_bh(&e, 0.05), e_bh(&stronger, 0.05));
            prop_assert!(before.iter().all(|i| after.contains(i)));
            prop_assert!(e_bh(&e, 0.01).len() <= before.len());
            prop_assert!(before.iter().all(|i| e[*i] >= 1.0 / 0.05));
        }
    }
}
