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
    sound(&outcome)?;
    let record = Box::new(outcome);
    let set = |arm: &crate::ArmReport| {
        let seconds = arm.samples.iter().map(|sample| sample.time(record.metric)).collect();
        SampleSet { record: Some(record.clone()), ..SampleSet::new(arm.name.clone(), Format::Rooflab, seconds) }
    };
    Ok(record.arms.iter().map(set).collect())
}

/// What our own engine never writes, and what would judge nonsense.
fn sound(record: &Outcome) -> Result<(), Problem> {
    let again = "the file was changed or damaged; measure again";
    if let Some(design) = &record.design {
        let clip = design.clip;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let sizes = [clip.at, clip.mean_square, design.n_opt, design.alpha];
        if !sizes.into_iter().all(positive) || !(0.0..1.0).contains(&design.last_look) {
            return Err(Problem::new("has a design that no session can have", again));
        }
    }
    for comparison in &record.comparisons {
        let back = comparison.units.windows(2).position(|two| two[1].at < two[0].at);
        if let Some(i) = back {
            let at = comparison.units[i + 1].at;
            let problem = format!("pair {} of `{}`: the clock goes backwards, to {at}", i + 2, comparison.arm);
            return Err(Problem::new(problem, again));
        }
        if let Some(i) = comparison.units.iter().position(|unit| !unit.ln.is_finite() || !unit.at.is_finite()) {
            return Err(Problem::new(format!("pair {} of `{}` is not a number", i + 1, comparison.arm), again));
        }
    }
    Ok(())
}
