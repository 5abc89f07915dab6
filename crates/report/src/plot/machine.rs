//! Pictures of a machine map alone: every ceiling as a roofline, the latency between cores, the clock over time.

use super::axes::{self, Axis, BELOW, End, beside, builder, mesh, room};
use super::{Canvas, Drawn, Ink, Size, anchored, both, shaped, text, tick};
use model::{BytesPerSecond, FlopPerSecond, Map, Seconds};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Room of the matrix's labels.
const EDGE: i32 = 46;

/// A ceiling's name, and its value in G a second.
type Rate = (String, f64);

/// Every ceiling of one core (`one`) or of all (`all`); empty without both kinds of ceiling.
pub(crate) fn ceilings(map: &Map, cores: &str) -> String {
    let all = map.every_figure();
    let of = |prefix: &str, suffix: &str| -> Vec<Rate> {
        let named = all.iter().filter_map(|figure| {
            let name = figure.name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            (!name.contains('.') && figure.value > 0.0 && figure.value.is_finite())
                .then(|| (name.to_owned(), figure.value / 1e9))
        });
        named.collect()
    };
    let mut units = of("compute.", &format!(".{cores}"));
    units.retain(|unit| unit.0 != "exp");
    let mut levels = of("memory.", &format!(".read.{cores}"));
    if units.is_empty() || levels.is_empty() {
        return String::new();
    }
    units.sort_by(|a, b| b.1.total_cmp(&a.1));
    levels.sort_by(|a, b| b.1.total_cmp(&a.1));
    let title = if cores == "all" { "Every ceiling, all cores" } else { "Every ceiling, one core" };
    both(title, |canvas, size| draw_ceilings(canvas, size, (&units, &levels)))
}

fn draw_ceilings(canvas: &Canvas<'_>, size: Size, (units, levels): (&[Rate], &[Rate])) -> Drawn {
    let (top, bottom) = (units[0].1, units[units.len() - 1].1);
    let (fastest, slowest) = (levels[0].1, levels[levels.len() - 1].1);
    let xs = (bottom / fastest / 8.0)..(top / slowest * 4.0);
    let ys = (slowest * xs.start)..(top * 2.0);
    let names: Vec<String> = units
        .iter()
        .map(|(name, rate)| match size {
            Size::Wide => format!("{name} {}", FlopPerSecond(rate * 1e9)),
            // The table has the values.
            Size::Narrow => name.clone(),
        })
        .collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut chart = builder(canvas, size, room(size, longest))
        .build_cartesian_2d(xs.clone().log_scale(), ys.clone().log_scale())?;
    let decades = &|value: &f64| tick(*value);
    let vertical = match size {
        Size::Wide => "GFLOP/s, or G operations/s on bytes",
        Size::Narrow => "GFLOP/s, or G byte-operations/s",
    };
    let across = Axis { words: "operations a byte", labels: if size == Size::Wide { 6 } else { 4 }, label: decades };
    mesh(&mut chart, &across, &Axis { words: vertical, labels: 6, label: decades })?;
    let mut labels: Vec<(i32, String)> = Vec::new();
    for (name, rate) in levels {
        let line = [(xs.start, xs.start * rate), ((top / rate).min(xs.end), (top / rate).min(xs.end) * rate)];
        chart.draw_series(LineSeries::new(line, Ink::Memory.color().stroke_width(1)))?;
        let at = chart.backend_coord(&line[0]);
        labels.push((at.1, format!("{name} {}", BytesPerSecond(rate * 1e9))));
    }
    put(canvas, labels, chart.backend_coord(&(xs.start, ys.start)).0 + 5)?;
    let mut ends = Vec::new();
    for ((_, rate), name) in units.iter().zip(names) {
        let line = [((rate / fastest).max(xs.start), *rate), (xs.end, *rate)];
        chart.draw_series(LineSeries::new(line, Ink::Compute.color().stroke_width(1)))?;
        ends.push(End { at: chart.backend_coord(&line[1]), name, ink: Ink::Text });
    }
    beside(canvas, size, chart.backend_coord(&(xs.end, ys.start)).0, ends)
}

/// Levels' names above the beginnings of their lines, moved apart.
fn put(canvas: &Canvas<'_>, mut labels: Vec<(i32, String)>, x: i32) -> Drawn {
    labels.sort_by_key(|label| label.0);
    let mut ys: Vec<i32> = labels.iter().map(|label| label.0 - 15).collect();
    axes::settle(&mut ys, 13, canvas.dim_in_pixel().1 as i32 - BELOW as i32 - 20);
    for ((_, label), y) in labels.into_iter().zip(ys) {
        canvas.draw(&Text::new(label, (x, y.max(0)), anchored(&text(Ink::Soft, 11.0), HPos::Left, VPos::Top)))?;
    }
    Ok(())
}

/// The latency between cores as a heat map; empty without a matrix.
pub(crate) fn heat(map: &Map) -> String {
    let Some(matrix) = map.core_to_core.as_ref().filter(|matrix| matrix.cores.len() > 1) else {
        return String::new();
    };
    let seconds = || matrix.seconds.iter().flatten().copied().filter(|&seconds| seconds > 0.0);
    let (least, most) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
    let n = matrix.cores.len() as i32;
    let side = |size: Size| {
        let (width, height) = size.pixels();
        ((width.min(height) as i32 - EDGE - 24) / n).clamp(6, 90)
    };
    // As high as the matrix: two cores need no page.
    let pixels = |size: Size| (size.pixels().0, (EDGE + n * side(size) + 8) as u32);
    shaped("Latency of a line between cores", pixels, |canvas, size| {
        let side = side(size);
        let label = |x: i32, y: i32, words: String| {
            let style = anchored(&text(Ink::Soft, 12.0), HPos::Center, VPos::Center);
            canvas.draw(&Text::new(words, (x, y), style))
        };
        for (row, (core, values)) in matrix.cores.iter().zip(&matrix.seconds).enumerate() {
            let at = EDGE + side * row as i32;
            if side >= 14 {
                label(at + side / 2, EDGE / 2, core.to_string())?;
                label(EDGE / 2, at + side / 2, core.to_string())?;
            }
            for (column, &value) in values.iter().enumerate() {
                let x = EDGE + side * column as i32;
                let share = if most > least { (value - least) / (most - least) } else { 0.5 };
                let strength = if value > 0.0 { 0.25 + 0.65 * share } else { 0.04 };
                let cell = [(x, at), (x + side - 1, at + side - 1)];
                canvas.draw(&Rectangle::new(cell, Ink::Stock.color().mix(strength).filled()))?;
                if side >= 44 && value > 0.0 {
                    label(x + side / 2, at + side / 2, Seconds(value).to_string())?;
                }
            }
        }
        Ok(())
    })
}

/// The core's clock while the f32 ceiling is held, and on its way from rest; empty without a trace.
pub(crate) fn clock(map: &Map) -> String {
    let named = |name: &str| map.traces.iter().find(|trace| trace.name == name).filter(|trace| trace.points.len() > 1);
    let Some(soak) = named("clock") else { return String::new() };
    let lines: Vec<(Ink, Vec<(f64, f64)>)> = [(Ink::Stock, Some(soak)), (Ink::Loss, named("clock.ramp"))]
        .into_iter()
        .filter_map(|(ink, trace)| Some((ink, trace?.points.iter().map(|[at, hz]| (*at, hz / 1e9)).collect())))
        .collect();
    both("Core clock over time", |canvas, size| draw_clock(canvas, size, &lines))
}

fn draw_clock(canvas: &Canvas<'_>, size: Size, lines: &[(Ink, Vec<(f64, f64)>)]) -> Drawn {
    let all = || lines.iter().flat_map(|line| line.1.iter());
    let end = all().map(|p| p.0).fold(0.0, f64::max);
    let top = all().map(|p| p.1).fold(0.0, f64::max);
    let mut chart = builder(canvas, size, 16).build_cartesian_2d(0.0..end, 0.0..top * 1.15)?;
    let plain = &|value: &f64| format!("{value:.1}");
    mesh(
        &mut chart,
        &Axis { words: "seconds", labels: 6, label: plain },
        &Axis { words: "GHz", labels: 5, label: plain },
    )?;
    for (ink, points) in lines {
        chart.draw_series(LineSeries::new(points.iter().copied(), ink.color().stroke_width(2)))?;
    }
    Ok(())
}
