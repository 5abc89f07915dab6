//! exp in vectors: the primitive of the softmax and SiLU kernels, and the probe of its own ceiling.

use crate::lanes::{Lanes, dispatch};
use crate::registry::first;

/// exp of every element, in place; at most 2 ulp off, infinite above 88.73 and 0 below -103.98.
pub fn exp_f32(x: &mut [f32]) {
    // SAFETY: the pointer and the length are the slice's own.
    unsafe { exp_slice(x.as_ptr(), x.as_mut_ptr(), x.len()) };
}

/// Coefficients of r^2 to r^6 in exp(r) = 1 + r + ..., fitted by weighted least squares for the relative error on
/// +-ln(2)/2, where it is 3.2e-9: a twentieth of half an ulp.
const POLYNOMIAL: [f32; 5] = [0.5, 0.166_665_18, 0.041_666_206, 0.008_368_956, 0.001_395_058];
/// ln 2 in two parts; the first has 9 significant bits, so that its product with any exponent is exact (Cephes expf).
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// Adding 1.5 x 2^23 leaves no bits below the unit: it rounds to the nearest integer.
const ROUNDER: f32 = 12_582_912.0;
/// Below, exp is 0 as an f32; above, infinite. Beyond them 2^n would leave the range that `scale` is good for.
const RANGE: [f32; 2] = [-104.0, 89.0];

/// exp of each lane; a lane that is not a number stays so.
#[expect(clippy::inline_always, reason = "an intrinsic inlines only where the target feature is enabled")]
#[inline(always)]
pub(crate) unsafe fn exp<L: Lanes>(x: L) -> L {
    unsafe {
        let x = L::splat(RANGE[1]).min(L::splat(RANGE[0]).max(x));
        let rounder = L::splat(ROUNDER);
        let n = x.fma(L::splat(std::f32::consts::LOG2_E), rounder).sub(rounder);
        let r = n.fma(L::splat(-LN_2[1]), n.fma(L::splat(-LN_2[0]), x));
        let [c2, c3, c4, c5, c6] = POLYNOMIAL.map(|c| L::splat(c));
        let tail = c6.fma(r, c5).fma(r, c4).fma(r, c3).fma(r, c2);
        let one = L::splat(1.0);
        tail.fma(r, one).fma(r, one).scale(n)
    }
}

dispatch!(
    /// exp of `n` elements.
    fn exp_slice(from: *const f32, to: *mut f32, n: usize) = exp_all
);

#[expect(clippy::inline_always, reason = "an intrinsic inlines only where the target feature is enabled")]
#[inline(always)]
unsafe fn exp_all<L: Lanes>(from: *const f32, to: *mut f32, n: usize) {
    unsafe {
        let mut i = 0;
        // Four independent chains: one is latency-bound.
        while i + 4 * L::N <= n {
            for j in 0..4 {
                exp(L::load(from.add(i + j * L::N))).store(to.add(i + j * L::N));
            }
            i += 4 * L::N;
        }
        while i < n {
            let rest = L::N.min(n - i);
            let mut lanes = [0.0_f32; 16];
            std::ptr::copy_nonoverlapping(from.add(i), lanes.as_mut_ptr(), rest);
            exp(L::load(lanes.as_ptr())).store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), to.add(i), rest);
            i += rest;
        }
    }
}

/// Elements that the probe goes over: 8 KiB in and 8 KiB out lie in any first-level cache.
pub(crate) const PROBE_LEN: usize = 2048;

/// `ceiling-exp`: buffers `[x, out]`, sizes `[repeats]`; exp of [`PROBE_LEN`] elements, over and over.
pub(crate) unsafe fn ceiling_exp(buffers: *const *mut u8, sizes: *const i64) {
    unsafe {
        let (x, out) = ((*buffers).cast::<f32>(), (*buffers.add(1)).cast::<f32>());
        for _ in 0..first(sizes) {
            exp_slice(std::hint::black_box(x), out, PROBE_LEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Portable;
    use crate::testing::ulps;

    /// Every 997th f32 of either sign, and the edges.
    fn inputs() -> Vec<f32> {
        let mut all: Vec<f32> = (0..u32::MAX).step_by(99_991).map(f32::from_bits).filter(|x| !x.is_nan()).collect();
        all.extend((-110_000..=95_000).map(|i| i as f32 * 1e-3));
        all.extend([0.0, -0.0, 1.0, 88.72, 88.73, -87.3, -87.34, -103.9, -103.98, f32::MIN, f32::MAX, 1e-40]);
        all.extend([f32::INFINITY, f32::NEG_INFINITY]);
        all
    }

    fn check(exp: impl Fn(&mut [f32])) {
        let x = inputs();
        let mut y = x.clone();
        exp(&mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let expected = (x as f64).exp() as f32;
            assert!(ulps(y, expected) <= 2, "exp({x}) = {y}, expected {expected}");
        }
    }

    #[test]
    fn exp_is_within_two_ulps() {
        check(exp_f32);
    }

    #[test]
    fn portable_exp_is_within_two_ulps() {
        // SAFETY: the pointer and the length are the slice's own.
        check(|x| unsafe { exp_all::<Portable>(x.as_ptr(), x.as_mut_ptr(), x.len()) });
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn avx2_exp_is_within_two_ulps() {
        #[target_feature(enable = "avx2,fma")]
        fn narrow(x: &mut [f32]) {
            // SAFETY: the pointer and the length are the slice's own.
            unsafe { exp_all::<std::arch::x86_64::__m256>(x.as_ptr(), x.as_mut_ptr(), x.len()) }
        }
        if matches!(crate::isa(), crate::Isa::Avx512 | crate::Isa::Avx2) {
            // SAFETY: both instruction sets include it.
            check(|x| unsafe { narrow(x) });
        }
    }

    #[test]
    fn no_number_stays_no_number() {
        let mut x = [f32::NAN, 1.0];
        exp_f32(&mut x);
        assert!(x[0].is_nan() && x[1] > 2.7);
    }
}
