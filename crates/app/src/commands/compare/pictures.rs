//! The plots of `rooflab compare`, and a history's table.
//!
//! Must not estimate: `compare` does, and `report` draws.

use super::answer::signed;
use crate::outcome::Failure;
use crate::text::align;
use ::compare::history::History;
use ::compare::{Comparison, Outcome as Found};
use model::Seconds;
use report::Panel;
use std::path::Path;

/// Points of the running interval: two a pixel would not be seen.
const RUNNING_POINTS: usize = 250;

/// Draws a comparison: every B of it, the controls last.
pub fn write_comparison(path: &Path, found: &Found) -> Result<(), Failure> {
    let with_pairs =
        |is_control: bool| found.comparisons.iter().filter(move |c| c.is_control == is_control && !c.units.is_empty());
    let drawn: Vec<&Comparison> = with_pairs(false).chain(with_pairs(true)).collect();
    if drawn.is_empty() {
        return Err(Failure::usage(
            "--plot: there are no pairs to draw",
            "samples taken one after the other have none; compare the commands themselves",
        ));
    }
    let panels: Vec<Panel> = drawn.iter().map(|comparison| panel(found, comparison, drawn.len())).collect();
    let margin = ((-found.margin).exp_m1(), found.margin.exp_m1());
    write(path, &report::compare_plot(&found.sentence().replace('`', "'"), &panels, margin))
}

fn panel(found: &Found, comparison: &Comparison, of: usize) -> Panel {
    let end = |end: Option<f64>, unbounded: f64| end.unwrap_or(unbounded);
    let running = found.running(comparison, RUNNING_POINTS);
    let point = |point: &::compare::RunningPoint| {
        let [low, high] = point.interval;
        [point.units as f64, point.effect, end(low, f64::NEG_INFINITY), end(high, f64::INFINITY)]
    };
    let control = if comparison.is_control { ", a control" } else { "" };
    let effect = comparison.effect.map_or(String::new(), |effect| format!(" ({})", signed(effect)));
    let told = format!("{}{effect}", comparison.verdict.name());
    Panel {
        // One panel has its title already.
        head: if of == 1 {
            String::new()
        } else {
            format!("{} against {}{control}: {told}", comparison.arm, comparison.against)
        },
        pairs: comparison.units.iter().map(|unit| (unit.at, unit.ln.exp_m1())).collect(),
        running: running.iter().map(point).collect(),
    }
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
