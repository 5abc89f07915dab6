//! Knees of a curve, e.g. of ln latency over ln size: where one straight piece gives way to the next.
//!
//! Least squares over all divisions (dynamic programming, so no starting guess can mislead it), the number of pieces by
//! the Bayesian information criterion, intervals by a bootstrap of the residuals.

use crate::robust;
use crate::splitmix::SplitMix;
use serde::{Deserialize, Serialize};

/// Residuals below this are the clock's noise, not shape: 0.5 % of latency. Keeps a noiseless curve from being cut up.
const NOISE_FLOOR: f64 = 0.005;

/// A straight line through two points fits anything.
const MIN_PIECE: usize = 3;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeSearch {
    /// Knees at most.
    pub max_knees: usize,
    /// Error rate of the intervals.
    pub alpha: f64,
    /// Bootstrap rounds.
    pub rounds: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for KneeSearch {
    fn default() -> Self {
        Self { max_knees: 8, alpha: 0.05, rounds: 200, seed: 0 }
    }
}

/// One knee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Where, on the x axis.
    pub x: f64,
    /// Lower end of its interval: never tighter than the neighbouring points allow.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Slope of the piece before it.
    pub slope_before: f64,
    /// Slope of the piece after it.
    pub slope_after: f64,
    /// Height of the step at x: the piece after it less the piece before it.
    pub step: f64,
}

/// The knees of y over x, x ascending. None when there are too few points for a second piece.
pub fn knees(x: &[f64], y: &[f64], search: KneeSearch) -> Vec<Knee> {
    assert_eq!(x.len(), y.len(), "every point needs an x and a y");
    let cuts = Pieces::new(x, y).best(search.max_knees);
    if cuts.is_empty() {
        return Vec::new();
    }
    let lines = lines_of(x, y, &cuts);
    let fitted: Vec<f64> = fit(x, &cuts, &lines);
    let spread = bootstrap(x, y, &fitted, &cuts, search);
    cuts.iter()
        .enumerate()
        .map(|(k, cut)| {
            let (before, after) = (lines[k], lines[k + 1]);
            let at = crossing(x, *cut, before, after);
            let low = robust::quantile(&spread[k], search.alpha / 2.0).min(x[cut - 1]);
            let high = robust::quantile(&spread[k], 1.0 - search.alpha / 2.0).max(x[*cut]);
            let step = after.at(at) - before.at(at);
            Knee { x: at, low, high, slope_before: before.slope, slope_after: after.slope, step }
        })
        .collect()
}

#[derive(Clone, Copy, Debug)]
struct Line {
    slope: f64,
    intercept: f64,
}

impl Line {
    fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// Where two neighbouring lines meet if that is between the points that they end at, else the middle between them.
fn crossing(x: &[f64], cut: usize, before: Line, after: Line) -> f64 {
    let (last, first) = (x[cut - 1], x[cut]);
    let meet = (after.intercept - before.intercept) / (before.slope - after.slope);
    if meet >= last && meet <= first { meet } else { f64::midpoint(last, first) }
}

/// Residuals drawn again onto the fitted curve, the division found again: where does each knee fall?
fn bootstrap(x: &[f64], y: &[f64], fitted: &[f64], cuts: &[usize], search: KneeSearch) -> Vec<Vec<f64>> {
    let mut random = SplitMix::new(search.seed);
    let residuals: Vec<f64> = y.iter().zip(fitted).map(|(y, f)| y - f).collect();
    let mut found = vec![Vec::with_capacity(search.rounds); cuts.len()];
    for _ in 0..search.rounds {
        let again: Vec<f64> = fitted.iter().map(|f| f + residuals[random.below(residuals.len())]).collect();
        let cuts = Pieces::new(x, &again).with(cuts.len());
        let lines = lines_of(x, &again, &cuts);
        for (k, cut) in cuts.iter().enumerate() {
            found[k].push(crossing(x, *cut, lines[k], lines[k + 1]));
        }
    }
    found
}

fn fit(x: &[f64], cuts: &[usize], lines: &[Line]) -> Vec<f64> {
    (0..x.len()).map(|i| lines[cuts.partition_point(|cut| *cut <= i)].at(x[i])).collect()
}

fn lines_of(x: &[f64], y: &[f64], cuts: &[usize]) -> Vec<Line> {
    let pieces = Pieces::new(x, y);
    let ends: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([x.len()]).collect();
    ends.windows(2).map(|ends| pieces.line(ends[0], ends[1]).0).collect()
}

/// The Bayesian information criterion of a fit to `n` points with this sum of squared residuals.
fn criterion(residual: f64, n: f64, knees: usize) -> f64 {
    // Two parameters a piece, one a knee.
    let parameters = (3 * knees + 2) as f64;
    n * (residual / n + NOISE_FLOOR * NOISE_FLOOR).ln() + parameters * n.ln()
}

/// Prefix sums, so that any piece's line costs a handful of operations.
struct Pieces {
    sums: Vec<[f64; 5]>,
    center: [f64; 2],
}

impl Pieces {
    fn new(x: &[f64], y: &[f64]) -> Self {
        let mut sums = vec![[0.0; 5]];
        // Centred, or the differences of large sums would eat the residuals; the lines are moved back at the end.
        let center = [robust::mean(x), robust::mean(y)];
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (x - center[0], y - center[1]);
            let last = sums[sums.len() - 1];
            sums.push([last[0] + x, last[1] + y, last[2] + x * x, last[3] + x * y, last[4] + y * y]);
        }
        Self { sums, center }
    }

    /// The line through points `from..to` and its sum of squared residuals.
    fn line(&self, from: usize, to: usize) -> (Line, f64) {
        let n = (to - from) as f64;
        let [x, y, xx, xy, yy]: [f64; 5] = std::array::from_fn(|i| self.sums[to][i] - self.sums[from][i]);
        let (sxx, sxy, syy) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
        let intercept = (y - slope * x) / n + self.center[1] - slope * self.center[0];
        let line = Line { slope, intercept };
        (line, (syy - slope * sxy).max(0.0))
    }

    fn n(&self) -> usize {
        self.sums.len() - 1
    }

    /// The division that the criterion prefers: first points of the pieces after the first.
    fn best(&self, max_knees: usize) -> Vec<usize> {
        let n = self.n() as f64;
        let most = max_knees.min((self.n() / MIN_PIECE).saturating_sub(1));
        let table = self.table(most);
        let of = |knees: usize| criterion(table[knees][self.n()].0, n, knees);
        let knees = (0..=most).min_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(0);
        self.trace(&table, knees)
    }

    /// The best division with exactly `knees` knees.
    fn with(&self, knees: usize) -> Vec<usize> {
        self.trace(&self.table(knees), knees)
    }

    /// `table[k][to]`: least squares of points `0..to` in k + 1 pieces, and where the last of them begins.
    fn table(&self, knees: usize) -> Vec<Vec<(f64, usize)>> {
        let n = self.n();
        let mut table = vec![vec![(f64::INFINITY, 0); n + 1]; knees + 1];
        for (to, entry) in table[0].iter_mut().enumerate().skip(MIN_PIECE) {
            *entry = (self.line(0, to).1, 0);
        }
        for k in 1..=knees {
            for to in MIN_PIECE * (k + 1)..=n {
                let options =
                    (MIN_PIECE * k..=to - MIN_PIECE).map(|cut| (table[k - 1][cut].0 + self.line(cut, to).1, cut));
                table[k][to] = options.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a piece fits");
            }
        }
        table
    }

    fn trace(&self, table: &[Vec<(f64, usize)>], knees: usize) -> Vec<usize> {
        let mut to = self.n();
        let mut cuts: Vec<usize> = (1..=knees)
            .rev()
            .map(|k| {
                to = table[k][to].1;
                to
            })
            .collect();
        cuts.reverse();
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_quantile;

    /// ln latency of a machine with caches that end at the given sizes.
    fn curve(levels: &[(f64, f64)], noise: f64) -> (Vec<f64>, Vec<f64>) {
        let mut random = SplitMix::new(8);
        let x: Vec<f64> = (0..60).map(|i| 4096.0_f64.ln() + f64::from(i) * 0.25).collect();
        let y = x
            .iter()
            .map(|x| {
                let level = levels.iter().find(|(end, _)| *x <= end.ln()).unwrap_or(&levels[levels.len() - 1]);
                level.1.ln() + noise * normal_quantile(random.unit().max(1e-9))
            })
            .collect();
        (x, y)
    }

    #[test]
    fn finds_the_caches_of_a_staircase() {
        let ends = [48.0 * 1024.0, 2.0e6, 3.2e7];
        for noise in [0.0, 0.01, 0.03] {
            let (x, y) = curve(&[(ends[0], 1.2), (ends[1], 4.0), (ends[2], 18.0), (f64::INFINITY, 90.0)], noise);
            let found = knees(&x, &y, KneeSearch::default());
            assert_eq!(found.len(), 3, "noise {noise}: {found:?}");
            for (knee, end) in found.iter().zip(ends) {
                assert!(knee.low <= end.ln() && end.ln() <= knee.high, "{end}: {knee:?}");
                assert!(knee.low <= knee.x && knee.x <= knee.high && knee.high - knee.low < 1.1, "{knee:?}");
                assert!(knee.step > 0.9);
            }
        }
    }

    #[test]
    fn a_change_of_slope_is_a_knee_where_the_lines_meet() {
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| if *x < 20.3 { 1.0 } else { 1.0 + 0.2 * (x - 20.3) }).collect();
        let found = knees(&x, &y, KneeSearch::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].x - 20.3).abs() < 0.01 && found[0].step.abs() < 1e-6, "{found:?}");
        assert!((found[0].slope_after - 0.2).abs() < 1e-6 && found[0].slope_before.abs() < 1e-6);
    }

    #[test]
    fn a_line_by_hand() {
        // Through (1, 1), (2, 3), (3, 2) of five points: slope 1/2, mean (2, 2); residuals -1/2, 1, -1/2.
        let pieces = Pieces::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[9.0, 1.0, 3.0, 2.0, -7.0]);
        let (line, residual) = pieces.line(1, 4);
        assert!((line.slope - 0.5).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12, "{line:?}");
        assert!((residual - 1.5).abs() < 1e-12 && (line.at(4.0) - 3.0).abs() < 1e-12);
        assert_eq!(pieces.n(), 5);
    }

    #[test]
    fn lines_meet_between_their_ends_or_the_middle_is_taken() {
        let line = |slope, intercept| Line { slope, intercept };
        let check = |before, after, expected: f64| {
            assert_eq!(crossing(&[0.0, 1.0, 2.0, 4.0, 5.0], 3, before, after), expected, "{before:?} {after:?}");
        };
        check(line(0.0, 1.0), line(1.0, -2.0), 3.0);
        check(line(0.0, 1.0), line(1.0, -1.0), 2.0);
        check(line(0.0, 1.0), line(1.0, -3.0), 4.0);
        check(line(0.0, 1.0), line(1.0, -1.5), 2.5);
        check(line(0.0, 1.0), line(1.0, 0.0), 3.0);
        check(line(0.0, 1.0), line(1.0, -8.0), 3.0);
        check(line(1.0, 0.0), line(1.0, 1.0), 3.0);
    }

    #[test]
    fn the_criterion_by_hand() {
        let check = |residual: f64, n: f64, knees, expected: f64| {
            assert!((criterion(residual, n, knees) - expected).abs() < 1e-9, "{residual} {n} {knees}");
        };
        check(0.5, 20.0, 1, 20.0 * 0.025_025_f64.ln() + 5.0 * 20.0_f64.ln());
        check(0.5, 20.0, 2, 20.0 * 0.025_025_f64.ln() + 8.0 * 20.0_f64.ln());
        check(0.0, 30.0, 0, 30.0 * 0.000_025_f64.ln() + 2.0 * 30.0_f64.ln());
    }

    #[test]
    fn points_above_each_other_have_a_level_line() {
        let (line, residual) = Pieces::new(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).line(0, 3);
        assert_eq!((line.slope, line.intercept, residual), (0.0, 2.0, 2.0));
    }

    /// The bootstrap of a curve as `knees` makes it.
    fn spread_of(x: &[f64], y: &[f64], search: KneeSearch) -> (Vec<usize>, Vec<Vec<f64>>) {
        let cuts = Pieces::new(x, y).best(search.max_knees);
        let fitted = fit(x, &cuts, &lines_of(x, y, &cuts));
        (cuts.clone(), bootstrap(x, y, &fitted, &cuts, search))
    }

    #[test]
    fn a_bootstrap_finds_the_knee_again_and_again() {
        let search = KneeSearch { rounds: 50, ..KneeSearch::default() };
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let hinge: Vec<f64> = x.iter().map(|x| if *x < 20.3 { 1.0 } else { 1.0 + 0.2 * (x - 20.3) }).collect();
        let (_, spread) = spread_of(&x, &hinge, search);
        assert_eq!((spread.len(), spread[0].len()), (1, 50));
        assert!(spread[0].iter().all(|at| (at - 20.3).abs() < 1e-6), "{:?}", spread[0]);
        // A step of 5 sigma from 0: residuals are differences, not shares of what is fitted.
        let (x, step) = stepped(0.5);
        let (cuts, spread) = spread_of(&x, &step, search);
        assert_eq!(cuts, [20]);
        assert!(spread[0].iter().all(|at| (at - 19.5).abs() < 4.0), "{:?}", spread[0]);
    }

    fn stepped(height: f64) -> (Vec<f64>, Vec<f64>) {
        let mut random = SplitMix::new(4);
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let of = |x: f64| if x < 20.0 { 0.0 } else { height };
        let y = x.iter().map(|x| of(*x) + 0.1 * normal_quantile(random.unit().max(1e-9))).collect();
        (x, y)
    }

    #[test]
    fn intervals_are_the_bootstraps_quantiles_but_hold_the_points_beside_the_knee() {
        let (x, y) = stepped(0.25);
        for alpha in [0.05, 0.5] {
            let search = KneeSearch { rounds: 100, alpha, max_knees: 1, ..KneeSearch::default() };
            let (cuts, spread) = spread_of(&x, &y, search);
            let found = knees(&x, &y, search)[0];
            let low = robust::quantile(&spread[0], alpha / 2.0);
            assert_eq!(found.low, low.min(x[cuts[0] - 1]));
            assert_eq!(found.high, robust::quantile(&spread[0], 1.0 - alpha / 2.0).max(x[cuts[0]]));
        }
        let clean: Vec<f64> = x.iter().map(|x| if *x < 20.0 { 0.0 } else { 1.0 }).collect();
        let found = knees(&x, &clean, KneeSearch::default())[0];
        assert_eq!((found.low, found.x, found.high), (19.0, 19.5, 20.0));
    }

    #[test]
    fn knees_cost_what_they_are_worth() {
        let noisy = |seed: u64, bend: f64| {
            let mut random = SplitMix::new(seed);
            let x: Vec<f64> = (0..40).map(f64::from).collect();
            let of = |x: f64| if x < 20.0 { 0.0 } else { bend };
            let y: Vec<f64> = x.iter().map(|x| of(*x) + 0.1 * normal_quantile(random.unit().max(1e-9))).collect();
            knees(&x, &y, KneeSearch { rounds: 20, ..KneeSearch::default() }).len()
        };
        // A step of 5 sigma is always seen; in noise alone a knee is rarely found, and in the step rarely a second.
        let steps: Vec<usize> = (0..40).map(|seed| noisy(seed, 0.5)).collect();
        assert!(steps.iter().all(|n| *n >= 1) && steps.iter().filter(|n| **n > 1).count() <= 8, "{steps:?}");
        let flat: Vec<usize> = (0..40).map(|seed| noisy(seed, 0.0)).collect();
        assert!(flat.iter().filter(|n| **n > 0).count() <= 8, "{flat:?}");
    }

    #[test]
    fn a_line_and_too_few_points_have_none() {
        let x: Vec<f64> = (0..30).map(f64::from).collect();
        let line: Vec<f64> = x.iter().map(|x| 3.0 + 0.5 * x).collect();
        assert_eq!(knees(&x, &line, KneeSearch::default()), []);
        for n in 0..6 {
            let steps: Vec<f64> = (0..n).map(|i| f64::from(i % 2)).collect();
            assert_eq!(knees(&x[..n as usize], &steps, KneeSearch::default()), [], "{n}");
        }
    }
}
