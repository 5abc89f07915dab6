//! The one source of randomness: a seeded generator, so that every resampled figure is repeatable.
//!
//! Not for anything that an adversary could gain by predicting.

/// `SplitMix64` (Steele, Lea, Flood 2014): 64 bits of state, passes `BigCrush`, three lines long.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator that repeats itself for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in 0..n. The bias of the multiplication is below n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fisher-Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        let mut random = SplitMix::new(1_234_567);
        let found: Vec<u64> = (0..5).map(|_| random.bits()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(found, published);
    }

    #[test]
    fn what_is_made_of_the_bits() {
        let from_start = || SplitMix::new(1_234_567);
        assert_eq!(from_start().unit(), 0.350_079_542_021_408_1);
        assert_eq!(from_start().below(10), 3);
        assert!((0..1000).scan(from_start(), |random, _| Some(random.below(3))).all(|n| n < 3));
        let mut items = [0, 1, 2, 3, 4, 5];
        from_start().shuffle(&mut items);
        assert_eq!(items, [3, 1, 4, 5, 0, 2]);
    }
}
