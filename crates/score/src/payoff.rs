//! Which gap pays: Amdahl's law over the parts of a step.
//!
//! Must not hide a target whose fraction is unknown: it is ranked last and says so.

use serde::{Deserialize, Serialize};

/// One part of a step that could be faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its share of the step's wall time, idle time included.
    pub share: f64,
    /// Fraction of its ceiling that it reaches, when that is known.
    pub fraction: Option<f64>,
}

/// A target with what it could pay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// Which.
    pub target: Target,
    /// The step's speed-up at most; none when the fraction is unknown or makes no sense.
    pub payoff: Option<f64>,
}

/// The step's speed-up at most, when a part with `share` of its time goes from `fraction` of its ceiling to all of it:
/// 1 / (1 - share (1 - fraction)).
///
/// None when `share` is not in 0..=1 or `fraction` is not positive. A fraction above 1 leaves nothing to gain.
pub fn payoff(share: f64, fraction: f64) -> Option<f64> {
    ((0.0..=1.0).contains(&share) && fraction > 0.0 && fraction.is_finite())
        .then(|| 1.0 / (1.0 - share * (1.0 - fraction.min(1.0))))
}

/// The targets by payoff, the largest first; those without one last, by share.
pub fn rank(targets: Vec<Target>) -> Vec<Ranked> {
    let ranked = |target: Target| Ranked { payoff: target.fraction.and_then(|f| payoff(target.share, f)), target };
    let mut all: Vec<Ranked> = targets.into_iter().map(ranked).collect();
    // No payoff counts as 0, below every real one.
    let key = |ranked: &Ranked| ranked.payoff.unwrap_or(0.0);
    all.sort_by(|a, b| key(b).total_cmp(&key(a)).then(b.target.share.total_cmp(&a.target.share)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdahl() {
        let check = |share: f64, fraction: f64, expected: Option<f64>| {
            let found = payoff(share, fraction);
            assert_eq!(found.is_some(), expected.is_some(), "{share} {fraction}");
            let (found, expected) = (found.unwrap_or(1.0), expected.unwrap_or(1.0));
            assert!((found - expected).abs() < 1e-12, "{share} {fraction}: {found}");
        };
        check(1.0, 0.25, Some(4.0));
        check(0.5, 0.5, Some(4.0 / 3.0));
        check(0.1, 0.001, Some(1.0 / 0.9001));
        check(0.0, 0.1, Some(1.0));
        check(0.7, 1.0, Some(1.0));
        check(0.7, 1.2, Some(1.0));
        check(1.1, 0.5, None);
        check(-0.1, 0.5, None);
        check(f64::NAN, 0.5, None);
        check(0.5, 0.0, None);
        check(0.5, f64::NAN, None);
    }

    #[test]
    fn ranking() {
        let target = |name: &str, share, fraction| Target { name: name.into(), share, fraction };
        let ranked = rank(vec![
            target("near its ceiling", 0.5, Some(0.95)),
            target("unknown", 0.3, None),
            target("far off, small", 0.05, Some(0.1)),
            target("far off, large", 0.4, Some(0.3)),
            target("unknown, larger", 0.4, None),
        ]);
        let names: Vec<&str> = ranked.iter().map(|ranked| ranked.target.name.as_str()).collect();
        assert_eq!(names, ["far off, large", "far off, small", "near its ceiling", "unknown, larger", "unknown"]);
        assert_eq!(ranked[4].payoff, None);
    }
}
