//! Latency and throughput of single instructions: a chain in which each needs the one before, and twelve registers in
//! which none does. Each at two unrolls, so that the loop's own cost can be told from the instruction's.
//!
//! Must not time anything, and must not report: the caller divides time by operations. Operands keep their size along
//! a chain (x + y - y, x * y / y, y / x), since sums that overflow or turn denormal take other paths.

use crate::isa::{Isa, isa};
use crate::units;

/// Operations of a pass, by unroll.
pub const UNROLLS: [u64; 2] = [48, 96];
/// Bytes of operands: sixteen registers of 64 bytes, then a table for gathers.
pub const INSTRUCTION_DATA: usize = 2048;

/// One form of one instruction. `data` holds [`INSTRUCTION_DATA`] bytes of [`Instruction::operands`].
///
/// # Safety
/// The pointer must be good for as many bytes, and the machine must have the instruction.
pub type Chain = unsafe fn(data: *const u8, passes: u64);

/// What an instruction's registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F32,
    F64,
    /// Small 32-bit integers: positions of lanes, or of elements in the table.
    Index,
    /// Pairs of bf16 near 1.
    Pairs,
    /// Bytes of any value.
    Bytes,
}

/// An instruction and its probes.
pub struct Instruction {
    /// Operation, element and instruction set, e.g. `div-f64-avx2`.
    pub name: &'static str,
    /// By unroll: each operation needs the one before.
    pub latency: [Chain; 2],
    /// By unroll: no operation needs another.
    pub throughput: [Chain; 2],
    element: Element,
    needs: Isa,
    /// Whether this machine has what the instruction needs beside the registers.
    has: fn() -> bool,
}

impl Instruction {
    /// Operands for the probes, from numbers between -1 and 1.
    pub fn operands(&self, random: &mut dyn FnMut() -> f32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(INSTRUCTION_DATA);
        for register in 0..16 {
            match self.element {
                Element::F32 => (0..16).for_each(|_| {
                    let x = 1.0 + 0.4 * random();
                    bytes.extend((value(register, f64::from(x)) as f32).to_le_bytes());
                }),
                Element::F64 => (0..8).for_each(|_| {
                    let x = 1.0 + 0.4 * f64::from(random());
                    bytes.extend(value(register, x).to_le_bytes());
                }),
                Element::Index => (0..16).for_each(|_| bytes.extend(index(random()).to_le_bytes())),
                Element::Pairs => (0..32).for_each(|_| bytes.extend(bf16(1.0 + 0.4 * random()).to_le_bytes())),
                Element::Bytes => (0..64).for_each(|_| bytes.push(index(random()) as u8)),
            }
        }
        (0..256).for_each(|_| bytes.extend(index(random()).to_le_bytes()));
        // Registers 12 to 14 have to agree lane by lane: y, 1 / y, -y.
        self.relate(&mut bytes);
        bytes
    }

    fn relate(&self, bytes: &mut [u8]) {
        let (from, size) = (12 * 64, if self.element == Element::F64 { 8 } else { 4 });
        for lane in (0..64).step_by(size) {
            let at = |register: usize| from + 64 * register + lane;
            match self.element {
                Element::F32 => {
                    let y = f32::from_le_bytes(bytes[at(0)..at(0) + 4].try_into().unwrap_or_default());
                    bytes[at(1)..at(1) + 4].copy_from_slice(&(1.0 / y).to_le_bytes());
                    bytes[at(2)..at(2) + 4].copy_from_slice(&(-y).to_le_bytes());
                }
                Element::F64 => {
                    let y = f64::from_le_bytes(bytes[at(0)..at(0) + 8].try_into().unwrap_or_default());
                    bytes[at(1)..at(1) + 8].copy_from_slice(&(1.0 / y).to_le_bytes());
                    bytes[at(2)..at(2) + 8].copy_from_slice(&(-y).to_le_bytes());
                }
                Element::Index | Element::Pairs | Element::Bytes => {}
            }
        }
    }
}

/// Register 15 is 1; the others are near it.
fn value(register: usize, x: f64) -> f64 {
    if register == 15 { 1.0 } else { x }
}

/// 0 to 255.
fn index(x: f32) -> u32 {
    ((x * 0.5 + 0.5) * 255.0) as u32
}

/// The bf16 below.
fn bf16(x: f32) -> u16 {
    (x.to_bits() >> 16) as u16
}

/// The instructions that this machine has.
pub fn instructions() -> impl Iterator<Item = &'static Instruction> {
    let has = |needs: Isa| needs == isa() || (needs == Isa::Avx2 && isa() == Isa::Avx512);
    ROWS.iter().filter(move |row| has(row.needs) && (row.has)())
}

#[cfg(not(target_arch = "x86_64"))]
static ROWS: &[Instruction] = &[];

#[cfg(target_arch = "x86_64")]
use x86::ROWS;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Element, Instruction, units};
    use crate::isa::Isa;

    /// Both forms of an instruction; the latency's text holds two operations on register 0.
    macro_rules! instruction {
        ($name:ident, $feature:literal, $r:literal, $latency:expr, $throughput:expr $(, $extra:tt)*) => {
            mod $name {
                instruction!(@form latency, $feature, $r, ".rept {n} / 2", "0", $latency $(, $extra)*);
                instruction!(@form throughput, $feature, $r, ".rept {n} / 12", "0,1,2,3,4,5,6,7,8,9,10,11", $throughput
                             $(, $extra)*);
            }
        };
        (@form $form:ident, $feature:literal, $r:literal, $repeat:literal, $list:literal, $text:expr $(, $extra:tt)*) => {
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $form<const N: usize>(data: *const u8, passes: u64) {
                if passes == 0 {
                    return;
                }
                unsafe {
                    std::arch::asm!(
                        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                        concat!("vmovups ", $r, "\\i, [{data} + 64 * \\i]"),
                        ".endr",
                        ".p2align 6",
                        "2:",
                        $repeat,
                        concat!(".irp i, ", $list),
                        $text,
                        ".endr",
                        ".endr",
                        "dec {passes}",
                        "jnz 2b",
                        "vzeroupper",
                        n = const N, data = in(reg) data, passes = inout(reg) passes => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                        out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        $(out($extra) _,)*
                        options(nostack, readonly),
                    );
                }
            }
        };
    }

    /// x, then its inverse: `$undo` is the register that takes the first step back.
    macro_rules! steps {
        ($name:ident, $feature:literal, $r:literal, $op:literal, $undo:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($op, " ", $r, "0, ", $r, "0, ", $r, "12\n", $op, " ", $r, "0, ", $r, "0, ", $r, $undo),
                concat!($op, " ", $r, "\\i, ", $r, "12, ", $r, "13")
            );
        };
    }

    /// (x y - y) / y + 1 is x again.
    macro_rules! fused {
        ($name:ident, $feature:literal, $r:literal, $chain:literal, $free:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($chain, " ", $r, "0, ", $r, "12, ", $r, "14\n", $chain, " ", $r, "0, ", $r, "13, ", $r, "15"),
                concat!($free, " ", $r, "\\i, ", $r, "12, ", $r, "13")
            );
        };
    }

    /// y / (y / x) is x again.
    macro_rules! quotient {
        ($name:ident, $feature:literal, $r:literal, $op:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($op, " ", $r, "0, ", $r, "12, ", $r, "0\n", $op, " ", $r, "0, ", $r, "12, ", $r, "0"),
                concat!($op, " ", $r, "\\i, ", $r, "12, ", $r, "13")
            );
        };
    }

    /// One operand; roots end at 1.
    macro_rules! single {
        ($name:ident, $feature:literal, $r:literal, $op:literal, $after:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($op, " ", $r, "0, ", $r, "0", $after, "\n", $op, " ", $r, "0, ", $r, "0", $after),
                concat!($op, " ", $r, "\\i, ", $r, "12", $after)
            );
        };
    }

    /// Lanes by an index in register 15.
    macro_rules! permuted {
        ($name:ident, $feature:literal, $r:literal, $op:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($op, " ", $r, "0, ", $r, "15, ", $r, "0\n", $op, " ", $r, "0, ", $r, "15, ", $r, "0"),
                concat!($op, " ", $r, "\\i, ", $r, "15, ", $r, "12")
            );
        };
    }

    macro_rules! widths {
        ($kind:ident $narrow:ident $wide:ident $($rest:literal)*) => {
            $kind!($narrow, "avx2,fma", "ymm" $(, $rest)*);
            $kind!($wide, "avx512f", "zmm" $(, $rest)*);
        };
    }

    widths!(steps add_f32_avx2 add_f32_avx512 "vaddps" "14");
    widths!(steps mul_f32_avx2 mul_f32_avx512 "vmulps" "13");
    widths!(fused fma_f32_avx2 fma_f32_avx512 "vfmadd213ps" "vfmadd231ps");
    widths!(quotient div_f32_avx2 div_f32_avx512 "vdivps");
    widths!(single sqrt_f32_avx2 sqrt_f32_avx512 "vsqrtps" "");
    widths!(steps add_f64_avx2 add_f64_avx512 "vaddpd" "14");
    widths!(steps mul_f64_avx2 mul_f64_avx512 "vmulpd" "13");
    widths!(fused fma_f64_avx2 fma_f64_avx512 "vfmadd213pd" "vfmadd231pd");
    widths!(quotient div_f64_avx2 div_f64_avx512 "vdivpd");
    widths!(single sqrt_f64_avx2 sqrt_f64_avx512 "vsqrtpd" "");
    widths!(single shuffle_f32_avx2 shuffle_f32_avx512 "vpermilps" ", 27");
    widths!(permuted permute_f32_avx2 permute_f32_avx512 "vpermps");

    /// Products that add up: the accumulator is the chain.
    macro_rules! summed {
        ($name:ident, $feature:literal, $r:literal, $op:literal) => {
            instruction!(
                $name,
                $feature,
                $r,
                concat!($op, " ", $r, "0, ", $r, "12, ", $r, "13\n", $op, " ", $r, "0, ", $r, "13, ", $r, "14"),
                concat!($op, " ", $r, "\\i, ", $r, "12, ", $r, "13")
            );
        };
    }

    summed!(dot_bf16_avx512, "avx512f", "zmm", "vdpbf16ps");
    summed!(dot_i8_avx512, "avx512f", "zmm", "vpdpbusd");
    single!(rcp_f32_avx2, "avx2,fma", "ymm", "vrcpps", "");
    single!(rcp_f32_avx512, "avx512f", "zmm", "vrcp14ps", "");
    single!(rsqrt_f32_avx2, "avx2,fma", "ymm", "vrsqrtps", "");
    single!(rsqrt_f32_avx512, "avx512f", "zmm", "vrsqrt14ps", "");
    single!(round_f32_avx2, "avx2,fma", "ymm", "vroundps", ", 0");
    single!(round_f32_avx512, "avx512f", "zmm", "vrndscaleps", ", 0");

    instruction!(
        gather_f32_avx2,
        "avx2,fma",
        "ymm",
        "vpcmpeqd ymm14, ymm14, ymm14\nvgatherdps ymm1, [{data} + ymm0*4 + 1024], ymm14\n\
         vpcmpeqd ymm14, ymm14, ymm14\nvgatherdps ymm0, [{data} + ymm1*4 + 1024], ymm14",
        "vpcmpeqd ymm14, ymm14, ymm14\nvgatherdps ymm\\i, [{data} + ymm15*4 + 1024], ymm14"
    );
    instruction!(
        gather_f32_avx512,
        "avx512f",
        "zmm",
        "kxnorw k1, k1, k1\nvgatherdps zmm1{{k1}}, [{data} + zmm0*4 + 1024]\n\
         kxnorw k1, k1, k1\nvgatherdps zmm0{{k1}}, [{data} + zmm1*4 + 1024]",
        "kxnorw k1, k1, k1\nvgatherdps zmm\\i{{k1}}, [{data} + zmm15*4 + 1024]",
        "k1"
    );

    macro_rules! has {
        () => {
            || true
        };
        ($has:path) => {
            $has
        };
    }

    macro_rules! rows {
        ($($name:literal $module:ident $element:ident $needs:ident $(if $has:path)?;)*) => {
            pub(super) static ROWS: &[Instruction] = &[$(Instruction {
                name: $name,
                latency: [$module::latency::<48>, $module::latency::<96>],
                throughput: [$module::throughput::<48>, $module::throughput::<96>],
                element: Element::$element,
                needs: Isa::$needs,
                has: has!($($has)?),
            }),*];
        };
    }

    rows! {
        "add-f32-avx2" add_f32_avx2 F32 Avx2;
        "mul-f32-avx2" mul_f32_avx2 F32 Avx2;
        "fma-f32-avx2" fma_f32_avx2 F32 Avx2;
        "div-f32-avx2" div_f32_avx2 F32 Avx2;
        "sqrt-f32-avx2" sqrt_f32_avx2 F32 Avx2;
        "add-f64-avx2" add_f64_avx2 F64 Avx2;
        "mul-f64-avx2" mul_f64_avx2 F64 Avx2;
        "fma-f64-avx2" fma_f64_avx2 F64 Avx2;
        "div-f64-avx2" div_f64_avx2 F64 Avx2;
        "sqrt-f64-avx2" sqrt_f64_avx2 F64 Avx2;
        "shuffle-f32-avx2" shuffle_f32_avx2 F32 Avx2;
        "permute-f32-avx2" permute_f32_avx2 Index Avx2;
        "gather-f32-avx2" gather_f32_avx2 Index Avx2;
        "rcp-f32-avx2" rcp_f32_avx2 F32 Avx2;
        "rsqrt-f32-avx2" rsqrt_f32_avx2 F32 Avx2;
        "round-f32-avx2" round_f32_avx2 F32 Avx2;
        "add-f32-avx512" add_f32_avx512 F32 Avx512;
        "mul-f32-avx512" mul_f32_avx512 F32 Avx512;
        "fma-f32-avx512" fma_f32_avx512 F32 Avx512;
        "div-f32-avx512" div_f32_avx512 F32 Avx512;
        "sqrt-f32-avx512" sqrt_f32_avx512 F32 Avx512;
        "add-f64-avx512" add_f64_avx512 F64 Avx512;
        "mul-f64-avx512" mul_f64_avx512 F64 Avx512;
        "fma-f64-avx512" fma_f64_avx512 F64 Avx512;
        "div-f64-avx512" div_f64_avx512 F64 Avx512;
        "sqrt-f64-avx512" sqrt_f64_avx512 F64 Avx512;
        "shuffle-f32-avx512" shuffle_f32_avx512 F32 Avx512;
        "permute-f32-avx512" permute_f32_avx512 Index Avx512;
        "gather-f32-avx512" gather_f32_avx512 Index Avx512;
        "rcp-f32-avx512" rcp_f32_avx512 F32 Avx512;
        "rsqrt-f32-avx512" rsqrt_f32_avx512 F32 Avx512;
        "round-f32-avx512" round_f32_avx512 F32 Avx512;
        "dot-bf16-avx512" dot_bf16_avx512 Pairs Avx512 if units::avx512_bf16;
        "dot-i8-avx512" dot_i8_avx512 Bytes Avx512 if units::avx512_vnni;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Buffer;

    #[test]
    fn every_instruction_runs_on_its_operands() {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        for instruction in instructions() {
            let operands = instruction.operands(&mut random);
            assert_eq!(operands.len(), INSTRUCTION_DATA, "{}", instruction.name);
            let mut data = Buffer::of(&operands);
            for chain in instruction.latency.iter().chain(&instruction.throughput) {
                // SAFETY: the data is as large as the probe needs, and the machine has the instruction.
                unsafe { chain(data.pointer(), 3) };
            }
        }
    }

    #[test]
    fn operands_take_each_step_back() {
        for instruction in instructions().filter(|row| row.element == Element::F32) {
            let operands = instruction.operands(&mut || 0.5);
            let lane = |register: usize| f32::from_le_bytes(operands[64 * register..][..4].try_into().unwrap());
            assert!((lane(12) * lane(13) - 1.0).abs() < 1e-6 && lane(12) == -lane(14) && lane(15) == 1.0);
        }
    }
}
