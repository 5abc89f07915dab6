//! Finds the sizes at which a latency curve leaves one plateau for the next. Pure.
//!
//! A knee need not be a cache: the reach of a TLB makes one too.

use model::LatencyPoint;

/// Growth over half an octave from which a curve counts as rising; noise on a shared VM stays below.
const RISING: f64 = 1.12;
/// Points of half an octave.
const HALF_OCTAVE: usize = 2;
/// A rise that adds less separates no levels: the least step of any cache known to us is 1.5.
const LEAST_RISE: f64 = 1.3;
/// What must be left of a rise at every larger size, or it was a disturbance.
const LASTING: f64 = 1.2;

/// The last size of each plateau that is followed by a higher one, in bytes, ascending.
pub(crate) fn knees(curve: &[LatencyPoint]) -> Vec<usize> {
    let latency = smooth(curve);
    let rising = |i: usize| latency.get(i + HALF_OCTAVE).is_some_and(|next| *next > RISING * latency[i]);
    let mut knees = Vec::new();
    let mut start = 0;
    while start < latency.len() {
        if !rising(start) {
            start += 1;
            continue;
        }
        let end = (start..latency.len()).find(|&i| !rising(i)).unwrap_or(latency.len());
        let top = (end - 1 + HALF_OCTAVE).min(latency.len() - 1);
        let lowest_after = latency[top..].iter().fold(f64::INFINITY, |a, &b| a.min(b));
        if latency[top] >= LEAST_RISE * latency[start] && lowest_after >= LASTING * latency[start] {
            // The rise shows half an octave ahead: the next point may still lie on the plateau.
            let still_flat = latency[start + 1] <= RISING * latency[start];
            knees.push(curve[start + usize::from(still_flat)].size.0 as usize);
        }
        start = end;
    }
    knees
}

/// Median of each point and its neighbours: one disturbed point is no knee.
fn smooth(curve: &[LatencyPoint]) -> Vec<f64> {
    let at = |i: usize| curve[i].latency.0;
    (0..curve.len())
        .map(|i| {
            if i == 0 || i + 1 == curve.len() {
                return at(i);
            }
            let mut three = [at(i - 1), at(i), at(i + 1)];
            three.sort_by(f64::total_cmp);
            three[1]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Seconds};

    /// A curve with a quarter octave between points, from 4 KiB.
    fn curve(latency: impl Fn(f64) -> f64) -> Vec<LatencyPoint> {
        (0..65)
            .map(|i| 4096.0 * 2_f64.powf(i as f64 / 4.0))
            .map(|size| LatencyPoint { size: Bytes(size), latency: Seconds(latency(size) * 1e-9) })
            .collect()
    }

    fn check(latency: impl Fn(f64) -> f64, expected: &[f64]) {
        let knees = knees(&curve(latency));
        assert_eq!(knees.len(), expected.len(), "{knees:?}");
        for (&knee, &expected) in knees.iter().zip(expected) {
            let ratio = knee as f64 / expected;
            assert!((0.7..=1.3).contains(&ratio), "{knees:?}, expected about {expected}");
        }
    }

    const L1: f64 = 48e3;
    const L2: f64 = 2e6;
    const LLC: f64 = 32e6;

    fn ladder(size: f64) -> f64 {
        // Beyond a level of size c, a share c / size of a random cycle still hits it.
        let levels = [(L1, 1.8), (L2, 5.0), (LLC, 30.0), (f64::INFINITY, 110.0)];
        let mut below = 0.0;
        levels.iter().fold(0.0, |sum, &(capacity, latency)| {
            let share = (capacity / size).min(1.0) - below;
            below += share;
            sum + share * latency
        })
    }

    #[test]
    fn a_ladder_has_its_knees() {
        let step = |size: f64| match size {
            s if s <= L1 => 1.8,
            s if s <= L2 => 5.0,
            s if s <= LLC => 30.0,
            _ => 110.0,
        };
        check(step, &[L1, L2, LLC]);
        check(ladder, &[L1, L2, LLC]);
    }

    #[test]
    fn a_flat_curve_has_none() {
        check(|_| 5.0, &[]);
        assert_eq!(knees(&[]), Vec::<usize>::new());
    }

    #[test]
    fn disturbed_points_are_no_knee() {
        check(|size| if (60e3..70e3).contains(&size) { 9.0 } else { 2.0 }, &[]);
        check(|size| if (60e3..160e3).contains(&size) { 9.0 } else { 2.0 }, &[]);
    }
}
