//! The roofline: operational intensity against speed, under the machine's measured ceilings.

use super::axes::{Axis, builder, mesh};
use super::{Canvas, Drawn, Ink, Size, anchored, both, spread, text, tick};
use crate::CampaignView;
use model::{FlopPerSecond, Map};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use std::ops::Range;

/// Both axes are logarithmic.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// One arm on one workload.
struct Point<'a> {
    intensity: f64,
    gflops: f64,
    ink: Ink,
    workload: &'a str,
}

/// The plot; empty without a map or without points.
pub(crate) fn roofline(view: &CampaignView) -> String {
    let (Some(map), points) = (&view.machine, points(view)) else { return String::new() };
    if points.is_empty() || map.compute.is_empty() || map.memory.is_empty() {
        return String::new();
    }
    both("Roofline: speed over operational intensity, with the machine's ceilings", |canvas, size| {
        draw(canvas, size, map, &points)
    })
}

fn points(view: &CampaignView) -> Vec<Point<'_>> {
    let mut points = Vec::new();
    for row in &view.scores {
        let Some(workload) = view.workloads.iter().find(|workload| workload.name == row.workload) else { continue };
        let (flop, bytes) = (workload.work.flop, workload.work.bytes);
        let ink = match row.strength.as_str() {
            "naive" => Ink::Naive,
            "candidate" => Ink::Winner,
            _ => Ink::Stock,
        };
        if flop.0 > 0.0 && bytes.0 > 0.0 && row.time.0 > 0.0 {
            let gflops = (flop / row.time).0 / 1e9;
            points.push(Point { intensity: flop.0 / bytes.0, gflops, ink, workload: &row.workload });
        }
    }
    points
}

/// The levels' read ceilings in GB/s, fastest first.
fn levels(map: &Map) -> Vec<(&str, f64)> {
    let mut levels: Vec<(&str, f64)> =
        map.memory.iter().filter(|m| m.kernel == "read").map(|m| (m.level.as_str(), m.sustained.0 / 1e9)).collect();
    levels.sort_by(|a, b| b.1.total_cmp(&a.1));
    levels
}

/// The highest arithmetic ceiling in GFLOP/s.
fn top(map: &Map) -> f64 {
    map.compute.iter().map(|c| c.sustained.0 / 1e9).fold(0.0, f64::max)
}

fn draw(canvas: &Canvas<'_>, size: Size, map: &Map, points: &[Point<'_>]) -> Drawn {
    let levels = levels(map);
    let top = top(map);
    let slowest = levels.last().map_or(1.0, |level| level.1);
    let fastest = levels.first().map_or(1.0, |level| level.1);
    let (xs, ys) = ranges(points, top, [fastest, slowest]);
    let mut chart = builder(canvas, size, 6).build_cartesian_2d(xs.log_scale(), ys.log_scale())?;
    let decades = &|value: &f64| tick(*value);
    mesh(
        &mut chart,
        &Axis { words: "FLOP per byte that must move", labels: 6, label: decades },
        &Axis { words: "GFLOP/s, one core", labels: 6, label: decades },
    )?;
    ceilings(canvas, &mut chart, map, &levels)?;
    for point in points {
        let radius = if size == Size::Wide { 5 } else { 4 };
        let at = chart.backend_coord(&(point.intensity, point.gflops));
        mark(canvas, at, radius, point.ink)?;
    }
    let feet: Vec<_> = columns(points).into_iter().map(|(name, x, y)| (name, chart.backend_coord(&(x, y)))).collect();
    label_columns(canvas, &feet)
}

/// The ceilings with their names.
fn ceilings(canvas: &Canvas<'_>, chart: &mut Chart<'_, '_>, map: &Map, levels: &[(&str, f64)]) -> Drawn {
    let (xs, ys) = (chart.x_range(), chart.y_range());
    let top = top(map);
    let fastest = levels.first().map_or(1.0, |level| level.1);
    let mut labels: Vec<(i32, String)> = Vec::new();
    for (name, bandwidth) in levels {
        let end = (top / bandwidth).min(xs.end);
        let start = (ys.start / bandwidth).max(xs.start);
        if start < end {
            chart.draw_series(LineSeries::new(
                [(start, start * bandwidth), (end, end * bandwidth)],
                Ink::Memory.color().stroke_width(1),
            ))?;
            let at = chart.backend_coord(&(start, start * bandwidth));
            labels.push((at.1, format!("{name} {}", model::BytesPerSecond(bandwidth * 1e9))));
        }
    }
    for ceiling in &map.compute {
        let y = ceiling.sustained.0 / 1e9;
        let from = (y / fastest).max(xs.start);
        let width = if y < top { 1 } else { 2 };
        chart.draw_series(LineSeries::new([(from, y), (xs.end, y)], Ink::Compute.color().stroke_width(width)))?;
        let at = chart.backend_coord(&(xs.end, y));
        let label = format!("{} {}", ceiling.name, FlopPerSecond(ceiling.sustained.0));
        canvas.draw(&Text::new(
            label,
            (at.0 - 4, at.1 - 3),
            anchored(&text(Ink::Text, 12.0), HPos::Right, VPos::Bottom),
        ))?;
    }
    label_levels(canvas, chart.backend_coord(&(xs.start, ys.start)).0, labels)
}

/// Room around what has to be seen: every point, and the ridges of all levels.
fn ranges(points: &[Point<'_>], top: f64, [fastest, slowest]: [f64; 2]) -> (Range<f64>, Range<f64>) {
    let least = |f: fn(&Point<'_>) -> f64| points.iter().map(f).fold(f64::INFINITY, f64::min);
    let most = |f: fn(&Point<'_>) -> f64| points.iter().map(f).fold(0.0, f64::max);
    let (x0, x1) = (least(|p| p.intensity), most(|p| p.intensity));
    // Half a decade under the lowest point, for the workloads' names.
    let bottom = least(|p| p.gflops).min(slowest * x0) / 3.0;
    (x0.min(top / fastest) / 4.0..x1.max(top / slowest) * 3.0, bottom..top.max(most(|p| p.gflops)) * 2.2)
}

fn label_levels(canvas: &Canvas<'_>, edge: i32, mut labels: Vec<(i32, String)>) -> Drawn {
    labels.sort_by_key(|label| label.0);
    let mut ys: Vec<i32> = labels.iter().map(|label| label.0 - 18).collect();
    spread(&mut ys, 14);
    for ((_, label), y) in labels.into_iter().zip(ys) {
        // Seven pixels a character: the line must not run through the words.
        let end = edge + 5 + label.chars().count() as i32 * 7;
        canvas.draw(&Rectangle::new([(edge + 3, y - 1), (end, y + 13)], Ink::Paper.color().filled()))?;
        canvas.draw(&Text::new(label, (edge + 5, y), text(Ink::Soft, 12.0)))?;
    }
    Ok(())
}

/// Baselines are hollow or square, the winner full: told apart without colour.
fn mark(canvas: &Canvas<'_>, at: (i32, i32), radius: i32, ink: Ink) -> Drawn {
    match ink {
        Ink::Naive => canvas.draw(&Circle::new(at, radius, ink.color().stroke_width(2)))?,
        Ink::Stock => canvas.draw(&Rectangle::new(
            [(at.0 - radius + 1, at.1 - radius + 1), (at.0 + radius - 1, at.1 + radius - 1)],
            ink.color().filled(),
        ))?,
        _ => canvas.draw(&Circle::new(at, radius, ink.color().filled()))?,
    }
    Ok(())
}

/// Every workload's name with its lowest point.
fn columns<'a>(points: &[Point<'a>]) -> Vec<(&'a str, f64, f64)> {
    let mut columns: Vec<(&str, f64, f64)> = Vec::new();
    for point in points {
        match columns.iter_mut().find(|column| column.0 == point.workload) {
            Some(column) => column.2 = column.2.min(point.gflops),
            None => columns.push((point.workload, point.intensity, point.gflops)),
        }
    }
    columns.sort_by(|a, b| a.1.total_cmp(&b.1));
    columns
}

/// Names below the columns, in three rows where one has no room.
fn label_columns(canvas: &Canvas<'_>, columns: &[(&str, (i32, i32))]) -> Drawn {
    let style = anchored(&text(Ink::Text, 11.0), HPos::Center, VPos::Top);
    let mut free = [i32::MIN; 3];
    for (name, at) in columns {
        // Six pixels a character at this size, and some air.
        let half = name.chars().count() as i32 * 3 + 6;
        if let Some(row) = free.iter().position(|free| at.0 - half >= *free) {
            let y = at.1 + 8 + 13 * row as i32;
            canvas.draw(&Text::new((*name).to_owned(), (at.0, y), style.clone()))?;
            free[row] = at.0 + half;
        }
    }
    Ok(())
}
