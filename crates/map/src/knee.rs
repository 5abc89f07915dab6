//! Finds the sizes at which a curve leaves one plateau for the next, and how surely. Pure.
//!
//! First roughly, on an even grid of quarter octaves: where the curve rises for good. Then closely, by a segmented
//! regression on the points themselves: a flat piece and a rising one, joined where the squares are least. A knee need
//! not be a cache: the reach of a TLB makes one too.

use crate::summary::median;
use model::{CurvePoint, Interval};

/// Growth over half an octave from which a curve counts as rising; noise on a shared VM stays below.
const RISING: f64 = 1.12;
/// Points of the grid in half an octave.
const HALF_OCTAVE: usize = 2;
/// A rise that adds less separates no levels: the least step of any cache known to us is 1.5.
const LEAST_RISE: f64 = 1.3;
/// What must be left of a rise at every larger size, or it was a disturbance.
const LASTING: f64 = 1.2;
/// The regression's window: so far below and above the rough knee. Above it the curve bends towards the next plateau.
const WINDOW: [f64; 2] = [0.3, 1.75];
/// Places tried for the joint.
const STEPS: usize = 400;
/// 95 % point of F with 1 and about 12 degrees of freedom.
const F_95: f64 = 4.75;
/// Sums of squares of logarithms below this are a perfect fit.
const EXACT: f64 = 1e-12;
/// Fewer points than parameters and two make no regression.
const LEAST_POINTS: usize = 5;

/// A knee with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Joint {
    pub(crate) at: f64,
    pub(crate) interval: Interval,
}

/// Every knee of a curve that ascends in x.
pub(crate) fn joints(curve: &[CurvePoint]) -> Vec<Joint> {
    let rough = knees(curve);
    (0..rough.len())
        .map(|i| {
            // The neighbours' rises are not this one's.
            let floor = if i == 0 { 0.0 } else { rough[i - 1] * 1.6 };
            let ceiling = rough.get(i + 1).map_or(f64::INFINITY, |next| next * 0.9);
            joint(curve, rough[i], [floor, ceiling])
        })
        .collect()
}

/// The regression around one rough knee.
fn joint(curve: &[CurvePoint], rough: f64, [floor, ceiling]: [f64; 2]) -> Joint {
    let (low, high) = ((rough * WINDOW[0]).max(floor), (rough * WINDOW[1]).min(ceiling));
    let points = rising_part(curve, rough, [low, high]);
    let neighbours = [
        curve.iter().map(|p| p.x).rfind(|&x| x < rough * 0.999).unwrap_or(rough),
        curve.iter().map(|p| p.x).find(|&x| x > rough * 1.001).unwrap_or(rough),
    ];
    if points.len() < LEAST_POINTS {
        return Joint { at: rough, interval: Interval { low: neighbours[0], high: neighbours[1] } };
    }
    let last = points[points.len() - 1].0;
    let [from, to] = [(rough * 0.55).ln(), (rough * 1.5).ln().min(last - 1e-9)];
    let tried: Vec<(f64, f64)> = (0..=STEPS)
        .map(|i| from + (to - from) * i as f64 / STEPS as f64)
        .map(|joint| (joint, squares(&points, joint)))
        .collect();
    let best = tried.iter().map(|tried| tried.1).fold(f64::INFINITY, f64::min);
    let limit = best * (1.0 + F_95 / (points.len() - 3) as f64) + EXACT;
    let inside = || tried.iter().filter(|(_, squares)| *squares <= limit).map(|(joint, _)| joint.exp());
    // A step between two points is joined equally well anywhere between them: the middle of what is equally good.
    let good: Vec<f64> =
        tried.iter().filter(|(_, squares)| *squares <= best * (1.0 + 1e-6) + EXACT).map(|(joint, _)| *joint).collect();
    let at = good.get(good.len() / 2).map_or(rough, |joint| joint.exp());
    // No regression sees finer than half the distance between the points around it.
    let below = curve.iter().map(|p| p.x).rfind(|&x| x <= at).unwrap_or(at);
    let above = curve.iter().map(|p| p.x).find(|&x| x > at).unwrap_or(at);
    let half = (above / below).sqrt();
    let interval = Interval { low: inside().fold(at / half, f64::min), high: inside().fold(at * half, f64::max) };
    Joint { at, interval }
}

/// Where the curve is half of the way from the plateau before a knee to the one after it, which is where half of the
/// loads miss; `next` is the knee after.
///
/// A knee says where a level begins to miss, and that is not what it holds: a level that is indexed by the machine's own
/// addresses fills unevenly from pages that are scattered there. Half of such pages miss at what it holds.
pub(crate) fn half_way(curve: &[CurvePoint], joint: &Joint, next: Option<f64>) -> Option<Joint> {
    let before = curve.iter().filter(|p| (0.4 * joint.at..=0.85 * joint.at).contains(&p.x)).map(|p| p.y).collect();
    let low = median(before)?;
    let middle = f64::midpoint(low, after(curve, joint.at, next)?);
    let above = curve.iter().position(|p| p.x > 0.8 * joint.at && p.y >= middle).filter(|&at| at > 0)?;
    let (a, b) = (curve[above - 1], curve[above]);
    let share = if b.y > a.y { ((middle - a.y) / (b.y - a.y)).clamp(0.0, 1.0) } else { 1.0 };
    let at = a.x * (b.x / a.x).powf(share);
    Some(Joint { at, interval: Interval { low: a.x, high: b.x } })
}

/// The plateau after a knee: where the curve grows least over half an octave, before the next knee.
fn after(curve: &[CurvePoint], knee: f64, next: Option<f64>) -> Option<f64> {
    let end = next.unwrap_or(f64::INFINITY).min(knee * 8.0);
    let grid: Vec<(f64, f64)> = grid(curve).into_iter().filter(|p| (1.5 * knee..=end).contains(&p.0)).collect();
    let pairs = grid.iter().zip(grid.iter().skip(HALF_OCTAVE));
    let (from, to) = pairs.min_by(|a, b| (a.1.1 / a.0.1).total_cmp(&(b.1.1 / b.0.1)))?;
    Some((from.1 * to.1).sqrt())
}

/// The points from below the knee to half of the way up, as logarithms: beyond, the curve bends towards the next
/// plateau, or lies on it already.
fn rising_part(curve: &[CurvePoint], rough: f64, [low, high]: [f64; 2]) -> Vec<(f64, f64)> {
    let largest =
        |from: f64, to: f64| curve.iter().filter(|p| (from..=to).contains(&p.x)).map(|p| p.y).fold(0.0, f64::max);
    let plateau = curve.iter().rfind(|p| p.x <= rough * 0.8).map_or(0.0, |p| p.y);
    let half_way = (plateau * largest(rough, (rough * 4.0).min(high * 2.3))).sqrt();
    let inside: Vec<&CurvePoint> = curve.iter().filter(|p| (low..=high).contains(&p.x)).collect();
    let end = inside.iter().position(|p| p.x > rough * 0.8 && p.y >= half_way).map_or(inside.len(), |at| at + 1);
    inside[..end].iter().map(|p| (p.x.ln(), p.y.ln())).collect()
}

/// Least squares of a flat piece before `joint` and a rising one after it; infinite where the piece would fall.
fn squares(points: &[(f64, f64)], joint: f64) -> f64 {
    let n = points.len() as f64;
    let hinge = |x: f64| (x - joint).max(0.0);
    let (mh, my) = (points.iter().map(|p| hinge(p.0)).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let hh: f64 = points.iter().map(|p| (hinge(p.0) - mh).powi(2)).sum();
    let hy: f64 = points.iter().map(|p| (hinge(p.0) - mh) * (p.1 - my)).sum();
    let slope = hy / hh;
    if !(slope.is_finite() && slope > 0.0) {
        return f64::INFINITY;
    }
    points.iter().map(|p| (p.1 - my - slope * (hinge(p.0) - mh)).powi(2)).sum()
}

/// The last size of each plateau that is followed by a higher one, ascending, to a quarter of an octave.
pub(crate) fn knees(curve: &[CurvePoint]) -> Vec<f64> {
    let grid = grid(curve);
    let latency = smooth(&grid);
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
            knees.push(grid[start + usize::from(still_flat)].0);
        }
        start = end;
    }
    knees
}

/// The curve at every quarter of an octave, between its points on straight lines of logarithms.
fn grid(curve: &[CurvePoint]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return Vec::new() };
    let steps = (4.0 * (last.x / first.x).log2() + 1e-6).floor() as i32;
    (0..=steps)
        .map(|i| first.x * 2_f64.powf(f64::from(i) / 4.0))
        .map(|x| {
            let after = curve.iter().position(|p| p.x >= x * 0.9999).unwrap_or(curve.len() - 1);
            let (a, b) = (curve[after.saturating_sub(1)], curve[after]);
            let share = if b.x > a.x { ((x / a.x).ln() / (b.x / a.x).ln()).clamp(0.0, 1.0) } else { 1.0 };
            (x, (a.y.ln() + share * (b.y / a.y).ln()).exp())
        })
        .collect()
}

/// Median of each point and its neighbours: one disturbed point is no knee.
fn smooth(grid: &[(f64, f64)]) -> Vec<f64> {
    let at = |i: usize| grid[i].1;
    (0..grid.len())
        .map(|i| {
            if i == 0 || i + 1 == grid.len() {
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
    /// A curve with a quarter octave between points, from 4 KiB.
    fn curve(latency: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        sized(4.0, latency)
    }

    fn sized(octave: f64, latency: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        (0..=(16.0 * octave) as i32)
            .map(|i| 4096.0 * 2_f64.powf(f64::from(i) / octave))
            .map(|x| CurvePoint { x, y: latency(x) * 1e-9, ..CurvePoint::default() })
            .collect()
    }

    fn check(latency: impl Fn(f64) -> f64, expected: &[f64]) {
        let knees = knees(&curve(latency));
        assert_eq!(knees.len(), expected.len(), "{knees:?}");
        for (&knee, &expected) in knees.iter().zip(expected) {
            let ratio = knee / expected;
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
        assert_eq!(knees(&[]), Vec::<f64>::new());
    }

    #[test]
    fn disturbed_points_are_no_knee() {
        check(|size| if (60e3..70e3).contains(&size) { 9.0 } else { 2.0 }, &[]);
        check(|size| if (60e3..160e3).contains(&size) { 9.0 } else { 2.0 }, &[]);
    }

    /// One per cent of noise, the same in every run.
    fn noise(size: f64) -> f64 {
        1.0 + 0.01 * (size * 12.9898).sin()
    }

    #[test]
    fn joints_lie_within_a_tenth_and_their_intervals_hold_the_truth() {
        for octave in [8.0, 16.0] {
            let joints = joints(&sized(octave, |size| ladder(size) * noise(size)));
            assert_eq!(joints.len(), 3, "{joints:?}");
            for (joint, truth) in joints.iter().zip([L1, L2, LLC]) {
                assert!((0.9..=1.1).contains(&(joint.at / truth)), "{joint:?}, expected about {truth}");
                let Interval { low, high } = joint.interval;
                assert!(low < joint.at && joint.at < high && high / low < 1.6, "{joint:?}");
                assert!(low * 0.93 <= truth && truth <= high * 1.07, "{joint:?}, expected {truth}");
            }
        }
    }

    /// Share of pages that miss in a level of 32 colours and 16 ways, when `size` is laid out on pages at random: those
    /// that share their colour with 16 others and more (Poisson).
    fn scattered(size: f64) -> f64 {
        let mean = size / 4096.0 / 32.0;
        let mut term = (-mean).exp();
        let mut below = term;
        for k in 1..16 {
            term *= mean / f64::from(k);
            below += term;
        }
        1.0 - below
    }

    #[test]
    fn scattered_pages_miss_early_and_half_of_them_at_the_capacity() {
        const HOLDS: f64 = 2_097_152.0;
        let curve = sized(16.0, |size| if size <= L1 { 1.8 } else { 5.0 + 35.0 * scattered(size) });
        let joints = joints(&curve);
        assert_eq!(joints.len(), 2, "{joints:?}");
        assert!(joints[1].at < 0.75 * HOLDS, "{joints:?}");
        let half = half_way(&curve, &joints[1], None).unwrap();
        assert!((0.93..=1.07).contains(&(half.at / HOLDS)), "{half:?}");
        // A level that fills evenly misses at once: both are the same.
        let curve = sized(16.0, |size| if size <= HOLDS { 5.0 } else { 40.0 });
        let joint = super::joints(&curve)[0];
        let half = half_way(&curve, &joint, None).unwrap();
        assert!((0.93..=1.07).contains(&(half.at / joint.at)), "{half:?}, {joint:?}");
        // Without a plateau beyond there is no middle.
        assert_eq!(half_way(&curve[..147], &joint, None), None);
    }

    #[test]
    fn a_coarse_curve_says_how_coarse_it_is() {
        let joints = joints(&sized(2.0, |size| if size <= L2 { 2.0 } else { 20.0 }));
        let [joint] = joints[..] else { panic!("{joints:?}") };
        assert!(joint.interval.low <= L2 && L2 <= joint.interval.high * 1.1, "{joint:?}");
        assert!(joint.interval.high / joint.interval.low >= 1.3, "{joint:?}");
    }
}
