//! JSON of benchmark tools: finds out whose it is, and reads the small formats. Large ones have their own file.

use super::shape::{array, label_in, numbers, text};
use super::{Format, Problem, Reading, SampleSet, TimeUnit, nvbench, own, rows};
use serde_json::Value;
use std::path::Path;

pub(super) fn parse(bytes: &[u8], stem: &str, folder: &Path, reading: &Reading) -> Result<Vec<SampleSet>, Problem> {
    if let Some(rows) = rows::rows_of(bytes) {
        return rows::parse(&rows.map_err(|error| syntax(&error))?, reading);
    }
    let json: Value = serde_json::from_slice(bytes).map_err(|error| syntax(&error))?;
    let found = reading.format.or_else(|| format_of(&json)).ok_or_else(unknown)?;
    match found {
        Format::Rooflab => own::parse(json),
        Format::Hyperfine => hyperfine(&json),
        Format::Criterion => criterion(&json, stem, folder),
        Format::GoogleBenchmark => google(&json),
        Format::Nvbench => nvbench::parse(&json, folder),
        Format::Pyperf => pyperf(&json),
        Format::PytestBenchmark => pytest(&json),
        Format::JsonRows => Err(Problem::new("is one object, not rows of them", "leave --format away")),
        Format::Csv => Err(Problem::new("is JSON, not CSV", "leave --format away")),
    }
}

fn syntax(error: &serde_json::Error) -> Problem {
    if error.is_eof() {
        let problem = format!("ends in the middle (line {})", error.line());
        return Problem::new(problem, "the file was cut off while it was written; export it again");
    }
    let problem = format!("is not JSON at line {}, column {} ({error})", error.line(), error.column());
    let fix = if error.to_string().contains("expected value") || error.to_string().contains("expected ident") {
        "JSON has no NaN or Infinity: find out which sample has no time and leave it out"
    } else {
        "export it again"
    };
    Problem::new(problem, fix)
}

fn unknown() -> Problem {
    Problem::new(
        "is JSON of no tool that is known here",
        "use hyperfine, criterion (sample.json), Google Benchmark, nvbench, pyperf, pytest-benchmark, rows or CSV",
    )
}

fn format_of(json: &Value) -> Option<Format> {
    let has = |key: &str| json.get(key).is_some();
    let first = json.get("benchmarks").and_then(|all| all.get(0));
    let first_has = |key: &str| first.is_some_and(|benchmark| benchmark.get(key).is_some());
    match () {
        () if has("rooflab") => Some(Format::Rooflab),
        () if has("results") => Some(Format::Hyperfine),
        () if has("iters") && has("times") => Some(Format::Criterion),
        () if has("machine_info") || first_has("stats") => Some(Format::PytestBenchmark),
        () if first_has("states") => Some(Format::Nvbench),
        () if first_has("runs") => Some(Format::Pyperf),
        () if has("context") || first_has("real_time") => Some(Format::GoogleBenchmark),
        () => None,
    }
}

fn hyperfine(json: &Value) -> Result<Vec<SampleSet>, Problem> {
    let set = |result: &Value| {
        let name = text(result, "command").unwrap_or("command").to_owned();
        let Some(times) = result.get("times") else {
            let problem = format!("has no single times for `{name}`");
            return Err(Problem::new(problem, "use --export-json, not --export-csv or --export-markdown"));
        };
        let label = result.get("parameters").and_then(label_in);
        Ok(SampleSet { label, ..SampleSet::new(name.clone(), Format::Hyperfine, numbers(times, &name)?) })
    };
    array(json, "results")?.iter().map(set).collect()
}

/// Total nanoseconds of so many iterations each.
fn criterion(json: &Value, stem: &str, folder: &Path) -> Result<Vec<SampleSet>, Problem> {
    // target/criterion/NAME/new/sample.json
    let name =
        folder.parent().and_then(Path::file_name).map_or(stem.into(), |name| name.to_string_lossy().into_owned());
    let (iters, times) = (numbers(&json["iters"], "iters")?, numbers(&json["times"], "times")?);
    if iters.len() != times.len() {
        let problem = format!("has {} counts of iterations for {} times", iters.len(), times.len());
        return Err(Problem::new(problem, "run criterion again; the file is damaged"));
    }
    let seconds = times.iter().zip(&iters).map(|(time, iterations)| time / iterations * 1e-9).collect();
    Ok(vec![SampleSet::new(name, Format::Criterion, seconds)])
}

fn google(json: &Value) -> Result<Vec<SampleSet>, Problem> {
    let mut sets: Vec<SampleSet> = Vec::new();
    let all = array(json, "benchmarks")?;
    for row in all.iter().filter(|row| text(row, "run_type") != Some("aggregate")) {
        let name = text(row, "run_name").or(text(row, "name")).unwrap_or("benchmark").to_owned();
        if row.get("error_occurred").and_then(Value::as_bool) == Some(true) {
            let why = text(row, "error_message").unwrap_or("no message");
            return Err(Problem::new(format!("`{name}` failed in the benchmark: {why}"), "mend it and run it again"));
        }
        let unit = text(row, "time_unit").unwrap_or("ns");
        let Some(unit) = TimeUnit::named(unit) else {
            let fix = "use ns, us, ms or s for every benchmark";
            return Err(Problem::new(format!("`{name}` is in the unknown unit `{unit}`"), fix));
        };
        let time = row.get("real_time").and_then(Value::as_f64).ok_or_else(|| {
            Problem::new(format!("`{name}` has no real_time"), "export it again with --benchmark_format=json")
        })?;
        let seconds = time / unit.per_second();
        if let Some(set) = sets.iter_mut().find(|set| set.name == name) {
            set.seconds.push(seconds);
        } else {
            let label = json.get("context").and_then(label_in);
            sets.push(SampleSet { label, ..SampleSet::new(name, Format::GoogleBenchmark, vec![seconds]) });
        }
    }
    if sets.is_empty() && !all.is_empty() {
        let fix = "leave --benchmark_report_aggregates_only away";
        return Err(Problem::new("holds aggregates only, no single repetitions", fix));
    }
    Ok(sets)
}

fn pyperf(json: &Value) -> Result<Vec<SampleSet>, Problem> {
    let shared = json.get("metadata");
    let set = |benchmark: &Value| {
        let own = benchmark.get("metadata");
        let find = |key: &str| own.and_then(|meta| text(meta, key)).or(shared.and_then(|meta| text(meta, key)));
        let name = find("name").unwrap_or("benchmark").to_owned();
        if find("unit").is_some_and(|unit| unit != "second") {
            let problem = format!("`{name}` is in {}, not in time", find("unit").unwrap_or("another unit"));
            return Err(Problem::new(problem, "compare a benchmark that measures time"));
        }
        let mut set = SampleSet::new(name.clone(), Format::Pyperf, Vec::new());
        let mut processes = Vec::new();
        for run in array(benchmark, "runs")? {
            // The calibration run has no values.
            if let Some(values) = run.get("values") {
                let values = numbers(values, &name)?;
                processes.push(values.len());
                set.seconds.extend(values);
            }
        }
        set.processes = Some(processes);
        set.label = own.and_then(label_in).or(shared.and_then(label_in));
        Ok(set)
    };
    array(json, "benchmarks")?.iter().map(set).collect()
}

fn pytest(json: &Value) -> Result<Vec<SampleSet>, Problem> {
    let set = |benchmark: &Value| {
        let name = text(benchmark, "fullname").or(text(benchmark, "name")).unwrap_or("benchmark").to_owned();
        let Some(data) = benchmark.pointer("/stats/data") else {
            let problem = format!("has no single times for `{name}`");
            return Err(Problem::new(problem, "use --benchmark-json, or --benchmark-save-data with --benchmark-save"));
        };
        let label = json.get("commit_info").and_then(super::shape::label_of);
        Ok(SampleSet { label, ..SampleSet::new(name.clone(), Format::PytestBenchmark, numbers(data, &name)?) })
    };
    array(json, "benchmarks")?.iter().map(set).collect()
}
