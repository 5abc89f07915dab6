//! Probes of the narrower and the special vector units: one element at a time, SSE2, AVX2, dot products of bytes (on both
//! architectures) and of bf16, and f16. The widest f32 and f64 are in `fma`, the tiles in `amx`.
//!
//! Buffers and sizes as in `fma`: `[x, out]`, `[passes]`, [`DATA`](crate::fma::DATA) bytes of operands a pass.
//! Must not choose: each probe runs exactly the unit that its name says, and the table of kernels asks for it first.

#[cfg(target_arch = "x86_64")]
use crate::fma::{avx512, block, narrow, narrow_step, product, step};
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
use crate::fma::{block, neon, product, step};
#[cfg(target_arch = "x86_64")]
use crate::isa::{Extension, Isa, has, isa};
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")))]
use crate::registry::first;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")))]
use std::arch::asm;

/// Products of a pass of NEON: 32 blocks of 128.
pub(crate) const NEON: u64 = 32 * 128;
/// Products of a pass with sixteen accumulators: 8 blocks of 128.
pub(crate) const WIDE: u64 = 8 * 128;
/// Products of a pass with ten accumulators: 42 blocks of 30.
pub(crate) const NARROW: u64 = 42 * 30;
/// Products of a pass of SSE2: 42 blocks of 20.
pub(crate) const SSE: u64 = 42 * 20;

/// A pass without fused multiply-adds: x is loaded, multiplied by one of two y, and added; each accumulator meets both.
/// Blocks of 192 bytes: two y, then ten x.
#[cfg(target_arch = "x86_64")]
macro_rules! sse {
    ($name:ident, $load:literal, $mul:literal, $add:literal) => {
        unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            unsafe {
                asm!(
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    "xorps xmm\\i, xmm\\i",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    "mov {p}, {x}",
                    "mov {n:e}, 42",
                    "3:",
                    concat!($load, " xmm14, [{p}]"),
                    concat!($load, " xmm15, [{p} + 16]"),
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    concat!($load, " xmm10, [{p} + 32 + 16 * \\i]"),
                    concat!($mul, " xmm10, xmm14"),
                    concat!($add, " xmm\\i, xmm10"),
                    ".endr",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    concat!($load, " xmm10, [{p} + 32 + 16 * \\i]"),
                    concat!($mul, " xmm10, xmm15"),
                    concat!($add, " xmm\\i, xmm10"),
                    ".endr",
                    "add {p}, 192",
                    "dec {n:e}",
                    "jnz 3b",
                    "dec {passes}",
                    "jnz 2b",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9",
                    "movups [{out} + 16 * \\i], xmm\\i",
                    ".endr",
                    x = in(reg) x, out = in(reg) out, passes = inout(reg) passes => _,
                    p = out(reg) _, n = out(reg) _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm14") _,
                    out("xmm15") _,
                    options(nostack),
                );
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{asm, avx512, block, fused, narrow, narrow_step, product, step};

    sse!(f32_sse2, "movups", "mulps", "addps");
    sse!(f64_sse2, "movups", "mulpd", "addpd");
    sse!(f32_alone, "movss", "mulss", "addss");
    sse!(f64_alone, "movsd", "mulsd", "addsd");
    narrow!(f32_scalar_fma, "vfmadd231ss", "xmm");
    narrow!(f64_scalar_fma, "vfmadd231sd", "xmm");
    narrow!(i8_avx_vnni, "{{vex}} vpdpbusd", "ymm");
    avx512!(i8_avx512_vnni, "vpdpbusd");
    avx512!(bf16_dot, "vdpbf16ps");
    avx512!(f16_avx512, "vfmadd231ph");
    pub(super) use crate::fma::{f32_avx2, f64_avx2};

    /// Fused where there is such an instruction.
    pub(super) unsafe fn f32_scalar(x: *const u8, out: *mut u8, passes: u64) {
        let run = if fused() { f32_scalar_fma } else { f32_alone };
        unsafe { run(x, out, passes) };
    }

    /// Fused where there is such an instruction.
    pub(super) unsafe fn f64_scalar(x: *const u8, out: *mut u8, passes: u64) {
        let run = if fused() { f64_scalar_fma } else { f64_alone };
        unsafe { run(x, out, passes) };
    }

    pub(super) unsafe fn f32_sse(x: *const u8, out: *mut u8, passes: u64) {
        unsafe { f32_sse2(x, out, passes) };
    }

    pub(super) unsafe fn f64_sse(x: *const u8, out: *mut u8, passes: u64) {
        unsafe { f64_sse2(x, out, passes) };
    }
}

// The instruction names its sums and its operands by different shapes, so a macro of the assembler stands for it.
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
neon!(
    i8_neon,
    "rooflab_dot" "" "",
    ".arch_extension dotprod\n.macro rooflab_dot sum, a, b\nsdot v\\sum\\().4s, v\\a\\().16b, v\\b\\().16b\n.endm",
    ".purgem rooflab_dot"
);

/// Whether bytes are multiplied and summed by NEON.
pub(crate) fn dot() -> bool {
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    return std::arch::is_aarch64_feature_detected!("dotprod");
    #[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
    false
}

/// `ceiling-i8-dot`: signed bytes, four products a sum, in NEON's registers.
pub(crate) unsafe fn ceiling_i8_dot(buffers: *const *mut u8, sizes: *const i64) {
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    unsafe {
        let (x, out, passes) = (*buffers, *buffers.add(1), first(sizes));
        if passes > 0 {
            i8_neon(x, out, passes);
        }
    }
    #[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
    {
        let _ = (buffers, sizes);
        unreachable!("the table of kernels asks whether the unit is there")
    }
}

/// Whether one element at a time is multiplied and added by one instruction.
#[cfg(target_arch = "x86_64")]
pub(crate) fn fused() -> bool {
    matches!(isa(), Isa::Avx512 | Isa::Avx2)
}

/// Whether one element at a time is multiplied and added by one instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn fused() -> bool {
    false
}

/// Products of a pass of one element at a time.
pub(crate) fn scalar_products() -> u64 {
    if fused() { NARROW } else { SSE }
}

/// Whether this is a processor with the units of this file at all.
pub(crate) fn any() -> bool {
    cfg!(target_arch = "x86_64")
}

macro_rules! extensions {
    ($($(#[$meta:meta])* $name:ident = $extension:ident),* $(,)?) => {
        $(
            $(#[$meta])*
            pub(crate) fn $name() -> bool {
                #[cfg(target_arch = "x86_64")]
                return has(Extension::$extension);
                #[cfg(not(target_arch = "x86_64"))]
                false
            }
        )*
    };
}

extensions! {
    /// Whether bytes are multiplied and summed in 256-bit registers.
    avx_vnni = AvxVnni,
    /// Whether bytes are multiplied and summed in 512-bit registers.
    avx512_vnni = Avx512Vnni,
    /// Whether pairs of bf16 are multiplied and summed.
    avx512_bf16 = Avx512Bf16,
    /// Whether f16 is computed with.
    avx512_fp16 = Avx512Fp16,
}

macro_rules! entries {
    ($($(#[$meta:meta])* $name:ident = $run:ident),* $(,)?) => {
        $(
            $(#[$meta])*
            pub(crate) unsafe fn $name(buffers: *const *mut u8, sizes: *const i64) {
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    let (x, out, passes) = (*buffers, *buffers.add(1), first(sizes));
                    if passes > 0 {
                        x86::$run(x, out, passes);
                    }
                }
                #[cfg(not(target_arch = "x86_64"))]
                {
                    let _ = (buffers, sizes);
                    unreachable!("the table of kernels asks whether the unit is there")
                }
            }
        )*
    };
}

entries! {
    /// `ceiling-f32-scalar`.
    ceiling_f32_scalar = f32_scalar,
    /// `ceiling-f64-scalar`.
    ceiling_f64_scalar = f64_scalar,
    /// `ceiling-f32-sse2`: products and sums in two instructions.
    ceiling_f32_sse2 = f32_sse,
    /// `ceiling-f64-sse2`.
    ceiling_f64_sse2 = f64_sse,
    /// `ceiling-f32-avx2`.
    ceiling_f32_avx2 = f32_avx2,
    /// `ceiling-f64-avx2`.
    ceiling_f64_avx2 = f64_avx2,
    /// `ceiling-i8-avx-vnni`: unsigned times signed bytes, four at a time, in 256-bit registers.
    ceiling_i8_avx_vnni = i8_avx_vnni,
    /// `ceiling-i8-vnni`: the same in 512-bit registers.
    ceiling_i8_vnni = i8_avx512_vnni,
    /// `ceiling-bf16-dot`: pairs of bf16 into f32.
    ceiling_bf16_dot = bf16_dot,
    /// `ceiling-f16`.
    ceiling_f16 = f16_avx512,
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use crate::fma::{DATA, OUT};
    use crate::testing::{Buffer, call, random};

    /// Which x and y meet which accumulator in a block of sixteen accumulators; the inline assembly spells the same out.
    fn wide_pairs() -> impl Iterator<Item = (usize, usize, usize)> {
        (0..8).flat_map(|turn| (0..16).map(move |i| (i, (i + turn) % 8, 8 + (i + 4 * (i / 8)) % 8)))
    }

    #[test]
    fn bytes_are_multiplied_and_summed_exactly() {
        if find_unit("ceiling-i8-vnni") {
            let bytes: Vec<u8> = random(DATA, 3).iter().map(|x| (x * 60.0) as i32 as u8).collect();
            let mut buffers = [Buffer::of(&bytes), Buffer::zeroed(OUT)];
            call("ceiling-i8-vnni", &mut buffers, &[1]);
            let mut sums = vec![0_i32; 16 * 16];
            for block in 0..8 {
                let at = |register: usize, byte: usize| bytes[(block * 16 + register) * 64 + byte];
                for (i, x, y) in wide_pairs() {
                    for byte in 0..64 {
                        sums[16 * i + byte / 4] += i32::from(at(x, byte)) * i32::from(at(y, byte) as i8);
                    }
                }
            }
            assert_eq!(buffers[1].read::<i32>()[..256], sums);
        }
    }

    #[test]
    fn pairs_of_bf16_are_multiplied_and_summed() {
        if find_unit("ceiling-bf16-dot") {
            // Few significant bits: every product and sum is exact.
            let values: Vec<f32> = random(DATA / 2, 4).iter().map(|x| (x * 4.0).round() / 4.0).collect();
            let halves: Vec<u16> = values.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
            let mut buffers = [Buffer::of(&halves), Buffer::zeroed(OUT)];
            call("ceiling-bf16-dot", &mut buffers, &[1]);
            let mut sums = vec![0.0_f32; 16 * 16];
            for block in 0..8 {
                for (i, x, y) in wide_pairs() {
                    for half in 0..32 {
                        let at = |register: usize| values[(block * 16 + register) * 32 + half];
                        sums[16 * i + half / 2] += at(x) * at(y);
                    }
                }
            }
            assert_eq!(buffers[1].read::<f32>()[..256], sums);
        }
    }

    #[test]
    fn sums_without_fusion_are_products_of_both_y() {
        let x = random(DATA / 4, 5);
        for (name, lanes) in [("ceiling-f32-sse2", 4), ("ceiling-f32-scalar", 1)] {
            let mut buffers = [Buffer::of(&x), Buffer::zeroed(OUT)];
            call(name, &mut buffers, &[1]);
            let total: f64 = buffers[1].read::<f32>().iter().map(|&x| f64::from(x)).sum();
            assert!(total.is_finite() && total != 0.0, "{name}");
            if name == "ceiling-f32-sse2" {
                let mut expected = 0.0;
                for block in x.chunks(48).take(42) {
                    for i in 0..10 {
                        for lane in 0..lanes {
                            expected += f64::from(block[8 + 4 * i + lane]) * f64::from(block[lane] + block[4 + lane]);
                        }
                    }
                }
                assert!((total - expected).abs() < 1e-2, "{total}, expected {expected}");
            }
        }
    }

    fn find_unit(name: &str) -> bool {
        crate::find(name).is_some()
    }
}
