//! Which ceiling bounds which workload of a problem on this machine, and what an arm's time makes of it.
//!
//! Pure: a problem's work and a map in, names of probes and shares out. The floor itself is `score`'s.

use model::{Estimate, Interval, Map, Products, Seconds, ShapeJudgement, Work};
use problems::Problem;
use report::ScoreRow;
use score::{Floor, Resource, Term};
use std::collections::BTreeMap;

/// What bounds one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Floor with every term.
    pub floor: Seconds,
    /// The term that the floor is made of: `compute: f32`, `memory: DRAM`, `compute: exp`.
    pub term: String,
    /// The kernel that probes the ceiling that arms are timed against.
    pub probe: &'static str,
    /// Time that the probe's ceiling alone allows.
    pub probe_time: Seconds,
    /// The unit whose share is shown beside the floor's.
    pub unit: String,
    /// Time that this unit alone allows.
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
        let of_probe = shape.ln?.map(|ln| (-ln).exp());
        // The probe's share was measured in one run with the arm; the map only says how the ceilings compare.
        let share = |time: Seconds| Some(scaled(of_probe, time / bound.probe_time));
        Some(ScoreRow {
            workload: shape.workload.name.clone(),
            arm: arm.to_owned(),
            strength: strength.to_owned(),
            time: shape.candidate?,
            floor: bound.floor,
            bound: bound.term.clone(),
            unit: bound.unit.clone(),
            of_unit: share(bound.unit_time),
            of_floor: share(bound.floor),
        })
    }
}

fn scaled(estimate: Estimate, scale: f64) -> Estimate {
    let Interval { low, high } = estimate.interval;
    Estimate { value: estimate.value * scale, interval: Interval { low: low * scale, high: high * scale } }
}

/// None where the map lacks a ceiling that the work needs.
fn bound(work: &Work, map: &Map) -> Option<Bound> {
    let floor = score::floor(work, map).ok()?;
    let term = heaviest(&floor)?;
    let (kind, probe) = match (term.resource, term.name.as_str()) {
        (Resource::Memory, _) => ("memory", "ceiling-read"),
        (Resource::Vector, "exp") => ("compute", "ceiling-exp"),
        (Resource::Vector, "bf16-dot") => ("compute", "ceiling-bf16-dot"),
        (Resource::Vector, _) => ("compute", "ceiling-f32"),
        (Resource::Matrix, _) => ("compute", "ceiling-bf16-matrix"),
    };
    // The matrix unit could meet an f32 tolerance in split bf16, too: where there is one, it is the unit to beat.
    let name = if work.products == Products::F32 { "bf16-matrix, split" } else { "bf16-matrix" };
    let (unit, unit_time) = match floor.matrix_alone.filter(|_| kind == "compute") {
        Some(time) => (name.to_owned(), time),
        None => (term.name.clone(), term.seconds),
    };
    Some(Bound {
        floor: floor.seconds,
        term: format!("{kind}: {}", term.name),
        probe,
        probe_time: term.seconds,
        unit,
        unit_time,
    })
}

/// The heaviest term of the resource that the floor is made of.
fn heaviest(floor: &Floor) -> Option<&Term> {
    let terms = floor.terms.iter().filter(|term| term.resource == floor.resource);
    terms.max_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::{Bytes, Count, Flop};

    fn work(flop: f64, bytes: f64, exp: f64) -> Work {
        Work { flop: Flop(flop), bytes: Bytes(bytes), exp: Count(exp), ..Work::default() }
    }

    #[test]
    fn the_slowest_resource_bounds() {
        // The sample machine: 100 GFLOP/s, 10 GB/s, 1 G exp/s.
        let check = |work: Work, term: &str, probe: &str, floor: f64| {
            let bound = bound(&work, &sample::map()).unwrap();
            assert_eq!((bound.term.as_str(), bound.probe), (term, probe));
            assert!((bound.floor.0 - floor).abs() < 1e-12, "{bound:?}");
        };
        check(work(1e9, 1e6, 0.0), "compute: f32", "ceiling-f32", 1e-2);
        check(work(1e9, 1e6, 5e6), "compute: f32", "ceiling-f32", 1.5e-2);
        check(work(1e8, 1e6, 5e6), "compute: exp", "ceiling-exp", 6e-3);
        check(work(1e8, 1e9, 0.0), "memory: DRAM", "ceiling-read", 0.1);
    }

    #[test]
    fn a_time_is_a_share_of_the_probe_and_of_the_floor() {
        let bounds =
            Bounds(BTreeMap::from([("len=128".to_owned(), bound(&work(1e9, 1e6, 5e6), &sample::map()).unwrap())]));
        // Half as fast as the f32 ceiling alone.
        let judgement =
            sample::judgement(model::Verdict::Worse, &[("len=128", std::f64::consts::LN_2), ("other", 0.0)]);
        let row = bounds.score(&judgement.shapes[0], ("stock", "stock")).unwrap();
        assert!((row.of_unit.unwrap().value - 0.5).abs() < 1e-12);
        assert!((row.of_floor.unwrap().value - 0.75).abs() < 1e-12);
        assert_eq!(bounds.score(&judgement.shapes[1], ("stock", "stock")), None);
        assert_eq!(bounds.groups(&["len=128".into(), "other".into()]).len(), 1);
    }
}
