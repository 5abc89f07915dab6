//! Probes of stores, of scaling, and of single lines in random order.
//!
//! Sizes `[elements, repeats]` as in `memory`. `ceiling-write` `[a]` fills with one value, `ceiling-scale` `[a, b]` has
//! b = 3 a; their `-stream` forms store past the caches. `ceiling-copy-string` `[a, b]` copies by one string move, as the
//! C library does with long copies. `ceiling-random` `[a, sum]` reads one word each of [`READS`]
//! random lines of `a` a repeat, drawn from its own generator, so that no address waits for a load; `sum` takes 8 bytes.

use crate::memory::{BLOCK, FACTOR, blocks, probe, repeats};
#[cfg(target_arch = "x86_64")]
use crate::memory::{eight, sixteen, x86};
#[cfg(target_arch = "x86_64")]
use std::arch::asm;

#[cfg(target_arch = "x86_64")]
x86!(
    write_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [eight!("vmovups [{b} + {i} + 64 * \\j], zmm15")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(write_avx2, "avx2", ["vbroadcastss ymm15, [{factor}]"], [sixteen!("vmovups [{b} + {i} + 32 * \\j], ymm15")], []);
#[cfg(target_arch = "x86_64")]
x86!(
    write_stream_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [eight!("vmovntps [{b} + {i} + 64 * \\j], zmm15")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    write_stream_avx2,
    "avx2",
    ["vbroadcastss ymm15, [{factor}]"],
    [sixteen!("vmovntps [{b} + {i} + 32 * \\j], ymm15")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    scale_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [eight!("vmulps zmm\\j, zmm15, [{a} + {i} + 64 * \\j]"), eight!("vmovups [{b} + {i} + 64 * \\j], zmm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    scale_avx2,
    "avx2",
    ["vbroadcastss ymm15, [{factor}]"],
    [
        eight!("vmulps ymm\\j, ymm15, [{a} + {i} + 32 * \\j]"),
        eight!("vmovups [{b} + {i} + 32 * \\j], ymm\\j"),
        eight!("vmulps ymm\\j, ymm15, [{a} + {i} + 256 + 32 * \\j]"),
        eight!("vmovups [{b} + {i} + 256 + 32 * \\j], ymm\\j")
    ],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    scale_stream_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [eight!("vmulps zmm\\j, zmm15, [{a} + {i} + 64 * \\j]"), eight!("vmovntps [{b} + {i} + 64 * \\j], zmm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    scale_stream_avx2,
    "avx2",
    ["vbroadcastss ymm15, [{factor}]"],
    [
        eight!("vmulps ymm\\j, ymm15, [{a} + {i} + 32 * \\j]"),
        eight!("vmovntps [{b} + {i} + 32 * \\j], ymm\\j"),
        eight!("vmulps ymm\\j, ymm15, [{a} + {i} + 256 + 32 * \\j]"),
        eight!("vmovntps [{b} + {i} + 256 + 32 * \\j], ymm\\j")
    ],
    []
);

unsafe fn write_portable(_: *const u8, b: *mut u8, _: *mut u8, blocks: u64, repeats: u64) {
    for _ in 0..repeats {
        let b = std::hint::black_box(b).cast::<[f32; BLOCK as usize]>();
        for i in 0..blocks as usize {
            unsafe { b.add(i).write([FACTOR; BLOCK as usize]) };
        }
    }
}

unsafe fn scale_portable(a: *const u8, b: *mut u8, _: *mut u8, blocks: u64, repeats: u64) {
    for _ in 0..repeats {
        let (a, b) = (std::hint::black_box(a).cast::<f32>(), std::hint::black_box(b).cast::<f32>());
        for i in 0..(blocks * BLOCK) as usize {
            unsafe { b.add(i).write(*a.add(i) * FACTOR) };
        }
    }
}

probe!(
    /// `ceiling-write`.
    write: 1, write_avx512 write_avx2 write_portable
);
probe!(
    /// `ceiling-write-stream`.
    write_stream: 1, write_stream_avx512 write_stream_avx2 write_portable
);
probe!(
    /// `ceiling-scale`.
    scale: 2, scale_avx512 scale_avx2 scale_portable
);
probe!(
    /// `ceiling-scale-stream`.
    scale_stream: 2, scale_stream_avx512 scale_stream_avx2 scale_portable
);

/// `ceiling-copy-string`.
pub(crate) unsafe fn copy_string(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let (a, b, bytes) = (*buffers, *buffers.add(1), blocks(sizes) * BLOCK * 4);
        for _ in 0..repeats(sizes) {
            #[cfg(target_arch = "x86_64")]
            asm!("rep movsb", inout("rcx") bytes => _, inout("rsi") a => _, inout("rdi") b => _,
                 options(nostack, preserves_flags));
            #[cfg(not(target_arch = "x86_64"))]
            b.copy_from_nonoverlapping(std::hint::black_box(a), bytes as usize);
        }
    }
}

/// Lines that one repeat of the random probe reads.
pub(crate) const READS: u64 = 2048;
/// Generators that run side by side: one alone would wait for its own multiplication.
const GENERATORS: usize = 4;

/// `ceiling-random`.
pub(crate) unsafe fn random(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let (a, sum) = ((*buffers).cast_const(), (*buffers.add(1)).cast::<u64>());
        let lines = blocks(sizes) * BLOCK * 4 / 64;
        // Where it ended last time, so that short windows do not repeat their beginning.
        let mut seeds: [u64; GENERATORS] = std::array::from_fn(|i| sum.read().wrapping_add(i as u64 * 0x9E37_79B9));
        let mut total = 0_u64;
        if lines == 0 {
            return;
        }
        for _ in 0..repeats(sizes) * READS / GENERATORS as u64 {
            for seed in &mut seeds {
                // Knuth's MMIX generator; its upper half is the better one.
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let line = ((*seed >> 32) * lines) >> 32;
                total = total.wrapping_add(a.add(line as usize * 64).cast::<u64>().read());
            }
        }
        sum.write(std::hint::black_box(total).wrapping_add(seeds[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, assert_close, call, random};

    const N: usize = 5 * BLOCK as usize;

    #[test]
    fn writes_fill_and_stop() {
        for name in ["ceiling-write", "ceiling-write-stream"] {
            let mut buffers = [Buffer::of(&vec![9.0_f32; N + 7])];
            call(name, &mut buffers, &[N as i64 + 7, 2]);
            let a: Vec<f32> = buffers[0].read();
            assert!(a[..N].iter().all(|&x| x == FACTOR), "{name}");
            assert_eq!(a[N..], [9.0; 7], "{name} wrote behind the last block");
        }
    }

    #[test]
    fn a_string_move_copies_and_stops() {
        let a = random(N + 7, 6);
        let mut buffers = [Buffer::of(&a), Buffer::of(&vec![9.0_f32; N + 7])];
        call("ceiling-copy-string", &mut buffers, &[N as i64 + 7, 2]);
        let b: Vec<f32> = buffers[1].read();
        assert_eq!((&b[..N], &b[N..]), (&a[..N], &[9.0; 7][..]));
    }

    #[test]
    fn scales_scale() {
        let a = random(N, 2);
        let expected: Vec<f64> = a.iter().map(|&x| 3.0 * f64::from(x)).collect();
        for name in ["ceiling-scale", "ceiling-scale-stream"] {
            let mut buffers = [Buffer::of(&a), Buffer::zeroed(4 * N)];
            call(name, &mut buffers, &[N as i64, 2]);
            assert_close(&buffers[1].read::<f32>(), &expected, 1e-6);
        }
        let (mut a, mut b) = (Buffer::of(&a), Buffer::zeroed(4 * N));
        // SAFETY: each buffer has N elements.
        unsafe { scale_portable(a.pointer(), b.pointer(), b.pointer(), N as u64 / BLOCK, 1) };
        assert_close(&b.read::<f32>(), &expected, 1e-6);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrow_code_agrees() {
        if !matches!(crate::isa::isa(), crate::isa::Isa::Avx512 | crate::isa::Isa::Avx2) {
            return;
        }
        let x = random(N, 3);
        let expected: Vec<f64> = x.iter().map(|&x| 3.0 * f64::from(x)).collect();
        for (scale, write) in [
            (scale_avx2 as unsafe fn(*const u8, *mut u8, *mut u8, u64, u64), write_avx2 as unsafe fn(_, _, _, _, _)),
            (scale_stream_avx2, write_stream_avx2),
        ] {
            let (mut a, mut b) = (Buffer::of(&x), Buffer::zeroed(4 * N));
            // SAFETY: each buffer has N elements, and the machine has the instruction set.
            unsafe { scale(a.pointer(), b.pointer(), b.pointer(), N as u64 / BLOCK, 1) };
            assert_close(&b.read::<f32>(), &expected, 1e-6);
            // SAFETY: as above.
            unsafe { write(a.pointer(), b.pointer(), b.pointer(), N as u64 / BLOCK, 1) };
            assert!(b.read::<f32>().iter().all(|&x| x == FACTOR));
        }
    }

    #[test]
    fn random_lines_are_inside_and_many() {
        // Every line holds 1, so the sum counts the reads; the words between would spoil it.
        let words: Vec<u64> = (0..N / 2).map(|i| if i % 8 == 0 { 1 } else { 1 << 40 }).collect();
        let mut buffers = [Buffer::of(&words), Buffer::zeroed(64)];
        call("ceiling-random", &mut buffers, &[N as i64, 3]);
        let first = buffers[1].read::<u64>()[0];
        assert_ne!(first, 0);
        let mut seed = 0_u64;
        for _ in 0..3 * READS / 4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        }
        assert_eq!(first.wrapping_sub(seed), 3 * READS);
    }
}
