//! Seeds, drawn anew in every run from the process's own entropy; nothing here is secret.

use std::hash::{BuildHasher, Hasher, RandomState};

/// SplitMix64 (Steele, Lea, Flood 2014), as on the device.
pub(crate) fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A sequence of seeds.
pub(crate) struct Random(u64);

impl Random {
    /// Seeded by the entropy that the standard library takes for its hash maps.
    pub(crate) fn from_entropy() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// The same in every run.
    #[cfg(test)]
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    /// An integer from -`reach` to `reach`.
    pub(crate) fn small(&mut self, reach: i32) -> i32 {
        (self.bits() >> 33) as i32 % (2 * reach + 1) - reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_reach_both_ends_and_no_further() {
        let mut random = Random::from_seed(1);
        let drawn: std::collections::BTreeSet<i32> = (0..1000).map(|_| random.small(4)).collect();
        assert!(drawn.into_iter().eq(-4..=4));
    }

    #[test]
    fn the_mixer_is_splitmix() {
        // The first output of the reference implementation for the seed 0.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
    }
}
