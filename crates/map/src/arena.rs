//! A large block of memory, on huge pages where the system grants them: a ceiling should not be a page walk's.

#[cfg(test)]
use crate::random::Random;
use std::alloc::{Layout, alloc, dealloc};

/// Alignment and, on the platforms that are known to us, size of a huge page.
const HUGE: usize = 2 << 20;
/// Distance that arrays are shifted against each other: at equal page offsets a store and a later load look like the
/// same address to the load buffers (4 KiB aliasing).
const SKEW: usize = 21 * 64;
const PAGE: usize = 4096;

/// Which pages an arena asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Large ones where the system grants them.
    Huge,
    /// The smallest, 4 KiB on most machines.
    Small,
}

/// Owned memory, uninitialised until it is filled.
pub(crate) struct Arena {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: it owns its memory, whichever thread it is on.
unsafe impl Send for Arena {}

impl Arena {
    /// Reserves `bytes`, rounded up to huge pages; none if the system has no more.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        Self::on(bytes, Pages::Huge)
    }

    /// The same on pages of one kind.
    pub(crate) fn on(bytes: usize, pages: Pages) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1).next_multiple_of(HUGE), HUGE).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        (!start.is_null()).then(|| {
            advise(start, layout.size(), pages);
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
    #[cfg(test)]
    #[expect(clippy::cast_ptr_alignment, reason = "an arena starts at a page")]
    pub(crate) fn fill(&self, random: &mut Random) {
        let floats = self.start.cast::<f32>();
        for i in 0..self.bytes() / 4 {
            // SAFETY: inside the arena, which nobody else holds a reference into.
            unsafe { floats.add(i).write(random.normal()) };
        }
    }

    /// Fills it with numbers from 1 to 2 of a short period: enough that no page or line is like the next, in the time that
    /// writing takes.
    #[expect(clippy::cast_ptr_alignment, reason = "an arena starts at a page")]
    pub(crate) fn fill_fast(&self, seed: u64) {
        let words = self.start.cast::<u32>();
        let mut state = seed as u32 | 1;
        for i in 0..self.bytes() / 4 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // SAFETY: inside the arena. The bits are those of a normal number.
            unsafe { words.add(i).write(0x3F80_0000 | state >> 9) };
        }
    }

    /// Starts of `n` arrays of `bytes` each, or none if they do not fit.
    pub(crate) fn arrays(&self, n: usize, bytes: usize) -> Option<Vec<*mut u8>> {
        let stride = bytes.next_multiple_of(PAGE) + SKEW;
        (n * stride <= self.bytes()).then(|| (0..n).map(|i| self.start.wrapping_add(i * stride)).collect())
    }

    /// The same, shifted by `shift` bytes, a multiple of a line: another layout of the same work.
    pub(crate) fn arrays_at(&self, n: usize, bytes: usize, shift: usize) -> Option<Vec<*mut u8>> {
        let arrays = self.arrays(n, bytes + shift)?;
        Some(arrays.into_iter().map(|array| array.wrapping_add(shift)).collect())
    }

    /// Whether the system put it on large pages, now that it was written to; none where the system does not tell.
    pub(crate) fn is_huge(&self) -> Option<bool> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        huge_bytes(&smaps, self.start as usize + HUGE / 2).map(|bytes| bytes >= self.bytes() / 2)
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
fn advise(start: *mut u8, bytes: usize, pages: Pages) {
    let advice = match pages {
        Pages::Huge => libc::MADV_HUGEPAGE,
        Pages::Small => libc::MADV_NOHUGEPAGE,
    };
    // SAFETY: the range is ours. A refusal leaves small pages, which is allowed.
    unsafe { libc::madvise(start.cast(), bytes, advice) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize, _: Pages) {}

/// Bytes of the mapping around an address that lie on large pages, as `/proc/self/smaps` tells it.
pub(crate) fn huge_bytes(smaps: &str, address: usize) -> Option<usize> {
    let mut inside = false;
    for line in smaps.lines() {
        let range = line.split_whitespace().next().and_then(|word| word.split_once('-'));
        let ends = range.and_then(|(a, b)| Some((hex(a)?, hex(b)?)));
        if let Some((from, to)) = ends {
            inside = (from..to).contains(&address);
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            return Some(rest.trim().trim_end_matches("kB").trim().parse::<usize>().ok()? << 10);
        }
    }
    None
}

fn hex(text: &str) -> Option<usize> {
    usize::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_kinds_are_read() {
        let smaps = "1000-5000 rw-p 00000000 00:00 0\nSize: 16 kB\nAnonHugePages:         0 kB\n\
                     200000-600000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:      4096 kB\n";
        assert_eq!(huge_bytes(smaps, 0x30_0000), Some(4 << 20));
        assert_eq!(huge_bytes(smaps, 0x2000), Some(0));
        assert_eq!(huge_bytes(smaps, 0x70_0000), None);
    }

    #[test]
    fn small_pages_are_small() {
        let arena = Arena::on(8 << 20, Pages::Small).unwrap();
        // SAFETY: inside the arena.
        unsafe { arena.start().write_bytes(1, arena.bytes()) };
        assert_ne!(arena.is_huge(), Some(true));
    }

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
