//! A machine map: what this machine sustains, as measured.

use crate::{
    Bytes, BytesPerSecond, CoreToCore, CountPerSecond, Curve, Figure, Finding, FlopPerSecond, Hertz, Histogram,
    Interval, Knee, Seconds, Trace,
};
use serde::{Deserialize, Serialize};

/// What must be equal for a stored map to be used again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Processor model as the OS names it.
    pub cpu: String,
    /// Cores that this process may run on.
    pub cores: u32,
    /// Instruction sets that the probes use, sorted.
    pub features: Vec<String>,
    /// Kernel release.
    pub kernel: String,
    /// Operating system and architecture, e.g. `linux-x86_64`.
    pub platform: String,
    /// Version of the map's schema and probes.
    pub probes: u32,
}

/// Version of the schema that new maps are written in; docs/map-schema.md describes it. A map without a version is older than
/// the figures: it holds the lists of ceilings alone.
pub const MAP_SCHEMA: u32 = 2;

/// The map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// [`MAP_SCHEMA`] when it was written; 0 before there was a version.
    #[serde(default)]
    pub schema: u32,
    /// `quick`, `default`, `deep`, and `+soak`; empty before schema 2.
    #[serde(default)]
    pub depth: String,
    /// Of which machine.
    pub fingerprint: Fingerprint,
    /// Smallest step of the clock.
    pub clock_resolution: Seconds,
    /// Cost of reading the clock.
    pub clock_overhead: Seconds,
    /// Core clock while a dependent chain runs.
    pub core_clock: Option<Hertz>,
    /// Compute ceilings, one core.
    pub compute: Vec<ComputeCeiling>,
    /// Evaluations of exp a second, one core, best vector code.
    pub exp: Option<CountPerSecond>,
    /// Memory ceilings, one core.
    pub memory: Vec<MemoryCeiling>,
    /// Load-to-use latency by working-set size.
    pub latency: Vec<LatencyPoint>,
    /// Noise floor: sigma of the paired A/A log-ratios.
    pub noise: Vec<Noise>,
    /// Everything else that was measured, one core or all, under dotted names.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Latency and bandwidth over sizes.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// Where the latency curves leave a plateau.
    #[serde(default)]
    pub knees: Vec<Knee>,
    /// Latency between cores; none on a machine with one.
    #[serde(default)]
    pub core_to_core: Option<CoreToCore>,
    /// Clock and rates over time.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// Interruptions by length.
    #[serde(default)]
    pub histograms: Vec<Histogram>,
    /// What the detectors of untrustworthy figures said.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What could not be measured, and why.
    pub missing: Vec<String>,
}

impl Map {
    /// The compute ceiling named, e.g. `f32`.
    pub fn compute(&self, name: &str) -> Option<&ComputeCeiling> {
        self.compute.iter().find(|ceiling| ceiling.name == name)
    }

    /// The memory ceiling of `kernel` (`read`, `copy`, `triad`) at `level` (`L1`, `L2`, `LLC`, `DRAM`).
    pub fn memory(&self, level: &str, kernel: &str) -> Option<&MemoryCeiling> {
        self.memory.iter().find(|ceiling| ceiling.level == level && ceiling.kernel == kernel)
    }
}

/// What one core's unit sustains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeCeiling {
    /// `f32`, `f64`, `bf16-matrix`, ...
    pub name: String,
    /// Instruction set of the probe, e.g. `avx512f`.
    pub isa: String,
    /// Best window of less than 5 ms.
    pub burst: FlopPerSecond,
    /// Median over at least 5 s.
    pub sustained: FlopPerSecond,
    /// Quartiles of the windows.
    pub spread: Interval,
    /// How it was measured.
    pub method: String,
}

/// What one core moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryCeiling {
    /// `L1`, `L2`, `LLC`, `DRAM`.
    pub level: String,
    /// `read`, `copy`, `triad`.
    pub kernel: String,
    /// Size of the working set.
    pub working_set: Bytes,
    /// Best window, counting the bytes that the program names (no write-allocate).
    pub best: BytesPerSecond,
    /// Median window.
    pub sustained: BytesPerSecond,
    /// Quartiles of the windows.
    pub spread: Interval,
    /// How it was measured.
    pub method: String,
}

/// One point of the latency curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPoint {
    /// Working set.
    pub size: Bytes,
    /// One dependent load.
    pub latency: Seconds,
}

/// A noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// `compute` or `memory`.
    pub kind: String,
    /// 1.4826 x the median absolute deviation of ln(t_B / t_A) over identical arms.
    pub sigma: f64,
    /// Pairs measured.
    pub pairs: u32,
}
