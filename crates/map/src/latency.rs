//! The latency curves: one dependent load, over cycles of growing size.
//!
//! Random Hamiltonian cycles on large pages show the caches; on small pages they show the caches and the translation;
//! cycles in address order show what the prefetchers hide.

use crate::arena::{Arena, Pages};
use crate::knee::knees;
use crate::random::Random;
use crate::rig::{Proportion, Rig, WINDOW};
use crate::summary::Summary;
use crate::{MapError, Session};
use model::{Curve, CurvePoint, Quantity};

/// Bytes of a line; each line is visited once a round.
pub(crate) const LINE: usize = 64;
/// Smallest cycle.
const SMALLEST: usize = 4096;
/// Steps that warm a cycle: once round, or as many as any cache can still gain from.
const WARM: usize = 1 << 19;
/// Loads that the probe makes at least.
pub(crate) const GRAIN: u64 = 16;
/// Around a knee, sizes are measured this far to both sides.
const AROUND: f64 = 1.7;

/// In which order a cycle visits its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Random,
    Ascending,
}

/// One curve to measure.
struct Wanted {
    name: &'static str,
    order: Order,
    pages: Pages,
    /// Sizes an octave at first.
    octave: u32,
    /// Sizes an octave around the knees that show; none where 0.
    fine: u32,
    words: &'static str,
}

/// The curves, the first one always there: its knees choose the levels.
pub(crate) fn measure(session: &mut Session) -> Result<Vec<Curve>, MapError> {
    let limit = session.facts.memory.map_or(usize::MAX, |bytes| bytes / 4);
    let largest = session.plan.largest_cycle.min(limit).max(SMALLEST);
    let (octave, fine) = (session.plan.octave, session.plan.fine);
    let huge = Wanted {
        name: "latency.huge",
        order: Order::Random,
        pages: Pages::Huge,
        octave,
        fine,
        words: "random cycle through every line once, large pages",
    };
    let small = Wanted {
        name: "latency.4k",
        pages: Pages::Small,
        words: "random cycle through every line once, small pages",
        ..huge
    };
    let stride = Wanted {
        name: "latency.stride",
        order: Order::Ascending,
        octave: 1,
        fine: 0,
        words: "cycle in address order: what the prefetchers leave of a latency",
        ..huge
    };
    let mut curves = Vec::new();
    let granted = session.facts.huge.clone();
    let granted = granted.and_then(|()| curve(session, &huge, largest).map_err(|error| error.to_string()));
    let with_huge = granted.is_ok();
    curves.extend(session.noted("latency.huge", granted));
    // The levels come from this one where there are no large pages; beside a curve on these it may be coarser.
    let coarser = Wanted { octave: (octave / 2).max(1), fine: fine / 2, ..small };
    let small_curve = curve(session, if with_huge { &coarser } else { &small }, largest)?;
    curves.push(small_curve);
    let stride = Wanted { pages: if with_huge { Pages::Huge } else { Pages::Small }, ..stride };
    let result = curve(session, &stride, largest).map_err(|error| error.to_string());
    curves.extend(session.noted("latency.stride", result));
    curves.retain(|curve| !curve.points.is_empty());
    Ok(curves)
}

fn curve(session: &mut Session, wanted: &Wanted, largest: usize) -> Result<Curve, MapError> {
    (session.progress)(&format!("{} from 4 KiB to {} MiB", wanted.name, largest >> 20));
    let arena = Arena::on(largest + LINE, wanted.pages).ok_or(MapError::NoMemory(largest))?;
    // SAFETY: inside the arena. Written to, so that its pages exist and their kind can be seen.
    unsafe { arena.start().write_bytes(0, arena.bytes()) };
    if wanted.pages == Pages::Huge && arena.is_huge() == Some(false) {
        return Err(MapError::NoLargePages);
    }
    let mut points = Vec::new();
    measure_sizes(session, (wanted, &arena), &sizes(largest, f64::from(wanted.octave)), &mut points);
    if wanted.fine > wanted.octave {
        let around: Vec<usize> = knees(&points)
            .into_iter()
            .flat_map(|knee| {
                let all = sizes(largest, f64::from(wanted.fine));
                all.into_iter().filter(move |&size| {
                    let off = size as f64 / knee;
                    (1.0 / AROUND..=AROUND).contains(&off)
                })
            })
            .collect();
        measure_sizes(session, (wanted, &arena), &around, &mut points);
    }
    let method = format!(
        "{}; median of windows of about {WINDOW} in {} a size, interval of that median (95 %)",
        wanted.words, session.plan.point
    );
    Ok(Curve { name: wanted.name.to_owned(), quantity: Quantity::Seconds, points, method })
}

/// Measures the sizes that `points` lacks, and keeps them in order.
fn measure_sizes(
    session: &mut Session,
    (wanted, arena): (&Wanted, &Arena),
    sizes: &[usize],
    points: &mut Vec<CurvePoint>,
) {
    for (i, &size) in sizes.iter().enumerate() {
        if points.iter().any(|point| point.x == size as f64) {
            continue;
        }
        // A point costs as much to check as to measure, and what could deceive one would deceive its neighbours.
        let check = if i % 16 == 0 { Proportion::Checked } else { Proportion::Assumed };
        let result = point(session, (arena, wanted.order), size, check);
        points.extend(session.noted(&format!("{} at {size} bytes", wanted.name), result));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
}

/// Whole lines, so many sizes an octave.
fn sizes(largest: usize, octave: f64) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0_i32..1024)
        .map(|i| SMALLEST as f64 * 2_f64.powf(f64::from(i) / octave))
        .map(|size| (size / LINE as f64).round() as usize * LINE)
        .take_while(|&size| size <= largest)
        .collect();
    sizes.dedup();
    sizes
}

fn point(
    session: &mut Session,
    (arena, order): (&Arena, Order),
    size: usize,
    check: Proportion,
) -> Result<CurvePoint, String> {
    let mut chase = Chase::new(arena, size / LINE, order, &mut session.random)?;
    let mut walk = |steps: u64| chase.walk(steps);
    let mut rig = Rig { clock: session.clock, load: &mut walk };
    let units = rig.units(WINDOW)?;
    if check == Proportion::Checked {
        rig.check_proportional(units)?;
    }
    let Summary { median, middle, .. } = rig.soak(units, session.plan.point)?.scaled(GRAIN as f64).per_unit();
    Ok(CurvePoint { x: size as f64, y: median, interval: middle })
}

/// A cycle in an arena, being walked.
pub(crate) struct Chase<'a> {
    kernel: kernels::Kernel,
    arena: &'a Arena,
    position: [u64; 8],
}

impl<'a> Chase<'a> {
    /// Links the first `lines` lines and goes once round, or as far as any cache can gain from.
    pub(crate) fn new(arena: &'a Arena, lines: usize, order: Order, random: &mut Random) -> Result<Self, String> {
        let kernel = kernels::find("chase").ok_or("the probe is unknown")?;
        link(arena, lines, order, random);
        let mut chase = Self { kernel, arena, position: [0; 8] };
        chase.walk((lines.min(WARM) as u64).div_ceil(GRAIN));
        Ok(chase)
    }

    /// Over a cycle that is linked already.
    pub(crate) fn linked(arena: &'a Arena) -> Result<Self, String> {
        Ok(Self { kernel: kernels::find("chase").ok_or("the probe is unknown")?, arena, position: [0; 8] })
    }

    /// Makes [`GRAIN`] loads a step.
    pub(crate) fn walk(&mut self, steps: u64) {
        let buffers = [self.arena.start(), self.position.as_mut_ptr().cast()];
        // SAFETY: the cycle stays inside the arena, and the position is one of its offsets.
        unsafe { (self.kernel.entry)(buffers.as_ptr(), [(steps * GRAIN) as i64].as_ptr()) };
        std::hint::black_box(self.position);
    }
}

/// Writes a cycle through the first `lines` lines: at each the byte offset of the next.
#[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
fn link(arena: &Arena, lines: usize, order: Order, random: &mut Random) {
    assert!(lines * LINE <= arena.bytes(), "the cycle leaves the arena");
    let mut visits: Vec<u32> = (0..lines as u32).collect();
    if order == Order::Random {
        random.shuffle(&mut visits);
    }
    for (i, &line) in visits.iter().enumerate() {
        let next = visits[(i + 1) % lines];
        // SAFETY: inside the arena.
        unsafe {
            arena.start().add(line as usize * LINE).cast::<u64>().write(u64::from(next) * LINE as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_lines_so_many_an_octave() {
        let coarse = sizes(1 << 16, 4.0);
        assert_eq!((coarse[0], coarse[4], *coarse.last().unwrap()), (4096, 8192, 1 << 16));
        assert_eq!(coarse.len(), 17);
        let fine = sizes(1 << 30, 16.0);
        assert!(fine.iter().all(|size| size % LINE == 0));
        // Below, a line is more than the rest of 5 %.
        let large = fine.iter().filter(|&&size| size >= 16 << 10).collect::<Vec<_>>();
        assert!(large.windows(2).all(|pair| *pair[1] as f64 / *pair[0] as f64 <= 1.05), "5 % apart at most");
    }

    #[test]
    #[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
    fn a_cycle_visits_every_line_once() {
        let arena = Arena::new(1 << 16).unwrap();
        for (lines, order) in [(1, Order::Random), (2, Order::Random), (1000, Order::Random), (1000, Order::Ascending)]
        {
            link(&arena, lines, order, &mut Random::from_seed(lines as u64));
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
