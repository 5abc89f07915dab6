//! What the judge answers.

use crate::{Digest, Seconds, Trust, Verdict, Workload};
use serde::{Deserialize, Deserializer, Serialize};

/// A closed interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end; minus infinity (null in JSON) when nothing bounds it.
    #[serde(deserialize_with = "null_is_minus_infinity")]
    pub low: f64,
    /// Upper end; infinity (null in JSON) when nothing bounds it.
    #[serde(deserialize_with = "null_is_infinity")]
    pub high: f64,
}

/// JSON has no infinity and writes null: an unbounded end has to read back.
fn null_is_infinity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

fn null_is_minus_infinity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point.
    pub value: f64,
    /// Where the truth lies, at the confidence that the test ran at.
    pub interval: Interval,
}

impl Estimate {
    /// The estimate of a monotone decreasing or increasing function of the quantity.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (f(self.interval.low), f(self.interval.high));
        Self { value: f(self.value), interval: Interval { low: a.min(b), high: a.max(b) } }
    }
}

/// Everything the judge found out about one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Digest of the candidate's source, or of a baseline's name.
    pub candidate: Digest,
    /// Digest of what it was compared with.
    pub against: Digest,
    /// The verdict over all workloads: the worst failure if any, else better only when no workload is worse.
    pub verdict: Verdict,
    /// Workload by workload.
    pub shapes: Vec<ShapeJudgement>,
    /// What the backend promises.
    pub trust: Trust,
    /// Digest of the artefact that ran.
    pub artefact: Option<Digest>,
    /// What the compiler printed.
    pub log: String,
    /// Remarks for people: warnings, limits reached.
    pub remarks: Vec<String>,
    /// Where the judge's own time went.
    pub overhead: Overhead,
}

impl Judgement {
    /// Estimate of ln(t_candidate / t_against) of the workload named.
    pub fn ln(&self, workload: &str) -> Option<Estimate> {
        self.shapes.iter().find(|shape| shape.workload.name == workload)?.ln
    }

    /// Geometric-mean speed-up over the workloads measured: above 1 is faster.
    pub fn speedup(&self) -> Option<f64> {
        let values: Vec<f64> = self.shapes.iter().filter_map(|shape| Some(shape.ln?.value)).collect();
        (!values.is_empty()).then(|| (-values.iter().sum::<f64>() / values.len() as f64).exp())
    }
}

/// One workload of a judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeJudgement {
    /// Which.
    pub workload: Workload,
    /// Of the candidate, here.
    pub verdict: Verdict,
    /// ln(t_candidate / t_against): negative is faster. Absent when nothing was timed.
    pub ln: Option<Estimate>,
    /// The anytime test's e-value, stopped at its decision.
    pub e: Option<f64>,
    /// The fixed-n sign-flip p-value.
    pub p: Option<f64>,
    /// One y a process pair: the raw data.
    pub units: Vec<f64>,
    /// Timed pairs inside all process pairs.
    pub pairs: u32,
    /// Median time of one call: candidate.
    pub candidate: Option<Seconds>,
    /// Median time of one call: against.
    pub against: Option<Seconds>,
    /// Rows or elements held against the float64 oracle.
    pub checks: u64,
    /// The largest error seen, as a share of the tolerance; infinity (null in JSON) for a NaN.
    #[serde(deserialize_with = "null_is_infinity")]
    pub worst_error: f64,
}

/// The judge's own time for one job, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Compiling, vetting.
    pub build: Seconds,
    /// Runners: spawn, load, seal, kill, reap.
    pub runners: Seconds,
    /// Drawing inputs, poisoning outputs.
    pub draw: Seconds,
    /// Timed calls of both arms.
    pub calls: Seconds,
    /// Checking outputs.
    pub check: Seconds,
    /// The whole job by the wall clock.
    pub total: Seconds,
}
