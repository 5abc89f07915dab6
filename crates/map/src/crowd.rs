//! What the second level holds, whichever pages the system grants: lines of one page offset, picked so that all stay.
//!
//! A second level is indexed by the machine's own addresses. No program knows them, and a hypervisor scatters even large
//! pages, so that a cycle through memory as it comes fills some sets early and its knee says too little. Here lines join
//! a cycle one by one, and one that pushes others out leaves it again. When none joins any more, every set that the
//! offset reaches is full, and the lines times the page are the capacity.

use crate::Session;
use crate::arena::{Arena, Pages};
use crate::latency::{Chase, GRAIN};
use model::{Figure, Interval, Quantity};

/// Bytes of a small page: lines so far apart share their place within a page.
const PAGE: usize = 4096;
/// Lines to begin with: more than the ways of any first level known to us, so that every load comes from the second.
const START: usize = 32;
/// Lines in a row that don't join before the sets count as full. Three out of so many is what 95 % leave open.
const PATIENCE: usize = 128;
/// A line pushes others out when it costs a round so many loads more than itself: two misses do, in any hierarchy that
/// is known to us.
const PUSHED: f64 = 4.0;
/// Pairs of a cycle with and without a line; the best time of each counts.
const PAIRS: usize = 5;
/// Rounds of a timed walk, and loads at least.
const ROUNDS: usize = 8;
const LEAST_LOADS: usize = 512;
/// Lines at most on small pages: about the reach of the smallest second TLB in use.
const MOST_SMALL: usize = 1280;
/// Bytes to pick from, and so many times the system's claim at least.
const POOL: usize = 16 << 20;
const CLAIMS: usize = 4;
/// Loads of the full cycle may be slower than those of the first lines by so much.
const SLOWER: f64 = 1.25;
/// From so many lines on: fewer are within the first TLB's reach, and their loads are faster for that.
const BEYOND_TLB: usize = 160;
/// A knee comes early and never late, so that fewer lines than it says are too few.
const LEAST_OF_KNEE: f64 = 0.85;

/// Measures what the second level holds; `knee` is where the latency curve says that it begins to miss.
pub(crate) fn measure(session: &mut Session, knee: Option<f64>) -> Result<Figure, String> {
    (session.progress)("lines that the second level holds");
    let bytes = POOL.max(CLAIMS * session.facts.claims.l2.unwrap_or(0)).min(session.facts.memory.unwrap_or(POOL) / 2);
    let pages = if session.facts.huge.is_ok() { Pages::Huge } else { Pages::Small };
    let arena = Arena::on(bytes, pages).ok_or("out of memory")?;
    // SAFETY: inside the arena. Written to, so that its pages exist and their kind can be seen.
    unsafe { arena.start().write_bytes(0, arena.bytes()) };
    let most = if arena.is_huge() == Some(true) { arena.bytes() / PAGE } else { MOST_SMALL };
    let mut others: Vec<usize> = (1..arena.bytes() / PAGE).map(|page| page * PAGE).collect();
    session.random.shuffle(&mut others);
    let mut lines = Lines { arena: &arena, chase: Chase::linked(&arena)? };
    let (held, begun, full) = fill(&others, most, &mut |members, line| lines.loads(session, members, line))?;
    if knee.is_some_and(|knee| ((held * PAGE) as f64) < LEAST_OF_KNEE * knee) {
        return Err(format!("{held} lines a page apart stay, fewer than the knee says: something else is full first"));
    }
    figure(held, [begun, full], session.facts.claims.l2)
}

/// What a round of a cycle through lines takes without and with one line more, in seconds.
type Rounds = [f64; 2];

/// Times a round through members, and one through these and a line more.
type Time<'a> = dyn FnMut(&[usize], usize) -> Result<Rounds, String> + 'a;

/// How many lines stay together, and what a load takes of the first and of all of them.
fn fill(others: &[usize], most: usize, time: &mut Time<'_>) -> Result<(usize, f64, f64), String> {
    let stays = |members: &[usize], [without, with]: Rounds| with - without <= PUSHED * without / members.len() as f64;
    // Offset 0 is where a walk begins; it always belongs.
    let mut members = vec![0];
    members.extend(others.iter().take(START - 1));
    for at in (1..members.len()).rev() {
        let line = members.remove(at);
        let rounds = time(&members, line)?;
        if stays(&members, rounds) {
            members.insert(at, line);
        }
    }
    let (mut begun, mut refused) = (None, 0);
    for &line in others.iter().skip(START - 1) {
        let rounds = time(&members, line)?;
        let full = rounds[0] / members.len() as f64;
        if members.len() >= BEYOND_TLB {
            begun.get_or_insert(full);
        }
        if stays(&members, rounds) {
            members.push(line);
            refused = 0;
        } else {
            refused += 1;
        }
        if refused == PATIENCE {
            return Ok((members.len(), begun.unwrap_or(full), full));
        }
        if members.len() > most {
            return Err(format!("more than {most} lines a page apart stay in it, which is beyond the TLBs' reach"));
        }
    }
    Err(format!("of {} lines a page apart {} stay, and the last ones still joined", others.len(), members.len()))
}

fn figure(held: usize, [begun, full]: [f64; 2], claim: Option<usize>) -> Result<Figure, String> {
    let slower = full / begun;
    if slower.is_nan() || slower >= SLOWER {
        return Err(format!("loads of the picked lines became {slower:.2} times as slow as those of the first ones"));
    }
    let value = (held * PAGE) as f64;
    let open = 3.0 / PATIENCE as f64;
    let figure = Figure {
        name: "capacity.L2".to_owned(),
        quantity: Quantity::Bytes,
        value,
        // Lines that push others out unnoticed make the cycle slower; sets that are not full yet are few.
        interval: Interval { low: value / slower.max(1.0 + open), high: value * (1.0 + open) },
        samples: held as u32,
        method: format!(
            "{held} lines a page apart, picked so that all stay, times the page of 4 KiB: independent of the pages' \
             addresses; none of {PATIENCE} others fits"
        ),
        witness: None,
    };
    Ok(claim.map_or(figure.clone(), |claim| figure.witnessed("the system's claim", claim as f64)))
}

/// Lines of an arena that a walk goes through in the order in which they joined, which is random.
struct Lines<'a> {
    arena: &'a Arena,
    chase: Chase<'a>,
}

impl Lines<'_> {
    /// A round through `members`, and one through `members` and `line`; the best of some, in alternation, so that a clock
    /// that moves moves both.
    fn loads(&mut self, session: &mut Session, members: &[usize], line: usize) -> Result<Rounds, String> {
        self.link(members);
        self.point(line, 0);
        let last = *members.last().ok_or("no line")?;
        let mut best = [f64::INFINITY; 2];
        for _ in 0..PAIRS {
            for (i, next) in [0, line].into_iter().enumerate() {
                self.point(last, next);
                let lines = members.len() + i;
                let steps = (ROUNDS * lines).max(LEAST_LOADS) as u64 / GRAIN + 1;
                // Until the sets hold what this cycle makes them hold.
                self.chase.walk(steps / 4 + 1);
                let start = session.clock.now();
                self.chase.walk(steps);
                let time = session.clock.now().0 - start.0;
                best[i] = best[i].min(time / (steps * GRAIN) as f64 * lines as f64);
            }
        }
        // The walk may stand on the line that leaves; it leads back to the first.
        self.point(last, 0);
        if best[0] > 0.0 { Ok(best) } else { Err("a walk took no time".to_owned()) }
    }

    fn link(&self, members: &[usize]) {
        for pair in members.windows(2) {
            self.point(pair[0], pair[1]);
        }
    }

    #[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
    fn point(&self, from: usize, to: usize) {
        assert!(from + 8 <= self.arena.bytes() && to < self.arena.bytes(), "the cycle leaves the arena");
        // SAFETY: inside the arena, which no reference points into.
        unsafe { self.arena.start().add(from).cast::<u64>().write(to as u64) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A level of so many colours and ways, whose pages have their colours at random; a miss costs as much as `miss` loads.
    fn held(colours: usize, ways: usize, miss: f64) -> Result<(usize, f64, f64), String> {
        let colour = |line: usize| ((line / PAGE) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> 20;
        let others: Vec<usize> = (1..4096).map(|page| page * PAGE).collect();
        let round = |lines: &mut dyn Iterator<Item = usize>| {
            let mut counts = BTreeMap::new();
            lines.for_each(|line| *counts.entry(colour(line) % colours).or_insert(0_usize) += 1);
            // Least recently used: one too many, and all of a set miss.
            let cost = |&count: &usize| count as f64 * if count > ways { miss } else { 1.0 };
            counts.values().map(cost).sum::<f64>()
        };
        fill(&others, 4096, &mut |members, line| {
            let with = &mut members.iter().copied().chain([line]);
            Ok([round(&mut members.iter().copied()), round(with)])
        })
    }

    #[test]
    fn every_set_is_filled_and_none_overflows() {
        for (colours, ways) in [(32, 16), (16, 20), (16, 8), (64, 16)] {
            let (held, begun, full) = held(colours, ways, 6.0).unwrap();
            let truth = colours * ways;
            assert!(held <= truth && held as f64 >= 0.98 * truth as f64, "{held} of {truth}");
            assert!((full / begun - 1.0).abs() < 1e-9, "{full} after {begun}");
        }
    }

    #[test]
    fn a_crowded_beginning_is_thinned() {
        // 64 lines in all: the first 32 already crowd some of the sets.
        let (held, begun, full) = held(16, 4, 6.0).unwrap();
        assert!((62..=64).contains(&held) && (full / begun - 1.0).abs() < 1e-9, "{held}");
    }

    #[test]
    fn a_level_without_an_end_is_none() {
        assert!(held(1, 100_000, 6.0).unwrap_err().contains("still joined"));
    }

    #[test]
    fn lines_that_became_slower_are_no_capacity() {
        assert!(figure(512, [5.0, 7.0], None).unwrap_err().contains("1.40 times"));
        let figure = figure(512, [5.0, 5.2], Some(2 << 20)).unwrap();
        assert_eq!(figure.value, 2_097_152.0);
        assert!(figure.interval.low < figure.value && figure.value < figure.interval.high, "{figure:?}");
    }
}
