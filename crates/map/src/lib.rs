//! Measures a machine map: what one core of this machine sustains, in this process, by this crate's own clock.
//!
//! Must not load candidates, start threads, or write files. A figure that cannot be trusted is not in the map: its
//! name and the reason are in [`Map::missing`].

mod arena;
mod clock;
mod compute;
mod fingerprint;
mod knee;
mod latency;
mod memory;
mod noise;
mod random;
mod rig;
mod summary;
mod system;

pub use fingerprint::fingerprint;

use clock::{Clock, Wall, granularity};
use model::{Map, Seconds};
use random::Random;

/// Version of the probes: a stored map of another version is measured again.
pub const PROBES: u32 = 1;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Under 30 s: f32 soaks for 5 s, the other ceilings for 1 s, latency up to 256 MiB.
    Quick,
    /// About two minutes: f32 soaks for 30 s, the others for 5 s, latency up to 1 GiB.
    Default,
}

/// The durations and sizes that a depth stands for.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Soak of the first compute ceiling; it also ramps the clock up, which can take over a second.
    soak: Seconds,
    /// Soak of each other compute ceiling.
    soak_other: Seconds,
    /// Windows of each memory ceiling.
    stream: Seconds,
    /// Windows of each latency point.
    chase: Seconds,
    /// Largest cycle of the latency curve, in bytes.
    largest_cycle: usize,
    /// Least working set in memory, unless less is free: beyond any last level that is known to us, and beyond a knee
    /// that the curve missed.
    least_dram: usize,
    /// Pairs of each noise floor.
    pairs: u32,
}

impl Depth {
    fn plan(self) -> Plan {
        match self {
            Self::Quick => Plan {
                soak: Seconds(5.0),
                soak_other: Seconds(1.0),
                stream: Seconds(0.25),
                chase: Seconds(0.02),
                largest_cycle: 256 << 20,
                least_dram: 512 << 20,
                pairs: 150,
            },
            Self::Default => Plan {
                soak: Seconds(30.0),
                soak_other: Seconds(5.0),
                stream: Seconds(2.0),
                chase: Seconds(0.1),
                largest_cycle: 1 << 30,
                least_dram: 1 << 30,
                pairs: 1000,
            },
        }
    }
}

/// Why there is no map at all. Exit code of the environment's failures.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The clock cannot resolve a window.
    #[error("the clock steps by {0}: windows of a millisecond cannot be timed with it")]
    CoarseClock(Seconds),
    /// Not even the smallest working sets fit.
    #[error("no memory for a working set of {0} bytes")]
    NoMemory(usize),
}

/// What every part of the measurement shares.
struct Session<'a> {
    clock: &'a mut dyn Clock,
    random: Random,
    plan: Plan,
    missing: Vec<String>,
    progress: &'a mut dyn FnMut(&str),
}

impl Session<'_> {
    /// The value, or none and a line in `missing`.
    fn noted<T>(&mut self, what: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|why| self.missing.push(format!("{what}: {why}"))).ok()
    }
}

/// Measures this machine on the core that the process happens to run on. `progress` hears what comes next, never while
/// a window is timed.
///
/// # Errors
/// When the clock or the memory of this machine allow no measurement at all.
pub fn measure(depth: Depth, progress: &mut dyn FnMut(&str)) -> Result<Map, MapError> {
    measure_by(depth.plan(), progress)
}

fn measure_by(plan: Plan, progress: &mut dyn FnMut(&str)) -> Result<Map, MapError> {
    let mut wall = Wall::start();
    let grain = granularity(&mut wall);
    if grain.resolution > Seconds(50e-6) {
        return Err(MapError::CoarseClock(grain.resolution));
    }
    let random = Random::from_entropy();
    let mut session = Session { clock: &mut wall, random, plan, missing: Vec::new(), progress };
    let ceilings = compute::measure(&mut session);
    let latency = latency::measure(&mut session)?;
    let levels = memory::levels(&latency, &system::cache_claims(), plan.least_dram, &mut session.missing);
    let arena = memory::arena(&mut session, &levels)?;
    let memory = memory::measure(&mut session, &levels, &arena);
    let noise = noise::measure(&mut session, &arena);
    Ok(Map {
        fingerprint: fingerprint(),
        clock_resolution: grain.resolution,
        clock_overhead: grain.overhead,
        core_clock: ceilings.core_clock,
        compute: ceilings.compute,
        exp: ceilings.exp,
        memory,
        latency,
        noise,
        missing: session.missing,
    })
}

/// Whether `map` was measured on this machine as it is now, by these probes.
pub fn check(map: &Map) -> bool {
    map.fingerprint == fingerprint()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole of it in small: everything is either in the map or named as missing.
    #[test]
    fn a_small_map_accounts_for_everything() {
        let brief = Seconds(2e-3);
        let plan = Plan {
            soak: brief,
            soak_other: brief,
            stream: brief,
            chase: brief,
            largest_cycle: 64 << 10,
            least_dram: 8 << 20,
            pairs: 5,
        };
        let mut steps = 0;
        let map = measure_by(plan, &mut |_| steps += 1).unwrap();
        assert!(check(&map) && steps > 5);
        let missing = |name: &str| map.missing.iter().any(|line| line.starts_with(name));
        for name in ["f32", "f64", "bf16-matrix", "bf16-matrix-resident"] {
            assert!(map.compute(name).is_some() || missing(name), "{name}: {:?}", map.missing);
        }
        for level in ["L1", "L2", "LLC", "DRAM"] {
            for kernel in ["read", "copy", "triad"] {
                let found = map.memory(level, kernel).is_some();
                assert!(found || missing(&format!("{kernel} at {level}")) || missing(level), "{level} {kernel}");
            }
        }
        assert!(map.exp.is_some() || missing("exp"));
        assert!(map.core_clock.is_some() || missing("core clock"));
        assert!(map.compute.iter().all(|c| c.sustained.0 > 0.0 && c.burst >= c.sustained));
        assert!(map.memory.iter().all(|m| m.sustained.0 > 0.0 && m.spread.low <= m.spread.high));
        assert!(map.latency.iter().all(|point| point.latency.0 > 0.0));
    }

    #[test]
    fn a_map_of_another_machine_is_refused() {
        let mut fingerprint = fingerprint();
        fingerprint.kernel.push_str("-other");
        let map = Map {
            fingerprint,
            clock_resolution: Seconds(1e-9),
            clock_overhead: Seconds(1e-9),
            core_clock: None,
            compute: Vec::new(),
            exp: None,
            memory: Vec::new(),
            latency: Vec::new(),
            noise: Vec::new(),
            missing: Vec::new(),
        };
        assert!(!check(&map));
    }
}
