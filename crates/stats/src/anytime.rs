//! The anytime test: an e-process that may be looked at after every unit.
//!
//! S = sum psi(y), V = sum psi(y)^2; for symmetric y, exp(lambda S - lambda^2 V / 2) is a supermartingale for every
//! lambda (de la Pena), and its mixture over lambda ~ N(0, 1/rho) has the closed form below (Howard, Ramdas,
//! McAuliffe, Sekhon, arXiv:1810.08240). By Ville's inequality E reaches 1/alpha with probability at most alpha.

use crate::clip::psi;

/// A running test of "y is symmetric about 0".
#[derive(Clone, Debug)]
pub struct Anytime {
    clip: f64,
    rho: f64,
    alpha: f64,
    sum: f64,
    squares: f64,
    n: usize,
    decided: bool,
}

impl Anytime {
    /// `clip` bounds |psi|; `v_opt` is the V at which the test should be most powerful: the number of units at which a
    /// decision is hoped for times the burn-in's mean psi^2; `alpha` is the error rate.
    pub fn new(clip: f64, v_opt: f64, alpha: f64) -> Self {
        Self { clip, rho: rho(v_opt, alpha), alpha, sum: 0.0, squares: 0.0, n: 0, decided: false }
    }

    /// Counts one unit. An infinite y is clipped like any other; NaN is a bug of the caller.
    pub fn push(&mut self, y: f64) {
        assert!(!y.is_nan(), "y is NaN: a unit without a time must not be counted");
        let y = psi(y, self.clip);
        self.sum += y;
        self.squares += y * y;
        self.n += 1;
        self.decided |= self.rejects();
    }

    /// The e-value now.
    pub fn e(&self) -> f64 {
        log_e(self.sum, self.squares, self.rho).exp()
    }

    /// Units counted.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Whether E has reached 1/alpha at any unit so far: Ville's inequality covers the highest E, not just the last.
    pub fn decided(&self) -> bool {
        self.decided
    }

    /// Whether E is at least 1/alpha now.
    pub fn rejects(&self) -> bool {
        log_e(self.sum, self.squares, self.rho) >= -self.alpha.ln()
    }

    /// Sum of psi(y): above 0 when B takes longer.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

/// The mixing precision that makes the test most powerful at V = `v_opt`.
pub(crate) fn rho(v_opt: f64, alpha: f64) -> f64 {
    let log = 2.0 * (1.0 / alpha).ln();
    v_opt / (log + (1.0 + log).ln())
}

/// ln E: finite where E itself would overflow.
pub(crate) fn log_e(sum: f64, squares: f64, rho: f64) -> f64 {
    let v = squares + rho;
    0.5 * (rho / v).ln() + sum * sum / (2.0 * v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(ys: &[f64], clip: f64, v_opt: f64) -> Anytime {
        let mut test = Anytime::new(clip, v_opt, 0.01);
        for y in ys {
            test.push(*y);
        }
        test
    }

    #[test]
    fn decides_at_exactly_thirteen_full_units() {
        for clip in [1e-4, 0.02, 3.0] {
            for y in [clip, 2.0 * clip, -clip, f64::NEG_INFINITY] {
                let twelve = run(&[y; 12], clip, 13.0 * clip * clip);
                assert!(twelve.e() < 100.0 && !twelve.decided(), "{}", twelve.e());
                let thirteen = run(&[y; 13], clip, 13.0 * clip * clip);
                assert!(thirteen.e() >= 100.0 && thirteen.decided(), "{}", thirteen.e());
                assert_eq!(thirteen.n(), 13);
            }
        }
    }

    #[test]
    fn closed_form() {
        // V = 2, S = 2, rho = 1: sqrt(1/3) exp(4/6).
        assert!((log_e(2.0, 2.0, 1.0).exp() - (1.0_f64 / 3.0).sqrt() * (4.0_f64 / 6.0).exp()).abs() < 1e-15);
        let log = 2.0 * 100.0_f64.ln();
        assert_eq!(rho(1.0, 0.01), 1.0 / (log + (1.0 + log).ln()));
    }

    #[test]
    fn a_decision_stays_when_e_falls_back() {
        let mut test = run(&[1.0; 14], 1.0, 13.0);
        (0..30).for_each(|_| test.push(-1.0));
        assert!(test.decided() && !test.rejects());
    }

    #[test]
    fn starts_at_one_and_never_overflows() {
        assert_eq!(run(&[], 1.0, 13.0).e(), 1.0);
        let long = run(&vec![1.0; 10_000], 1.0, 13.0);
        assert!(long.decided() && long.rejects() && long.e() == f64::INFINITY);
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn nan_is_a_bug() {
        run(&[f64::NAN], 1.0, 13.0);
    }

    fn signed(y: f64, coin: u32) -> f64 {
        if coin & 1 == 1 { y } else { -y }
    }

    proptest! {
        #[test]
        fn symmetric_and_free_of_scale(ys in prop::collection::vec(-1.0..1.0, 1..50), scale in 1e-3..1e3) {
            let test = run(&ys, 0.5, 2.0);
            let mirrored = run(&ys.iter().map(|y| -y).collect::<Vec<_>>(), 0.5, 2.0);
            let scaled = run(&ys.iter().map(|y| y * scale).collect::<Vec<_>>(), 0.5 * scale, 2.0 * scale * scale);
            prop_assert!((test.e() - mirrored.e()).abs() <= 1e-12 * test.e());
            prop_assert!((test.e() - scaled.e()).abs() <= 1e-9 * test.e());
            prop_assert!((test.sum() + mirrored.sum()).abs() < 1e-12);
        }

        #[test]
        fn the_order_does_not_matter_to_e(mut ys in prop::collection::vec(-1.0..1.0, 2..50)) {
            let forward = run(&ys, 0.5, 2.0).e();
            ys.reverse();
            prop_assert!((forward - run(&ys, 0.5, 2.0).e()).abs() <= 1e-9 * forward);
        }

        /// E has mean at most 1 over all sign vectors: the property that validity rests on.
        #[test]
        fn mean_over_all_signs_is_at_most_one(ys in prop::collection::vec(0.0..1.0, 1..10), v_opt in 0.1..20.0) {
            let n = ys.len();
            let mean = (0..1_u32 << n).map(|signs| {
                let flipped: Vec<f64> = (0..n).map(|i: usize| signed(ys[i], signs >> i)).collect();
                run(&flipped, 0.7, v_opt).e()
            }).sum::<f64>() / f64::from(1_u32 << n);
            prop_assert!(mean <= 1.0 + 1e-9, "{}", mean);
        }
    }
}
