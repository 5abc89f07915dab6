//! Probes of the memory ladder: read, copy and triad bandwidth, and the pointer chase.
//!
//! Sizes `[elements, repeats]`; elements are `f32`, rounded down to a multiple of [`BLOCK`] (a multiple of 128 B at any
//! register width). Inputs come first, the output last: `ceiling-read` `[a, folded]`, where 1 KiB takes the exclusive or of
//! the words that were read (it needs no port that loads need, and rounds two and two cancel), `ceiling-copy` `[a, b]` with b = a, `ceiling-triad` `[a, b, c]` with c = a + 3 b. The `-stream` forms of copy and triad store past
//! the caches: where memory is the bottleneck they save the line that an ordinary store reads first.
//! `chase`: buffers `[cycle, position]`, sizes `[steps]`; `cycle` holds at each visited byte offset the next one (`u64`),
//! and `position` the offset to start from and, afterwards, the one that was reached: short windows go on through a
//! large cycle instead of warming its beginning.

use crate::registry::first;
use std::arch::asm;

/// Elements of a block: eight of the widest registers.
pub(crate) const BLOCK: u64 = 128;
/// Loads that `chase` makes before it looks at its counter.
pub(crate) const CHASE: u64 = 16;
/// The factor of triad and scale.
pub(crate) const FACTOR: f32 = 3.0;

/// Whole blocks of the first size.
pub(crate) unsafe fn blocks(sizes: *const i64) -> u64 {
    unsafe { first(sizes) / BLOCK }
}

/// The second size.
pub(crate) unsafe fn repeats(sizes: *const i64) -> u64 {
    unsafe { first(sizes.add(1)) }
}

/// A loop over blocks of 512 bytes as inline assembly: `$text` handles registers 0 to 7 at `{i}`, with `{p}` to itself.
///
/// One loop for all rounds: where the set is a first level's, leaving an inner loop every few dozen blocks is a branch that
/// is mispredicted, and cost a tenth.
#[cfg(target_arch = "x86_64")]
macro_rules! x86 {
    ($name:ident, $feature:literal, [$($before:expr),*], [$($text:expr),*], [$($after:expr),*]) => {
        #[target_feature(enable = $feature)]
        unsafe fn $name(a: *const u8, b: *mut u8, c: *mut u8, blocks: u64, repeats: u64) {
            let factor = FACTOR;
            unsafe {
                asm!(
                    $($before,)*
                    "xor {i:e}, {i:e}",
                    ".p2align 6",
                    "2:",
                    $($text,)*
                    "add {i}, 512",
                    "cmp {i}, {bytes}",
                    "cmove {i}, {zero}",
                    "dec {n}",
                    "jnz 2b",
                    $($after,)*
                    "sfence",
                    "vzeroupper",
                    "/* {a} {b} {c} {factor} {p} */",
                    a = in(reg) a, b = in(reg) b, c = in(reg) c, bytes = in(reg) blocks * 512, zero = in(reg) 0_u64,
                    n = inout(reg) blocks * repeats => _, factor = in(reg) &raw const factor,
                    i = out(reg) _, p = out(reg) _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! eight {
    ($($text:literal),*) => { concat!(".irp j, 0,1,2,3,4,5,6,7\n", $($text, "\n",)* ".endr") };
}
#[cfg(target_arch = "x86_64")]
macro_rules! sixteen {
    ($($text:literal),*) => { concat!(".irp j, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $($text, "\n",)* ".endr") };
}

#[cfg(target_arch = "x86_64")]
pub(crate) use {eight, sixteen, x86};

#[cfg(target_arch = "x86_64")]
x86!(
    read_avx512,
    "avx512f",
    [eight!("vpxord zmm\\j, zmm\\j, zmm\\j")],
    [
        // Two loads an operation: with one each, the loop's own instructions are in the way of the vector ports.
        "lea {p}, [{a} + {i}]",
        "vmovdqu64 zmm8, [{p}]",
        "vmovdqu64 zmm9, [{p} + 128]",
        "vmovdqu64 zmm10, [{p} + 256]",
        "vmovdqu64 zmm11, [{p} + 384]",
        "vpternlogd zmm0, zmm8, [{p} + 64], 0x96",
        "vpternlogd zmm1, zmm9, [{p} + 192], 0x96",
        "vpternlogd zmm2, zmm10, [{p} + 320], 0x96",
        "vpternlogd zmm3, zmm11, [{p} + 448], 0x96"
    ],
    [eight!("vmovups [{b} + 64 * \\j], zmm\\j")]
);
#[cfg(target_arch = "x86_64")]
x86!(
    read_avx2,
    "avx2",
    [eight!("vpxor ymm\\j, ymm\\j, ymm\\j")],
    [
        "lea {p}, [{a} + {i}]",
        eight!("vpxor ymm\\j, ymm\\j, [{p} + 32 * \\j]"),
        eight!("vpxor ymm\\j, ymm\\j, [{p} + 256 + 32 * \\j]")
    ],
    [eight!("vmovups [{b} + 32 * \\j], ymm\\j")]
);
#[cfg(target_arch = "x86_64")]
x86!(
    copy_avx512,
    "avx512f",
    [],
    [eight!("vmovups zmm\\j, [{a} + {i} + 64 * \\j]"), eight!("vmovups [{b} + {i} + 64 * \\j], zmm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    copy_avx2,
    "avx2",
    [],
    [sixteen!("vmovups ymm\\j, [{a} + {i} + 32 * \\j]"), sixteen!("vmovups [{b} + {i} + 32 * \\j], ymm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    copy_stream_avx512,
    "avx512f",
    [],
    [eight!("vmovups zmm\\j, [{a} + {i} + 64 * \\j]"), eight!("vmovntps [{b} + {i} + 64 * \\j], zmm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    copy_stream_avx2,
    "avx2",
    [],
    [sixteen!("vmovups ymm\\j, [{a} + {i} + 32 * \\j]"), sixteen!("vmovntps [{b} + {i} + 32 * \\j], ymm\\j")],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    triad_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [
        eight!("vmovups zmm\\j, [{b} + {i} + 64 * \\j]"),
        eight!("vfmadd213ps zmm\\j, zmm15, [{a} + {i} + 64 * \\j]"),
        eight!("vmovups [{c} + {i} + 64 * \\j], zmm\\j")
    ],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    triad_stream_avx512,
    "avx512f",
    ["vbroadcastss zmm15, [{factor}]"],
    [
        eight!("vmovups zmm\\j, [{b} + {i} + 64 * \\j]"),
        eight!("vfmadd213ps zmm\\j, zmm15, [{a} + {i} + 64 * \\j]"),
        eight!("vmovntps [{c} + {i} + 64 * \\j], zmm\\j")
    ],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    triad_avx2,
    "avx2,fma",
    ["vbroadcastss ymm15, [{factor}]"],
    [
        eight!("vmovups ymm\\j, [{b} + {i} + 32 * \\j]"),
        eight!("vfmadd213ps ymm\\j, ymm15, [{a} + {i} + 32 * \\j]"),
        eight!("vmovups [{c} + {i} + 32 * \\j], ymm\\j"),
        eight!("vmovups ymm\\j, [{b} + {i} + 256 + 32 * \\j]"),
        eight!("vfmadd213ps ymm\\j, ymm15, [{a} + {i} + 256 + 32 * \\j]"),
        eight!("vmovups [{c} + {i} + 256 + 32 * \\j], ymm\\j")
    ],
    []
);
#[cfg(target_arch = "x86_64")]
x86!(
    triad_stream_avx2,
    "avx2,fma",
    ["vbroadcastss ymm15, [{factor}]"],
    [
        eight!("vmovups ymm\\j, [{b} + {i} + 32 * \\j]"),
        eight!("vfmadd213ps ymm\\j, ymm15, [{a} + {i} + 32 * \\j]"),
        eight!("vmovntps [{c} + {i} + 32 * \\j], ymm\\j"),
        eight!("vmovups ymm\\j, [{b} + {i} + 256 + 32 * \\j]"),
        eight!("vfmadd213ps ymm\\j, ymm15, [{a} + {i} + 256 + 32 * \\j]"),
        eight!("vmovntps [{c} + {i} + 256 + 32 * \\j], ymm\\j")
    ],
    []
);

/// A block in plain Rust.
type Block = [f32; BLOCK as usize];

unsafe fn read_portable(a: *const u8, b: *mut u8, _: *mut u8, blocks: u64, repeats: u64) {
    let mut folded = [0_u32; BLOCK as usize];
    for _ in 0..repeats {
        let a = std::hint::black_box(a).cast::<[u32; BLOCK as usize]>();
        for i in 0..blocks as usize {
            folded.iter_mut().zip(unsafe { &*a.add(i) }).for_each(|(folded, x)| *folded ^= x);
        }
    }
    unsafe { b.cast::<[u32; BLOCK as usize]>().write(folded) };
}

unsafe fn copy_portable(a: *const u8, b: *mut u8, _: *mut u8, blocks: u64, repeats: u64) {
    for _ in 0..repeats {
        let (a, b) = (std::hint::black_box(a).cast::<Block>(), std::hint::black_box(b).cast::<Block>());
        for i in 0..blocks as usize {
            unsafe { b.add(i).write(a.add(i).read()) };
        }
    }
}

unsafe fn triad_portable(a: *const u8, b: *mut u8, c: *mut u8, blocks: u64, repeats: u64) {
    for _ in 0..repeats {
        let (a, b) = (std::hint::black_box(a).cast::<f32>(), std::hint::black_box(b).cast::<f32>());
        let c = std::hint::black_box(c).cast::<f32>();
        for i in 0..(blocks * BLOCK) as usize {
            unsafe { c.add(i).write(*b.add(i) * FACTOR + *a.add(i)) };
        }
    }
}

/// The entry of a probe over so many arrays: the widest code that this machine has. With one array all three pointers are
/// its, with two the last two are the second's.
macro_rules! probe {
    ($(#[$meta:meta])* $name:ident: $arrays:literal, $avx512:ident $avx2:ident $portable:ident) => {
        $(#[$meta])*
        pub(crate) unsafe fn $name(buffers: *const *mut u8, sizes: *const i64) {
            const LAST: usize = $arrays - 1;
            unsafe {
                let (blocks, repeats) = ($crate::memory::blocks(sizes), $crate::memory::repeats(sizes));
                if blocks == 0 || repeats == 0 {
                    return;
                }
                let (a, b, c) = (*buffers, *buffers.add(if LAST == 0 { 0 } else { 1 }), *buffers.add(LAST));
                match $crate::isa::isa() {
                    #[cfg(target_arch = "x86_64")]
                    $crate::isa::Isa::Avx512 => $avx512(a, b, c, blocks, repeats),
                    #[cfg(target_arch = "x86_64")]
                    $crate::isa::Isa::Avx2 => $avx2(a, b, c, blocks, repeats),
                    _ => $portable(a, b, c, blocks, repeats),
                }
            }
        }
    };
}
pub(crate) use probe;

probe!(
    /// `ceiling-read`.
    read: 2, read_avx512 read_avx2 read_portable
);
probe!(
    /// `ceiling-copy`.
    copy: 2, copy_avx512 copy_avx2 copy_portable
);
probe!(
    /// `ceiling-copy-stream`.
    copy_stream: 2, copy_stream_avx512 copy_stream_avx2 copy_portable
);
probe!(
    /// `ceiling-triad`.
    triad: 3, triad_avx512 triad_avx2 triad_portable
);
probe!(
    /// `ceiling-triad-stream`.
    triad_stream: 3, triad_stream_avx512 triad_stream_avx2 triad_portable
);

/// `chase`: every load needs the one before.
pub(crate) unsafe fn chase(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let (cycle, position) = (*buffers, (*buffers.add(1)).cast::<u64>());
        let mut offset = position.read();
        for _ in 0..first(sizes) / CHASE {
            offset = follow(cycle, offset);
        }
        position.write(offset);
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn follow(cycle: *const u8, mut offset: u64) -> u64 {
    unsafe {
        asm!(".rept 16", "mov {offset}, [{cycle} + {offset}]", ".endr",
             offset = inout(reg) offset, cycle = in(reg) cycle, options(pure, readonly, nostack));
    }
    offset
}

#[cfg(target_arch = "aarch64")]
unsafe fn follow(cycle: *const u8, mut offset: u64) -> u64 {
    unsafe {
        asm!(".rept 16", "ldr {offset}, [{cycle}, {offset}]", ".endr",
             offset = inout(reg) offset, cycle = in(reg) cycle, options(pure, readonly, nostack));
    }
    offset
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn follow(cycle: *const u8, offset: u64) -> u64 {
    (0..CHASE).fold(offset, |offset, _| unsafe { cycle.add(offset as usize).cast::<u64>().read_volatile() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, assert_close, call, random};

    const N: usize = 5 * BLOCK as usize;

    /// The exclusive or of the words of every block.
    fn folded(a: &[f32]) -> u32 {
        a.iter().fold(0, |folded, x| folded ^ x.to_bits())
    }

    #[test]
    fn read_folds_everything() {
        let a = random(N + 7, 1);
        let mut buffers = [Buffer::of(&a), Buffer::zeroed(1024)];
        call("ceiling-read", &mut buffers, &[N as i64 + 7, 3]);
        assert_eq!(folded(&buffers[1].read::<f32>()), folded(&a[..N]));
        call("ceiling-read", &mut buffers, &[N as i64, 2]);
        assert_eq!(folded(&buffers[1].read::<f32>()), 0, "two rounds cancel");
    }

    fn check_copy(name: &str) {
        let a = random(N + 7, 2);
        let mut buffers = [Buffer::of(&a), Buffer::of(&vec![9.0_f32; N + 7])];
        call(name, &mut buffers, &[N as i64 + 7, 2]);
        let b: Vec<f32> = buffers[1].read();
        assert_eq!(b[..N], a[..N]);
        assert_eq!(b[N..], [9.0; 7], "{name} wrote behind the last block");
    }

    #[test]
    fn copies_copy() {
        check_copy("ceiling-copy");
        check_copy("ceiling-copy-stream");
    }

    fn check_triad(name: &str) {
        let (a, b) = (random(N, 3), random(N, 4));
        let mut buffers = [Buffer::of(&a), Buffer::of(&b), Buffer::zeroed(4 * N)];
        call(name, &mut buffers, &[N as i64, 1]);
        let expected: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| 3.0 * f64::from(b) + f64::from(a)).collect();
        assert_close(&buffers[2].read::<f32>(), &expected, 1e-7);
    }

    #[test]
    fn triads_multiply_and_add() {
        check_triad("ceiling-triad");
        check_triad("ceiling-triad-stream");
    }

    #[test]
    fn portable_code_agrees() {
        let (a, b) = (random(N, 5), random(N, 6));
        let (mut a, mut b, mut c) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeroed(4 * N));
        let mut buffers = [Buffer::of(&a.read::<f32>()), Buffer::of(&b.read::<f32>()), Buffer::zeroed(4 * N)];
        call("ceiling-triad", &mut buffers, &[N as i64, 1]);
        let blocks = N as u64 / BLOCK;
        // SAFETY: each buffer has N elements.
        unsafe { triad_portable(a.pointer(), b.pointer(), c.pointer(), blocks, 1) };
        let expected: Vec<f64> = buffers[2].read::<f32>().iter().map(|&x| x.into()).collect();
        assert_close(&c.read::<f32>(), &expected, 1e-6);
        // SAFETY: as above; what is folded takes one block.
        unsafe { read_portable(a.pointer(), c.pointer(), c.pointer(), blocks, 1) };
        assert_eq!(folded(&c.read::<f32>()[..BLOCK as usize]), folded(&a.read::<f32>()));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrow_code_agrees() {
        if !matches!(crate::isa::isa(), crate::isa::Isa::Avx512 | crate::isa::Isa::Avx2) {
            return;
        }
        let (x, y) = (random(N, 7), random(N, 8));
        let blocks = N as u64 / BLOCK;
        let (mut a, mut b) = (Buffer::of(&x), Buffer::of(&y));
        let expected: Vec<f64> = x.iter().zip(&y).map(|(&a, &b)| 3.0 * f64::from(b) + f64::from(a)).collect();
        for (triad, copy) in [
            (triad_avx2 as unsafe fn(*const u8, *mut u8, *mut u8, u64, u64), copy_avx2 as unsafe fn(_, _, _, _, _)),
            (triad_stream_avx2, copy_stream_avx2),
        ] {
            let mut c = Buffer::zeroed(4 * N);
            // SAFETY: both instruction sets include it, and each buffer has N elements.
            unsafe { triad(a.pointer(), b.pointer(), c.pointer(), blocks, 2) };
            assert_close(&c.read::<f32>(), &expected, 1e-7);
            // SAFETY: as above.
            unsafe { copy(a.pointer(), c.pointer(), c.pointer(), blocks, 1) };
            assert_eq!(c.read::<f32>(), x);
        }
        let mut sums = Buffer::zeroed(1024);
        // SAFETY: as above; what is folded takes 256 bytes.
        unsafe { read_avx2(a.pointer(), sums.pointer(), sums.pointer(), blocks, 1) };
        assert_eq!(folded(&sums.read::<f32>()), folded(&x));
    }

    #[test]
    fn chase_follows_the_cycle() {
        // Offsets 0 -> 64 -> 128 -> ... -> 0 over five lines: 32 steps end at line 32 % 5.
        let cycle: Vec<u64> = (0..5 * 8).map(|i| if i % 8 == 0 { 64 * ((i / 8 + 1) % 5) } else { u64::MAX }).collect();
        let mut buffers = [Buffer::of(&cycle), Buffer::zeroed(64)];
        call("chase", &mut buffers, &[39]);
        assert_eq!(buffers[1].read::<u64>()[0], 64 * (32 % 5));
        call("chase", &mut buffers, &[16]);
        assert_eq!(buffers[1].read::<u64>()[0], 64 * (48 % 5));
    }
}
