//! Rung 3: right at every declared and every edge shape, and on the families of inputs that the problem names.

use super::{Climb, Finding, Judge, gate};
use crate::judge::EnvError;
use crate::sanitize::Sanitized;
use model::{Arm, Slice};

/// Every row of every shape against the float64 oracle, in both placements.
pub fn everywhere(judge: &mut Judge, climb: &Climb) -> Result<Finding, EnvError> {
    let mut judgements = Vec::new();
    for slice in [Slice::Declared, Slice::Edges] {
        judgements.push(judge.judge(&gate(judge, Arm::Source(climb.source.clone()), slice))?);
    }
    let families = judge.problem.numerics.families.clone();
    let first = judge.problem.workloads.first().map(|workload| workload.name.clone()).into_iter().collect();
    let job = gate(judge, Arm::Source(climb.source.clone()), Slice::Named(first));
    for family in &families {
        judgements.push(judge.gate_family(&job, *family)?);
    }
    let shapes = judgements.iter().flat_map(|judgement| &judgement.shapes);
    let (count, rows, worst) = shapes.fold((0, 0, 0.0_f64), |(count, rows, worst), shape| {
        (count + 1, rows + shape.checks, worst.max(shape.worst_error))
    });
    if let Some(judgement) = judgements.iter().find(|judgement| !judgement.verdict.is_measured()) {
        let shape = judgement.shapes.last().map_or("", |shape| &shape.workload.name);
        let detail = format!("{shape}: {}", judgement.verdict);
        return Ok(Finding::new(false, detail, judgements));
    }
    let workload = judge.problem.workloads[0].clone();
    let clean = match judge.sanitize(&climb.source, &workload)? {
        Sanitized::Clean => "address and undefined-behaviour sanitizers clean".to_owned(),
        Sanitized::Dirty(report) => {
            return Ok(Finding::new(false, format!("under the sanitizers: {report}"), judgements));
        }
        Sanitized::NotRun(why) => format!("sanitizers not run: {why}"),
    };
    let names: Vec<String> = families.iter().map(ToString::to_string).collect();
    let names = if names.is_empty() { String::new() } else { format!(", families {}", names.join(" ")) };
    let (shapes, worst) = (count - families.len(), 100.0 * worst);
    let detail =
        format!("{shapes} shapes{names}, {rows} rows; the largest error is {worst:.0} % of the tolerance; {clean}");
    Ok(Finding::new(true, detail, judgements))
}
