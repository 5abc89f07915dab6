//! The latency curve of a machine map: one dependent load by working-set size.

use super::{Canvas, Drawn, Ink, Size, both, text};
use crate::figures::binary;
use model::{Bytes, Map};
use plotters::prelude::*;

/// The plot; empty without points.
pub(crate) fn latency(map: &Map) -> String {
    let points: Vec<(f64, f64)> = map
        .latency
        .iter()
        .filter(|p| p.size.0 > 0.0 && p.latency.0 > 0.0)
        .map(|p| (p.size.0.log2(), p.latency.0 * 1e9))
        .collect();
    if points.len() < 2 {
        return String::new();
    }
    both("Load latency by working-set size", |canvas, size| draw(canvas, size, &points))
}

fn draw(canvas: &Canvas<'_>, size: Size, points: &[(f64, f64)]) -> Drawn {
    let fold =
        |f: fn(f64, f64) -> f64, start: f64, pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).fold(start, f);
    let (x0, x1) = (fold(f64::min, f64::INFINITY, |p| p.0), fold(f64::max, 0.0, |p| p.0));
    let (y0, y1) = (fold(f64::min, f64::INFINITY, |p| p.1), fold(f64::max, 0.0, |p| p.1));
    let small = text(Ink::Soft, 12.0);
    let mut chart = ChartBuilder::on(canvas)
        .margin(6)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(if size == Size::Wide { 58 } else { 44 })
        .build_cartesian_2d(x0 - 0.3..x1 + 0.3, (y0 / 1.5..y1 * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .axis_style(Ink::Grid.color())
        .bold_line_style(Ink::Grid.color())
        .light_line_style(TRANSPARENT)
        .x_labels(if size == Size::Wide { 10 } else { 5 })
        .y_labels(6)
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc("working set")
        .y_desc("ns a load")
        .x_label_formatter(&|x| binary(Bytes(x.exp2())))
        .y_label_formatter(&|y| super::tick(*y))
        .draw()?;
    chart.draw_series(LineSeries::new(points.iter().copied(), Ink::Stock.color().stroke_width(2)))?;
    chart.draw_series(points.iter().map(|p| Circle::new(*p, 2, Ink::Stock.color().filled())))?;
    Ok(())
}
