//! Random operands, orders and coins. Seeded anew in every run, from the process's own entropy; nothing here is secret.

use std::hash::{BuildHasher, Hasher, RandomState};

/// SplitMix64 (Steele, Lea, Flood 2014): one multiplication chain a number, enough for operands and orders.
pub(crate) struct Random(u64);

impl Random {
    /// Seeded by the entropy that the standard library takes for its hash maps.
    pub(crate) fn from_entropy() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// From a number that was drawn, for a thread of its own.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The same numbers in every run.
    #[cfg(test)]
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A fair coin.
    pub(crate) fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// A number below `n`, for `n` far below 2^32.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (((self.bits() >> 32) * n as u64) >> 32) as usize
    }

    /// A number with mean 0 and variance 1, nearly normal: the sum of four uniform 16-bit numbers.
    pub(crate) fn normal(&mut self) -> f32 {
        let bits = self.bits();
        let sum: u64 = (0..4).map(|i| (bits >> (16 * i)) & 0xFFFF).sum();
        (sum as f32 / 65_536.0 - 1.999_97) * 1.732_050_8
    }

    /// Shuffles by Fisher and Yates.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut random = Random::from_seed(1);
        let x: Vec<f64> = (0..100_000).map(|_| f64::from(random.normal())).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::from_seed(2).shuffle(&mut items);
        assert_ne!(items, (0..1000).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn runs_differ() {
        assert_ne!(Random::from_entropy().bits(), Random::from_entropy().bits());
    }
}
