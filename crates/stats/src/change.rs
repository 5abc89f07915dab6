//! Change points in a history of results: E-divisive (arXiv:1306.4933), as used on performance series
//! (arXiv:2301.03034). It says where a series changed, not why.

use crate::robust;
use crate::splitmix::SplitMix;
use serde::{Deserialize, Serialize};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeSearch {
    /// Fewest results between two changes. At least 2.
    pub min_segment: usize,
    /// A change is kept when its permutation p is at most this.
    pub alpha: f64,
    /// Random permutations a test.
    pub permutations: u32,
    /// Seed of the permutations.
    pub seed: u64,
}

impl Default for ChangeSearch {
    fn default() -> Self {
        Self { min_segment: 4, alpha: 0.01, permutations: 199, seed: 0 }
    }
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Index of the first result after it.
    pub at: usize,
    /// Permutation p.
    pub p: f64,
    /// Median from the previous change to here.
    pub before: f64,
    /// Median from here to the next.
    pub after: f64,
}

/// The changes of `values`, in order. Divides where the energy statistic is largest, as long as it is significant.
pub fn change_points(values: &[f64], search: ChangeSearch) -> Vec<Change> {
    let mut random = SplitMix::new(search.seed);
    let min = search.min_segment.max(2);
    let mut cuts = vec![0, values.len()];
    let mut found: Vec<(usize, f64)> = Vec::new();
    while let Some((at, statistic)) = best_of(values, &cuts, min) {
        let p = permutation_p(values, &cuts, (statistic, min), search.permutations, &mut random);
        if p > search.alpha {
            break;
        }
        found.push((at, p));
        cuts.push(at);
        cuts.sort_unstable();
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(at, p)| describe(values, &cuts, at, p)).collect()
}

fn describe(values: &[f64], cuts: &[usize], at: usize, p: f64) -> Change {
    let position = cuts.iter().position(|cut| *cut == at).expect("every change is a cut");
    let (from, to) = (cuts[position - 1], cuts[position + 1]);
    Change { at, p, before: robust::median(&values[from..at]), after: robust::median(&values[at..to]) }
}

/// The best division over all segments: its index and statistic.
fn best_of(values: &[f64], cuts: &[usize], min: usize) -> Option<(usize, f64)> {
    cuts.windows(2)
        .filter_map(|ends| best_division(&values[ends[0]..ends[1]], min).map(|(at, q)| (ends[0] + at, q)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Where a segment divides best. Moving one value across updates the three sums of distances in n steps.
fn best_division(segment: &[f64], min: usize) -> Option<(usize, f64)> {
    let n = segment.len();
    if n < 2 * min {
        return None;
    }
    let distances = |x: f64, others: &[f64]| others.iter().map(|y| (x - y).abs()).sum::<f64>();
    let (mut left, mut cross) = (0.0, 0.0);
    let mut right: f64 = (0..n).map(|i| distances(segment[i], &segment[i + 1..])).sum();
    let mut best: Option<(usize, f64)> = None;
    for at in 1..=n - min {
        let moved = segment[at - 1];
        let (to_left, to_right) = (distances(moved, &segment[..at - 1]), distances(moved, &segment[at..]));
        left += to_left;
        right -= to_right;
        cross += to_right - to_left;
        if at >= min {
            let q = energy(at as f64, (n - at) as f64, [left, right, cross]);
            if best.is_none_or(|(_, highest)| q > highest) {
                best = Some((at, q));
            }
        }
    }
    best
}

fn energy(m: f64, n: f64, [left, right, cross]: [f64; 3]) -> f64 {
    let between = 2.0 * cross / (m * n);
    let within = 2.0 * left / (m * (m - 1.0)) + 2.0 * right / (n * (n - 1.0));
    m * n / (m + n) * (between - within)
}

/// Permutes inside the segments found so far: what could the best division be if there was no further change?
fn permutation_p(
    values: &[f64],
    cuts: &[usize],
    (statistic, min): (f64, usize),
    permutations: u32,
    random: &mut SplitMix,
) -> f64 {
    let mut shuffled = values.to_vec();
    let reached = (0..permutations)
        .filter(|_| {
            cuts.windows(2).for_each(|ends| random.shuffle(&mut shuffled[ends[0]..ends[1]]));
            best_of(&shuffled, cuts, min).is_some_and(|(_, q)| q >= statistic)
        })
        .count();
    (reached as f64 + 1.0) / (f64::from(permutations) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_quantile;

    fn series(levels: &[(usize, f64)], sigma: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix::new(seed);
        levels
            .iter()
            .flat_map(|(n, level)| std::iter::repeat_n(*level, *n))
            .map(|level| level + sigma * normal_quantile(random.unit().max(1e-9)))
            .collect()
    }

    #[test]
    fn finds_each_step() {
        let check = |levels: &[(usize, f64)], expected: &[usize]| {
            let found = change_points(&series(levels, 0.01, 3), ChangeSearch::default());
            let at: Vec<usize> = found.iter().map(|change| change.at).collect();
            assert_eq!(at.len(), expected.len(), "{found:?}");
            assert!(at.iter().zip(expected).all(|(at, expected)| at.abs_diff(*expected) <= 1), "{found:?}");
        };
        check(&[(40, 1.0)], &[]);
        check(&[(20, 1.0), (20, 1.05)], &[20]);
        check(&[(15, 1.0), (15, 1.1), (15, 1.02)], &[15, 30]);
        check(&[(3, 1.0)], &[]);
        check(&[], &[]);
    }

    #[test]
    fn describes_the_levels() {
        let found = change_points(&series(&[(20, 1.0), (20, 2.0)], 0.01, 9), ChangeSearch::default());
        assert!((found[0].before - 1.0).abs() < 0.02 && (found[0].after - 2.0).abs() < 0.02 && found[0].p <= 0.01);
    }

    #[test]
    fn one_wild_result_is_no_change() {
        let mut values = series(&[(40, 1.0)], 0.01, 5);
        values[17] = 9.0;
        assert_eq!(change_points(&values, ChangeSearch::default()), []);
    }

    #[test]
    fn the_running_sums_are_the_statistic() {
        let values = series(&[(6, 1.0), (5, 1.4)], 0.1, 2);
        let pairs = |a: &[f64], b: &[f64]| a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum::<f64>();
        let (at, q) = best_division(&values, 2).unwrap();
        let (l, r) = values.split_at(at);
        let expected = energy(l.len() as f64, r.len() as f64, [pairs(l, l) / 2.0, pairs(r, r) / 2.0, pairs(l, r)]);
        assert!((q - expected).abs() < 1e-9);
    }

    #[test]
    fn the_statistic_by_hand() {
        // Twice the mean distance between the parts, 2 x 12 / 6, less the mean distances within, 2 x 3 / 6 and 2 x 1 / 2.
        assert_eq!(energy(3.0, 2.0, [3.0, 1.0, 12.0]), 6.0 / 5.0 * (4.0 - 2.0));
    }

    #[test]
    fn of_equally_good_divisions_the_first_is_taken() {
        assert_eq!(best_division(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0], 2).map(|(at, _)| at), Some(2));
    }

    #[test]
    fn segments_are_no_shorter_than_asked_and_p_counts_the_observed() {
        let search = |min_segment, alpha| ChangeSearch { min_segment, alpha, ..ChangeSearch::default() };
        let check = |ones: usize, twos: usize, search: ChangeSearch, expected: &[usize]| {
            let values: Vec<f64> = [vec![1.0; ones], vec![2.0; twos]].concat();
            let at: Vec<usize> = change_points(&values, search).iter().map(|change| change.at).collect();
            assert_eq!(at, expected, "{ones} and {twos}, {search:?}");
        };
        check(4, 4, search(4, 0.1), &[4]);
        check(4, 3, search(4, 0.1), &[]);
        check(3, 9, search(4, 0.1), &[4]);
        check(9, 3, search(4, 0.1), &[8]);
        check(3, 9, search(3, 0.1), &[3]);
        let far: Vec<f64> = (0..40).map(|i| if i < 20 { 0.0 } else { 1.0 }).collect();
        let found = change_points(&far, ChangeSearch::default());
        assert_eq!((found.len(), found[0].p), (1, 1.0 / 200.0));
        // p is at alpha: kept.
        assert_eq!(change_points(&far, search(4, 1.0 / 200.0)).len(), 1);
    }

    #[test]
    fn false_alarms_stay_rare() {
        let alarms = (0..60)
            .filter(|seed| {
                let search = ChangeSearch { permutations: 99, ..ChangeSearch::default() };
                !change_points(&series(&[(24, 1.0)], 0.01, *seed), search).is_empty()
            })
            .count();
        // At a true 1 % more than 4 of 60 come once in 2,500 runs.
        assert!(alarms <= 4, "{alarms}");
    }
}
