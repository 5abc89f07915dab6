//! Which vector instructions this process may use. Detection only: no kernel lives here.

/// Vector instruction sets that the kernels are written for, widest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 Foundation, 512 bits.
    Avx512,
    /// AVX2 with fused multiply-add, 256 bits.
    Avx2,
    /// Advanced SIMD, 128 bits.
    Neon,
    /// Whatever the compiler makes of plain Rust.
    Portable,
}

impl Isa {
    /// The name that a map prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512f",
            Self::Avx2 => "avx2+fma",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }
}

/// What a processor has beside its vector width.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Products of four bytes, summed, in 512-bit registers.
    Avx512Vnni,
    /// Products of two bf16, summed, in 512-bit registers.
    Avx512Bf16,
    /// Arithmetic on f16 in 512-bit registers.
    Avx512Fp16,
    /// Products of four bytes, summed, in 256-bit registers, in the encoding of AVX2.
    AvxVnni,
}

/// Whether this process may use the extension: the processor says so, and the system keeps its registers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has(extension: Extension) -> bool {
    use std::arch::x86_64::__cpuid_count;
    if __cpuid_count(0, 0).eax < 7 {
        return false;
    }
    // Leaf 7 of the Intel manual's volume 2A, CPUID.
    let (main, more) = (__cpuid_count(7, 0), __cpuid_count(7, 1));
    let bit = |register: u32, n: u32| register >> n & 1 == 1;
    match extension {
        Extension::Avx512Vnni => isa() == Isa::Avx512 && bit(main.ecx, 11),
        Extension::Avx512Fp16 => isa() == Isa::Avx512 && bit(main.edx, 23),
        Extension::Avx512Bf16 => isa() == Isa::Avx512 && main.eax >= 1 && bit(more.eax, 5),
        Extension::AvxVnni => matches!(isa(), Isa::Avx512 | Isa::Avx2) && main.eax >= 1 && bit(more.eax, 4),
    }
}

/// The widest instruction set of this machine that the kernels have code for.
#[cfg(target_arch = "x86_64")]
pub fn isa() -> Isa {
    if std::arch::is_x86_feature_detected!("avx512f") {
        Isa::Avx512
    } else if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        Isa::Avx2
    } else {
        Isa::Portable
    }
}

/// The widest instruction set of this machine that the kernels have code for.
#[cfg(not(target_arch = "x86_64"))]
pub fn isa() -> Isa {
    if cfg!(all(target_arch = "aarch64", target_feature = "neon")) { Isa::Neon } else { Isa::Portable }
}
