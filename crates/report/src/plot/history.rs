//! A series of results with its changes.
//!
//! Must not do: look for changes. They are given.

use super::alone::alone;
use super::{Canvas, Drawn, Ink, anchored, text};
use model::Seconds;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Height of the picture, title included.
const HEIGHT: u32 = 440;
/// Characters of a result's name under the axis.
const LONGEST_LABEL: usize = 14;

/// The plot of a history as an SVG file; empty without two results.
///
/// `points` are names, median seconds and quartiles, in order. `changes` are the index of the first result after each
/// change, and what to write there.
pub fn history_plot(title: &str, points: &[(&str, f64, [f64; 2])], changes: &[(usize, String)]) -> String {
    if points.len() < 2 || points.iter().any(|point| !(point.1 > 0.0 && point.1.is_finite())) {
        return String::new();
    }
    alone(title, HEIGHT, |canvas| draw(canvas, points, changes))
}

fn draw(canvas: &Canvas<'_>, points: &[(&str, f64, [f64; 2])], changes: &[(usize, String)]) -> Drawn {
    let low = points.iter().map(|point| point.1.min(point.2[0])).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.1.max(point.2[1])).fold(0.0, f64::max);
    let pad = ((high - low) * 0.15).max(high * 1e-3);
    let last = points.len() as f64;
    let small = text(Ink::Soft, 12.0);
    let mut chart = ChartBuilder::on(canvas)
        .margin(6)
        .margin_right(24)
        .x_label_area_size(44)
        .y_label_area_size(74)
        .build_cartesian_2d(-0.5..last - 0.5, low - pad..high + 1.6 * pad)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .axis_style(Ink::Grid.color())
        .bold_line_style(Ink::Grid.color())
        .light_line_style(TRANSPARENT)
        .x_labels(8)
        .y_labels(6)
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc("results in their order")
        .x_label_formatter(&|x| label(points, *x))
        .y_label_formatter(&|y| Seconds(*y).to_string())
        .draw()?;
    levels(&mut chart, points, changes)?;
    for (i, (_, median, quartiles)) in points.iter().enumerate() {
        let x = i as f64;
        let spread = PathElement::new([(x, quartiles[0]), (x, quartiles[1])], Ink::Stock.color());
        chart.draw_series(std::iter::once(spread))?;
        chart.draw_series(std::iter::once(Circle::new((x, *median), 3, Ink::Stock.color().filled())))?;
    }
    for (rank, (at, words)) in changes.iter().enumerate() {
        let x = *at as f64 - 0.5;
        chart.draw_series(DashedLineSeries::new(
            [(x, low - pad), (x, high + 1.6 * pad)],
            5,
            4,
            Ink::Loss.color().stroke_width(2),
        ))?;
        let (px, py) = chart.backend_coord(&(x, high + 1.6 * pad));
        let (side, gap) = if x > last * 0.7 { (HPos::Right, -6) } else { (HPos::Left, 6) };
        let style = anchored(&text(Ink::Loss, 12.0), side, VPos::Top);
        canvas.draw(&Text::new(words.clone(), (px + gap, py - TITLE_OFFSET + 4 + 15 * (rank as i32 % 3)), style))?;
    }
    Ok(())
}

/// `backend_coord` counts from the top of the file, a drawing from the top of its area.
const TITLE_OFFSET: i32 = 34;

/// The name of the result at a whole number.
fn label(points: &[(&str, f64, [f64; 2])], x: f64) -> String {
    if (x - x.round()).abs() > 1e-6 || x < -0.1 {
        return String::new();
    }
    points.get(x.round() as usize).map_or_else(String::new, |point| point.0.chars().take(LONGEST_LABEL).collect())
}

type Plane<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// The median of each stretch between changes.
fn levels(chart: &mut Plane<'_, '_>, points: &[(&str, f64, [f64; 2])], changes: &[(usize, String)]) -> Drawn {
    let mut ends: Vec<usize> = changes.iter().map(|change| change.0.min(points.len())).collect();
    ends.push(points.len());
    let mut start = 0;
    for end in ends {
        let mut stretch: Vec<f64> = points[start..end].iter().map(|point| point.1).collect();
        stretch.sort_by(f64::total_cmp);
        let Some(level) = stretch.get(stretch.len() / 2) else { continue };
        let line = [(start as f64 - 0.4, *level), (end as f64 - 0.6, *level)];
        chart.draw_series(LineSeries::new(line, Ink::Text.color().stroke_width(2)))?;
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_marked_and_names_escaped() {
        let points: Vec<(&str, f64, [f64; 2])> =
            (0..20).map(|i| ("a<b", if i < 9 { 0.02 } else { 0.021 }, [0.0199, 0.0212])).collect();
        let svg = history_plot("1 change", &points, &[(9, "+5.0 % at <c9>".to_owned())]);
        assert!(svg.contains("+5.0 % at &lt;c9&gt;") && svg.contains("stroke-loss") && !svg.contains("<c9>"), "{svg}");
        assert!(svg.contains("a&lt;b") && svg.contains("20.0 ms") && !svg.contains("=\"#"), "{svg}");
    }

    #[test]
    fn nothing_to_draw() {
        assert_eq!(history_plot("x", &[("a", 1.0, [1.0; 2])], &[]), "");
        assert_eq!(history_plot("x", &[("a", 1.0, [1.0; 2]), ("b", f64::NAN, [1.0; 2])], &[]), "");
        assert_ne!(history_plot("x", &[("a", 1.0, [1.0; 2]), ("b", 1.0, [1.0; 2])], &[]), "");
    }
}
