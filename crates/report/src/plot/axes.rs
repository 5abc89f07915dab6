//! What the plots of a machine have in common: margins, axes and mesh, and names beside the ends of lines.
//!
//! Must not do: know what is plotted.

use super::{Canvas, Drawn, Ink, Size, anchored, text};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Room below a plot for the axis and its words.
pub(crate) const BELOW: u32 = 44;
/// Distance between names.
const GAP: i32 = 14;
/// From the end of the axis to a name.
const LEADER: i32 = 12;

/// One axis.
pub(crate) struct Axis<'a> {
    /// What it shows.
    pub(crate) words: &'a str,
    /// About how many labels it has.
    pub(crate) labels: usize,
    /// A label's text.
    pub(crate) label: &'a dyn Fn(&f64) -> String,
}

/// A chart with room for the axes, and so many pixels at the right.
pub(crate) fn builder<'a, 'b>(
    canvas: &'a Canvas<'b>,
    size: Size,
    right: u32,
) -> ChartBuilder<'a, 'static, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(canvas);
    builder.margin(6).margin_right(right).x_label_area_size(BELOW).y_label_area_size(if size == Size::Wide {
        58
    } else {
        44
    });
    builder
}

/// Axes and mesh.
pub(crate) fn mesh<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    x: &Axis<'_>,
    y: &Axis<'_>,
) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let small = text(Ink::Soft, 12.0);
    chart
        .configure_mesh()
        .axis_style(Ink::Grid.color())
        .bold_line_style(Ink::Grid.color())
        .light_line_style(TRANSPARENT)
        .x_labels(x.labels)
        .y_labels(y.labels)
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc(x.words)
        .y_desc(y.words)
        .x_label_formatter(&|value| (x.label)(value))
        .y_label_formatter(&|value| (y.label)(value))
        .draw()?;
    Ok(())
}

/// A line's end and its name.
pub(crate) struct End {
    /// Pixels.
    pub(crate) at: (i32, i32),
    /// What is written beside it.
    pub(crate) name: String,
    /// Colour of the name.
    pub(crate) ink: Ink,
}

/// Pixels of the widest name; letters of the page's fonts are narrower than this on average.
fn pixels(size: Size) -> f64 {
    if size == Size::Wide { 11.0 } else { 10.0 }
}

/// Room at the right for names of at most so many letters.
pub(crate) fn room(size: Size, longest: usize) -> u32 {
    LEADER as u32 + 8 + (longest as f64 * pixels(size) * 0.58).ceil() as u32
}

/// Names in the margin right of `right`, each beside its line's end; a thin line leads to a name that had to move.
pub(crate) fn beside(canvas: &Canvas<'_>, size: Size, right: i32, mut ends: Vec<End>) -> Drawn {
    ends.sort_by_key(|end| end.at.1);
    let mut ys: Vec<i32> = ends.iter().map(|end| end.at.1).collect();
    let bottom = canvas.dim_in_pixel().1 as i32 - BELOW as i32 - GAP;
    settle(&mut ys, GAP - i32::from(size == Size::Narrow), bottom);
    for (End { at, name, ink }, y) in ends.into_iter().zip(ys) {
        let leader = [at, (right + 2, at.1), (right + LEADER - 2, y)];
        canvas.draw(&PathElement::new(leader, Ink::Grid.color()))?;
        let style = anchored(&text(ink, pixels(size)), HPos::Left, VPos::Center);
        canvas.draw(&Text::new(name, (right + LEADER, y), style))?;
    }
    Ok(())
}

/// Moves labels apart to at least `gap` pixels, keeping their order: downwards, and up again from `bottom`.
pub(crate) fn settle(positions: &mut [i32], gap: i32, bottom: i32) {
    let mut least = i32::MIN;
    for position in positions.iter_mut() {
        *position = (*position).max(least);
        least = *position + gap;
    }
    let mut most = bottom;
    for position in positions.iter_mut().rev() {
        *position = (*position).min(most);
        most = *position - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_settle_apart_and_inside() {
        let check = |mut positions: Vec<i32>, expected: &[i32]| {
            settle(&mut positions, 10, 100);
            assert_eq!(positions, expected);
        };
        check(vec![5, 50], &[5, 50]);
        check(vec![5, 6, 7], &[5, 15, 25]);
        check(vec![80, 95, 99], &[80, 90, 100]);
        check(vec![], &[]);
    }
}
