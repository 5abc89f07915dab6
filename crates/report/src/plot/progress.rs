//! Progress of the search: every candidate by verdict, and the best so far.

use super::{Canvas, Drawn, Ink, Size, anchored, both, text, tick};
use crate::{CampaignView, CandidateView};
use model::Outcome;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// The plot; empty when nothing was measured.
pub(crate) fn progress(view: &CampaignView) -> String {
    let measured = |c: &&CandidateView| c.cumulative.is_some_and(|x| x > 0.0 && x.is_finite());
    if view.candidates.iter().find(measured).is_none() {
        return String::new();
    }
    both("Progress of the search: speed-up over the naive baseline by candidate", |canvas, size| {
        draw(canvas, size, view)
    })
}

fn draw(canvas: &Canvas<'_>, size: Size, view: &CampaignView) -> Drawn {
    let last = view.candidates.iter().map(|c| c.id).max().unwrap_or(1).max(1);
    let stock = stock(view);
    let label = match view.comparisons.first() {
        Some(row) => format!("speed-up over naive at {}", row.workload),
        None => "speed-up over naive".to_owned(),
    };
    let values = || view.candidates.iter().filter_map(|c| c.cumulative).filter(|x| *x > 0.0).chain(stock).chain([1.0]);
    let low = values().fold(f64::INFINITY, f64::min).max(0.05) / 1.15;
    let high = values().fold(0.0, f64::max) * 1.25;
    let small = text(Ink::Soft, 12.0);
    let left = if size == Size::Wide { 58 } else { 44 };
    let mut chart = ChartBuilder::on(canvas)
        .margin(6)
        .margin_right(10)
        .x_label_area_size(44)
        .y_label_area_size(left)
        .build_cartesian_2d(0.0..f64::from(last) * 1.02, low.ln()..high.ln())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(Ink::Grid.color())
        .x_labels(if size == Size::Wide { 10 } else { 5 })
        .y_labels(0)
        .label_style(small.clone())
        .axis_desc_style(small.clone())
        .x_desc("candidate")
        .y_desc(label)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .draw()?;
    let (x0, x1) = (0.0, f64::from(last) * 1.02);
    for value in ticks(low, high) {
        chart.draw_series(LineSeries::new([(x0, value.ln()), (x1, value.ln())], Ink::Grid.color()))?;
        let at = chart.backend_coord(&(x0, value.ln()));
        let style = anchored(&small, HPos::Right, VPos::Center);
        canvas.draw(&Text::new(format!("{}x", tick(value)), (at.0 - 6, at.1), style))?;
    }
    if let Some(stock) = stock {
        chart.draw_series(DashedLineSeries::new(
            [(x0, stock.ln()), (x1, stock.ln())],
            6,
            4,
            Ink::Stock.color().stroke_width(2),
        ))?;
        // On the left, where the search is still below it.
        let at = chart.backend_coord(&(x0, stock.ln()));
        let style = anchored(&text(Ink::Stock, 12.0), HPos::Left, VPos::Bottom);
        canvas.draw(&Text::new("stock baseline", (at.0 + 6, at.1 - 2), style))?;
    }
    let floor = chart.backend_coord(&(0.0, low.ln())).1;
    let (champions, rest): (Vec<_>, Vec<_>) = view.candidates.iter().partition(|c| c.promoted);
    for (index, candidate) in rest.iter().chain(&champions).enumerate() {
        // The line lies over the dots that crowd around it, and under the champions.
        if index == rest.len() {
            chart.draw_series(LineSeries::new(best(view, x1), Ink::Winner.color().stroke_width(2)))?;
        }
        let Some(verdict) = &candidate.verdict else { continue };
        let x = f64::from(candidate.id);
        let at = candidate.cumulative.filter(|v| *v > 0.0).map(|v| chart.backend_coord(&(x, v.max(low).ln())));
        let rug = (chart.backend_coord(&(x, low.ln())).0, floor - 4);
        mark(canvas, verdict.outcome(), at.unwrap_or(rug), candidate.promoted)?;
    }
    Ok(())
}

/// Measured candidates are dots; those never measured stand on the axis as strokes.
fn mark(canvas: &Canvas<'_>, outcome: Outcome, at: (i32, i32), promoted: bool) -> Drawn {
    let stroke = |ink: Ink| PathElement::new([(at.0, at.1 - 4), (at.0, at.1 + 4)], ink.color().stroke_width(2));
    match outcome {
        Outcome::Invalid => canvas.draw(&stroke(Ink::Invalid))?,
        Outcome::Cheated => canvas.draw(&stroke(Ink::Cheated))?,
        Outcome::Noise => canvas.draw(&Circle::new(at, 2, Ink::Noise.color().filled()))?,
        Outcome::Loss => canvas.draw(&Circle::new(at, 2, Ink::Loss.color().filled()))?,
        Outcome::Win if promoted => canvas.draw(&Circle::new(at, 5, Ink::Win.color().filled()))?,
        Outcome::Win => canvas.draw(&Circle::new(at, 3, Ink::Win.color().stroke_width(2)))?,
    }
    Ok(())
}

/// Steps of the champion's speed-up.
fn best(view: &CampaignView, end: f64) -> Vec<(f64, f64)> {
    let mut best: Option<f64> = None;
    let mut steps = Vec::new();
    for candidate in view.candidates.iter().filter(|c| c.promoted) {
        let Some(value) = candidate.cumulative.filter(|value| *value > 0.0) else { continue };
        let x = f64::from(candidate.id);
        steps.push((x, best.unwrap_or(value).ln()));
        steps.push((x, value.ln()));
        best = Some(value);
    }
    steps.extend(best.map(|value| (end, value.ln())));
    steps
}

/// The stock baseline's speed-up over naive on the workload that the search judges by, from the medians: for the eye.
fn stock(view: &CampaignView) -> Option<f64> {
    view.comparisons.first().and_then(|row| Some(row.naive?.0 / row.stock?.0))
}

/// 1, 2, 5 and their tens inside the range; only 1 and its tens, or every second, when those are many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let all: Vec<f64> = (-2..4)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect();
    if all.len() > 7 { all.into_iter().filter(|tick| tick.log10().fract() == 0.0).collect() } else { all }
}
