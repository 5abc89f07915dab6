//! What a machine's noise lets one see: the smallest effect for n units, and the units for an effect.

use crate::robust;
use serde::{Deserialize, Serialize};

/// z(0.995) + z(0.90): 1 % error on two sides and 90 % power.
const ERROR_AND_POWER: f64 = 3.86;

/// Spread of y = ln(t_B / t_A) over identical arms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// 1.4826 x the median absolute deviation.
    pub sigma: f64,
    /// Units that it was measured from.
    pub n: usize,
}

impl Noise {
    /// From the y of identical arms. None for fewer than two.
    pub fn of(ys: &[f64]) -> Option<Self> {
        (ys.len() >= 2).then(|| Self { sigma: robust::mad_sigma(ys), n: ys.len() })
    }

    /// See [`smallest_effect`].
    pub fn smallest_effect(&self, n: usize) -> f64 {
        smallest_effect(self.sigma, n)
    }
}

/// Smallest |ln(t_B / t_A)| found in 9 of 10 runs of `n` units at 1 % error. Infinite for no units.
pub fn smallest_effect(sigma: f64, n: usize) -> f64 {
    ERROR_AND_POWER * sigma / (n as f64).sqrt()
}

/// Units that find a difference of `delta` in 9 of 10 runs at 1 % error. None when no number does (`delta` is 0).
pub fn units_needed(sigma: f64, delta: f64) -> Option<usize> {
    let n = (ERROR_AND_POWER * sigma / delta).powi(2).ceil();
    (n.is_finite() && n < 1e15).then_some((n as usize).max(1))
}

/// Units that put the whole interval beyond `margin` when the truth is `delta`. None when `delta` does not exceed it.
pub fn gate_units(sigma: f64, delta: f64, margin: f64) -> Option<usize> {
    let beyond = delta.abs() - margin;
    (beyond > 0.0).then(|| units_needed(sigma, beyond)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_counts() {
        assert_eq!(units_needed(0.002, 0.01), Some(1));
        assert_eq!(units_needed(0.05, 0.02), Some(94));
        assert_eq!(units_needed(0.05, 0.0), None);
        assert_eq!(units_needed(0.0, 0.01), Some(1));
        assert_eq!(gate_units(0.01, 0.02, 0.005), Some(7));
        assert_eq!(gate_units(0.01, -0.02, 0.005), Some(7));
        assert_eq!(gate_units(0.01, 0.004, 0.005), None);
        assert_eq!(smallest_effect(0.01, 0), f64::INFINITY);
        assert_eq!(Noise { sigma: 0.02, n: 9 }.smallest_effect(16), 3.86 * 0.02 / 4.0);
        assert_eq!(units_needed(1.0, 1e-8), None);
        assert!(Noise::of(&[0.1]).is_none());
        assert_eq!(Noise::of(&[-1.0, 0.0, 1.0]), Some(Noise { sigma: 1.4826, n: 3 }));
    }

    proptest! {
        #[test]
        fn counts_and_effects_invert(sigma in 1e-4..0.1, n in 1_usize..100_000) {
            let delta = smallest_effect(sigma, n);
            let back = units_needed(sigma, delta).unwrap();
            prop_assert!(back == n || back == n + 1);
            prop_assert!(smallest_effect(sigma, n + 1) < delta);
            prop_assert!(gate_units(sigma, delta, delta / 2.0).unwrap() >= n);
        }
    }
}
