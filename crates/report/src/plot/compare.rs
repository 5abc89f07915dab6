//! A comparison as one picture: the pairs in time, their distribution, the running interval.
//!
//! Must not do: estimate anything. It draws the figures that it is given.

use super::alone::{TITLE, WIDTH, alone};
use super::{Canvas, Drawn, Ink, anchored, text};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use std::ops::Range;

/// Height of one comparison.
const HEIGHT: u32 = 606;
/// Where its running interval begins.
const UPPER: i32 = 330;
/// Height of the line over each of several comparisons.
const HEAD: i32 = 30;
/// More comparisons than this are not drawn: nobody scrolls so far.
const MOST_PANELS: usize = 16;
/// Width of the distribution.
const SIDE: u32 = 250;
/// Bars of the distribution.
const BARS: usize = 32;
/// Width of the labels at the left.
const LABELS: u32 = 66;

type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// One comparison of a plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What is compared and what came out; not drawn when empty.
    pub head: String,
    /// Seconds since the start and the effect, t_B / t_A - 1, in the order measured.
    pub pairs: Vec<(f64, f64)>,
    /// Units so far, estimate, and the interval's ends, which may be infinite.
    pub running: Vec<[f64; 4]>,
}

impl Panel {
    fn can_be_drawn(&self) -> bool {
        !self.pairs.is_empty() && self.pairs.iter().all(|(at, effect)| at.is_finite() && effect.is_finite())
    }

    fn height(&self) -> u32 {
        HEIGHT + if self.head.is_empty() { 0 } else { HEAD as u32 }
    }

    fn draw(&self, canvas: &Canvas<'_>, margin: (f64, f64)) -> Drawn {
        let mut body = canvas.clone();
        if !self.head.is_empty() {
            let (head, below) = canvas.split_vertically(HEAD);
            let shown: String = self.head.chars().map(|c| if c.is_control() { ' ' } else { c }).take(120).collect();
            let style = anchored(&text(Ink::Text, 14.0), HPos::Left, VPos::Center);
            head.draw(&PathElement::new([(12, 3), (WIDTH as i32 - 12, 3)], Ink::Grid.color()))?;
            head.draw(&Text::new(shown, (12, HEAD / 2 + 3), style))?;
            body = below;
        }
        let (upper, lower) = body.split_vertically(UPPER);
        let (left, right) = upper.split_horizontally(WIDTH - SIDE);
        let range = range_of_pairs(&self.pairs, margin);
        in_time(&left, &self.pairs, range.clone(), margin)?;
        distribution(&right, &self.pairs, range, margin)?;
        if self.running.is_empty() { nothing(&lower) } else { interval(&lower, &self.running, margin) }
    }
}

/// The plot of comparisons as an SVG file, one below the other; empty without pairs. `margin` is the effects that do not
/// matter. Beyond 16 comparisons the title says how many are left out.
pub fn compare_plot(title: &str, panels: &[Panel], margin: (f64, f64)) -> String {
    let drawn: Vec<&Panel> = panels.iter().filter(|panel| panel.can_be_drawn()).take(MOST_PANELS).collect();
    if drawn.is_empty() {
        return String::new();
    }
    let left_out = panels.len().saturating_sub(MOST_PANELS);
    let title = if left_out > 0 { format!("{title} ({left_out} more are not drawn)") } else { title.to_owned() };
    let heights: Vec<u32> = drawn.iter().map(|panel| panel.height()).collect();
    alone(&title, TITLE + heights.iter().sum::<u32>(), |canvas| {
        let mut rest = canvas.clone();
        for (panel, height) in drawn.iter().zip(&heights) {
            let (own, below) = rest.split_vertically(*height);
            panel.draw(&own, margin)?;
            rest = below;
        }
        Ok(())
    })
}

/// All but the outermost hundredth on either side, and what they are held against.
fn range_of_pairs(pairs: &[(f64, f64)], margin: (f64, f64)) -> Range<f64> {
    let mut effects: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    effects.sort_by(f64::total_cmp);
    let cut = effects.len() / 100;
    padded(effects[cut].min(margin.0).min(0.0), effects[effects.len() - 1 - cut].max(margin.1).max(0.0))
}

fn padded(low: f64, high: f64) -> Range<f64> {
    let pad = ((high - low) * 0.08).max(1e-4);
    low - pad..high + pad
}

fn percents(effect: f64, range: &Range<f64>) -> String {
    let digits = match range.end - range.start {
        wide if wide > 0.2 => 0,
        some if some > 0.02 => 1,
        _ => 2,
    };
    let shown = format!("{:+.digits$} %", 100.0 * effect);
    // A zero has no sign.
    if shown.chars().all(|c| !c.is_ascii_digit() || c == '0') { shown.replace(['+', '-'], "") } else { shown }
}

/// A plane whose vertical axis is the effect, with its zero and the margin.
fn plane<'a, 'b>(
    area: &'a Canvas<'b>,
    x: Range<f64>,
    y: &Range<f64>,
    margin: (f64, f64),
    about: [&str; 2],
) -> Result<Plane<'a, 'b>, Box<dyn std::error::Error>> {
    let small = text(Ink::Soft, 12.0);
    let mut chart = ChartBuilder::on(area)
        .margin(6)
        .margin_right(14)
        .margin_top(24)
        .x_label_area_size(40)
        .y_label_area_size(LABELS)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .axis_style(Ink::Grid.color())
        .bold_line_style(Ink::Grid.color())
        .light_line_style(TRANSPARENT)
        .y_labels(6)
        .x_labels(if area.dim_in_pixel().0 > SIDE { 8 } else { 4 })
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc(about[1])
        .x_label_formatter(&|at| format!("{}", (at * 1e3).round() / 1e3))
        .y_label_formatter(&|effect| percents(*effect, y))
        .draw()?;
    let head = anchored(&text(Ink::Text, 13.0), HPos::Left, VPos::Center);
    area.draw(&Text::new(about[0].to_owned(), (LABELS as i32 + 6, 12), head))?;
    let band = Rectangle::new([(x.start, margin.0), (x.end, margin.1)], Ink::Noise.color().mix(0.22).filled());
    chart.draw_series(std::iter::once(band))?;
    chart.draw_series(LineSeries::new([(x.start, 0.0), (x.end, 0.0)], Ink::Soft.color()))?;
    Ok(chart)
}

fn in_time(area: &Canvas<'_>, pairs: &[(f64, f64)], y: Range<f64>, margin: (f64, f64)) -> Drawn {
    let first = pairs.iter().map(|pair| pair.0).fold(f64::INFINITY, f64::min);
    let last = pairs.iter().map(|pair| pair.0).fold(f64::NEG_INFINITY, f64::max);
    let pad = ((last - first) * 0.02).max(1e-6);
    let about = ["t_B / t_A - 1 of each pair; slower is up", "seconds since the start"];
    let mut chart = plane(area, first - pad..last + pad, &y, margin, about)?;
    let radius = if pairs.len() > 1_000 { 1 } else { 3 };
    for (at, effect) in pairs {
        if y.contains(effect) {
            let dot = Circle::new((*at, *effect), radius, Ink::Stock.color().mix(0.7).filled());
            chart.draw_series(std::iter::once(dot))?;
        } else {
            // At the edge, open: it lies beyond.
            let edge = effect.clamp(y.start, y.end);
            chart.draw_series(std::iter::once(Circle::new((*at, edge), 4, Ink::Loss.color().stroke_width(2))))?;
        }
    }
    let beyond = pairs.iter().filter(|pair| !y.contains(&pair.1)).count();
    if beyond > 0 {
        let style = anchored(&text(Ink::Loss, 12.0), HPos::Right, VPos::Center);
        let width = area.dim_in_pixel().0 as i32;
        area.draw(&Text::new(format!("{beyond} beyond the edge (rings)"), (width - 14, 12), style))?;
    }
    Ok(())
}

fn distribution(area: &Canvas<'_>, pairs: &[(f64, f64)], y: Range<f64>, margin: (f64, f64)) -> Drawn {
    let step = (y.end - y.start) / BARS as f64;
    let mut counts = [0_u32; BARS];
    for (_, effect) in pairs.iter().filter(|pair| y.contains(&pair.1)) {
        counts[(((effect - y.start) / step) as usize).min(BARS - 1)] += 1;
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
    let mut chart = plane(area, 0.0..most * 1.05, &y, margin, ["their distribution", "pairs"])?;
    let bar = |(i, count): (usize, &u32)| {
        let low = y.start + step * i as f64;
        Rectangle::new([(0.0, low + 0.1 * step), (f64::from(*count), low + 0.9 * step)], Ink::Stock.color().filled())
    };
    chart.draw_series(counts.iter().enumerate().filter(|(_, count)| **count > 0).map(bar))?;
    Ok(())
}

/// The second half decides the scale: the first intervals are as wide as one likes.
fn range_of_running(running: &[[f64; 4]], margin: (f64, f64)) -> Range<f64> {
    let late = &running[running.len() / 2..];
    let ends = || late.iter().flat_map(|point| &point[1..]).copied().filter(|end| end.is_finite());
    let low = ends().fold(0.0_f64.min(margin.0), f64::min);
    let high = ends().fold(0.0_f64.max(margin.1), f64::max);
    padded(low, high)
}

fn interval(area: &Canvas<'_>, running: &[[f64; 4]], margin: (f64, f64)) -> Drawn {
    let y = range_of_running(running, margin);
    let last = running.last().map_or(1.0, |point| point[0]);
    let about = ["the running estimate and its interval; grey: differences that do not matter", "pairs"];
    let mut chart = plane(area, 0.0..last * 1.01, &y, margin, about)?;
    let inside = |value: f64| value.clamp(y.start, y.end);
    let lows = running.iter().map(|point| (point[0], inside(point[2])));
    let highs = running.iter().rev().map(|point| (point[0], inside(point[3])));
    let band: Vec<(f64, f64)> = lows.chain(highs).collect();
    chart.draw_series(std::iter::once(Polygon::new(band, Ink::Stock.color().mix(0.25))))?;
    for end in [2, 3] {
        let line = running.iter().map(|point| (point[0], inside(point[end])));
        chart.draw_series(LineSeries::new(line, Ink::Stock.color()))?;
    }
    let estimates = running.iter().map(|point| (point[0], inside(point[1])));
    chart.draw_series(LineSeries::new(estimates, Ink::Text.color().stroke_width(2)))?;
    Ok(())
}

fn nothing(area: &Canvas<'_>) -> Drawn {
    let style = anchored(&text(Ink::Soft, 13.0), HPos::Left, VPos::Center);
    let words = "no running interval is kept for these pairs";
    Ok(area.draw(&Text::new(words, (LABELS as i32 + 6, 12), style))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_digits_that_their_range_needs() {
        let check = |effect: f64, width: f64, expected: &str| assert_eq!(percents(effect, &(0.0..width)), expected);
        check(0.5, 1.0, "+50 %");
        check(-0.012, 0.1, "-1.2 %");
        check(0.0012, 0.01, "+0.12 %");
        check(-0.000_001, 0.01, "0.00 %");
    }

    #[test]
    fn outliers_do_not_set_the_scale_and_are_counted() {
        let mut pairs: Vec<(f64, f64)> = (0..300).map(|i| (f64::from(i), 0.01 + 0.0001 * f64::from(i % 9))).collect();
        pairs[7].1 = 40.0;
        assert!(range_of_pairs(&pairs, (-0.005, 0.005)).end < 0.1);
        let panel = Panel { pairs, ..Panel::default() };
        let svg = compare_plot("a", &[panel], (-0.005, 0.005));
        assert!(svg.contains("1 beyond the edge") && svg.contains("no running interval"));
    }

    #[test]
    fn foreign_names_stay_text_and_colours_become_classes() {
        let title = "`a\"<script>&` is slower\nthan b";
        let running = [[20.0, 0.01, f64::NEG_INFINITY, f64::INFINITY], [40.0, 0.01, 0.0, 0.02]];
        let panel =
            Panel { head: "<b>\u{7}head".into(), pairs: vec![(0.0, 0.01), (1.0, 0.02)], running: running.to_vec() };
        let svg = compare_plot(title, &[panel], (-0.005, 0.005));
        assert!(svg.contains("&lt;b&gt; head"), "{svg}");
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("<script>") && svg.contains("a&quot;&lt;script&gt;&amp;"), "{svg}");
        assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("class=\"fill-stock\""));
        assert!(!svg.contains("=\"#") && !svg.contains("NaN") && !svg.contains("inf,"), "{svg}");
    }

    #[test]
    fn nothing_to_draw() {
        let panel = |pairs: &[(f64, f64)]| Panel { pairs: pairs.to_vec(), ..Panel::default() };
        assert_eq!(compare_plot("a", &[], (0.0, 0.0)), "");
        assert_eq!(compare_plot("a", &[panel(&[])], (0.0, 0.0)), "");
        assert_eq!(compare_plot("a", &[panel(&[(0.0, f64::NAN)])], (0.0, 0.0)), "");
        // One pair and no margin: the ranges must not be empty.
        let one = Panel { running: vec![[1.0, 0.0, 0.0, 0.0]], ..panel(&[(0.0, 0.0)]) };
        assert_ne!(compare_plot("a", &[one], (0.0, 0.0)), "");
    }

    #[test]
    fn every_comparison_has_its_panel_until_there_are_too_many() {
        let panel = |i: usize| Panel {
            head: format!("workload {i} of many"),
            pairs: vec![(0.0, 0.01), (1.0, 0.02)],
            running: Vec::new(),
        };
        let three = compare_plot("a", &[panel(0), panel(1), panel(2)], (-0.005, 0.005));
        assert!((0..3).all(|i| three.contains(&format!("workload {i} of many"))), "{three}");
        assert!(three.contains(&format!("height=\"{}\"", TITLE + 3 * (HEIGHT + HEAD as u32))));
        let many: Vec<Panel> = (0..20).map(panel).collect();
        let svg = compare_plot("a", &many, (-0.005, 0.005));
        assert!(
            svg.contains("4 more are not drawn") && svg.contains("workload 15 of") && !svg.contains("workload 16 of")
        );
    }
}
