//! Our own record: its arms as samples, with the record itself, whose pairs say more than two lists could.

use super::{Format, Problem, SampleSet};
use crate::Outcome;
use crate::outcome::SCHEMA;
use serde_json::Value;

pub(super) fn parse(json: Value) -> Result<Vec<SampleSet>, Problem> {
    let schema = json.get("rooflab").and_then(Value::as_str).unwrap_or_default().to_owned();
    let outcome: Outcome = serde_json::from_value(json).map_err(|error| {
        let problem = format!("is a rooflab file of schema `{schema}` that cannot be read ({error})");
        Problem::new(problem, format!("this version reads `{SCHEMA}`; measure again or use the version that wrote it"))
    })?;
    let record = Box::new(outcome);
    let set = |arm: &crate::ArmReport| {
        let seconds = arm.samples.iter().map(|sample| sample.time(record.metric)).collect();
        SampleSet { record: Some(record.clone()), ..SampleSet::new(arm.name.clone(), Format::Rooflab, seconds) }
    };
    Ok(record.arms.iter().map(set).collect())
}
