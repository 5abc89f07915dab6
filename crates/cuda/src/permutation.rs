//! The random cycles that latencies are measured on, as the device builds them: where a chain of loads has to end.

use crate::random::mix;

/// Rounds of the Feistel network.
const ROUNDS: u64 = 4;
/// What separates the rounds' keys.
const ROUND: u64 = 0x0100_0000_01B3;
/// Bytes of a line.
pub(crate) const LINE: u64 = 128;

/// A cycle through all of `nodes`, one in each `stride` bytes, in an order that `seed` draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    pub(crate) nodes: u64,
    pub(crate) stride: u64,
    pub(crate) seed: u64,
}

impl Cycle {
    /// Offset in bytes of the node that a walk from the first one reaches after `steps`.
    pub(crate) fn after(&self, steps: u64) -> u64 {
        self.place(permute(steps % self.nodes, self.nodes, self.seed))
    }

    /// Where a node lies: in a stride of several lines, on one that is drawn.
    fn place(&self, node: u64) -> u64 {
        let lines = self.stride / LINE;
        node * self.stride + if lines > 1 { mix(self.seed ^ node) % lines * LINE } else { 0 }
    }
}

/// A permutation of 0..n: a Feistel network over the next even number of bits, walked until it falls below n.
pub(crate) fn permute(x: u64, n: u64, seed: u64) -> u64 {
    let bits = if n < 2 { 1 } else { 64 - (n - 1).leading_zeros() };
    let half = bits.div_ceil(2);
    let mask = (1_u64 << half) - 1;
    let mut x = x;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..ROUNDS {
            let key = seed.wrapping_add(round * ROUND).wrapping_add(right);
            (left, right) = (right, left ^ (mix(key) & mask));
        }
        x = left << half | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_node_is_met_once() {
        for n in [1, 2, 3, 5, 64, 100, 1000, 1023, 4097] {
            for seed in [0, 7, u64::MAX] {
                let met: BTreeSet<u64> = (0..n).map(|x| permute(x, n, seed)).collect();
                assert!(met.into_iter().eq(0..n), "{n} {seed}");
            }
        }
    }

    #[test]
    fn orders_differ_by_seed_and_are_no_staircase() {
        let order = |seed| (0..1000).map(|x| permute(x, 1000, seed)).collect::<Vec<u64>>();
        assert_ne!(order(1), order(2));
        let steps = order(1).windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 8).count();
        assert!(steps < 50, "{steps} of 999 steps lead to a neighbour");
    }

    #[test]
    fn a_walk_comes_back_after_all_nodes() {
        let cycle = Cycle { nodes: 100, stride: 4096, seed: 3 };
        assert_eq!(cycle.after(100), cycle.after(0));
        let places: BTreeSet<u64> = (0..100).map(|steps| cycle.after(steps)).collect();
        assert_eq!(places.len(), 100);
        assert!(places.iter().all(|place| place % LINE == 0) && places.iter().any(|place| place % 4096 != 0));
    }
}
