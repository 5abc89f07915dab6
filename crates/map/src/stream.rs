//! A bandwidth kernel over its arrays, a piece at a time: what every bandwidth figure runs.

use crate::arena::Arena;
use crate::level::Level;

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

/// Arrays that a probe names.
fn arrays_of(name: &str) -> usize {
    match name.trim_start_matches("ceiling-").trim_end_matches("-stream").trim_end_matches("-string") {
        "triad" => 3,
        "copy" | "scale" => 2,
        _ => 1,
    }
}

/// Whether a probe that only reads leaves its sums somewhere.
fn has_sums(name: &str) -> bool {
    matches!(name, "ceiling-read" | "ceiling-random")
}

/// Elements of each array, and of a piece of it.
fn geometry(name: &str, level: &Level) -> (usize, usize) {
    let elements = level.working_set / arrays_of(name) / 4 / BLOCK * BLOCK;
    // Random lines come from the whole set; a unit of work is one repeat.
    let piece = if name == "ceiling-random" { elements } else { elements.min(PIECE) };
    (elements, piece)
}

/// Bytes that one unit of a stream names, whoever runs it.
pub(crate) fn unit_bytes(name: &str, level: &Level) -> f64 {
    kernels::bytes(name, &[geometry(name, level).1 as i64, 1]).unwrap_or(f64::NAN)
}

/// Elements of a piece at most: 128 KiB of each array.
const PIECE: usize = 32 << 10;
/// Elements that the kernels work in.
const BLOCK: usize = 128;

impl Stream {
    /// `name` over the arrays that it needs, which make up the level's working set together.
    pub(crate) fn new(name: &str, level: &Level, arena: &Arena) -> Result<Self, String> {
        Self::shifted(name, level, arena, 0)
    }

    /// The same with its arrays `shift` bytes further on, a multiple of a line: another layout of the same work.
    pub(crate) fn shifted(name: &str, level: &Level, arena: &Arena, shift: usize) -> Result<Self, String> {
        let n = arrays_of(name);
        let kernel = kernels::find(name).ok_or("the probe is unknown")?;
        (kernel.warm)();
        let (elements, piece) = geometry(name, level);
        if elements == 0 {
            return Err("the working set is smaller than a block".to_owned());
        }
        let mut arrays =
            arena.arrays_at(n, 4 * elements, shift).ok_or("the working set does not fit into the arena")?;
        if has_sums(name) {
            // Sums go to the end of the arena, where no working set reaches.
            arrays.push(arena.start().wrapping_add(arena.bytes() - 4096));
        }
        Ok(Self { kernel, arrays, pieces: (elements / piece) as u64, elements: piece as u64 })
    }

    /// Bytes that one piece names, in all arrays.
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

    /// The C library's copy of the same pieces, from the first array to the second.
    pub(crate) fn run_memcpy(&self, units: u64, at: u64) -> u64 {
        let mut at = at % self.pieces;
        let bytes = (self.elements * 4) as usize;
        for _ in 0..units {
            let offset = at as usize * bytes;
            // SAFETY: both pieces lie inside their arrays, which do not overlap.
            unsafe {
                let (from, to) = (self.arrays[0].wrapping_add(offset), self.arrays[1].wrapping_add(offset));
                std::ptr::copy_nonoverlapping(std::hint::black_box(from), std::hint::black_box(to), bytes);
            }
            at = (at + 1) % self.pieces;
        }
        at
    }

    fn call(&self, at: u64, pieces: u64, repeats: u64) {
        let offset = (at * self.elements * 4) as usize;
        let is_read = has_sums(self.kernel.name);
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

    #[test]
    #[expect(clippy::cast_ptr_alignment, reason = "an array of an arena starts at a line")]
    fn pieces_cover_the_arrays_and_nothing_else() {
        let level = Level { name: "L2", working_set: 3 * (4 * PIECE * 3 + 512), reason: String::new() };
        let arena = Arena::new(Arena::needed(3, level.working_set) + 8192).unwrap();
        arena.fill(&mut Random::from_seed(1));
        let stream = Stream::new("ceiling-triad", &level, &arena).unwrap();
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
        for name in ["read", "write", "write-stream", "copy", "copy-string", "scale", "triad", "triad-stream", "random"]
        {
            let stream = Stream::shifted(&format!("ceiling-{name}"), &level, &arena, 192).unwrap();
            stream.run(5, 0);
            assert!(stream.unit_bytes() > 0.0);
        }
    }
}
