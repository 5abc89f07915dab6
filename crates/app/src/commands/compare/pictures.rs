//! The plots of `rooflab compare`, and a history's table.
//!
//! Must not estimate: `compare` does, and `report` draws.

use crate::outcome::Failure;
use crate::text::{align, percent};
use ::compare::Outcome as Found;
use ::compare::history::History;
use model::Seconds;
use std::path::Path;

/// Points of the running interval: two a pixel would not be seen.
const RUNNING_POINTS: usize = 250;

/// Draws a comparison.
pub fn write_comparison(path: &Path, found: &Found) -> Result<(), Failure> {
    let Some(comparison) = found.comparisons.iter().find(|c| !c.is_control && !c.units.is_empty()) else {
        let what = "--plot: there are no pairs to draw";
        return Err(Failure::usage(
            what,
            "samples taken one after the other have none; compare the commands themselves",
        ));
    };
    let title = if found.comparisons.len() == 1 {
        found.sentence().replace('`', "'")
    } else {
        format!("{} against {}: {}", comparison.arm, comparison.against, comparison.verdict.name())
    };
    let pairs: Vec<(f64, f64)> = comparison.units.iter().map(|unit| (unit.at, unit.ln.exp_m1())).collect();
    let end = |end: Option<f64>, unbounded: f64| end.unwrap_or(unbounded);
    let running: Vec<[f64; 4]> = found
        .running(RUNNING_POINTS)
        .iter()
        .map(|point| {
            let [low, high] = point.interval;
            [point.units as f64, point.effect, end(low, f64::NEG_INFINITY), end(high, f64::INFINITY)]
        })
        .collect();
    let margin = ((-found.margin).exp_m1(), found.margin.exp_m1());
    write(path, &report::compare_plot(&title, &pairs, &running, margin))
}

/// Draws a history.
pub fn write_history(path: &Path, found: &History) -> Result<(), Failure> {
    let points: Vec<(&str, f64, [f64; 2])> =
        found.points.iter().map(|point| (point.label.as_str(), point.seconds, point.quartiles)).collect();
    let changes: Vec<(usize, String)> =
        found.changes.iter().map(|step| (step.at, format!("{} at {}", signed(step.effect), step.label))).collect();
    write(path, &report::history_plot(&sentence(found), &points, &changes))
}

fn write(path: &Path, svg: &str) -> Result<(), Failure> {
    if svg.is_empty() {
        return Err(Failure::usage("--plot: there is nothing to draw", "give it two results at least"));
    }
    std::fs::write(path, svg).map_err(|error| Failure::file(path, &error))
}

fn sentence(found: &History) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!("{} in {}", plural(found.changes.len(), "change"), plural(found.points.len(), "result"))
}

/// A history for people.
pub fn table(found: &History) -> String {
    let mut parts = vec![sentence(found)];
    if !found.changes.is_empty() {
        let heads = ["between", "and", "change", "p"].map(String::from);
        let row = |step: &::compare::history::Step| {
            [step.after.clone(), step.label.clone(), signed(step.effect), format!("{:.3}", step.p)]
        };
        let rows: Vec<[String; 4]> = std::iter::once(heads).chain(found.changes.iter().map(row)).collect();
        parts.push(align(&rows));
    }
    if let (Some(first), Some(last)) = (found.points.first(), found.points.last()) {
        parts.push(format!("from {} to {} over the series", Seconds(first.seconds), Seconds(last.seconds)));
    }
    parts.join("\n") + "\n"
}

fn signed(effect: f64) -> String {
    format!("{}{}", if effect < 0.0 { "" } else { "+" }, percent(effect))
}
