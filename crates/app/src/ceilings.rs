//! Which ceiling bounds which workload of a problem on this machine, and what an arm's time makes of it.
//!
//! Pure: a problem's work and a map in, names of probes and shares out.

use model::{Bytes, Estimate, Interval, Map, Seconds, ShapeJudgement, Work};
use problems::Problem;
use report::ScoreRow;
use std::collections::BTreeMap;

/// Levels of the memory ladder from the nearest on, as a map names them.
const LEVELS: [&str; 4] = ["L1", "L2", "LLC", "DRAM"];
/// The probe of the memory ladder: compulsory traffic is mostly reading.
const READ: &str = "read";

/// What bounds one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Floor with every term.
    pub floor: Seconds,
    /// The term that the floor is made of: `compute: f32`, `memory: DRAM`, `exp`.
    pub bound: String,
    /// The kernel that probes the unit that arms are held against.
    pub probe: &'static str,
    /// The unit in words.
    pub unit: String,
    /// Time that the unit's ceiling alone allows.
    pub unit_time: Seconds,
}

/// The bounds of a problem's workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds(BTreeMap<String, Bound>);

impl Bounds {
    /// Of a problem on the machine of this map. Workloads without any ceiling are left out.
    pub fn new(problem: &Problem, map: &Map) -> Self {
        let bound = |workload| bound(&problem.work(workload), map);
        Self(problem.workloads.iter().filter_map(|w| Some((w.name.clone(), bound(w)?))).collect())
    }

    /// Of one workload.
    pub fn of(&self, workload: &str) -> Option<&Bound> {
        self.0.get(workload)
    }

    /// The workloads named, by the probe that bounds them.
    pub fn groups(&self, workloads: &[String]) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for workload in workloads {
            if let Some(bound) = self.of(workload) {
                groups.entry(bound.probe.to_owned()).or_default().push(workload.clone());
            }
        }
        groups
    }

    /// What a comparison with a probe says: the judge's ln is that of the time over the time that the probe's rate
    /// gives for the same work, measured in the same run.
    pub fn score(&self, shape: &ShapeJudgement, (arm, strength): (&str, &str)) -> Option<ScoreRow> {
        let bound = self.of(&shape.workload.name)?;
        let of_unit = shape.ln?.map(|ln| (-ln).exp());
        // Floor and unit time come from one map, so their ratio is free of the clock's plateaus.
        let scale = bound.floor / bound.unit_time;
        Some(ScoreRow {
            workload: shape.workload.name.clone(),
            arm: arm.to_owned(),
            strength: strength.to_owned(),
            time: shape.candidate?,
            floor: bound.floor,
            bound: bound.bound.clone(),
            unit: bound.unit.clone(),
            of_unit: Some(of_unit),
            of_floor: Some(scaled(of_unit, scale)),
        })
    }
}

fn scaled(estimate: Estimate, scale: f64) -> Estimate {
    let Interval { low, high } = estimate.interval;
    Estimate { value: estimate.value * scale, interval: Interval { low: low * scale, high: high * scale } }
}

/// The largest of the times that arithmetic, traffic and special functions need.
fn bound(work: &Work, map: &Map) -> Option<Bound> {
    let compute = map.compute("f32").map(|ceiling| (work.flop / ceiling.sustained, "compute: f32".to_owned(), "f32"));
    let memory = level(work.bytes, map).and_then(|level| {
        let ceiling = map.memory(level, READ)?;
        Some((work.bytes / ceiling.sustained, format!("memory: {level}"), READ))
    });
    let exp = map.exp.map(|rate| (work.exp / rate, "exp".to_owned(), "exp"));
    let terms = [compute, memory, exp].into_iter().flatten();
    let (floor, bound, unit) = terms.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    let probe = match unit {
        "f32" => "ceiling-f32",
        "exp" => "ceiling-exp",
        _ => "ceiling-read",
    };
    Some(Bound { floor, bound, probe, unit: unit.to_owned(), unit_time: floor })
}

/// The nearest level that holds the traffic.
fn level(bytes: Bytes, map: &Map) -> Option<&'static str> {
    let holds = |level: &&&str| map.memory(level, READ).is_some_and(|ceiling| ceiling.working_set.0 * 2.0 >= bytes.0);
    let known = |level: &&&str| map.memory(level, READ).is_some();
    LEVELS.iter().find(holds).or_else(|| LEVELS.iter().rev().find(known)).copied()
}
