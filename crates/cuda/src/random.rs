//! Seeds, drawn anew in every run from the process's own entropy; nothing here is secret.

use stats::SplitMix;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The first output of SplitMix64 for a seed, as on the device.
pub(crate) fn mix(seed: u64) -> u64 {
    SplitMix::new(seed).bits()
}

/// A sequence of seeds.
pub(crate) struct Random(SplitMix);

impl Random {
    /// Seeded by the entropy that the standard library takes for its hash maps.
    pub(crate) fn from_entropy() -> Self {
        Self(SplitMix::new(RandomState::new().build_hasher().finish()))
    }

    /// The same in every run.
    #[cfg(test)]
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
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
