//! Knobs of the multiply-add probe, turned one at a time: how many accumulators, and how many different operands.
//!
//! A ceiling has to have stopped rising with every knob, and must not depend on feeding one register twice. These are
//! not ceilings themselves: their operands stay in registers. Buffers and sizes as in `fma`.

#[cfg(target_arch = "x86_64")]
use crate::isa::{Isa, isa};
#[cfg(target_arch = "x86_64")]
use crate::registry::first;
#[cfg(target_arch = "x86_64")]
use std::arch::asm;

/// Products of a pass, whatever the knob.
pub(crate) const PRODUCTS: u64 = 48;

/// Elements of f32 that a product covers here; 0 where there is no such probe.
pub(crate) fn lanes() -> u64 {
    #[cfg(target_arch = "x86_64")]
    return match isa() {
        Isa::Avx512 => 16,
        Isa::Avx2 => 8,
        _ => 0,
    };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Whether there are such probes here.
pub(crate) fn runs() -> bool {
    lanes() > 0
}

/// `$rounds` times one instruction for each register in the list.
#[cfg(target_arch = "x86_64")]
macro_rules! sweep {
    ($name:ident, $feature:literal, $r:literal, $list:literal, $rounds:literal, $op:literal, $operands:literal) => {
        #[target_feature(enable = $feature)]
        unsafe fn $name(x: *const u8, out: *mut u8, passes: u64) {
            unsafe {
                asm!(
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13",
                    concat!("vmovups ", $r, "\\i, [{x} + 64 * \\i]"),
                    ".endr",
                    ".p2align 6",
                    "2:",
                    concat!(".rept ", $rounds),
                    concat!(".irp i, ", $list),
                    concat!($op, " ", $r, "\\i, ", $operands),
                    ".endr",
                    ".endr",
                    "dec {passes}",
                    "jnz 2b",
                    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11",
                    concat!("vmovups [{out} + 64 * \\i], ", $r, "\\i"),
                    ".endr",
                    "vzeroupper",
                    x = in(reg) x, out = in(reg) out, passes = inout(reg) passes => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _,
                    options(nostack),
                );
            }
        }
    };
}

/// The probe for both widths, and its entry.
macro_rules! both {
    ($(#[$meta:meta])* $name:ident: $list:literal, $rounds:literal, $op:literal, $wide:literal, $narrow:literal) => {
        $(#[$meta])*
        pub(crate) unsafe fn $name(buffers: *const *mut u8, sizes: *const i64) {
            #[cfg(target_arch = "x86_64")]
            unsafe {
                sweep!(wide, "avx512f", "zmm", $list, $rounds, $op, $wide);
                sweep!(narrow, "avx2,fma", "ymm", $list, $rounds, $op, $narrow);
                let (x, out, passes) = (*buffers, *buffers.add(1), first(sizes));
                match isa() {
                    _ if passes == 0 => {}
                    Isa::Avx512 => wide(x, out, passes),
                    _ => narrow(x, out, passes),
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = (buffers, sizes);
                unreachable!("the table of kernels asks whether there are lanes")
            }
        }
    };
}

both!(
    /// `sweep-accumulators-1`: one chain, so the time is the latency's.
    accumulators_1: "0", "48", "vfmadd231ps", "zmm12, zmm13", "ymm12, ymm13"
);
both!(
    /// `sweep-accumulators-2`.
    accumulators_2: "0,1", "24", "vfmadd231ps", "zmm12, zmm13", "ymm12, ymm13"
);
both!(
    /// `sweep-accumulators-4`.
    accumulators_4: "0,1,2,3", "12", "vfmadd231ps", "zmm12, zmm13", "ymm12, ymm13"
);
both!(
    /// `sweep-accumulators-8`.
    accumulators_8: "0,1,2,3,4,5,6,7", "6", "vfmadd231ps", "zmm12, zmm13", "ymm12, ymm13"
);
both!(
    /// `sweep-accumulators-12`; also the form of three operands.
    accumulators_12: "0,1,2,3,4,5,6,7,8,9,10,11", "4", "vfmadd231ps", "zmm12, zmm13", "ymm12, ymm13"
);
both!(
    /// `sweep-operands-1`: x = x * x + x.
    operands_1: "0,1,2,3,4,5,6,7,8,9,10,11", "4", "vfmadd213ps", "zmm\\i, zmm\\i", "ymm\\i, ymm\\i"
);
both!(
    /// `sweep-operands-2`: x = x * x + c, bounded for c from -2 to 0.25.
    operands_2: "0,1,2,3,4,5,6,7,8,9,10,11", "4", "vfmadd213ps", "zmm\\i, zmm13", "ymm\\i, ymm13"
);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::fma::{DATA, OUT};
    use crate::testing::{Buffer, call};

    #[test]
    fn each_knob_makes_as_many_products() {
        if lanes() == 0 {
            return;
        }
        let ones = vec![1.0_f32; DATA / 4];
        for (n, rounds) in [(1, 48.0), (2, 24.0), (4, 12.0), (8, 6.0), (12, 4.0)] {
            let mut buffers = [Buffer::of(&ones), Buffer::zeroed(OUT)];
            call(&format!("sweep-accumulators-{n}"), &mut buffers, &[3]);
            let out: Vec<f32> = buffers[1].read();
            for i in 0..n {
                assert_eq!(out[16 * i], 1.0 + 3.0 * rounds, "accumulator {i} of {n}");
            }
        }
    }

    #[test]
    fn forms_compute_what_they_say() {
        if lanes() == 0 {
            return;
        }
        let data = vec![-0.25_f32; DATA / 4];
        let step = |name: &str, f: fn(f32) -> f32| {
            let mut buffers = [Buffer::of(&data), Buffer::zeroed(OUT)];
            call(name, &mut buffers, &[1]);
            let expected = (0..4).fold(-0.25_f32, |x, _| f(x));
            assert_eq!(buffers[1].read::<f32>()[0], expected, "{name}");
        };
        step("sweep-operands-1", |x| x.mul_add(x, x));
        step("sweep-operands-2", |x| x.mul_add(x, -0.25));
    }
}
