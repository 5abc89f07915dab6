//! How long to measure: what a depth stands for, in seconds, points and bytes. Nothing is measured here.

use model::Seconds;

/// How thoroughly to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Under 15 s: short windows, coarse curves.
    Quick,
    /// Under 90 s.
    Default,
    /// Minutes: latency sizes at most 5 % apart everywhere.
    Deep,
}

impl Depth {
    /// As a map writes it down.
    fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Deep => "deep",
        }
    }

    /// Whether a map that writes down `depth` is at least as thorough.
    pub fn is_met_by(self, depth: &str) -> bool {
        let measured = depth.split('+').next().unwrap_or_default();
        [Self::Quick, Self::Default, Self::Deep].iter().any(|other| other.name() == measured && *other >= self)
    }
}

/// Whether to hold the f32 ceiling for half a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soak {
    /// As long as the depth does anyway.
    Brief,
    /// 30 s and more: long enough for a package to reach its thermal limit.
    Long,
}

/// How much is checked beside what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Every unit on zeros, every form at several layouts, every form's time against its work.
    All,
    /// The same for the figures that others are made of: f32, f64, the matrix unit, reading.
    Main,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How thoroughly.
    pub depth: Depth,
    /// How long under load.
    pub soak: Soak,
}

impl From<Depth> for Effort {
    fn from(depth: Depth) -> Self {
        Self { depth, soak: Soak::Brief }
    }
}

impl Effort {
    /// As a map writes it down: `default`, `quick+soak`.
    pub fn name(self) -> String {
        format!("{}{}", self.depth.name(), if self.soak == Soak::Long { "+soak" } else { "" })
    }

    /// About how long it takes.
    pub fn expected(self) -> Seconds {
        let base = match self.depth {
            Depth::Quick => 14.0,
            Depth::Default => 75.0,
            Depth::Deep => 300.0,
        };
        Seconds(base + if self.soak == Soak::Long { 30.0 } else { 0.0 })
    }
}

/// The durations and sizes that an effort stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How long the clock is watched on its way up from rest; a ramp can take over a second.
    pub(crate) ramp: Seconds,
    /// Soak of the first compute ceiling; it also ramps the clock up, which can take over a second.
    pub(crate) soak: Seconds,
    /// Windows of each other compute ceiling.
    pub(crate) unit: Seconds,
    /// Windows of each figure that all cores take part in.
    pub(crate) team: Seconds,
    /// Windows of each memory ceiling.
    pub(crate) stream: Seconds,
    /// Windows of each latency point, and of each point of a bandwidth curve.
    pub(crate) point: Seconds,
    /// Windows of each form of an instruction.
    pub(crate) instruction: Seconds,
    /// Windows of each floor, such as a system call.
    pub(crate) floor: Seconds,
    /// How long to look for interruptions.
    pub(crate) jitter: Seconds,
    /// Latency sizes an octave.
    pub(crate) octave: u32,
    /// Latency sizes an octave around knees; 16 are 4.4 % apart.
    pub(crate) fine: u32,
    /// Bandwidth sizes an octave.
    pub(crate) bandwidth: u32,
    /// Largest cycle of the latency curve, in bytes.
    pub(crate) largest_cycle: usize,
    /// Least working set in memory, unless less is free: beyond any last level that is known to us, and beyond a knee
    /// that the curve missed.
    pub(crate) least_dram: usize,
    /// Pairs of each noise floor.
    pub(crate) pairs: u32,
    /// Rounds of each comparison of a probe with its own variants.
    pub(crate) rounds: u32,
    /// What is checked.
    pub(crate) checks: Checks,
}

impl Effort {
    /// What it stands for.
    pub(crate) fn plan(self) -> Plan {
        let mut plan = match self.depth {
            Depth::Quick => QUICK,
            Depth::Default => DEFAULT,
            Depth::Deep => DEEP,
        };
        if self.soak == Soak::Long {
            plan.soak = Seconds(30.0);
        }
        plan
    }
}

const QUICK: Plan = Plan {
    ramp: Seconds(0.4),
    soak: Seconds(1.0),
    unit: Seconds(0.05),
    team: Seconds(0.05),
    stream: Seconds(0.02),
    point: Seconds(0.004),
    instruction: Seconds(0.002),
    floor: Seconds(0.02),
    jitter: Seconds(0.1),
    octave: 2,
    fine: 8,
    bandwidth: 1,
    largest_cycle: 128 << 20,
    least_dram: 512 << 20,
    pairs: 60,
    rounds: 7,
    checks: Checks::Main,
};

const DEFAULT: Plan = Plan {
    ramp: Seconds(1.2),
    soak: Seconds(5.0),
    unit: Seconds(0.6),
    team: Seconds(0.4),
    stream: Seconds(0.25),
    point: Seconds(0.025),
    instruction: Seconds(0.006),
    floor: Seconds(0.1),
    jitter: Seconds(1.5),
    octave: 4,
    fine: 16,
    bandwidth: 2,
    largest_cycle: 512 << 20,
    least_dram: 1 << 30,
    pairs: 300,
    rounds: 21,
    checks: Checks::All,
};

const DEEP: Plan = Plan {
    ramp: Seconds(2.0),
    soak: Seconds(10.0),
    unit: Seconds(5.0),
    team: Seconds(3.0),
    stream: Seconds(2.0),
    point: Seconds(0.1),
    instruction: Seconds(0.02),
    floor: Seconds(0.5),
    jitter: Seconds(10.0),
    octave: 16,
    fine: 16,
    bandwidth: 4,
    largest_cycle: 1 << 30,
    least_dram: 1 << 30,
    pairs: 1000,
    rounds: 41,
    checks: Checks::All,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_soaks() {
        let soaked = Effort { depth: Depth::Quick, soak: Soak::Long };
        assert_eq!((soaked.name().as_str(), soaked.plan().soak), ("quick+soak", Seconds(30.0)));
        assert_eq!(Effort::from(Depth::Deep).name(), "deep");
    }

    #[test]
    fn a_map_meets_what_is_asked_of_it() {
        let check =
            |wanted: Depth, depth: &str, expected: bool| assert_eq!(wanted.is_met_by(depth), expected, "{depth}");
        check(Depth::Quick, "quick", true);
        check(Depth::Quick, "deep+soak", true);
        check(Depth::Default, "quick+soak", false);
        check(Depth::Default, "default", true);
        check(Depth::Deep, "default", false);
        check(Depth::Quick, "", false);
    }
}
