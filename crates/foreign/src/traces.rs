//! Judgements as traces: one JSON object a workload, in the format that the benchmarks keep their results in.
//!
//! Must not say more than the format has words for: the rule that a candidate broke goes into the log.

use crate::task::Task;
use model::{Judgement, ShapeJudgement, Stage, Verdict};
use serde_json::{Value, json};

/// The largest errors of one workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Errors {
    /// Of |got - want|; infinity (null in JSON) for a NaN.
    #[serde(deserialize_with = "null_is_infinity")]
    pub absolute: f64,
    /// Of |got - want| / max(|want|, the bound's absolute part).
    #[serde(deserialize_with = "null_is_infinity")]
    pub relative: f64,
}

/// JSON has no infinity and writes null.
fn null_is_infinity<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(<Option<f64> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// Where and when a judgement was made.
pub struct Setting<'a> {
    /// The machine.
    pub hardware: &'a str,
    /// Libraries and their versions.
    pub libraries: &'a [(String, String)],
    /// ISO 8601.
    pub timestamp: &'a str,
}

/// One trace a workload: the judgement has them in the task's order.
pub fn traces(task: &Task, judgement: &Judgement, errors: &[Errors], setting: &Setting<'_>) -> Vec<Value> {
    let judged = task.shapes.iter().zip(&judgement.shapes).zip(errors);
    judged.map(|((known, shape), errors)| trace(task, &known.record, &evaluation(shape, *errors, setting))).collect()
}

fn trace(task: &Task, workload: &Value, evaluation: &Value) -> Value {
    json!({
        "definition": task.name,
        "workload": workload,
        "solution": task.candidate.name,
        "evaluation": evaluation,
    })
}

fn evaluation(shape: &ShapeJudgement, errors: Errors, setting: &Setting<'_>) -> Value {
    let mut evaluation = failure(&shape.verdict, setting);
    let is_numerical = evaluation["status"] == "INCORRECT_NUMERICAL";
    if shape.verdict.is_measured() || is_numerical {
        evaluation["correctness"] = json!({
            "max_relative_error": number(errors.relative),
            "max_absolute_error": number(errors.absolute),
        });
    }
    if let (true, Some(candidate), Some(against)) = (shape.verdict.is_measured(), shape.candidate, shape.against) {
        evaluation["performance"] = json!({
            "latency_ms": candidate.0 * 1e3,
            "reference_latency_ms": against.0 * 1e3,
            // The paired estimate; the quotient of the two medians is not it.
            "speedup_factor": shape.ln.map_or(against.0 / candidate.0, |ln| (-ln.value).exp()),
        });
        evaluation["log"] = json!(format!("{}{}", shape.verdict, interval(shape)));
    }
    evaluation
}

fn interval(shape: &ShapeJudgement) -> String {
    shape.ln.map_or_else(String::new, |ln| {
        let speed = ln.map(|ln| (-ln).exp());
        format!(": {:.3}x [{:.3}, {:.3}]", speed.value, speed.interval.low, speed.interval.high)
    })
}

/// JSON has no infinity: the format writes words.
fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else if value.is_nan() {
        json!("NaN")
    } else {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    }
}

fn failure(verdict: &Verdict, setting: &Setting<'_>) -> Value {
    let libraries: serde_json::Map<String, Value> =
        setting.libraries.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
    json!({
        "status": status(verdict),
        "environment": {"hardware": setting.hardware, "libs": libraries},
        "timestamp": setting.timestamp,
        "log": verdict.to_string(),
        "correctness": null,
        "performance": null,
    })
}

fn status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Failed { stage: Stage::Invalid, cause } if cause.contains("INCORRECT_SHAPE") => "INCORRECT_SHAPE",
        Verdict::Failed { stage: Stage::Invalid, cause } if cause.contains("INCORRECT_DTYPE") => "INCORRECT_DTYPE",
        Verdict::Failed { stage: Stage::Invalid, .. } => "INCORRECT_NUMERICAL",
        Verdict::Failed { stage: Stage::Build | Stage::Load | Stage::Propose, .. } => "COMPILE_ERROR",
        Verdict::Failed { stage: Stage::TimedOut, .. } => "TIMEOUT",
        Verdict::Failed { stage: Stage::Crashed, .. } | Verdict::Refused { .. } | Verdict::Quarantined { .. } => {
            "RUNTIME_ERROR"
        }
        _ => "PASSED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Rule;

    #[test]
    fn every_verdict_has_a_status() {
        let check = |verdict: Verdict, expected: &str| assert_eq!(status(&verdict), expected, "{verdict}");
        let failed = |stage, cause: &str| Verdict::Failed { stage, cause: cause.into() };
        check(Verdict::Better, "PASSED");
        check(Verdict::Undecided, "PASSED");
        check(failed(Stage::Invalid, "element 3"), "INCORRECT_NUMERICAL");
        check(failed(Stage::Invalid, "INCORRECT_SHAPE: (1,) for (2,)"), "INCORRECT_SHAPE");
        check(failed(Stage::Load, "x"), "COMPILE_ERROR");
        check(failed(Stage::TimedOut, "x"), "TIMEOUT");
        check(Verdict::Refused { rule: Rule::SystemCall, detail: String::new() }, "RUNTIME_ERROR");
    }

    #[test]
    fn infinities_are_words() {
        assert_eq!(number(f64::INFINITY), json!("Infinity"));
        assert_eq!(number(f64::NAN), json!("NaN"));
        assert_eq!(number(0.5), json!(0.5));
    }
}
