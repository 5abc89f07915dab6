//! A series of results over commits or days: where did it change? Says nothing about why.

use crate::samples::{self, Reading, SampleSet};
use crate::{CompareError, markdown};
use serde::{Deserialize, Serialize};
use stats::{ChangeSearch, change_points, robust};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One result of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Commit, date, or file name.
    pub label: String,
    /// Median seconds.
    pub seconds: f64,
    /// Quartiles of the runs behind it, seconds.
    pub quartiles: [f64; 2],
}

/// A change between two results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Index of the first result after it.
    pub at: usize,
    /// Label of that result.
    pub label: String,
    /// Label of the last result before it.
    pub after: String,
    /// Relative change of the time: 0.02 is 2 % slower.
    pub effect: f64,
    /// Permutation p.
    pub p: f64,
}

/// A series and its changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// In order.
    pub points: Vec<Point>,
    /// In order.
    pub changes: Vec<Step>,
}

/// Finds the changes of a series given in order.
///
/// # Errors
/// When a result is not a positive time.
pub fn history(points: Vec<Point>, search: ChangeSearch) -> Result<History, CompareError> {
    if let Some(bad) = points.iter().find(|point| !(point.seconds > 0.0 && point.seconds.is_finite())) {
        let message = format!("the result of {} is {} s; leave it out, or measure it again", bad.label, bad.seconds);
        return Err(CompareError::Usage(message));
    }
    let logarithms: Vec<f64> = points.iter().map(|point| point.seconds.ln()).collect();
    let step = |change: stats::Change| Step {
        at: change.at,
        label: points[change.at].label.clone(),
        after: points[change.at - 1].label.clone(),
        effect: (change.after - change.before).exp_m1(),
        p: change.p,
    };
    let changes = change_points(&logarithms, search).into_iter().map(step).collect();
    Ok(History { points, changes })
}

/// The series of files, in the order given: each file's set (the named one, or its only one) is one result, named by the
/// commit that the file tells or by the file itself. A single file is a series of its own: every sample is a result, or
/// every set where the sets tell their commits.
///
/// # Errors
/// When a file cannot be used.
pub fn read(paths: &[PathBuf], reading: &Reading) -> Result<Vec<Point>, CompareError> {
    if let [path] = paths {
        return series_of(path, reading);
    }
    let point = |path: &PathBuf| {
        let set = chosen(samples::read(path, reading)?, path, reading)?;
        let stem = || path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(point_of(&set, set.label.clone().unwrap_or_else(stem)))
    };
    paths.iter().map(point).collect()
}

fn series_of(path: &Path, reading: &Reading) -> Result<Vec<Point>, CompareError> {
    let sets = samples::read(path, reading)?;
    let wanted = |set: &&SampleSet| reading.names.first().is_none_or(|name| set.name == *name);
    let of_commits: Vec<&SampleSet> = sets.iter().filter(wanted).collect();
    if of_commits.len() > 1 && of_commits.iter().all(|set| set.label.is_some()) {
        return Ok(of_commits.iter().map(|set| point_of(set, set.label.clone().unwrap_or_default())).collect());
    }
    let set = chosen(sets, path, reading)?;
    let label = |i: usize| {
        let told = set.labels.as_ref().and_then(|labels| labels.get(i)).filter(|label| !label.is_empty());
        told.cloned().unwrap_or_else(|| format!("#{}", i + 1))
    };
    let point = |(i, seconds): (usize, &f64)| Point { label: label(i), seconds: *seconds, quartiles: [*seconds; 2] };
    Ok(set.seconds.iter().enumerate().map(point).collect())
}

fn point_of(set: &SampleSet, label: String) -> Point {
    let quartiles = [0.25, 0.75].map(|q| robust::quantile(&set.seconds, q));
    Point { label, seconds: robust::median(&set.seconds), quartiles }
}

fn chosen(mut sets: Vec<SampleSet>, path: &Path, reading: &Reading) -> Result<SampleSet, CompareError> {
    let n = sets.len();
    let at = match reading.names.first() {
        Some(name) => sets.iter().position(|set| set.name == *name),
        None => (n == 1).then_some(0),
    };
    at.map(|at| sets.swap_remove(at)).ok_or_else(|| CompareError::Samples {
        path: path.to_owned(),
        problem: format!("holds {n} sets, and it is not clear which"),
        fix: "name one that is in every file with --name".to_owned(),
    })
}

impl History {
    /// A sentence and a table of the changes.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{} changes in {} results**\n", self.changes.len(), self.points.len());
        if self.changes.is_empty() {
            return text;
        }
        text.push_str("\n| between | and | change | p |\n|---|---|--:|--:|\n");
        for change in &self.changes {
            let _ = writeln!(
                text,
                "| {} | {} | {:+.2} % | {:.3} |",
                change.after,
                change.label,
                100.0 * change.effect,
                change.p
            );
        }
        if let (Some(first), Some(last)) = (self.points.first(), self.points.last()) {
            let (first, last) = (markdown::seconds(first.seconds), markdown::seconds(last.seconds));
            let _ = writeln!(text, "\nFrom {first} to {last} over the series.");
        }
        text
    }

    /// The history as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a history holds nothing that JSON cannot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl Iterator<Item = f64>) -> Vec<Point> {
        let point = |(i, seconds): (usize, f64)| Point { label: format!("c{i}"), seconds, quartiles: [seconds; 2] };
        values.enumerate().map(point).collect()
    }

    #[test]
    fn a_step_is_found_between_its_commits() {
        let values = (0..30).map(|i| if i < 17 { 0.02 } else { 0.021 } * (1.0 + 0.0005 * f64::from(i % 5)));
        let found = history(series(values), ChangeSearch::default()).unwrap();
        assert_eq!(found.changes.len(), 1);
        assert_eq!((found.changes[0].after.as_str(), found.changes[0].label.as_str()), ("c16", "c17"));
        assert!((found.changes[0].effect - 0.05).abs() < 0.002);
        assert!(found.markdown().contains("| c16 | c17 | +5."), "{}", found.markdown());
        let read: History = serde_json::from_str(&found.json()).unwrap();
        assert_eq!((read.points.len(), read.changes[0].at), (30, 17));
    }

    #[test]
    fn bad_results_and_quiet_series() {
        assert!(history(series([0.1, -1.0].into_iter()), ChangeSearch::default()).is_err());
        let quiet = history(series((0..3).map(|_| 0.1)), ChangeSearch::default()).unwrap();
        assert_eq!(quiet.markdown(), "**0 changes in 3 results**\n");
    }

    #[test]
    fn a_series_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths = [write("one.csv", "x_ms\n1\n3\n2\n"), write("two.csv", "x_ms\n4\n4\n")];
        let points = read(&paths, &Reading::default()).unwrap();
        assert_eq!((points[0].label.as_str(), points[0].seconds, points[1].seconds), ("one", 0.002, 0.004));
        let series = read(&paths[..1], &Reading::default()).unwrap();
        let shown: Vec<(&str, f64)> = series.iter().map(|point| (point.label.as_str(), point.seconds)).collect();
        assert_eq!(shown, [("#1", 0.001), ("#2", 0.003), ("#3", 0.002)]);
        let labels = |name: &str, text: &str| {
            let points = read(&[write(name, text)], &Reading::default()).unwrap();
            points.iter().map(|point| format!("{} {:.3}", point.label, 1e3 * point.seconds)).collect::<Vec<_>>()
        };
        let rows = "commit,at,x_ms\nabc,1,1\n,2,3\ndef,3,2\n";
        assert_eq!(labels("commits.csv", rows), ["abc 1.000", "#2 3.000", "def 2.000"]);
        let rows =
            r#"[{"commit": {"id": "abc"}, "x_ms": 1}, {"x_ms": null}, {"sha": "def", "x_ms": 2.5, "note": "n"}]"#;
        assert_eq!(labels("commits.json", rows), ["abc 1.000", "def 2.500"]);
        let lines = "{\"version\": 7, \"x_us\": 1}\n{\"version\": 8, \"x_us\": 2}\n";
        assert_eq!(labels("lines.json", lines), ["7 0.001", "8 0.002"]);
        let sets = r#"{"results": [{"command": "r", "times": [1, 3], "parameters": {"commit": "abc"}},
            {"command": "r", "times": [4, 4], "parameters": {"commit": "def"}}]}"#;
        assert_eq!(labels("hyperfine.json", sets), ["abc 2000.000", "def 4000.000"]);
        let commit = |id: char| {
            let id = id.to_string().repeat(40);
            let text = format!(
                r#"{{"commit_info": {{"id": "{id}"}}, "benchmarks": [{{"name": "t", "stats": {{"data": [1, 1]}}}}]}}"#
            );
            write(&format!("{id}.json"), &text)
        };
        let points = read(&[commit('a'), commit('b')], &Reading::default()).unwrap();
        assert_eq!((points[0].label.as_str(), points[1].label.as_str()), ("aaaaaaaaaaaa", "bbbbbbbbbbbb"));
        let two_sets = [write("both.csv", "x_ms,y_ms\n1,2\n3,4\n")];
        assert!(read(&two_sets, &Reading::default()).unwrap_err().to_string().contains("--name"));
    }
}
