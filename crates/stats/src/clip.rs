//! psi: the clip that keeps one wild pair from deciding a comparison. Fixed before the first counted unit.

use crate::robust;
use serde::{Deserialize, Serialize};

/// The clip lies at this many times the burn-in's median |y|.
const CLIP_AT: f64 = 3.0;

/// Clip of a burn-in whose pairs were all ties: any later difference then counts by its sign alone.
const SMALLEST_CLIP: f64 = 1e-9;

/// Where y = ln(t_B / t_A) is clipped, and how large a clipped y is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    /// psi(y) lies within +-`at`.
    pub at: f64,
    /// Mean of psi(y)^2 over the burn-in.
    pub mean_square: f64,
}

impl Clip {
    /// From the y of a burn-in, which must not be counted afterwards. The smallest clip for an empty one.
    pub fn of_burn_in(ys: &[f64]) -> Self {
        let scale = CLIP_AT * robust::median_absolute(ys);
        let at = if scale > SMALLEST_CLIP { scale } else { SMALLEST_CLIP };
        let squares = ys.iter().map(|y| psi(*y, at).powi(2)).sum::<f64>() / ys.len().max(1) as f64;
        Self { at, mean_square: if squares > 0.0 { squares } else { at * at } }
    }

    /// From a sigma of identical arms instead of a burn-in: the clip of a normal y with that sigma.
    pub fn of_sigma(sigma: f64) -> Self {
        // Median |y| of a normal y is sigma / 1.4826; clipped at 2.02 sigma its mean square is 0.923 sigma^2.
        let at = (CLIP_AT * sigma / robust::MAD_TO_SIGMA).max(SMALLEST_CLIP);
        Self { at, mean_square: 0.923 * (at * robust::MAD_TO_SIGMA / CLIP_AT).powi(2) }
    }

    /// psi(y).
    pub fn psi(&self, y: f64) -> f64 {
        psi(y, self.at)
    }
}

/// y, held within +-`clip`.
pub(crate) fn psi(y: f64, clip: f64) -> f64 {
    y.clamp(-clip, clip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_burn_in() {
        let clip = Clip::of_burn_in(&[-1.0, 1.0, -2.0, 2.0, 50.0]);
        assert_eq!(clip.at, 6.0);
        assert_eq!(clip.mean_square, (1.0 + 1.0 + 4.0 + 4.0 + 36.0) / 5.0);
        assert_eq!((clip.psi(7.0), clip.psi(-7.0), clip.psi(0.5)), (6.0, -6.0, 0.5));
    }

    #[test]
    fn a_burn_in_of_ties_leaves_a_sign_test() {
        for ys in [&[][..], &[0.0, 0.0, 0.0]] {
            let clip = Clip::of_burn_in(ys);
            assert_eq!(clip.at, SMALLEST_CLIP);
            assert_eq!(clip.mean_square, SMALLEST_CLIP * SMALLEST_CLIP);
        }
    }

    #[test]
    fn sigma_and_burn_in_agree_on_a_normal_sample() {
        let ys: Vec<f64> = (1..2000).map(|i| 0.01 * crate::normal_quantile(f64::from(i) / 2000.0)).collect();
        let (a, b) = (Clip::of_burn_in(&ys), Clip::of_sigma(0.01));
        assert!((a.at / b.at - 1.0).abs() < 0.01, "{a:?} {b:?}");
        assert!((a.mean_square / b.mean_square - 1.0).abs() < 0.02, "{a:?} {b:?}");
    }
}
