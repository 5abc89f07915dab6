//! Pairs of batches, coin-flipped and interleaved: what a process pair is made of, whatever the problem's format.
//!
//! Must not know what a batch is, and must not decide anything: `stats` does.

use model::Seconds;
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Pairs of batches in one process pair.
const PAIRS: RangeInclusive<usize> = 1..=24;

/// What interleaved pairs gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Interleaved {
    /// Median over the pairs of ln(t_second / t_first).
    pub y: f64,
    /// Pairs.
    pub pairs: u32,
    /// Median time of one call: first arm, second arm.
    pub call: [Seconds; 2],
}

/// An order for each pair: as many as fit into `time` where one pair costs `cost`.
pub fn orders(time: Duration, cost: Duration, coins: &mut impl Rng) -> Vec<[usize; 2]> {
    let pairs = (time.as_secs_f64() / cost.as_secs_f64().max(1e-6)) as usize;
    let pairs = pairs.clamp(*PAIRS.start(), *PAIRS.end());
    (0..pairs).map(|_| if coins.random() { [0, 1] } else { [1, 0] }).collect()
}

/// Times both arms once an order; `time` runs a batch of the arm of that number and gives the time of one call.
///
/// # Errors
/// The first failure of `time`.
pub fn run<E>(orders: &[[usize; 2]], mut time: impl FnMut(usize) -> Result<Seconds, E>) -> Result<Interleaved, E> {
    let mut ys = Vec::with_capacity(orders.len());
    let mut times = [Vec::new(), Vec::new()];
    for order in orders {
        let mut pair = [0.0; 2];
        for arm in *order {
            pair[arm] = time(arm)?.0;
            times[arm].push(pair[arm]);
        }
        ys.push((pair[1] / pair[0]).ln());
    }
    let call = times.map(|times| Seconds(stats::robust::median(&times)));
    Ok(Interleaved { y: stats::robust::median(&ys), pairs: orders.len() as u32, call })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    #[test]
    fn as_many_pairs_as_fit_and_both_orders() {
        let check = |time: u64, cost: u64, expected: usize| {
            let (time, cost) = (Duration::from_millis(time), Duration::from_millis(cost));
            let orders = orders(time, cost, &mut ChaCha12Rng::seed_from_u64(7));
            assert_eq!(orders.len(), expected, "{time:?} {cost:?}");
            assert!(expected < 12 || [[0, 1], [1, 0]].iter().all(|order| orders.contains(order)), "{orders:?}");
        };
        check(130, 13, 10);
        check(130, 1, 24);
        check(130, 1000, 1);
        check(130, 0, 24);
    }

    #[test]
    fn the_sign_is_the_second_arms_whatever_the_order() {
        let mut asked = Vec::new();
        // The second arm takes twice the first one's time, but for the last pair.
        let found = run(&[[0, 1], [1, 0], [0, 1]], |arm| {
            asked.push(arm);
            let slow = if asked.len() == 6 { 50.0 } else { 2.0 };
            Ok::<_, ()>(Seconds([1.0, slow][arm]))
        })
        .unwrap();
        assert_eq!(asked, [0, 1, 1, 0, 0, 1]);
        assert_eq!((found.y, found.pairs), (std::f64::consts::LN_2, 3));
        assert_eq!(found.call, [Seconds(1.0), Seconds(2.0)]);
    }

    #[test]
    fn a_failure_ends_it() {
        let mut calls = 0;
        let found = run(&[[0, 1], [1, 0]], |arm| {
            calls += 1;
            if arm == 1 { Err("no") } else { Ok(Seconds(1.0)) }
        });
        assert_eq!((found, calls), (Err("no"), 2));
    }
}
