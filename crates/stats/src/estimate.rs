//! How large the difference is: the Hodges-Lehmann estimate, and intervals made by inverting the tests.
//!
//! An interval is the set of shifts theta for which the test of y - theta does not reject, searched outward from the
//! shift at which sum psi(y - theta) is 0. On either side of it S^2 / V only grows, so the set is an interval.

use crate::anytime;
use crate::clip::{Clip, psi};
use crate::sign_flip::{self, EXACT_UP_TO};
use crate::special::normal_quantile;
use crate::verdict::Interval;

/// Median of the Walsh averages (y_i + y_j) / 2, i <= j. NaN for an empty slice.
///
/// By counting, not by making them: n log n time and n memory.
pub fn hodges_lehmann(ys: &[f64]) -> f64 {
    let mut ys = ys.to_vec();
    ys.sort_by(f64::total_cmp);
    let pairs = ys.len() as u64 * (ys.len() as u64 + 1) / 2;
    match pairs {
        0 => f64::NAN,
        odd if odd % 2 == 1 => walsh(&ys, pairs / 2 + 1),
        _ => f64::midpoint(walsh(&ys, pairs / 2), walsh(&ys, pairs / 2 + 1)),
    }
}

/// The k-th smallest Walsh average (from 1): the least value that at least k of them do not exceed.
fn walsh(sorted: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (ordinal(sorted[0]), ordinal(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low + (high - low) / 2;
        if averages_up_to(sorted, from_ordinal(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_ordinal(low)
}

fn averages_up_to(sorted: &[f64], x: f64) -> u64 {
    let mut above = sorted.len();
    let mut count = 0;
    for (i, y) in sorted.iter().enumerate() {
        while above > i && f64::midpoint(*y, sorted[above - 1]) > x {
            above -= 1;
        }
        if above <= i {
            break;
        }
        count += (above - i) as u64;
    }
    count
}

/// Maps floats to integers in the same order, so that a bisection ends after at most 64 steps on the exact value.
fn ordinal(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_ordinal(ordinal: u64) -> f64 {
    f64::from_bits(if ordinal >> 63 == 1 { ordinal & !(1 << 63) } else { !ordinal })
}

/// Interval of the fixed-n test at error rate `alpha`: unbounded where n is too small to reject anything.
///
/// Exact up to [`EXACT_UP_TO`] units. Beyond, |S| against the normal quantile of sqrt(V): a sum of signs has lighter
/// tails than the normal, so this errs on the wide side.
pub fn interval(ys: &[f64], clip: f64, alpha: f64) -> Interval {
    let z = normal_quantile(1.0 - alpha / 2.0);
    let rejects = |theta: f64| {
        if ys.len() <= EXACT_UP_TO {
            let shifted: Vec<f64> = ys.iter().map(|y| psi(y - theta, clip)).collect();
            sign_flip::exact(&shifted) <= alpha
        } else {
            let (sum, squares) = moments(ys, theta, clip);
            squares > 0.0 && sum * sum >= z * z * squares
        }
    };
    outward(ys, clip, &[0.0], rejects)
}

/// Interval of the anytime test that began with `clip` and was aimed at `n_opt` units: valid whenever one stops.
///
/// `landmarks` are shifts whose rejection has been seen by the caller (0, the margin): the interval excludes exactly
/// those that the test rejects. For fewer than about 15 units E may fall again for shifts so far out that every y is
/// clipped; the interval is the part around the estimate, which leaves out a shift only when all n signs agree.
pub fn anytime_interval(ys: &[f64], clip: Clip, n_opt: f64, alpha: f64, landmarks: &[f64]) -> Interval {
    anytime_interval_at(ys, clip, anytime::rho(n_opt * clip.mean_square, alpha), alpha, landmarks)
}

/// As [`anytime_interval`], of a test with a given `rho`, at an error rate of `level`.
pub(crate) fn anytime_interval_at(ys: &[f64], clip: Clip, rho: f64, level: f64, landmarks: &[f64]) -> Interval {
    let rejects = |theta: f64| {
        let (sum, squares) = moments(ys, theta, clip.at);
        anytime::log_e(sum, squares, rho) >= -level.ln()
    };
    outward(ys, clip.at, landmarks, rejects)
}

fn moments(ys: &[f64], theta: f64, clip: f64) -> (f64, f64) {
    ys.iter().fold((0.0, 0.0), |(sum, squares), y| {
        let y = psi(y - theta, clip);
        (sum + y, squares + y * y)
    })
}

/// The shift at which sum psi(y - theta) changes sign.
fn center(ys: &[f64], clip: f64) -> f64 {
    let (low, high) = range(ys);
    bisect(low, high, |theta| moments(ys, theta, clip).0 <= 0.0)
}

fn range(ys: &[f64]) -> (f64, f64) {
    ys.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)))
}

/// The end of the steps at which `found` turns true between `from` (false) and `to` (true).
fn bisect(from: f64, to: f64, found: impl Fn(f64) -> bool) -> f64 {
    let (mut outside, mut inside) = (to, from);
    // A bracket is a few clips wide at most: 2^-40 of it is far below any timing.
    for _ in 0..40 {
        let middle = f64::midpoint(inside, outside);
        if found(middle) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    f64::midpoint(inside, outside)
}

fn outward(ys: &[f64], clip: f64, landmarks: &[f64], rejects: impl Fn(f64) -> bool) -> Interval {
    if ys.is_empty() {
        return Interval::UNBOUNDED;
    }
    let center = center(ys, clip);
    let (low, high) = range(ys);
    let side = |direction: f64, reach: f64| {
        let nearest = landmarks
            .iter()
            .filter(|mark| (**mark - center) * direction > 0.0 && rejects(**mark))
            .min_by(|a, b| (**a - center).abs().total_cmp(&(**b - center).abs()));
        let first = nearest.copied().or_else(|| first_rejected(center, direction, reach, clip, &rejects));
        first.map_or(direction * f64::INFINITY, |outside| bisect(center, outside, &rejects))
    };
    Interval { low: side(-1.0, center - low + clip), high: side(1.0, high - center + clip) }
}

/// Steps outward until the test rejects; beyond `reach` every y is clipped and nothing changes any more.
fn first_rejected(center: f64, direction: f64, reach: f64, clip: f64, rejects: &impl Fn(f64) -> bool) -> Option<f64> {
    let mut step = clip / 16.0;
    loop {
        let theta = center + direction * step.min(reach);
        if rejects(theta) {
            return Some(theta);
        }
        if step >= reach {
            return None;
        }
        step *= 1.5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust;
    use crate::splitmix::SplitMix;
    use proptest::prelude::*;

    fn noisy(n: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix::new(seed);
        (0..n).map(|_| shift + normal_quantile(random.unit().max(1e-9))).collect()
    }

    fn walsh_by_hand(ys: &[f64]) -> f64 {
        let mut all = Vec::new();
        for i in 0..ys.len() {
            for j in i..ys.len() {
                all.push(f64::midpoint(ys[i].min(ys[j]), ys[i].max(ys[j])));
            }
        }
        robust::median(&all)
    }

    #[test]
    fn known_estimates() {
        let check = |ys: &[f64], expected: f64| assert_eq!(hodges_lehmann(ys), expected, "{ys:?}");
        check(&[2.0], 2.0);
        check(&[1.0, 3.0], 2.0);
        check(&[1.0, 2.0, 9.0], 3.5);
        check(&[0.0, -0.0, 0.0], 0.0);
        check(&[-1.0, 0.0, 1.0], 0.0);
        assert!(hodges_lehmann(&[]).is_nan());
    }

    #[test]
    fn ten_thousand_units_are_no_trouble() {
        let ys = noisy(10_000, 3.0, 5);
        assert!((hodges_lehmann(&ys) - 3.0).abs() < 0.05);
        let fixed = interval(&ys, 2.0, 0.01);
        assert!(fixed.holds(3.0) && fixed.high - fixed.low < 0.08, "{fixed:?}");
        let clip = Clip { at: 2.0, mean_square: 0.8 };
        let anytime = anytime_interval(&ys, clip, 100.0, 0.01, &[0.0]);
        assert!(anytime.holds(3.0) && anytime.high - anytime.low < 0.16, "{anytime:?}");
        assert!(anytime.low < fixed.low && anytime.high > fixed.high);
    }

    #[test]
    fn too_few_units_bound_nothing() {
        assert_eq!(interval(&[0.1; 5], 1.0, 0.01), Interval::UNBOUNDED);
        assert_eq!(interval(&[], 1.0, 0.01), Interval::UNBOUNDED);
        let eight = interval(&[0.1, 0.11, 0.09, 0.1, 0.12, 0.08, 0.1, 0.1], 1.0, 0.01);
        assert!(eight.low > 0.07 && eight.high < 0.13, "{eight:?}");
        let clip = Clip { at: 1.0, mean_square: 1.0 };
        assert_eq!(anytime_interval(&[0.1; 5], clip, 13.0, 0.01, &[0.0]), Interval::UNBOUNDED);
    }

    #[test]
    fn ends_lie_where_the_test_turns() {
        let ys = noisy(40, 0.3, 7);
        let found = interval(&ys, 2.0, 0.01);
        for end in [found.low, found.high] {
            let (sum, squares) = moments(&ys, end, 2.0);
            assert!((sum.abs() / squares.sqrt() - 2.575_829_303_5).abs() < 1e-3, "{sum} {squares}");
        }
    }

    #[test]
    fn without_landmarks_the_search_reaches_both_ends_wherever_the_centre_is() {
        let clip = Clip { at: 2.0, mean_square: 0.8 };
        let at = |shift: f64| anytime_interval(&noisy(40, shift, 3), clip, 20.0, 0.01, &[]);
        let base = at(0.0);
        assert!(base.low.is_finite() && base.high.is_finite());
        for shift in [-50.0, -5.0, 5.0, 50.0] {
            let found = at(shift);
            assert!((found.low - base.low - shift).abs() < 1e-6, "{shift}: {found:?} {base:?}");
            assert!((found.high - base.high - shift).abs() < 1e-6, "{shift}: {found:?} {base:?}");
        }
    }

    #[test]
    fn interval_of_the_wilcoxon_kind_is_exact_at_its_ends() {
        // Eight units at alpha = 2/256 reject only when all signs agree: the interval is the range of the data.
        let ys = [0.1, 0.4, 0.2, 0.35, 0.15, 0.3, 0.22, 0.28];
        let found = interval(&ys, 10.0, 2.0 / 256.0);
        assert!((found.low - 0.1).abs() < 1e-9 && (found.high - 0.4).abs() < 1e-9, "{found:?}");
    }

    proptest! {
        #[test]
        fn estimate_is_the_median_walsh_average(ys in prop::collection::vec(-1e3_f64..1e3, 1..40)) {
            prop_assert_eq!(hodges_lehmann(&ys), walsh_by_hand(&ys));
        }

        #[test]
        fn ordinals_keep_the_order(a in -1e300..1e300, b in -1e300..1e300) {
            prop_assert_eq!(from_ordinal(ordinal(a)), a);
            prop_assert_eq!(ordinal(a) < ordinal(b), a < b);
        }
    }

    proptest! {
        // Small samples are enumerated at every step of the search: slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn shift_mirror_and_nesting(seed in 0_u64..200, n in 9_usize..60, shift in -5.0_f64..5.0) {
            let ys = noisy(n, 0.3, seed);
            let moved: Vec<f64> = ys.iter().map(|y| y + shift).collect();
            let mirrored: Vec<f64> = ys.iter().map(|y| -y).collect();
            let (base, wide) = (interval(&ys, 2.0, 0.02), interval(&ys, 2.0, 0.01));
            let (at, by) = (interval(&moved, 2.0, 0.02), interval(&mirrored, 2.0, 0.02));
            prop_assert!(wide.low <= base.low + 1e-9 && wide.high >= base.high - 1e-9);
            prop_assert!((at.low - base.low - shift).abs() < 1e-6 && (at.high - base.high - shift).abs() < 1e-6);
            prop_assert!((by.low + base.high).abs() < 1e-6 && (by.high + base.low).abs() < 1e-6);
        }

        /// What the test rejects at 0 its interval excludes, and only that.
        #[test]
        fn interval_and_test_agree(seed in 0_u64..300, n in 5_usize..80, shift in -1.5_f64..1.5) {
            let ys = noisy(n, shift, seed);
            let clip = Clip { at: 2.0, mean_square: 0.8 };
            let mut test = crate::Anytime::new(2.0, 20.0 * 0.8, 0.01);
            for y in &ys {
                test.push(*y);
            }
            let found = anytime_interval(&ys, clip, 20.0, 0.01, &[0.0]);
            prop_assert_eq!(found.holds(0.0), !test.rejects());
            if n <= EXACT_UP_TO {
                let p = crate::sign_flip_p(&ys, 2.0, 1);
                prop_assert_eq!(interval(&ys, 2.0, 0.02).holds(0.0), p > 0.02);
            }
        }
    }
}
