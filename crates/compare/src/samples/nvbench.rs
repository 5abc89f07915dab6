//! nvbench: the JSON holds summaries; the samples lie beside it as 32-bit floats, when --jsonbin was given.

use super::shape::{array, text};
use super::{Format, Problem, SampleSet};
use serde_json::Value;
use std::path::Path;

/// Tag of the summary that names the file of samples.
const SAMPLES: &str = "nv/json/bin:nv/cold/sample_times";

pub(super) fn parse(json: &Value, folder: &Path) -> Result<Vec<SampleSet>, Problem> {
    let mut sets = Vec::new();
    for benchmark in array(json, "benchmarks")? {
        let benchmark_name = text(benchmark, "name").unwrap_or("benchmark");
        for state in array(benchmark, "states")? {
            if state.get("is_skipped").and_then(Value::as_bool) == Some(true) {
                continue;
            }
            let name = format!("{benchmark_name} {}", text(state, "name").unwrap_or_default()).trim().to_owned();
            sets.push(SampleSet::new(name.clone(), Format::Nvbench, samples(state, &name, folder)?));
        }
    }
    Ok(sets)
}

fn samples(state: &Value, name: &str, folder: &Path) -> Result<Vec<f64>, Problem> {
    let summaries = state.get("summaries").and_then(Value::as_array);
    let tagged = summaries.into_iter().flatten().find(|summary| text(summary, "tag") == Some(SAMPLES));
    let again = "run nvbench with --jsonbin, and keep its folder beside the JSON";
    let Some(summary) = tagged else {
        return Err(Problem::new(format!("has only summaries of `{name}`, no samples"), again));
    };
    let field = |key: &str| {
        let data = summary.get("data").and_then(Value::as_array);
        data.into_iter().flatten().find(|entry| text(entry, "name") == Some(key)).and_then(|entry| text(entry, "value"))
    };
    let file =
        field("filename").ok_or_else(|| Problem::new(format!("names no file of samples for `{name}`"), again))?;
    let candidates = [folder.join(file), folder.parent().unwrap_or(folder).join(file)];
    let bytes = candidates.iter().find_map(|path| std::fs::read(path).ok());
    let bytes = bytes.ok_or_else(|| Problem::new(format!("the samples of `{name}` are missing ({file})"), again))?;
    let expected = field("size").and_then(|size| size.parse::<usize>().ok()).unwrap_or(bytes.len() / 4);
    if bytes.len() != 4 * expected {
        let problem = format!("{file} has {} bytes where {expected} samples need {}", bytes.len(), 4 * expected);
        return Err(Problem::new(problem, "the file was cut off; run nvbench again"));
    }
    Ok(bytes.chunks_exact(4).map(|four| f64::from(f32::from_le_bytes([four[0], four[1], four[2], four[3]]))).collect())
}
