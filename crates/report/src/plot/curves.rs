//! Curves of a machine map over sizes: latency with its knees, bandwidth by kernel.

use super::axes::{Axis, End, beside, builder, mesh, room};
use super::{Canvas, Drawn, Ink, Size, anchored, both, text, tick};
use crate::figures::binary;
use model::{Bytes, Map};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// One line of a plot; its points are bytes and values in units of the plot.
struct Series {
    label: &'static str,
    ink: Ink,
    points: Vec<(f64, f64)>,
}

/// What a plot says: aloud, and on its vertical axis.
struct Words {
    title: &'static str,
    vertical: &'static str,
}

/// Rows of knees' names above the lines.
const ROWS: usize = 3;
/// Height of such a row.
const ROW: i32 = 14;

/// Latency by size, with the knees of the first curve; that of older maps where a map has no curve. Empty without both.
pub(crate) fn latency_curves(map: &Map) -> String {
    let wanted = [
        ("latency.huge", "large pages", Ink::Stock),
        ("latency.4k", "4 KiB pages", Ink::Loss),
        ("latency.stride", "in order", Ink::Winner),
    ];
    let series = series(map, &wanted, 1e-9);
    if series.is_empty() {
        return latency(map);
    }
    let first = wanted.iter().find(|wanted| map.curve(wanted.0).is_some_and(|curve| curve.points.len() > 1));
    plot(&LATENCY, &series, &knees(map, first.map_or("", |first| first.0)))
}

const LATENCY: Words = Words { title: "Load latency by working-set size", vertical: "ns a load" };

/// The first latency curve alone; empty without points.
pub(crate) fn latency(map: &Map) -> String {
    let points = map.latency.iter().map(|point| (point.size.0, point.latency.0 / 1e-9));
    let points: Vec<(f64, f64)> = points.filter(|point| is_plottable(*point)).collect();
    let series = (points.len() > 1).then_some(Series { label: "", ink: Ink::Stock, points });
    plot(&LATENCY, &series.into_iter().collect::<Vec<_>>(), &[])
}

/// Latency of one line a page, with the reach of the TLBs; empty without the curve.
pub(crate) fn page_curve(map: &Map) -> String {
    let words = Words { title: "Load latency by pages touched", vertical: "ns a load" };
    plot(&words, &series(map, &[("latency.page", "", Ink::Stock)], 1e-9), &knees(map, "latency.page"))
}

/// Bandwidth by size on one core; empty without a curve.
pub(crate) fn bandwidth_curves(map: &Map) -> String {
    let wanted = [
        ("bandwidth.read", "read", Ink::Stock),
        ("bandwidth.write", "write", Ink::Loss),
        ("bandwidth.copy", "copy", Ink::Winner),
        ("bandwidth.triad", "triad", Ink::Memory),
        ("bandwidth.copy-stream", "copy-stream", Ink::Invalid),
    ];
    let words = Words { title: "Bandwidth by working-set size, one core", vertical: "GB/s" };
    plot(&words, &series(map, &wanted, 1e9), &[])
}

/// The knees of a curve, with what ends there.
fn knees(map: &Map, curve: &str) -> Vec<(f64, String)> {
    let of_curve = map.knees.iter().filter(|knee| knee.curve == curve);
    let named = of_curve.map(|knee| {
        let name = if knee.level.is_empty() { "knee" } else { knee.level.as_str() };
        (knee.at, format!("{name} {}", binary(Bytes(knee.at))))
    });
    named.collect()
}

fn is_plottable((x, y): (f64, f64)) -> bool {
    x > 0.0 && y > 0.0 && y.is_finite()
}

fn series(map: &Map, wanted: &[(&str, &'static str, Ink)], scale: f64) -> Vec<Series> {
    let found = wanted.iter().filter_map(|(name, label, ink)| {
        let curve = map.curve(name)?;
        let points = curve.points.iter().map(|point| (point.x, point.y / scale));
        let points: Vec<(f64, f64)> = points.filter(|point| is_plottable(*point)).collect();
        (points.len() > 1).then_some(Series { label, ink: *ink, points })
    });
    found.collect()
}

fn plot(words: &Words, series: &[Series], knees: &[(f64, String)]) -> String {
    if series.is_empty() {
        return String::new();
    }
    both(words.title, |canvas, size| draw(canvas, size, words, (series, knees)))
}

fn draw(canvas: &Canvas<'_>, size: Size, words: &Words, (series, knees): (&[Series], &[(f64, String)])) -> Drawn {
    let all = || series.iter().flat_map(|series| series.points.iter().map(|(x, y)| (x.log2(), *y)));
    let least = |pick: fn((f64, f64)) -> f64| all().map(pick).fold(f64::INFINITY, f64::min);
    let most = |pick: fn((f64, f64)) -> f64| all().map(pick).fold(f64::NEG_INFINITY, f64::max);
    let (x0, x1, y0, y1) = (least(|p| p.0), most(|p| p.0), least(|p| p.1), most(|p| p.1));
    let longest = series.iter().map(|series| series.label.chars().count()).max().unwrap_or(0);
    let bottom = y0 / 1.5;
    let top = y1 * if knees.is_empty() { 1.5 } else { 2.6 };
    let mut chart = builder(canvas, size, if longest == 0 { 16 } else { room(size, longest) })
        .build_cartesian_2d(x0 - 0.3..x1 + 0.3, (bottom..top).log_scale())?;
    let labels = if size == Size::Wide { 10 } else { 4 };
    let across = Axis { words: "working set", labels, label: &|x| binary(Bytes(x.exp2())) };
    mesh(&mut chart, &across, &Axis { words: words.vertical, labels: 6, label: &|y| tick(*y) })?;
    for (at, _) in knees {
        let line = [(at.log2(), bottom), (at.log2(), top)];
        chart.draw_series(LineSeries::new(line, Ink::Noise.color().stroke_width(1)))?;
    }
    for series in series {
        let points = series.points.iter().map(|(x, y)| (x.log2(), *y));
        chart.draw_series(LineSeries::new(points, series.ink.color().stroke_width(2)))?;
    }
    let above: Vec<((i32, i32), &str)> =
        knees.iter().map(|(at, words)| (chart.backend_coord(&(at.log2(), top)), words.as_str())).collect();
    name_knees(canvas, size, above)?;
    let ends = series.iter().filter(|series| !series.label.is_empty()).filter_map(|series| {
        let last = series.points.last()?;
        let at = chart.backend_coord(&(last.0.log2(), last.1));
        Some(End { at, name: series.label.to_owned(), ink: series.ink })
    });
    let right = chart.backend_coord(&(x1 + 0.3, y0)).0;
    beside(canvas, size, right, ends.collect())
}

/// Names left of the tops of their lines, in the first row where there is room; one without room is left to the table.
fn name_knees(canvas: &Canvas<'_>, size: Size, mut knees: Vec<((i32, i32), &str)>) -> Drawn {
    let pixels = if size == Size::Wide { 12.0 } else { 10.0 };
    knees.sort_by_key(|knee| knee.0.0);
    let mut taken = [i32::MIN; ROWS];
    for (at, words) in knees {
        let width = (words.chars().count() as f64 * pixels * 0.6) as i32;
        let Some(row) = taken.iter().position(|end| at.0 - 4 - width > *end) else { continue };
        taken[row] = at.0;
        let style = anchored(&text(Ink::Soft, pixels), HPos::Right, VPos::Top);
        canvas.draw(&Text::new(words.to_owned(), (at.0 - 4, at.1 + ROW * row as i32), style))?;
    }
    Ok(())
}
