//! Bandwidth ceilings of one core at each level of the memory ladder.
//!
//! The levels come from the knees of the latency curve; the system's claims stand in where the curve has none.

use crate::arena::Arena;
use crate::knee::knees;
use crate::rig::{Rig, WINDOW};
use crate::summary::Summary;
use crate::system::{Claims, available_memory};
use crate::{MapError, Session};
use model::{Bytes, BytesPerSecond, Interval, LatencyPoint, MemoryCeiling};

/// A level and the working set that it is measured with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Bytes of all arrays together.
    pub(crate) working_set: usize,
    /// Where that size comes from.
    pub(crate) reason: String,
}

/// Sizes that the first levels have where neither the curve nor the system tells.
const TYPICAL: [usize; 2] = [32 << 10, 512 << 10];
/// The working set in memory is so many times the last knee.
const BEYOND: usize = 4;
/// Below this a working set in memory would prove nothing.
const SMALLEST_DRAM: usize = 64 << 20;

/// Chooses the working sets. What cannot be told apart goes to `missing`.
pub(crate) fn levels(
    curve: &[LatencyPoint],
    claims: &Claims,
    least_dram: usize,
    missing: &mut Vec<String>,
) -> Vec<Level> {
    let knees = knees(curve);
    let [l1, first] = capacity(&knees, claims.l1, 0, TYPICAL[0]);
    let [l2, second] = capacity(&knees, claims.l2, l1, TYPICAL[1]);
    let describe = |size: usize, source: usize| {
        let source = if source == 1 { "knee of the latency curve" } else { "size that the system claims, no knee" };
        format!("{source} at {} KiB", size >> 10)
    };
    let mut levels = vec![
        Level { name: "L1", working_set: l1 / 2, reason: describe(l1, first) },
        Level { name: "L2", working_set: (l2 / 2).max(2 * l1), reason: describe(l2, second) },
    ];
    let beyond_second = 2 * l2.max(claims.l2.unwrap_or(0));
    let last = knees.iter().copied().rfind(|&knee| knee >= beyond_second);
    let inside = knees.iter().copied().find(|&knee| knee >= beyond_second);
    // Just beyond the second level: a knee further out may be the reach of a TLB, and the system's claim the share of
    // others. In a cycle of twice what a level holds, hardly an access still hits it.
    let size = beyond_second * 3 / 2;
    match inside {
        Some(knee) => levels.push(Level { name: "LLC", working_set: size.min(knee), reason: describe(knee, 1) }),
        None if claims.last.is_some_and(|claim| claim >= 4 * beyond_second) => {
            let reason = "three times the second level: the curve has no knee beyond it".to_owned();
            levels.push(Level { name: "LLC", working_set: size, reason });
        }
        None => {
            missing.push("LLC: neither the latency curve nor the system shows a level beyond the second".to_owned());
        }
    }
    let beyond = BEYOND * last.unwrap_or(0);
    let memory = beyond.max(least_dram).min(available_memory().unwrap_or(least_dram * 2) / 2);
    if memory >= SMALLEST_DRAM.min(least_dram).max(2 * last.unwrap_or(0)) {
        let reason =
            format!("{BEYOND} times the last knee, at least {} MiB, at most half of the free memory", least_dram >> 20);
        levels.push(Level { name: "DRAM", working_set: memory, reason });
    } else {
        missing.push(format!("DRAM: only {} MiB could be taken", memory >> 20));
    }
    levels
}

/// Capacity of a level beyond `below`, and 1 if it is a knee: the knee nearest to the claim if within a factor of two,
/// without a claim the first one. A knee far off the claim is something else, such as the reach of a TLB.
fn capacity(knees: &[usize], claim: Option<usize>, below: usize, typical: usize) -> [usize; 2] {
    let off = |knee: usize| claim.map_or(0.0, |claim| (knee as f64 / claim as f64).ln().abs());
    let nearest = knees.iter().copied().filter(|&knee| knee > 2 * below).min_by(|&a, &b| off(a).total_cmp(&off(b)));
    match nearest {
        Some(knee) if off(knee) <= 2_f64.ln() => [knee, 1],
        _ => [claim.unwrap_or(typical).max(4 * below), 0],
    }
}

/// Memory for the largest working set, filled with random numbers.
pub(crate) fn arena(session: &mut Session, levels: &[Level]) -> Result<Arena, MapError> {
    let largest = levels.iter().map(|level| level.working_set).max().unwrap_or(SMALLEST_DRAM);
    (session.progress)(&format!("filling {} MiB", largest >> 20));
    // Room for the rounding of two or three arrays.
    let bytes = Arena::needed(3, largest) + Arena::needed(2, 1);
    let arena = Arena::new(bytes).ok_or(MapError::NoMemory(bytes))?;
    arena.fill(&mut session.random);
    Ok(arena)
}

/// Measures read, copy and triad at every level.
pub(crate) fn measure(session: &mut Session, levels: &[Level], arena: &Arena) -> Vec<MemoryCeiling> {
    let mut ceilings = Vec::new();
    for level in levels {
        for (kernel, arrays) in [("read", 1), ("copy", 2), ("triad", 3)] {
            (session.progress)(&format!("{kernel} bandwidth, {}", level.name));
            let result = ceiling(session, level, kernel, (arrays, arena));
            ceilings.extend(session.noted(&format!("{kernel} at {}", level.name), result));
        }
    }
    ceilings
}

/// The faster of the ordinary and the streaming form.
fn ceiling(
    session: &mut Session,
    level: &Level,
    kernel: &str,
    (arrays, arena): (usize, &Arena),
) -> Result<MemoryCeiling, String> {
    let mut forms = vec![format!("ceiling-{kernel}")];
    if kernel != "read" && matches!(level.name, "LLC" | "DRAM") {
        forms.push(format!("ceiling-{kernel}-stream"));
    }
    let mut best: Option<(Summary, &str)> = None;
    for form in &forms {
        let summary = bytes_per_second(session, &Stream::new(form, level, arrays, arena)?)?;
        if best.as_ref().is_none_or(|(other, _)| summary.median > other.median) {
            best = Some((summary, form));
        }
    }
    let (summary, form) = best.ok_or("no form of the probe")?;
    let stores = match (kernel, form.ends_with("-stream")) {
        ("read", _) => "loads alone",
        (_, true) => "stores past the caches, the faster of both forms",
        (_, false) => "ordinary stores",
    };
    Ok(MemoryCeiling {
        level: level.name.to_owned(),
        kernel: kernel.to_owned(),
        working_set: Bytes(level.working_set as f64),
        best: BytesPerSecond(summary.best),
        sustained: BytesPerSecond(summary.median),
        spread: Interval { low: summary.quartiles.low, high: summary.quartiles.high },
        method: format!(
            "{stores}; {} windows of about {WINDOW}; {}; huge pages where granted; random data",
            summary.samples, level.reason
        ),
    })
}

fn bytes_per_second(session: &mut Session, stream: &Stream) -> Result<Summary, String> {
    let mut at = 0;
    let mut load = |units: u64| at = stream.run(units, at);
    let Summary { best, median, quartiles, samples } =
        Rig { clock: session.clock, load: &mut load }.rates(session.plan.stream)?;
    let unit = stream.unit_bytes();
    let quartiles = Interval { low: quartiles.low * unit, high: quartiles.high * unit };
    Ok(Summary { best: best * unit, median: median * unit, quartiles, samples })
}

/// A bandwidth kernel over its arrays, a piece at a time. Going on where the last window ended keeps a window short
/// and the working set whole.
pub(crate) struct Stream {
    kernel: kernels::Kernel,
    arrays: Vec<*mut u8>,
    /// Pieces of an array.
    pieces: u64,
    /// Elements of a piece.
    elements: u64,
}

/// Elements of a piece at most: 128 KiB of each array.
const PIECE: usize = 32 << 10;
/// Elements that the kernels work in.
const BLOCK: usize = 128;

impl Stream {
    /// `name` over `n` arrays that make up the level's working set together.
    pub(crate) fn new(name: &str, level: &Level, n: usize, arena: &Arena) -> Result<Self, String> {
        let kernel = kernels::find(name).ok_or("the probe is unknown")?;
        (kernel.warm)();
        let elements = level.working_set / n / 4 / BLOCK * BLOCK;
        if elements == 0 {
            return Err("the working set is smaller than a block".to_owned());
        }
        let piece = elements.min(PIECE);
        let mut arrays = arena.arrays(n, 4 * elements).ok_or("the working set does not fit into the arena")?;
        if n == 1 {
            // The sums of a read go to the end of the arena, where no working set reaches.
            arrays.push(arena.start().wrapping_add(arena.bytes() - 4096));
        }
        Ok(Self { kernel, arrays, pieces: (elements / piece) as u64, elements: piece as u64 })
    }

    /// Bytes that one piece moves, in all arrays.
    pub(crate) fn unit_bytes(&self) -> f64 {
        kernels::bytes(self.kernel.name, &[self.elements as i64, 1]).unwrap_or(f64::NAN)
    }

    /// Works on `units` pieces from piece `at` on, round and round; the piece to go on from.
    pub(crate) fn run(&self, units: u64, at: u64) -> u64 {
        let mut at = at % self.pieces;
        let mut left = units;
        while left > 0 {
            // One call for as many neighbours as are left before the end, and for small sets one for all rounds.
            let (together, repeats) = if self.pieces == 1 { (1, left) } else { (left.min(self.pieces - at), 1) };
            self.call(at, together, repeats);
            at = (at + together) % self.pieces;
            left -= together * repeats;
        }
        at
    }

    fn call(&self, at: u64, pieces: u64, repeats: u64) {
        let offset = (at * self.elements * 4) as usize;
        let is_read = self.kernel.name == "ceiling-read";
        let mut pointers = [std::ptr::null_mut(); 3];
        for (i, (pointer, array)) in pointers.iter_mut().zip(&self.arrays).enumerate() {
            *pointer = array.wrapping_add(if is_read && i == 1 { 0 } else { offset });
        }
        let sizes = [(pieces * self.elements) as i64, repeats as i64];
        // SAFETY: the pieces lie inside the arrays, which lie inside the arena.
        unsafe { (self.kernel.entry)(pointers.as_ptr(), sizes.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use model::Seconds;

    fn curve(steps: &[(f64, f64)]) -> Vec<LatencyPoint> {
        (0..65)
            .map(|i| 4096.0 * 2_f64.powf(f64::from(i) / 4.0))
            .map(|size| {
                let latency = steps.iter().find(|(end, _)| size <= *end).map_or(0.0, |step| step.1);
                LatencyPoint { size: Bytes(size), latency: Seconds(latency * 1e-9) }
            })
            .collect()
    }

    fn sets(curve: &[LatencyPoint], claims: Claims) -> (Vec<(&'static str, usize)>, Vec<String>) {
        let mut missing = Vec::new();
        let levels = levels(curve, &claims, 512 << 20, &mut missing);
        (levels.iter().map(|level| (level.name, level.working_set >> 10)).collect(), missing)
    }

    const KIB: f64 = 1024.0;

    #[test]
    fn the_knee_beats_the_claim() {
        let ladder = [(48.0 * KIB, 2.0), (2048.0 * KIB, 5.0), (32768.0 * KIB, 30.0), (f64::INFINITY, 110.0)];
        // The system claims 300 MiB of last level, which the curve does not confirm.
        let claims = Claims { l1: Some(48 << 10), l2: Some(2 << 20), last: Some(300 << 20) };
        let (sets, missing) = sets(&curve(&ladder), claims);
        assert_eq!(sets[0].0, "L1");
        assert!((20..=24).contains(&sets[0].1), "{sets:?}");
        assert_eq!((sets[1], sets[2]), (("L2", 1024), ("LLC", 6144)));
        assert_eq!(sets[3].0, "DRAM");
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn claims_stand_in_for_a_flat_curve() {
        let claims = Claims { l1: Some(64 << 10), l2: Some(1 << 20), last: Some(64 << 20) };
        let (sets, _) = sets(&curve(&[(f64::INFINITY, 3.0)]), claims);
        assert_eq!(sets[..3], [("L1", 32), ("L2", 512), ("LLC", 3072)]);
    }

    #[test]
    fn a_level_that_nobody_shows_is_missing() {
        let (sets, missing) =
            sets(&curve(&[(32.0 * KIB, 1.0), (512.0 * KIB, 4.0), (f64::INFINITY, 90.0)]), Claims::default());
        assert!(sets.iter().all(|set| set.0 != "LLC"), "{sets:?}");
        assert!(missing[0].starts_with("LLC"), "{missing:?}");
    }

    #[test]
    #[expect(clippy::cast_ptr_alignment, reason = "an array of an arena starts at a line")]
    fn pieces_cover_the_arrays_and_nothing_else() {
        let level = Level { name: "L2", working_set: 3 * (4 * PIECE * 3 + 512), reason: String::new() };
        let arena = Arena::new(Arena::needed(3, level.working_set) + 8192).unwrap();
        arena.fill(&mut Random::from_seed(1));
        let stream = Stream::new("ceiling-triad", &level, 3, &arena).unwrap();
        assert_eq!(stream.pieces, 3);
        let floats = |i: usize| {
            // SAFETY: inside the arena, and read only while nothing writes.
            unsafe { std::slice::from_raw_parts(stream.arrays[i].cast::<f32>(), 3 * PIECE + BLOCK).to_vec() }
        };
        let (a, b, before) = (floats(0), floats(1), floats(2));
        assert_eq!(stream.run(4, 1), 2);
        let c = floats(2);
        for i in 0..3 * PIECE {
            assert!((c[i] - b[i].mul_add(3.0, a[i])).abs() < 1e-5, "element {i}");
        }
        assert_eq!(c[3 * PIECE..], before[3 * PIECE..]);
        assert_eq!((floats(0), floats(1)), (a, b));
    }

    #[test]
    fn every_form_runs() {
        let level = Level { name: "DRAM", working_set: 1 << 20, reason: String::new() };
        let arena = Arena::new(Arena::needed(3, 1 << 20) + 8192).unwrap();
        arena.fill(&mut Random::from_seed(2));
        for (name, arrays) in [("read", 1), ("copy", 2), ("copy-stream", 2), ("triad", 3), ("triad-stream", 3)] {
            let stream = Stream::new(&format!("ceiling-{name}"), &level, arrays, &arena).unwrap();
            stream.run(5, 0);
            assert!(stream.unit_bytes() > 0.0);
        }
    }
}
