//! Shapes: names, edges, and held-out draws.
//!
//! Must not take entropy: the caller's seed decides.

use crate::Problem;
use crate::problem::Axis;
use model::Workload;
use std::collections::{BTreeMap, BTreeSet};

/// The workload with these axes, named `len=128` or `m=4,n=8` in declared order.
pub(crate) fn named(axes: &[Axis], values: BTreeMap<String, i64>) -> Workload {
    let parts: Vec<String> = axes.iter().map(|axis| format!("{}={}", axis.name, values[&axis.name])).collect();
    Workload { name: parts.join(","), axes: values }
}

impl Problem {
    /// `n` shapes, log-uniform in the declared ranges, none of them declared and no two equal.
    ///
    /// Fewer when the ranges hold fewer. The same seed gives the same shapes.
    pub fn held_out(&self, n: usize, seed: u64) -> Vec<Workload> {
        let mut coins = SplitMix(seed);
        let mut taken: BTreeSet<String> = self.workloads.iter().map(|workload| workload.name.clone()).collect();
        let mut drawn = Vec::new();
        // A range of a few values runs dry; 64 tries a shape find all of them but for one in a million.
        for _ in 0..n.saturating_mul(64) {
            if drawn.len() == n {
                break;
            }
            let values = self.axes.iter().map(|axis| (axis.name.clone(), log_uniform(axis.range, coins.unit())));
            let workload = named(&self.axes, values.collect());
            if self.fits(&workload) && taken.insert(workload.name.clone()) {
                drawn.push(workload);
            }
        }
        drawn
    }
}

/// The whole number at `u` in [0, 1) of the logarithmic scale over `low..=high`.
fn log_uniform([low, high]: [i64; 2], u: f64) -> i64 {
    let (from, to) = ((low as f64).ln(), ((high + 1) as f64).ln());
    ((from + u * (to - from)).exp() as i64).clamp(low, high)
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough for shapes and row numbers.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform below `n`, as far as 2^64 divides.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_uniform_covers_both_ends() {
        let check = |u: f64, expected: i64| assert_eq!(log_uniform([64, 1536], u), expected, "{u}");
        check(0.0, 64);
        check(0.999_999, 1536);
        check(0.5, 313); // the geometric middle of 64 and 1537 is 313.6
    }

    proptest::proptest! {
        #[test]
        fn log_uniform_stays_inside(low in 1i64..100, more in 0i64..100_000, u in 0.0f64..1.0) {
            let value = log_uniform([low, low + more], u);
            proptest::prop_assert!((low..=low + more).contains(&value));
        }
    }
}
