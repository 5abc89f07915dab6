//! Fresh inputs from a counter and a key.
//!
//! Must not take entropy: the judge draws a new key for every call. The generator is fast, not a cipher: whoever sees
//! the data can work out the key, so a key is never used twice and no key follows from another.

#![expect(clippy::inline_always, reason = "what is not inlined into a path with vectors is not compiled for them")]

use crate::problem::{Dtype, Problem};
use crate::workload::SplitMix;
use model::bf16;

/// What an input holds. Every element is drawn alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// The sum of four 32-bit uniforms (Irwin-Hall), scaled: within 3.5 standard deviations, kurtosis 2.7.
    Normal {
        /// Its mean.
        mean: f64,
        /// A call's standard deviation is log-uniform between these two, by the key.
        scale: [f64; 2],
    },
    /// Uniform in `low..high`.
    Uniform {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
}

impl Problem {
    /// Fills `out` with input `argument` for the secret `key`. The same key gives the same data, on every machine.
    ///
    /// # Panics
    /// When the argument is not drawn or `out` is not a whole number of elements.
    pub fn draw(&self, argument: usize, key: u64, out: &mut [u8]) {
        let target = &self.arguments[argument];
        let distribution = target.draw.expect("only activations and weights are drawn");
        let stream = Stream::new(key, argument);
        let (shift, scale) = affine(distribution, &mut coins(key, argument));
        assert_eq!(out.len() % target.dtype.size(), 0, "whole elements");
        match (target.dtype, distribution) {
            (Dtype::F32, Distribution::Normal { .. }) => {
                fill(out, move |i| (stream.normal(i) * scale as f32 + shift as f32).to_ne_bytes());
            }
            (Dtype::F32, Distribution::Uniform { .. }) => {
                fill(out, move |i| (stream.uniform(i) * scale as f32 + shift as f32).to_ne_bytes());
            }
            (Dtype::Bf16, Distribution::Normal { .. }) => {
                fill(out, move |i| bf16::nearest(stream.normal(i) * scale as f32 + shift as f32));
            }
            (Dtype::Bf16, Distribution::Uniform { .. }) => {
                fill(out, move |i| bf16::nearest(stream.uniform(i) * scale as f32 + shift as f32));
            }
            (Dtype::F64, _) => fill(out, move |i| (stream.wide(i, distribution) * scale + shift).to_ne_bytes()),
            (Dtype::I32, _) => {
                fill(out, move |i| ((stream.wide(i, distribution) * scale + shift).floor() as i32).to_ne_bytes());
            }
        }
    }
}

/// The coins of one argument under one key: the first goes to its stream, the second to its scale.
fn coins(key: u64, argument: usize) -> SplitMix {
    SplitMix(key ^ (argument as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03))
}

/// What a unit draw is shifted and scaled by.
fn affine(distribution: Distribution, coins: &mut SplitMix) -> (f64, f64) {
    match distribution {
        Distribution::Normal { mean, scale: [low, high] } => {
            coins.next();
            let u = coins.unit();
            (mean, (low.ln() + u * (high / low).ln()).exp())
        }
        // The unit draw lies in -1/2..1/2.
        Distribution::Uniform { low, high } => (f64::midpoint(low, high), high - low),
    }
}

/// One argument's stream under one key.
#[derive(Clone, Copy)]
struct Stream {
    first: u32,
    second: u32,
}

impl Stream {
    fn new(key: u64, argument: usize) -> Self {
        let mixed = coins(key, argument).next();
        Self { first: mixed as u32, second: (mixed >> 32) as u32 }
    }

    /// 32 bits for counter `i`: MurmurHash3's finaliser with half of the key before each multiplication, so that two
    /// keys don't give one another's stream shifted. A bijection of the counter: a buffer is never constant.
    #[inline(always)]
    fn bits(self, i: u32) -> u32 {
        let mut x = i ^ self.first;
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b).wrapping_add(self.second);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        x ^ (x >> 16)
    }

    /// Four uniforms. The three after the first cost one more round each; their pairwise correlation is below 1e-3.
    #[inline(always)]
    fn four(self, i: u32) -> [i32; 4] {
        let a = self.bits(i);
        let b = (a ^ (a >> 15)).wrapping_mul(0x2c1b_3c6d).wrapping_add(self.second);
        let c = (b ^ (b >> 12)).wrapping_mul(0x297a_2d39).wrapping_add(self.first);
        let d = (c ^ (c >> 15)).wrapping_mul(0x9e37_79b1);
        [a, b, c, d ^ (d >> 16)].map(u32::cast_signed)
    }

    /// Mean 0, variance 1. Full 24-bit significands: data that a narrower format holds exactly would let a candidate
    /// compute in it unseen.
    #[inline(always)]
    fn normal(self, i: u32) -> f32 {
        let [a, b, c, d] = self.four(i).map(|x| x as f32);
        ((a + b) + (c + d)) * (SIGMA_INVERSE as f32)
    }

    /// In -1/2..1/2.
    #[inline(always)]
    fn uniform(self, i: u32) -> f32 {
        self.bits(i).cast_signed() as f32 * (1.0 / 4_294_967_296.0)
    }

    /// The same for f64 and integers.
    #[inline(always)]
    fn wide(self, i: u32, distribution: Distribution) -> f64 {
        let [a, b, c, d] = self.four(i).map(f64::from);
        match distribution {
            Distribution::Normal { .. } => (a + b + c + d) * SIGMA_INVERSE,
            Distribution::Uniform { .. } => (a + b / 4_294_967_296.0) / 4_294_967_297.0,
        }
    }
}

/// 1 / the standard deviation of the sum of four uniforms over 2^32: sqrt(3) / 2^32.
const SIGMA_INVERSE: f64 = 1.732_050_807_568_877_2 / 4_294_967_296.0;

/// Writes element `i` as `element(i)`, with the widest vectors that the machine has. Same bits on each path: no path
/// contracts a multiplication and an addition into one.
fn fill<const SIZE: usize>(out: &mut [u8], element: impl Fn(u32) -> [u8; SIZE] + Copy) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512<const SIZE: usize>(out: &mut [u8], element: impl Fn(u32) -> [u8; SIZE] + Copy) {
            plain(out, element);
        }
        #[target_feature(enable = "avx2")]
        fn avx2<const SIZE: usize>(out: &mut [u8], element: impl Fn(u32) -> [u8; SIZE] + Copy) {
            plain(out, element);
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was detected.
            return unsafe { avx512(out, element) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was detected.
            return unsafe { avx2(out, element) };
        }
    }
    plain(out, element);
}

#[inline(always)]
fn plain<const SIZE: usize>(out: &mut [u8], element: impl Fn(u32) -> [u8; SIZE] + Copy) {
    for (i, bytes) in out.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
        *bytes = element(i as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 1 << 20;

    fn normals(key: u64, argument: usize) -> Vec<f32> {
        let stream = Stream::new(key, argument);
        (0..N as u32).map(|i| stream.normal(i)).collect()
    }

    fn moment(values: &[f32], power: i32) -> f64 {
        values.iter().map(|x| f64::from(*x).powi(power)).sum::<f64>() / values.len() as f64
    }

    fn correlation(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>() / a.len().min(b.len()) as f64
    }

    #[test]
    fn moments_are_normal() {
        // 5 sigma of the estimate over 2^20 draws: 0.005 for the mean, 0.007 for the variance.
        for key in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let values = normals(key, 0);
            assert!(moment(&values, 1).abs() < 0.005, "mean {}", moment(&values, 1));
            assert!((moment(&values, 2) - 1.0).abs() < 0.007, "variance {}", moment(&values, 2));
            assert!((moment(&values, 4) - 2.7).abs() < 0.04, "fourth moment {}", moment(&values, 4));
        }
    }

    #[test]
    fn streams_are_unrelated() {
        let base = normals(7, 0);
        let check = |other: &[f32], what: &str| {
            let r = correlation(&base, other);
            assert!(r.abs() < 0.006, "{what}: {r}");
        };
        check(&normals(8, 0), "next key");
        check(&normals(7 ^ (1 << 63), 0), "key with its top bit flipped");
        check(&normals(7, 1), "next argument");
        check(&base[1..], "neighbour");
        check(&base[128..], "next row");
        check(&base[N / 2..], "half way");
    }

    #[test]
    fn no_key_is_a_permutation_of_its_neighbour() {
        let sorted = |key| {
            let mut values: Vec<u32> = normals(key, 0)[..4096].iter().map(|x| x.to_bits()).collect();
            values.sort_unstable();
            values
        };
        let (a, b) = (sorted(1), sorted(2));
        let shared = a.iter().filter(|x| b.binary_search(x).is_ok()).count();
        assert!(shared < 100, "{shared} of 4096 values are shared");
    }

    #[test]
    fn significands_are_full() {
        let values = normals(3, 0);
        let inexact = |bits: u32| values.iter().filter(|x| x.to_bits() & ((1 << bits) - 1) != 0).count();
        assert!(inexact(8) > N * 99 / 100, "the low 8 bits are nearly always used");
    }

    #[test]
    fn every_path_gives_the_same_bits() {
        let stream = Stream::new(5, 2);
        let element = move |i| (stream.normal(i) * 1.25 + 0.5).to_ne_bytes();
        let (mut fast, mut slow) = (vec![0; 4003 * 4], vec![0; 4003 * 4]);
        fill(&mut fast, element);
        plain(&mut slow, element);
        assert_eq!(fast, slow);
    }

    #[test]
    fn scale_follows_the_key() {
        let distribution = Distribution::Normal { mean: 0.0, scale: [0.5, 2.0] };
        let scales: Vec<f64> = (0..100).map(|key| affine(distribution, &mut coins(key, 0)).1).collect();
        assert!(scales.iter().all(|scale| (0.5..=2.0).contains(scale)));
        assert!(scales.iter().any(|scale| *scale < 0.6) && scales.iter().any(|scale| *scale > 1.7));
    }
}
