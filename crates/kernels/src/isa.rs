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
