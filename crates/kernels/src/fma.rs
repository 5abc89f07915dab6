//! Probes of the vector units' multiply-add ceilings: `ceiling-f32` and `ceiling-f64`; and `chain-add` for the clock.
//!
//! Buffers `[x, out]`, sizes `[passes]`. `x` holds [`DATA`] bytes of random normal numbers, `out` takes the accumulators.
//! Every product has three distinct operands, and every operand changes from one product to the next: a unit fed with
//! constants or with one operand twice runs faster than any software can use it. One pass goes over all of `x`.

use crate::isa::{Isa, isa};
use crate::registry::first;
use std::arch::asm;

/// Bytes of operands: a few in every register, all in the first-level cache.
pub(crate) const DATA: usize = 8192;
/// Bytes of accumulators at most: sixteen registers of 64.
pub(crate) const OUT: usize = 1024;

/// How a pass is laid out on an instruction set, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Accumulators: latency times ports, and some more.
    pub(crate) accumulators: usize,
    /// x and y registers loaded a block, as many of each.
    pub(crate) operands: usize,
    /// Bytes of a register.
    pub(crate) width: usize,
}

impl Shape {
    /// The shape of the code that runs on this machine.
    pub(crate) fn of(isa: Isa) -> Self {
        match isa {
            Isa::Avx512 => Self { accumulators: 16, operands: 8, width: 64 },
            Isa::Avx2 => Self { accumulators: 10, operands: 3, width: 32 },
            Isa::Neon | Isa::Portable => Self { accumulators: 16, operands: 8, width: 16 },
        }
    }

    /// Blocks of a pass. A block loads its operands once and meets each accumulator with `operands` products.
    pub(crate) fn blocks(self) -> usize {
        DATA / (2 * self.operands * self.width)
    }

    /// FLOP of a pass, at `element` bytes an element; a multiply-add is two.
    pub(crate) fn flop(self, element: usize) -> f64 {
        (2 * self.blocks() * self.operands * self.accumulators * (self.width / element)) as f64
    }
}

/// One multiply-add as text.
macro_rules! product {
    ($op:literal $before:literal $after:literal $acc:literal $x:literal $y:literal) => {
        concat!($op, " ", $before, $acc, $after, ", ", $before, $x, $after, ", ", $before, $y, $after, "\n")
    };
}

/// Sixteen products into sixteen accumulators: accumulators 0 to 7 pair x with y in order, 8 to 15 with y half turned.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! step {
    ($op:literal $b:literal $a:literal;
     $x0:literal $x1:literal $x2:literal $x3:literal $x4:literal $x5:literal $x6:literal $x7:literal) => {
        concat!(
            product!($op $b $a "0" $x0 "24"), product!($op $b $a "1" $x1 "25"),
            product!($op $b $a "2" $x2 "26"), product!($op $b $a "3" $x3 "27"),
            product!($op $b $a "4" $x4 "28"), product!($op $b $a "5" $x5 "29"),
            product!($op $b $a "6" $x6 "30"), product!($op $b $a "7" $x7 "31"),
            product!($op $b $a "8" $x0 "28"), product!($op $b $a "9" $x1 "29"),
            product!($op $b $a "10" $x2 "30"), product!($op $b $a "11" $x3 "31"),
            product!($op $b $a "12" $x4 "24"), product!($op $b $a "13" $x5 "25"),
            product!($op $b $a "14" $x6 "26"), product!($op $b $a "15" $x7 "27"),
        )
    };
}

/// 128 products: eight steps, x turned by one register each.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! block {
    ($op:literal $b:literal $a:literal) => {
        concat!(
            step!($op $b $a; "16" "17" "18" "19" "20" "21" "22" "23"),
            step!($op $b $a; "17" "18" "19" "20" "21" "22" "23" "16"),
            step!($op $b $a; "18" "19" "20" "21" "22" "23" "16" "17"),
            step!($op $b $a; "19" "20" "21" "22" "23" "16" "17" "18"),
            step!($op $b $a; "20" "21" "22" "23" "16" "17" "18" "19"),
            step!($op $b $a; "21" "22" "23" "16" "17" "18" "19" "20"),
            step!($op $b $a; "22" "23" "16" "17" "18" "19" "20" "21"),
            step!($op $b $a; "23" "16" "17" "18" "19" "20" "21" "22"),
        )
    };
}

/// 10 products into 10 accumulators, for the sixteen registers of AVX2.
#[cfg(target_arch = "x86_64")]
macro_rules! narrow_step {
    ($op:literal $r:literal; $x0:literal $x1:literal $x2:literal) => {
        concat!(
            product!($op $r "" "0" $x0 "13"), product!($op $r "" "1" $x1 "14"),
            product!($op $r "" "2" $x2 "15"), product!($op $r "" "3" $x0 "14"),
            product!($op $r "" "4" $x1 "15"), product!($op $r "" "5" $x2 "13"),
            product!($op $r "" "6" $x0 "15"), product!($op $r "" "7" $x1 "13"),
            product!($op $r "" "8" $x2 "14"), product!($op $r "" "9" $x0 "13"),
        )
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! avx512 {
    ($name:ident, $op:literal) => {
        #[target_feature(enable = "avx512f")]
        pub(crate) unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            unsafe {
                asm!(
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                    "vpxord zmm\\i, zmm\\i, zmm\\i",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    "mov {p}, {x}",
                    "mov {n:e}, 8",
                    "3:",
                    ".irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                    "vmovups zmm\\i, [{p} + 64 * (\\i - 16)]",
                    ".endr",
                    block!($op "zmm" ""),
                    "add {p}, 1024",
                    "dec {n:e}",
                    "jnz 3b",
                    "dec {passes}",
                    "jnz 2b",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                    "vmovups [{out} + 64 * \\i], zmm\\i",
                    ".endr",
                    "vzeroupper",
                    x = in(reg) x, out = in(reg) out, passes = inout(reg) passes => _,
                    p = out(reg) _, n = out(reg) _,
                    out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _,
                    out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
                    out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _,
                    out("zmm18") _, out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
                    out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _,
                    out("zmm30") _, out("zmm31") _,
                    options(nostack),
                );
            }
        }
    };
}

/// A pass over sixteen registers of AVX2's encoding: `ymm`, or `xmm` for one element at a time.
#[cfg(target_arch = "x86_64")]
macro_rules! narrow {
    ($name:ident, $op:literal, $r:literal) => {
        #[target_feature(enable = "avx2,fma")]
        pub(crate) unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            unsafe {
                asm!(
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    "vxorps ymm\\i, ymm\\i, ymm\\i",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    "mov {p}, {x}",
                    "mov {n:e}, 42",
                    "3:",
                    ".irp i, 10,11,12,13,14,15",
                    concat!("vmovups ", $r, "\\i, [{p} + 32 * (\\i - 10)]"),
                    ".endr",
                    narrow_step!($op $r; "10" "11" "12"),
                    narrow_step!($op $r; "11" "12" "10"),
                    narrow_step!($op $r; "12" "10" "11"),
                    "add {p}, 192",
                    "dec {n:e}",
                    "jnz 3b",
                    "dec {passes}",
                    "jnz 2b",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    "vmovups [{out} + 32 * \\i], ymm\\i",
                    ".endr",
                    "vzeroupper",
                    x = in(reg) x, out = in(reg) out, passes = inout(reg) passes => _,
                    p = out(reg) _, n = out(reg) _,
                    out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                    out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                    out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                    options(nostack),
                );
            }
        }
    };
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
macro_rules! neon {
    ($name:ident, $after:literal) => {
        neon!($name, "fmla" "v" $after, "", "");
    };
    ($name:ident, $op:literal $before:literal $after:literal, $begin:literal, $end:literal) => {
        pub(crate) unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            unsafe {
                asm!(
                    $begin,
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                    "movi v\\i\\().16b, #0",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    "mov {p}, {x}",
                    "mov {n}, #32",
                    "3:",
                    "ldp q16, q17, [{p}]",
                    "ldp q18, q19, [{p}, #32]",
                    "ldp q20, q21, [{p}, #64]",
                    "ldp q22, q23, [{p}, #96]",
                    "ldp q24, q25, [{p}, #128]",
                    "ldp q26, q27, [{p}, #160]",
                    "ldp q28, q29, [{p}, #192]",
                    "ldp q30, q31, [{p}, #224]",
                    block!($op $before $after),
                    "add {p}, {p}, #256",
                    "subs {n}, {n}, #1",
                    "b.ne 3b",
                    "subs {passes}, {passes}, #1",
                    "b.ne 2b",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                    "str q\\i, [{out}], #16",
                    ".endr",
                    $end,
                    x = in(reg) x, out = inout(reg) out => _, passes = inout(reg) passes => _,
                    p = out(reg) _, n = out(reg) _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _,
                    out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _, out("v12") _, out("v13") _,
                    out("v14") _, out("v15") _, out("v16") _, out("v17") _, out("v18") _, out("v19") _, out("v20") _,
                    out("v21") _, out("v22") _, out("v23") _, out("v24") _, out("v25") _, out("v26") _, out("v27") _,
                    out("v28") _, out("v29") _, out("v30") _, out("v31") _,
                    options(nostack),
                );
            }
        }
    };
}

macro_rules! portable {
    ($name:ident, $type:ty) => {
        /// The same pass in plain Rust: the shape of [`Isa::Portable`].
        #[cfg_attr(all(target_arch = "aarch64", target_feature = "neon"), expect(dead_code, reason = "NEON runs"))]
        unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            const LANES: usize = 16 / size_of::<$type>();
            let mut accumulators = [[0.0 as $type; LANES]; 16];
            for _ in 0..passes {
                let blocks = std::hint::black_box(x).cast::<[[$type; LANES]; 16]>();
                for block in 0..Shape::of(Isa::Portable).blocks() {
                    let operands = unsafe { blocks.add(block).read() };
                    for turn in 0..8 {
                        for (i, accumulator) in accumulators.iter_mut().enumerate() {
                            let (x, y) = pair(i, turn, 8);
                            for (lane, sum) in accumulator.iter_mut().enumerate() {
                                *sum += operands[x][lane] * operands[8 + y][lane];
                            }
                        }
                    }
                }
            }
            unsafe { out.cast::<[[$type; LANES]; 16]>().write(accumulators) };
        }
    };
}

/// Which x and which y meet in accumulator `i` at step `turn`; the inline assembly spells the same out.
fn pair(i: usize, turn: usize, operands: usize) -> (usize, usize) {
    let y = if operands == 8 { i + 4 * (i / 8) } else { i + i / 3 };
    ((i + turn) % operands, y % operands)
}

#[cfg(target_arch = "x86_64")]
avx512!(f32_avx512, "vfmadd231ps");
#[cfg(target_arch = "x86_64")]
avx512!(f64_avx512, "vfmadd231pd");
#[cfg(target_arch = "x86_64")]
narrow!(f32_avx2, "vfmadd231ps", "ymm");
#[cfg(target_arch = "x86_64")]
narrow!(f64_avx2, "vfmadd231pd", "ymm");
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
neon!(f32_neon, ".4s");
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
neon!(f64_neon, ".2d");
portable!(f32_portable, f32);
portable!(f64_portable, f64);

#[cfg(target_arch = "x86_64")]
pub(crate) use {avx512, block, narrow, narrow_step, product, step};
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub(crate) use {block, neon, product, step};

macro_rules! probe {
    ($(#[$meta:meta])* $name:ident: $avx512:ident $avx2:ident $neon:ident $portable:ident) => {
        $(#[$meta])*
        pub(crate) unsafe fn $name(buffers: *const *mut u8, sizes: *const i64) {
            unsafe {
                let (x, out, passes) = (*buffers, *buffers.add(1), first(sizes));
                if passes == 0 {
                    return;
                }
                match isa() {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => $avx512(x, out, passes),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => $avx2(x, out, passes),
                    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                    _ => $neon(x, out, passes),
                    #[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
                    _ => $portable(x, out, passes),
                }
            }
        }
    };
}

probe!(
    /// `ceiling-f32`.
    ceiling_f32: f32_avx512 f32_avx2 f32_neon f32_portable
);
probe!(
    /// `ceiling-f64`.
    ceiling_f64: f64_avx512 f64_avx2 f64_neon f64_portable
);

/// Dependent additions of a pass of `chain-add`, one cycle each on every core that is known to us.
pub(crate) const CHAIN: usize = 1024;

/// `chain-add`: buffers `[out]`, sizes `[passes]`; a chain of additions, each waiting for the one before, whose time
/// is the core's cycle. Register to register: some cores fold an added constant away while renaming.
pub(crate) unsafe fn chain_add(buffers: *const *mut u8, sizes: *const i64) {
    let (mut sum, step) = (std::hint::black_box(1_u64), std::hint::black_box(3_u64));
    for _ in 0..unsafe { first(sizes) } {
        sum = chain(sum, step);
    }
    unsafe { (*buffers).cast::<u64>().write(sum) };
}

#[cfg(target_arch = "x86_64")]
fn chain(mut sum: u64, step: u64) -> u64 {
    // SAFETY: registers alone.
    unsafe {
        asm!(".rept 1024", "add {sum}, {step}", ".endr", sum = inout(reg) sum, step = in(reg) step,
             options(pure, nomem, nostack));
    }
    sum
}

#[cfg(target_arch = "aarch64")]
fn chain(mut sum: u64, step: u64) -> u64 {
    // SAFETY: registers alone.
    unsafe {
        asm!(".rept 1024", "add {sum}, {sum}, {step}", ".endr", sum = inout(reg) sum, step = in(reg) step,
             options(pure, nomem, nostack));
    }
    sum
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain(sum: u64, step: u64) -> u64 {
    (0..CHAIN).fold(sum, |sum, _| std::hint::black_box(sum.wrapping_add(step)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Buffer, call, random};

    /// What the pass computes, one lane at a time, with the same roundings.
    fn reference(shape: Shape, data: &[f64], passes: usize, fma: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let lanes = shape.width * data.len() / DATA;
        let mut sums = vec![0.0; shape.accumulators * lanes];
        for block in (0..passes).flat_map(|_| 0..shape.blocks()) {
            let operand = |register: usize, lane: usize| data[(block * 2 * shape.operands + register) * lanes + lane];
            for turn in 0..shape.operands {
                for (i, lane) in (0..shape.accumulators).flat_map(|i| (0..lanes).map(move |lane| (i, lane))) {
                    let (x, y) = pair(i, turn, shape.operands);
                    let sum = &mut sums[i * lanes + lane];
                    *sum = fma(operand(x, lane), operand(shape.operands + y, lane), *sum);
                }
            }
        }
        sums
    }

    fn fma_f32(a: f64, b: f64, c: f64) -> f64 {
        (a as f32).mul_add(b as f32, c as f32).into()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrow_probes_compute_every_product() {
        if !matches!(isa(), Isa::Avx512 | Isa::Avx2) {
            return;
        }
        let data = random(DATA / 4, 4);
        let wide: Vec<f64> = data.iter().map(|&x| x.into()).collect();
        let (mut x, mut out) = (Buffer::of(&data), Buffer::zeroed(OUT));
        // SAFETY: both instruction sets include it, and the buffers are as large as the probe needs.
        unsafe { f32_avx2(x.pointer(), out.pointer(), 2) };
        let expected = reference(Shape::of(Isa::Avx2), &wide, 2, fma_f32);
        let actual: Vec<f64> = out.read::<f32>().iter().map(|&x| x.into()).collect();
        assert_eq!(actual[..expected.len()], expected);
        let wide = &wide[..DATA / 8];
        let mut x = Buffer::of(wide);
        // SAFETY: as above.
        unsafe { f64_avx2(x.pointer(), out.pointer(), 2) };
        let expected = reference(Shape::of(Isa::Avx2), wide, 2, f64::mul_add);
        assert_eq!(out.read::<f64>()[..expected.len()], expected);
    }

    #[test]
    fn f32_probe_computes_every_product() {
        if isa() == Isa::Portable {
            return; // its roundings depend on the compiler
        }
        let data = random(DATA / 4, 1);
        let mut buffers = [Buffer::of(&data), Buffer::zeroed(OUT)];
        call("ceiling-f32", &mut buffers, &[3]);
        let wide: Vec<f64> = data.iter().map(|&x| x.into()).collect();
        let expected = reference(Shape::of(isa()), &wide, 3, fma_f32);
        let actual: Vec<f32> = buffers[1].read();
        let expected: Vec<f32> = expected.iter().map(|&x| x as f32).collect();
        assert_eq!(actual[..expected.len()], expected);
    }

    #[test]
    fn f64_probe_computes_every_product() {
        if isa() == Isa::Portable {
            return;
        }
        let data: Vec<f64> = random(DATA / 8, 2).iter().map(|&x| x.into()).collect();
        let mut buffers = [Buffer::of(&data), Buffer::zeroed(OUT)];
        call("ceiling-f64", &mut buffers, &[2]);
        let expected = reference(Shape::of(isa()), &data, 2, f64::mul_add);
        let actual: Vec<f64> = buffers[1].read();
        assert_eq!(actual[..expected.len()], expected);
    }

    #[test]
    fn portable_probe_agrees_with_the_reference() {
        let data = random(DATA / 4, 3);
        let (mut x, mut out) = (Buffer::of(&data), Buffer::zeroed(OUT));
        // SAFETY: the buffers are as large as the probe needs.
        unsafe { f32_portable(x.pointer(), out.pointer(), 1) };
        let total: f64 = out.read::<f32>()[..64].iter().map(|&x| f64::from(x)).sum();
        let mut expected = 0.0;
        for block in data.chunks(64) {
            for (i, turn, lane) in (0..16).flat_map(|i| (0..8).flat_map(move |t| (0..4).map(move |l| (i, t, l)))) {
                let (x, y) = pair(i, turn, 8);
                expected += f64::from(block[4 * x + lane]) * f64::from(block[4 * (8 + y) + lane]);
            }
        }
        assert!((total - expected).abs() < 1e-2, "{total}, expected {expected}");
    }

    #[test]
    fn chain_adds_as_often_as_it_says() {
        let mut buffers = [Buffer::zeroed(64)];
        call("chain-add", &mut buffers, &[5]);
        assert_eq!(buffers[0].read::<u64>()[0], 1 + 3 * 5 * CHAIN as u64);
    }
}
