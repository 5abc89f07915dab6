//! How much to measure: sizes, windows, budgets. Pure.

use model::Seconds;

/// How closely to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Coarse curves, brief windows: about 20 seconds.
    Quick,
    /// Sizes at most 9 % apart: about a minute.
    #[default]
    Default,
    /// Sizes at most 5 % apart, longer windows: under three minutes.
    Deep,
}

/// Depth, and whether the device is held at its limit until it is warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How closely to look.
    pub depth: Depth,
    /// Seconds of the soak; none for the depth's own.
    pub soak: Option<u32>,
}

impl Effort {
    /// As in a map's `depth`.
    pub fn name(self) -> String {
        let depth = match self.depth {
            Depth::Quick => "quick",
            Depth::Default => "default",
            Depth::Deep => "deep",
        };
        format!("{depth}{}", if self.soak.is_some() { "+soak" } else { "" })
    }

    /// What a measurement takes, from experience on an H200.
    pub fn expected(self) -> Seconds {
        let depth = match self.depth {
            Depth::Quick => 20.0,
            Depth::Default => 60.0,
            Depth::Deep => 120.0,
        };
        Seconds(depth + self.soak.map_or(0.0, f64::from))
    }

    pub(crate) fn plan(self) -> Plan {
        let usual = Plan {
            ratio: 1.09,
            seeds: 3,
            rounds: 3,
            window: 4e-3,
            windows: 9,
            unit: 0.5,
            soak: 6.0,
            largest: 1 << 31,
            limit: 30.0,
        };
        let plan = match self.depth {
            Depth::Quick => {
                let brief = Plan { ratio: 1.19, seeds: 1, rounds: 1, window: 2e-3, windows: 7, ..usual };
                Plan { unit: 0.2, soak: 2.0, largest: 1 << 29, ..brief }
            }
            Depth::Default => usual,
            Depth::Deep => Plan { ratio: 1.05, seeds: 5, rounds: 5, soak: 10.0, largest: 1 << 32, ..usual },
        };
        Plan { soak: self.soak.map_or(plan.soak, f64::from), ..plan }
    }
}

/// The numbers behind an effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// Neighbouring sizes of a curve.
    pub(crate) ratio: f64,
    /// Cycles drawn for each size.
    pub(crate) seeds: usize,
    /// Seconds of a window: less than the 5 ms in which clocks and power have not settled.
    pub(crate) window: f64,
    /// Windows of a figure in one round.
    pub(crate) windows: usize,
    /// Seconds that a tensor unit is held in a round for its sustained figure.
    pub(crate) unit: f64,
    /// Seconds of the soak.
    pub(crate) soak: f64,
    /// Largest working set of a latency curve.
    pub(crate) largest: u64,
    /// How often every figure is measured, from its choice of a way to its last window.
    pub(crate) rounds: usize,
    /// Seconds after which a launch is given up: they take milliseconds.
    pub(crate) limit: f64,
}

impl Plan {
    /// Sizes from `least` to `most`, at most the plan's ratio apart, each a multiple of `grain` and met once.
    pub(crate) fn sizes(&self, [least, most]: [u64; 2], grain: u64) -> Vec<u64> {
        let steps = ((most as f64 / least as f64).ln() / self.ratio.ln()).ceil().max(1.0);
        let step = (most as f64 / least as f64).powf(1.0 / steps);
        let mut sizes: Vec<u64> =
            (0..=steps as i32).map(|i| (least as f64 * step.powi(i) / grain as f64).round() as u64 * grain).collect();
        sizes.dedup();
        sizes
    }

    /// The same, and closer together around some claims, where knees are looked for.
    pub(crate) fn sizes_around(&self, range: [u64; 2], grain: u64, claims: &[u64]) -> Vec<u64> {
        /// Neighbours near a claim.
        const CLOSE: f64 = 1.05;
        let close = Self { ratio: CLOSE.min(self.ratio), ..*self };
        let mut sizes = self.sizes(range, grain);
        for claim in claims {
            let near = [(claim / 2).max(range[0]), (claim + claim / 2).min(range[1])];
            if near[0] < near[1] {
                sizes.extend(close.sizes(near, grain));
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_dense_and_reach_both_ends() {
        for (depth, apart) in [(Depth::Quick, 1.2), (Depth::Default, 1.1), (Depth::Deep, 1.055)] {
            let sizes = Effort { depth, soak: None }.plan().sizes([32 << 10, 1 << 31], 128);
            assert_eq!((sizes[0], sizes[sizes.len() - 1]), (32 << 10, 1 << 31));
            assert!(sizes.windows(2).all(|pair| pair[0] < pair[1] && pair[1] as f64 / (pair[0] as f64) < apart));
            assert!(sizes.iter().all(|size| size % 128 == 0));
        }
    }

    #[test]
    fn sizes_are_closer_where_a_knee_may_be() {
        let plan = Effort { depth: Depth::Quick, soak: None }.plan();
        let sizes = plan.sizes_around([1 << 12, 1 << 30], 128, &[1 << 20, 1 << 40]);
        assert!(sizes.is_sorted() && sizes.len() > plan.sizes([1 << 12, 1 << 30], 128).len());
        let near: Vec<u64> = sizes.iter().copied().filter(|size| (1 << 19..3 << 19).contains(size)).collect();
        assert!(near.windows(2).all(|pair| pair[1] as f64 / (pair[0] as f64) < 1.055), "{near:?}");
        assert_eq!(sizes[sizes.len() - 1], 1 << 30);
    }

    #[test]
    fn a_soak_is_as_long_as_asked() {
        let effort = Effort { depth: Depth::Quick, soak: Some(30) };
        assert_eq!((effort.plan().soak, effort.name().as_str()), (30.0, "quick+soak"));
        assert!(Effort::default().plan().window < 5e-3);
    }
}
