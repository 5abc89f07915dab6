//! The latency curve: one dependent load, over random Hamiltonian cycles of growing size.

use crate::arena::Arena;
use crate::random::Random;
use crate::rig::{Rig, WINDOW};
use crate::{MapError, Session, system};
use model::{Bytes, LatencyPoint, Seconds};

/// Bytes of a line; each line is visited once a round.
const LINE: usize = 64;
/// Smallest cycle.
const SMALLEST: usize = 4096;
/// Points an octave.
const OCTAVE: f64 = 4.0;
/// Steps that warm a cycle: once round, or as many as any cache can still gain from.
const WARM: usize = 1 << 19;
/// Loads that the probe makes at least.
const GRAIN: u64 = 16;

/// Measures the curve from 4 KiB to the plan's largest cycle, or a quarter of the memory that is available.
pub(crate) fn measure(session: &mut Session) -> Result<Vec<LatencyPoint>, MapError> {
    let limit = system::available_memory().map_or(usize::MAX, |bytes| bytes / 4);
    let largest = session.plan.largest_cycle.min(limit).max(SMALLEST);
    let arena = Arena::new(largest + LINE).ok_or(MapError::NoMemory(largest))?;
    let sizes = sizes(largest);
    (session.progress)(&format!("latency from 4 KiB to {} MiB", largest >> 20));
    let mut curve = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        // A point costs as much to check as to measure, and what could deceive one would deceive its neighbours.
        let check = if i % 16 == 0 { Proportion::Checked } else { Proportion::Assumed };
        let result = point(session, &arena, size, check);
        curve.extend(session.noted(&format!("latency at {size} bytes"), result));
    }
    Ok(curve)
}

/// Whether a point makes sure that time follows work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proportion {
    Checked,
    Assumed,
}

/// Whole lines, four sizes an octave.
fn sizes(largest: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0_i32..128)
        .map(|i| SMALLEST as f64 * 2_f64.powf(f64::from(i) / OCTAVE))
        .map(|size| (size / LINE as f64).round() as usize * LINE)
        .take_while(|&size| size <= largest)
        .collect();
    sizes.dedup();
    sizes
}

fn point(session: &mut Session, arena: &Arena, size: usize, check: Proportion) -> Result<LatencyPoint, String> {
    let kernel = kernels::find("chase").ok_or("the probe is unknown")?;
    let lines = size / LINE;
    link(arena, lines, &mut session.random);
    let mut position = [0_u64; 8];
    let mut walk = |steps: u64| {
        let buffers = [arena.start(), position.as_mut_ptr().cast()];
        // SAFETY: the cycle stays inside the arena, and the position is one of its offsets.
        unsafe { (kernel.entry)(buffers.as_ptr(), [(steps * GRAIN) as i64].as_ptr()) };
    };
    walk((lines.min(WARM) as u64).div_ceil(GRAIN));
    let mut rig = Rig { clock: session.clock, load: &mut walk };
    let units = rig.units(WINDOW)?;
    if check == Proportion::Checked {
        rig.check_proportional(units)?;
    }
    let summary = rig.soak(units, session.plan.chase)?;
    std::hint::black_box(position);
    Ok(LatencyPoint { size: Bytes(size as f64), latency: Seconds(1.0 / (summary.median * GRAIN as f64)) })
}

/// Writes a random cycle through the first `lines` lines: at each the byte offset of the next.
#[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
fn link(arena: &Arena, lines: usize, random: &mut Random) {
    assert!(lines * LINE <= arena.bytes(), "the cycle leaves the arena");
    let mut order: Vec<u32> = (0..lines as u32).collect();
    random.shuffle(&mut order);
    for (i, &line) in order.iter().enumerate() {
        let next = order[(i + 1) % lines];
        // SAFETY: inside the arena.
        unsafe {
            arena.start().add(line as usize * LINE).cast::<u64>().write(next as u64 * LINE as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_lines_four_an_octave() {
        let sizes = sizes(1 << 16);
        assert_eq!((sizes[0], sizes[4], *sizes.last().unwrap()), (4096, 8192, 1 << 16));
        assert_eq!(sizes.len(), 17);
        assert!(sizes.iter().all(|size| size % LINE == 0));
    }

    #[test]
    #[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
    fn a_cycle_visits_every_line_once() {
        let arena = Arena::new(1 << 16).unwrap();
        for lines in [1, 2, 1000] {
            link(&arena, lines, &mut Random::from_seed(lines as u64));
            let mut seen = vec![false; lines];
            let mut offset = 0;
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut seen[offset / LINE], true), "a shorter cycle");
                // SAFETY: the offset is inside the arena, as asserted by the index above.
                offset = unsafe { arena.start().add(offset).cast::<u64>().read() } as usize;
            }
            assert_eq!(offset, 0);
        }
    }
}
