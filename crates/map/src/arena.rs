//! A large block of memory, on huge pages where the system grants them: a ceiling should not be a page walk's.

use crate::random::Random;
use std::alloc::{Layout, alloc, dealloc};

/// Alignment and, on the platforms that are known to us, size of a huge page.
const HUGE: usize = 2 << 20;
/// Distance that arrays are shifted against each other: at equal page offsets a store and a later load look like the
/// same address to the load buffers (4 KiB aliasing).
const SKEW: usize = 21 * 64;
const PAGE: usize = 4096;

/// Owned memory, uninitialised until it is filled.
pub(crate) struct Arena {
    start: *mut u8,
    layout: Layout,
}

impl Arena {
    /// Reserves `bytes`, rounded up to huge pages; none if the system has no more.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1).next_multiple_of(HUGE), HUGE).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        (!start.is_null()).then(|| {
            advise_huge(start, layout.size());
            Self { start, layout }
        })
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Its first byte, at the start of a page.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Fills it with random normal `f32`.
    #[expect(clippy::cast_ptr_alignment, reason = "an arena starts at a page")]
    pub(crate) fn fill(&self, random: &mut Random) {
        let floats = self.start.cast::<f32>();
        for i in 0..self.bytes() / 4 {
            // SAFETY: inside the arena, which nobody else holds a reference into.
            unsafe { floats.add(i).write(random.normal()) };
        }
    }

    /// Starts of `n` arrays of `bytes` each, or none if they do not fit.
    pub(crate) fn arrays(&self, n: usize, bytes: usize) -> Option<Vec<*mut u8>> {
        let stride = bytes.next_multiple_of(PAGE) + SKEW;
        (n * stride <= self.bytes()).then(|| (0..n).map(|i| self.start.wrapping_add(i * stride)).collect())
    }

    /// Bytes of an arena in which `n` arrays that take `total` together fit.
    pub(crate) fn needed(n: usize, total: usize) -> usize {
        n * ((total / n).next_multiple_of(PAGE) + SKEW)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

#[cfg(target_os = "linux")]
fn advise_huge(start: *mut u8, bytes: usize) {
    // SAFETY: the range is ours. A refusal leaves small pages, which is allowed.
    unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_lie_apart_and_inside() {
        let arena = Arena::new(Arena::needed(3, 30_000)).unwrap();
        let arrays = arena.arrays(3, 10_000).unwrap();
        for pair in arrays.windows(2) {
            assert!(pair[1] as usize - pair[0] as usize >= 10_000);
            assert_ne!(pair[0] as usize % PAGE, pair[1] as usize % PAGE);
        }
        assert!(arrays[2] as usize + 10_000 <= arena.start() as usize + arena.bytes());
        assert!(arrays.iter().all(|&array| (array as usize).is_multiple_of(64)));
        assert!(arena.arrays(3, arena.bytes()).is_none());
    }
}
