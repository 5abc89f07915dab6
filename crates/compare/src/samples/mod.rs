//! Samples that others took: one file a format. Reads and checks; judges nothing.

mod csv;
mod json;
mod nvbench;
mod own;
mod rows;
mod shape;

use crate::{CompareError, Outcome};
use std::path::{Path, PathBuf};

/// A larger file holds something else than timings: 1 GiB of CSV is 60 million rows.
const LARGEST_FILE: u64 = 1 << 30;
/// No benchmark's run takes four months.
const LONGEST_RUN: f64 = 1e7;

/// Formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// hyperfine --export-json.
    Hyperfine,
    /// criterion's `new/sample.json`.
    Criterion,
    /// Google Benchmark, --benchmark_format=json.
    GoogleBenchmark,
    /// nvbench --json, or --jsonbin for the samples.
    Nvbench,
    /// pyperf -o.
    Pyperf,
    /// pytest --benchmark-json.
    PytestBenchmark,
    /// Columns of numbers.
    Csv,
    /// A list of objects, or an object a line, whose keys are columns.
    JsonRows,
    /// rooflab compare --json.
    Rooflab,
}

impl Format {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyperfine => "hyperfine",
            Self::Criterion => "criterion",
            Self::GoogleBenchmark => "Google Benchmark",
            Self::Nvbench => "nvbench",
            Self::Pyperf => "pyperf",
            Self::PytestBenchmark => "pytest-benchmark",
            Self::Csv => "CSV",
            Self::JsonRows => "JSON rows",
            Self::Rooflab => "rooflab",
        }
    }
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nano,
    /// Microseconds.
    Micro,
    /// Milliseconds.
    Milli,
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
}

impl TimeUnit {
    /// From `ns`, `us`, `ms`, `s`, `min` and their longer names.
    pub fn named(name: &str) -> Option<Self> {
        match name.trim().to_lowercase().as_str() {
            "ns" | "nsec" | "nanosecond" | "nanoseconds" => Some(Self::Nano),
            "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "microsecond" | "microseconds" => Some(Self::Micro),
            "ms" | "msec" | "millisecond" | "milliseconds" => Some(Self::Milli),
            "s" | "sec" | "secs" | "second" | "seconds" => Some(Self::Second),
            "min" | "minute" | "minutes" => Some(Self::Minute),
            _ => None,
        }
    }

    /// Units in a second.
    fn per_second(self) -> f64 {
        match self {
            Self::Nano => 1e9,
            Self::Micro => 1e6,
            Self::Milli => 1e3,
            Self::Second => 1.0,
            Self::Minute => 1.0 / 60.0,
        }
    }
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// None finds out.
    pub format: Option<Format>,
    /// Unit of a CSV whose header names none.
    pub unit: Option<TimeUnit>,
    /// Names of A and B, where a file holds more than is asked for.
    pub names: Vec<String>,
}

/// Timings of one thing, in the order in which they were taken.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleSet {
    /// The benchmark's or command's name.
    pub name: String,
    /// Where it comes from.
    pub format: Format,
    /// Seconds.
    pub seconds: Vec<f64>,
    /// Lengths of the processes that took them, where the file tells.
    pub processes: Option<Vec<usize>>,
    /// Our own record, when the file is one.
    pub record: Option<Box<Outcome>>,
    /// Which commit or version the whole set was measured on, where the file tells.
    pub label: Option<String>,
    /// The same for each sample, where each is a result of its own.
    pub labels: Option<Vec<String>>,
}

impl SampleSet {
    fn new(name: impl Into<String>, format: Format, seconds: Vec<f64>) -> Self {
        Self { name: name.into(), format, seconds, processes: None, record: None, label: None, labels: None }
    }
}

/// An unusable file: what is wrong, and what to do. The path is added by the reader of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    problem: String,
    fix: String,
}

impl Problem {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { problem: problem.into(), fix: fix.into() }
    }

    fn at(self, path: &Path) -> CompareError {
        CompareError::Samples { path: path.to_owned(), problem: self.problem, fix: self.fix }
    }
}

/// All sets of a file, each checked.
///
/// # Errors
/// [`CompareError::Samples`], naming the problem, the place and the fix.
pub fn read(path: &Path, reading: &Reading) -> Result<Vec<SampleSet>, CompareError> {
    let cannot = |cause: std::io::Error| Problem::new(format!("cannot be read ({cause})"), "check the path").at(path);
    let size = std::fs::metadata(path).map_err(cannot)?.len();
    if size > LARGEST_FILE {
        let problem = format!("is {:.1} GB, more than any file of timings", size as f64 / 1e9);
        return Err(Problem::new(problem, "export the timings alone, or split the file").at(path));
    }
    let bytes = std::fs::read(path).map_err(cannot)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let stem = path.file_stem().map_or("samples".into(), |stem| stem.to_string_lossy().into_owned());
    parse(&bytes, &stem, folder, reading).map_err(|problem| problem.at(path))
}

fn parse(bytes: &[u8], stem: &str, folder: &Path, reading: &Reading) -> Result<Vec<SampleSet>, Problem> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let Some(first) = first else {
        return Err(Problem::new("is empty", "run the benchmark again; the export was cut off before its first byte"));
    };
    let is_json = matches!(first, b'{' | b'[') && reading.format != Some(Format::Csv);
    let sets = if is_json { json::parse(bytes, stem, folder, reading)? } else { csv::parse(bytes, stem, reading)? };
    if sets.is_empty() {
        return Err(Problem::new("holds no timings", "run the benchmark again, without a filter that leaves nothing"));
    }
    sets.iter().try_for_each(check)?;
    Ok(sets)
}

fn check(set: &SampleSet) -> Result<(), Problem> {
    let n = set.seconds.len();
    // The judge keeps the pairs of two candidates and not their single times.
    let has_pairs = set.record.as_ref().is_some_and(|record| !record.comparisons.is_empty());
    if n < 2 && !has_pairs {
        let fix = match set.format {
            Format::GoogleBenchmark => "run it with --benchmark_repetitions=20",
            Format::Nvbench => "run nvbench with --jsonbin, so that every sample is kept",
            _ => "let the benchmark take at least 20",
        };
        let problem = format!("`{}` has {n} sample{}", set.name, if n == 1 { "" } else { "s" });
        return Err(Problem::new(problem + ", so its spread is unknown", fix));
    }
    for (i, value) in set.seconds.iter().enumerate() {
        let at = format!("sample {} of `{}`", i + 1, set.name);
        if !value.is_finite() {
            return Err(Problem::new(format!("{at} is not a number"), "remove it, after finding out why it is there"));
        }
        if *value < 0.0 {
            let fix = "use a steady clock (CLOCK_MONOTONIC) and measure again";
            return Err(Problem::new(format!("{at} is negative ({value} s): its clock went backwards"), fix));
        }
        if *value == 0.0 {
            let fix = "give each sample more work than the clock's resolution";
            return Err(Problem::new(format!("{at} is 0: it took less than the clock can see"), fix));
        }
        if *value > LONGEST_RUN {
            let problem = format!("{at} would be {:.0} days", value / 86_400.0);
            return Err(Problem::new(problem, "check the unit (--unit ns|us|ms|s)"));
        }
    }
    Ok(())
}

/// A and B from one or two files.
///
/// # Errors
/// When a file cannot be used, or it is not clear which sets are meant.
pub fn read_two(a: &Path, b: Option<&Path>, reading: &Reading) -> Result<(SampleSet, SampleSet), CompareError> {
    let Some(b) = b else {
        let mut sets = read(a, reading)?;
        if let [name_a, name_b] = reading.names.as_slice() {
            return Ok((named(&sets, name_a, a)?, named(&sets, name_b, a)?));
        }
        if sets.len() != 2 {
            let problem = format!("holds {} sets: {}", sets.len(), list(&sets));
            let fix = "name the two with --name A --name B, or give a second file";
            return Err(Problem::new(problem, fix).at(a));
        }
        let second = sets.remove(1);
        return Ok((sets.remove(0), second));
    };
    let one = |path: &Path, name: Option<&String>| -> Result<SampleSet, CompareError> {
        let mut sets = read(path, reading)?;
        match name {
            Some(name) => named(&sets, name, path),
            None if sets.len() == 1 => Ok(sets.remove(0)),
            None => {
                let problem = format!("holds {} sets: {}", sets.len(), list(&sets));
                Err(Problem::new(problem, "say which with --name").at(path))
            }
        }
    };
    Ok((one(a, reading.names.first())?, one(b, reading.names.get(1).or(reading.names.first()))?))
}

fn named(sets: &[SampleSet], name: &str, path: &Path) -> Result<SampleSet, CompareError> {
    sets.iter().find(|set| set.name == name).cloned().ok_or_else(|| {
        Problem::new(format!("has no set `{name}`"), format!("choose among {}", list(sets))).at(&PathBuf::from(path))
    })
}

fn list(sets: &[SampleSet]) -> String {
    let shown: Vec<String> = sets.iter().take(8).map(|set| format!("`{}`", set.name)).collect();
    let more = if sets.len() > 8 { format!(" and {} more", sets.len() - 8) } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests;
