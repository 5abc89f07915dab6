//! A vector of `f32` lanes over the instruction sets, so that each kernel is written once.
//!
//! Only what the kernels need. The functions carry no target feature of their own: [`dispatch!`] instantiates a
//! generic kernel inside a function that has it, and everything inlines there.
#![expect(clippy::inline_always, reason = "an intrinsic inlines only where the target feature is enabled")]

/// A register's worth of `f32`.
///
/// # Safety
/// Every method needs the instruction set that the implementing type stands for; pointers need `N` elements.
pub(crate) trait Lanes: Copy {
    /// Lanes in a register.
    const N: usize;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// `self * factor + term`.
    unsafe fn fma(self, factor: Self, term: Self) -> Self;
    /// The larger; `other` where it is not a number.
    unsafe fn max(self, other: Self) -> Self;
    /// The smaller; `other` where it is not a number.
    unsafe fn min(self, other: Self) -> Self;
    /// `self * 2^n` for integral `n` in -200..=200, rounded once or (below the normal numbers) twice.
    unsafe fn scale(self, n: Self) -> Self;

    /// Sum of the lanes.
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { self.fold(|a, b| a + b) }
    }

    /// Largest of the lanes.
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe { self.fold(f32::max) }
    }

    /// Folds the lanes from left to right.
    #[inline(always)]
    unsafe fn fold(self, f: impl Fn(f32, f32) -> f32) -> f32 {
        let mut lanes = [0.0_f32; 16];
        unsafe { self.store(lanes.as_mut_ptr()) };
        let (first, rest) = lanes[..Self::N].split_first().unwrap_or((&0.0, &[]));
        rest.iter().fold(*first, |a, &b| f(a, b))
    }
}

/// Four lanes of plain Rust, which the compiler vectorises where it can.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

/// 2^n for integral `n` in -126..=127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

impl Lanes for Portable {
    const N: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) };
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn fma(self, factor: Self, term: Self) -> Self {
        // Without the instruction a fused multiply-add is a library call: two roundings are the better deal there.
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            Self(std::array::from_fn(|i| self.0[i].mul_add(factor.0[i], term.0[i])))
        } else {
            Self(std::array::from_fn(|i| self.0[i] * factor.0[i] + term.0[i]))
        }
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn scale(self, n: Self) -> Self {
        self.zip(n, |x, n| {
            let n = n as i32;
            x * power_of_two(n >> 1) * power_of_two(n - (n >> 1))
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64 as isa;

    macro_rules! forward {
        ($($method:ident = $intrinsic:ident),* $(,)?) => {$(
            #[inline(always)]
            unsafe fn $method(self, other: Self) -> Self {
                unsafe { isa::$intrinsic(self, other) }
            }
        )*};
    }

    impl Lanes for isa::__m512 {
        const N: usize = 16;
        forward!(add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps);
        forward!(max = _mm512_max_ps, min = _mm512_min_ps, scale = _mm512_scalef_ps);

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { isa::_mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { isa::_mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { isa::_mm512_storeu_ps(to, self) };
        }
        #[inline(always)]
        unsafe fn fma(self, factor: Self, term: Self) -> Self {
            unsafe { isa::_mm512_fmadd_ps(self, factor, term) }
        }
    }

    impl Lanes for isa::__m256 {
        const N: usize = 8;
        forward!(add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps);
        forward!(max = _mm256_max_ps, min = _mm256_min_ps);

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { isa::_mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { isa::_mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { isa::_mm256_storeu_ps(to, self) };
        }
        #[inline(always)]
        unsafe fn fma(self, factor: Self, term: Self) -> Self {
            unsafe { isa::_mm256_fmadd_ps(self, factor, term) }
        }
        #[inline(always)]
        unsafe fn scale(self, n: Self) -> Self {
            // In two halves: 2^n itself has no exponent field when n is below -126 or above 127.
            unsafe {
                let n = isa::_mm256_cvtps_epi32(n);
                let half = isa::_mm256_srai_epi32(n, 1);
                let power = |n| isa::_mm256_castsi256_ps(isa::_mm256_slli_epi32(n, 23));
                let bias = isa::_mm256_set1_epi32(127);
                let first = power(isa::_mm256_add_epi32(half, bias));
                let second = power(isa::_mm256_add_epi32(isa::_mm256_sub_epi32(n, half), bias));
                isa::_mm256_mul_ps(isa::_mm256_mul_ps(self, first), second)
            }
        }
    }
}

/// `dispatch!(pub(crate) fn name(a: T) = generic)` makes `name`, which runs `generic::<L>` on the widest lanes there are.
macro_rules! dispatch {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident($($arg:ident: $type:ty),*) = $generic:ident) => {
        $(#[$meta])*
        $visibility unsafe fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                unsafe fn widest($($arg: $type),*) {
                    unsafe { $generic::<std::arch::x86_64::__m512>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma")]
                unsafe fn wide($($arg: $type),*) {
                    unsafe { $generic::<std::arch::x86_64::__m256>($($arg),*) }
                }
                match crate::isa::isa() {
                    crate::isa::Isa::Avx512 => return unsafe { widest($($arg),*) },
                    crate::isa::Isa::Avx2 => return unsafe { wide($($arg),*) },
                    _ => {}
                }
            }
            unsafe { $generic::<crate::lanes::Portable>($($arg),*) }
        }
    };
}
pub(crate) use dispatch;
