//! Curves of a machine map over sizes: latency with its knees, bandwidth by kernel.

use super::{Canvas, Drawn, Ink, Size, anchored, both, spread, text};
use crate::figures::binary;
use model::{Bytes, Curve, Map};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// One line of a plot.
struct Series<'a> {
    label: &'static str,
    ink: Ink,
    curve: &'a Curve,
}

/// Which plot: what the vertical axis says, and by what its values are divided.
struct Axis {
    title: &'static str,
    words: &'static str,
    scale: f64,
}

/// Latency by size, with the knees of the first curve; empty without a curve.
pub(crate) fn latency_curves(map: &Map) -> String {
    let wanted = [
        ("latency.huge", "large pages", Ink::Stock),
        ("latency.4k", "4 KiB pages", Ink::Loss),
        ("latency.stride", "in order", Ink::Winner),
    ];
    let axis = Axis { title: "Load latency by working-set size", words: "ns a load", scale: 1e-9 };
    let series = series(map, &wanted);
    let first = series.first().map_or("", |series| series.curve.name.as_str());
    plot(&axis, &series, &knees(map, first))
}

/// Latency of one line a page, with the reach of the TLBs; empty without the curve.
pub(crate) fn page_curve(map: &Map) -> String {
    let axis = Axis { title: "Load latency by pages touched", words: "ns a load", scale: 1e-9 };
    let series = series(map, &[("latency.page", "one line a 4 KiB page", Ink::Stock)]);
    plot(&axis, &series, &knees(map, "latency.page"))
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

/// Bandwidth by size on one core; empty without a curve.
pub(crate) fn bandwidth_curves(map: &Map) -> String {
    let wanted = [
        ("bandwidth.read", "read", Ink::Stock),
        ("bandwidth.write", "write", Ink::Loss),
        ("bandwidth.copy", "copy", Ink::Winner),
        ("bandwidth.triad", "triad", Ink::Memory),
        ("bandwidth.copy-stream", "copy past the caches", Ink::Invalid),
    ];
    let axis = Axis { title: "Bandwidth by working-set size, one core", words: "GB/s", scale: 1e9 };
    plot(&axis, &series(map, &wanted), &[])
}

fn series<'a>(map: &'a Map, wanted: &[(&str, &'static str, Ink)]) -> Vec<Series<'a>> {
    let found = wanted.iter().filter_map(|(name, label, ink)| {
        let curve = map.curve(name).filter(|curve| curve.points.len() > 1)?;
        Some(Series { label, ink: *ink, curve })
    });
    found.collect()
}

fn plot(axis: &Axis, series: &[Series<'_>], knees: &[(f64, String)]) -> String {
    if series.is_empty() {
        return String::new();
    }
    both(axis.title, |canvas, size| draw(canvas, size, axis, (series, knees)))
}

/// Logarithm of the size to base 2, and the value in the axis's unit.
fn points(series: &Series<'_>, scale: f64) -> Vec<(f64, f64)> {
    let good = series.curve.points.iter().filter(|point| point.x > 0.0 && point.y > 0.0 && point.y.is_finite());
    good.map(|point| (point.x.log2(), point.y / scale)).collect()
}

fn draw(canvas: &Canvas<'_>, size: Size, axis: &Axis, (series, knees): (&[Series<'_>], &[(f64, String)])) -> Drawn {
    let all: Vec<(f64, f64)> = series.iter().flat_map(|series| points(series, axis.scale)).collect();
    let least = |pick: fn(&(f64, f64)) -> f64| all.iter().map(pick).fold(f64::INFINITY, f64::min);
    let most = |pick: fn(&(f64, f64)) -> f64| all.iter().map(pick).fold(f64::NEG_INFINITY, f64::max);
    let (x0, x1, y0, y1) = (least(|p| p.0), most(|p| p.0), least(|p| p.1), most(|p| p.1));
    let small = text(Ink::Soft, 12.0);
    let mut chart = ChartBuilder::on(canvas)
        .margin(6)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(if size == Size::Wide { 58 } else { 44 })
        .build_cartesian_2d(x0 - 0.3..x1 + 0.3, (y0 / 1.5..y1 * 1.9).log_scale())?;
    chart
        .configure_mesh()
        .axis_style(Ink::Grid.color())
        .bold_line_style(Ink::Grid.color())
        .light_line_style(TRANSPARENT)
        .x_labels(if size == Size::Wide { 10 } else { 5 })
        .y_labels(6)
        .label_style(small.clone())
        .axis_desc_style(small.clone())
        .x_desc("working set")
        .y_desc(axis.words)
        .x_label_formatter(&|x| binary(Bytes(x.exp2())))
        .y_label_formatter(&|y| super::tick(*y))
        .draw()?;
    for (rank, (at, words)) in knees.iter().enumerate() {
        let x = at.log2();
        chart.draw_series(LineSeries::new([(x, y0 / 1.5), (x, y1 * 1.9)], Ink::Noise.color().stroke_width(1)))?;
        let top = chart.backend_coord(&(x, y1 * 1.9));
        let style = anchored(&text(Ink::Soft, 12.0), HPos::Right, VPos::Top);
        canvas.draw(&Text::new(words.clone(), (top.0 - 4, top.1 + 14 * (rank as i32 % 2)), style))?;
    }
    for series in series {
        chart.draw_series(LineSeries::new(points(series, axis.scale), series.ink.color().stroke_width(2)))?;
    }
    let ends: Vec<(i32, &Series<'_>)> = series
        .iter()
        .filter_map(|series| Some((chart.backend_coord(points(series, axis.scale).last()?), series)))
        .map(|(at, series)| (at.1, series))
        .collect();
    label(canvas, chart.backend_coord(&(x1, y0)).0, ends)
}

/// The names at the right ends, moved apart.
fn label(canvas: &Canvas<'_>, right: i32, mut ends: Vec<(i32, &Series<'_>)>) -> Drawn {
    ends.sort_by_key(|end| end.0);
    let mut ys: Vec<i32> = ends.iter().map(|end| end.0 - 18).collect();
    spread(&mut ys, 15);
    for ((_, series), y) in ends.into_iter().zip(ys) {
        let style = anchored(&text(series.ink, 12.0), HPos::Right, VPos::Top);
        canvas.draw(&Text::new(series.label, (right - 2, y), style))?;
    }
    Ok(())
}
