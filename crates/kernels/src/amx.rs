//! Probes of the tile matrix unit (AMX) on bf16 and on bytes, with operands from the first and the second cache level.
//!
//! Buffers `[tiles, out]`, sizes `[passes]`. `tiles` holds [`DATA`] bytes of random operands ([`DATA_L2`] for the probes
//! that read past the first level): for each step A0, A1, B0, B1, a KiB each; `out` takes the four products C00, C01,
//! C10, C11 (4 KiB of f32 or i32). A matrix product has to load every operand, as these do. `-resident` keeps one
//! step's operands in the tiles, which no software can do, and is kept to show the gap.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use linux::{
    available, bytes_available, ceiling_bf16_matrix, ceiling_bf16_matrix_l2, ceiling_bf16_matrix_resident,
    ceiling_i8_matrix, ceiling_i8_matrix_l2,
};

/// Steps of a pass.
pub(crate) const STEPS: usize = 4;
/// Bytes of operands.
pub(crate) const DATA: usize = STEPS * 4 * 1024;
/// Steps of a pass of the probes that read past the first level.
pub(crate) const STEPS_L2: usize = 128;
/// Bytes of their operands: ten times a first level, a quarter of the second.
pub(crate) const DATA_L2: usize = STEPS_L2 * 4 * 1024;
/// Bytes of products.
pub(crate) const OUT: usize = 4096;
/// FLOP of a step: four tile products, 16 x 16 x 32 multiply-adds each.
pub(crate) const STEP_FLOP: f64 = (4 * 2 * 16 * 16 * 32) as f64;
/// Operations of a step on bytes: twice as many fit into a tile.
pub(crate) const STEP_OPS: f64 = 2.0 * STEP_FLOP;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod absent {
    /// Whether this process may use tiles.
    pub(crate) fn available() -> bool {
        false
    }

    pub(crate) use available as bytes_available;

    /// Never called: the registry asks `available` first.
    pub(crate) unsafe fn ceiling_bf16_matrix(_: *const *mut u8, _: *const i64) {
        unreachable!("no tiles on this platform")
    }

    pub(crate) use ceiling_bf16_matrix as ceiling_bf16_matrix_l2;
    pub(crate) use ceiling_bf16_matrix as ceiling_bf16_matrix_resident;
    pub(crate) use ceiling_bf16_matrix as ceiling_i8_matrix;
    pub(crate) use ceiling_bf16_matrix as ceiling_i8_matrix_l2;
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) use absent::{
    available, bytes_available, ceiling_bf16_matrix, ceiling_bf16_matrix_l2, ceiling_bf16_matrix_resident,
    ceiling_i8_matrix, ceiling_i8_matrix_l2,
};

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod linux {
    use crate::registry::first;
    use std::arch::asm;
    use std::arch::x86_64::__cpuid_count;
    use std::sync::OnceLock;

    /// arch_prctl code and feature number of tile data (Documentation/arch/x86/xstate.rst).
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;

    /// Whether this process may use tiles. The first call asks the kernel for the permission, so it has to come
    /// before the seal.
    pub(crate) fn available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| has_tiles() && permitted())
    }

    /// Whether tiles take bytes too.
    pub(crate) fn bytes_available() -> bool {
        available() && __cpuid_count(7, 0).edx & AMX_INT8 != 0
    }

    /// CPUID leaf 7, EDX (Intel manual, volume 2A).
    const AMX_BF16: u32 = 1 << 22;
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;

    fn has_tiles() -> bool {
        const BITS: u32 = AMX_BF16 | AMX_TILE;
        __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & BITS == BITS
    }

    fn permitted() -> bool {
        // SAFETY: the call changes nothing but this process's permission.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
    }

    /// The operand of `ldtilecfg`: palette 1, eight tiles of 16 rows by 64 bytes.
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
    }

    const fn config() -> Config {
        let mut config = Config { palette: 1, start_row: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
        let mut tile = 0;
        while tile < 8 {
            config.bytes[tile] = 64;
            config.rows[tile] = 16;
            tile += 1;
        }
        config
    }

    static CONFIG: Config = config();

    macro_rules! probe {
        ($(#[$meta:meta])* $name:ident { $($text:expr),* $(,)? }) => {
            $(#[$meta])*
            pub(crate) unsafe fn $name(buffers: *const *mut u8, sizes: *const i64) {
                unsafe {
                    let (tiles, out, passes) = (*buffers, *buffers.add(1), first(sizes));
                    if passes == 0 {
                        return;
                    }
                    asm!(
                        "ldtilecfg [{config}]",
                        ".irp i, 0,1,2,3",
                        "tilezero tmm\\i",
                        ".endr",
                        $($text,)*
                        ".irp i, 0,1,2,3",
                        "tilestored [{out} + {row}], tmm\\i",
                        "add {out}, 1024",
                        ".endr",
                        "tilerelease",
                        config = in(reg) &raw const CONFIG, tiles = in(reg) tiles, row = in(reg) 64_u64,
                        out = inout(reg) out => _, passes = inout(reg) passes => _,
                        p = out(reg) _, n = out(reg) _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack),
                    );
                }
            }
        };
    }

    /// Every operand loaded; `$steps` steps a pass.
    macro_rules! fed {
        ($(#[$meta:meta])* $name:ident, $op:literal, $steps:literal) => {
            probe!(
                $(#[$meta])*
                $name {
                    ".p2align 6",
                    "2:",
                    "mov {p}, {tiles}",
                    concat!("mov {n:e}, ", $steps),
                    "3:",
                    "tileloadd tmm4, [{p} + {row}]",
                    "tileloadd tmm6, [{p} + {row} + 2048]",
                    concat!($op, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{p} + {row} + 3072]",
                    concat!($op, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [{p} + {row} + 1024]",
                    concat!($op, " tmm2, tmm5, tmm6"),
                    concat!($op, " tmm3, tmm5, tmm7"),
                    "add {p}, 4096",
                    "dec {n:e}",
                    "jnz 3b",
                    "dec {passes}",
                    "jnz 2b",
                }
            );
        };
    }

    fed!(
        /// `ceiling-bf16-matrix`: operands from the first level.
        ceiling_bf16_matrix,
        "tdpbf16ps",
        "4"
    );
    fed!(
        /// `ceiling-bf16-matrix-l2`: operands from the second level.
        ceiling_bf16_matrix_l2,
        "tdpbf16ps",
        "128"
    );
    fed!(
        /// `ceiling-i8-matrix`: signed bytes from the first level.
        ceiling_i8_matrix,
        "tdpbssd",
        "4"
    );
    fed!(
        /// `ceiling-i8-matrix-l2`: signed bytes from the second level.
        ceiling_i8_matrix_l2,
        "tdpbssd",
        "128"
    );

    probe!(
        /// `ceiling-bf16-matrix-resident`: the operands of the first step stay in the tiles.
        ceiling_bf16_matrix_resident {
            "mov {p}, {tiles}",
            ".irp i, 4,5,6,7",
            "tileloadd tmm\\i, [{p} + {row}]",
            "add {p}, 1024",
            ".endr",
            ".p2align 6",
            "2:",
            "mov {n:e}, 4",
            "3:",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "dec {n:e}",
            "jnz 3b",
            "dec {passes}",
            "jnz 2b",
        }
    );
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;
    use crate::testing::{Buffer, call, random};

    /// The nearest bf16 to each number, towards zero.
    fn bf16(values: &[f32]) -> Vec<u16> {
        values.iter().map(|x| (x.to_bits() >> 16) as u16).collect()
    }

    /// One tile product by its definition: pairs of bf16 in order, two roundings to nearest even a pair.
    fn product(sums: &mut [f32], a: &[u16], b: &[u16]) {
        let wide = |x: u16| f32::from_bits(u32::from(x) << 16);
        for (row, k, column) in
            (0..16).flat_map(|row| (0..16).flat_map(move |k| (0..16).map(move |column| (row, k, column))))
        {
            let sum = &mut sums[16 * row + column];
            for half in 0..2 {
                *sum = wide(a[32 * row + 2 * k + half]).mul_add(wide(b[32 * k + 2 * column + half]), *sum);
            }
        }
    }

    fn reference(tiles: &[u16], steps: impl Iterator<Item = usize>) -> Vec<f32> {
        let mut out = vec![0.0; OUT / 4];
        for step in steps {
            let tile = |i: usize| &tiles[(4 * step + i) * 512..][..512];
            for (i, sums) in out.chunks_mut(256).enumerate() {
                product(sums, tile(i / 2), tile(2 + i % 2));
            }
        }
        out
    }

    fn check(name: &str, passes: usize, steps: impl Iterator<Item = usize>) {
        if !available() {
            return;
        }
        // Eight significant bits and few exponents: every product and sum is exact, so the order cannot matter.
        let values: Vec<f32> = random(DATA / 2, 7).iter().map(|x| (x * 8.0).round() / 8.0).collect();
        let tiles = bf16(&values);
        let mut buffers = [Buffer::of(&tiles), Buffer::zeroed(OUT)];
        call(name, &mut buffers, &[passes as i64]);
        assert_eq!(buffers[1].read::<f32>(), reference(&tiles, steps));
    }

    #[test]
    fn fed_probe_multiplies_every_tile() {
        check("ceiling-bf16-matrix", 3, (0..3).flat_map(|_| 0..STEPS));
    }

    #[test]
    fn probe_from_the_second_level_multiplies_every_tile() {
        if available() {
            let values: Vec<f32> = random(DATA_L2 / 2, 8).iter().map(|x| (x * 4.0).round() / 4.0).collect();
            let tiles = bf16(&values);
            let mut buffers = [Buffer::of(&tiles), Buffer::zeroed(OUT)];
            call("ceiling-bf16-matrix-l2", &mut buffers, &[1]);
            assert_eq!(buffers[1].read::<f32>(), reference(&tiles, 0..STEPS_L2));
        }
    }

    #[test]
    fn bytes_are_multiplied_exactly() {
        if bytes_available() {
            let tiles: Vec<i8> = random(DATA, 9).iter().map(|x| (x * 50.0) as i8).collect();
            let mut buffers = [Buffer::of(&tiles), Buffer::zeroed(OUT)];
            call("ceiling-i8-matrix", &mut buffers, &[2]);
            let mut out = vec![0_i32; OUT / 4];
            for step in (0..STEPS).chain(0..STEPS) {
                let tile = |i: usize| &tiles[(4 * step + i) * 1024..][..1024];
                for (i, sums) in out.chunks_mut(256).enumerate() {
                    let (a, b) = (tile(i / 2), tile(2 + i % 2));
                    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
                        for k in 0..64 {
                            let product = i32::from(a[64 * row + k]) * i32::from(b[64 * (k / 4) + 4 * column + k % 4]);
                            sums[16 * row + column] += product;
                        }
                    }
                }
            }
            assert_eq!(buffers[1].read::<i32>(), out);
        }
    }

    #[test]
    fn resident_probe_multiplies_the_first_tiles() {
        check("ceiling-bf16-matrix-resident", 2, std::iter::repeat_n(0, 2 * STEPS));
    }
}
