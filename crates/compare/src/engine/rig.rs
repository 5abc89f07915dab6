//! What the engine drives: arms that can be run, and what one run tells. Knows nothing of rounds or verdicts.

use crate::CompareError;
use crate::environment::Warning;
use crate::plan::Metric;
use serde::{Deserialize, Serialize};

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds.
    pub wall: f64,
    /// Seconds in user mode, where known.
    pub user: Option<f64>,
    /// Seconds in the kernel, where known.
    pub system: Option<f64>,
    /// Bytes, where it can be seen.
    pub peak_memory: Option<u64>,
    /// Digest of what was printed, where it is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<Printed>,
}

impl Sample {
    /// A run of which only the wall time is known.
    pub fn of_wall(wall: f64) -> Self {
        Self { wall, user: None, system: None, peak_memory: None, output: None }
    }

    pub(crate) fn time(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Wall => self.wall,
            Metric::User => self.user.unwrap_or(0.0),
            Metric::Cpu => self.user.unwrap_or(0.0) + self.system.unwrap_or(0.0),
        }
    }
}

/// What a run printed: enough to tell two outputs apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// Bytes.
    pub length: u64,
    /// 64-bit digest of all of them.
    pub digest: u64,
}

/// Whether a group asks the question or measures the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What is asked.
    Main,
    /// Takes no changed path: whatever differs here is not the change.
    Control,
}

/// Arms that are compared with the first among them, in the same round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Indices into the rig's arms. At least two; the first is A.
    pub arms: Vec<usize>,
    /// What for.
    pub role: Role,
}

/// What a unit of evidence is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Every run is a fresh process: one pair is one unit.
    FreshProcess,
    /// The named thing lives through a unit (a session, a build): its pairs' median is one unit.
    LivesOn(&'static str),
}

/// Something that runs arms.
pub trait Rig {
    /// Names of the arms.
    fn names(&self) -> Vec<String>;
    /// Begins a unit: side i will run arm `sides[i]`, afresh. The same arm may come twice.
    ///
    /// # Errors
    /// When a side cannot be made ready.
    fn open(&mut self, sides: &[usize]) -> Result<(), CompareError>;
    /// One timed run of a side.
    ///
    /// # Errors
    /// When the run fails.
    fn run(&mut self, side: usize) -> Result<Sample, CompareError>;
    /// What lives through a unit.
    fn inside(&self) -> Inside;
    /// Seconds on a steady clock.
    fn now(&self) -> f64;
    /// What it noticed, once.
    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}
