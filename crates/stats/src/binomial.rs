//! Counts of right and wrong: the Clopper-Pearson interval, and the odds that an acceptance test itself fails.

use crate::special::{beta_cdf, beta_quantile};
use crate::verdict::Interval;

/// Interval of the rate behind `hits` of `n`, with an error of at most `alpha`. [0, 1] for no trials.
pub fn clopper_pearson(hits: usize, n: usize, alpha: f64) -> Interval {
    let (k, m) = (hits as f64, n.saturating_sub(hits) as f64);
    let low = if hits == 0 { 0.0 } else { beta_quantile(k, m + 1.0, alpha / 2.0) };
    let high = if hits >= n { 1.0 } else { beta_quantile(k + 1.0, m, 1.0 - alpha / 2.0) };
    Interval { low, high }
}

/// Probability of more than `hits` of `n` at a true `rate`: how often "at most `hits`" fails a right implementation.
pub fn binomial_tail(hits: usize, n: usize, rate: f64) -> f64 {
    if hits >= n { 0.0 } else { beta_cdf(hits as f64 + 1.0, (n - hits) as f64, rate) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals() {
        let check = |hits, n, low: f64, high: f64| {
            let found = clopper_pearson(hits, n, 0.05);
            assert!((found.low - low).abs() < 1e-4 && (found.high - high).abs() < 1e-4, "{hits} of {n}: {found:?}");
        };
        check(0, 10, 0.0, 0.3085);
        check(10, 10, 0.6915, 1.0);
        check(2, 200, 0.0012, 0.0357);
        check(5, 10, 0.1871, 0.8129);
        check(0, 0, 0.0, 1.0);
    }

    #[test]
    fn the_odds_of_acceptance_tests() {
        let check = |got: f64, expected: f64| assert!((got - expected).abs() < 5e-4, "{got} is not {expected}");
        check(binomial_tail(4, 200, 0.01), 0.052);
        check(binomial_tail(6, 200, 0.01), 0.004);
        // At least 45 of 50 at 95 % fails when more than 5 are missed.
        check(binomial_tail(5, 50, 0.05), 0.038);
        check(binomial_tail(50, 50, 0.5), 0.0);
    }
}
