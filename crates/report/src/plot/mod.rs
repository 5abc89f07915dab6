//! Plots as SVG text: drawn by `plotters`, then given classes in place of colours, so that the page's style sheet
//! serves both themes.
//!
//! Must not do: carry a fixed colour, a font file or an outside reference.

mod alone;
mod axes;
mod compare;
mod curves;
mod history;
mod machine;
mod progress;
mod roofline;

pub use compare::{Panel, compare_plot};
pub(crate) use curves::{bandwidth_curves, latency, latency_curves, page_curve};
pub use history::history_plot;
pub(crate) use machine::{ceilings, clock, heat};
pub(crate) use progress::progress;
pub(crate) use roofline::roofline;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// An area to draw on.
pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// What a drawing failed with. Writing to a string cannot fail, an empty range can.
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A role that the style sheet gives a colour. The number is a stand-in colour, replaced after drawing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Paper,
    Text,
    Soft,
    Grid,
    Naive,
    Stock,
    Winner,
    Memory,
    Compute,
    Invalid,
    Cheated,
    Noise,
    Loss,
    Win,
}

const INKS: [(Ink, &str); 14] = [
    (Ink::Paper, "paper"),
    (Ink::Text, "text"),
    (Ink::Soft, "soft"),
    (Ink::Grid, "grid"),
    (Ink::Naive, "naive"),
    (Ink::Stock, "stock"),
    (Ink::Winner, "winner"),
    (Ink::Memory, "memory"),
    (Ink::Compute, "compute"),
    (Ink::Invalid, "invalid"),
    (Ink::Cheated, "cheated"),
    (Ink::Noise, "noise"),
    (Ink::Loss, "loss"),
    (Ink::Win, "win"),
];

impl Ink {
    pub(crate) fn color(self) -> RGBColor {
        RGBColor(1, 2, self as u8 + 1)
    }
}

/// The two sizes that a page switches between: small text must not shrink with the window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Wide,
    Narrow,
}

impl Size {
    pub(crate) fn pixels(self) -> (u32, u32) {
        match self {
            Self::Wide => (960, 430),
            // A 400-pixel window less the page's margins.
            Self::Narrow => (368, 330),
        }
    }
}

/// Draws in both sizes. `title` is read aloud in the picture's place. Empty when there is nothing to draw.
pub(crate) fn both(title: &str, draw: impl Fn(&Canvas<'_>, Size) -> Drawn) -> String {
    shaped(title, Size::pixels, draw)
}

/// The same on canvases of other measures than usual.
pub(crate) fn shaped(
    title: &str,
    pixels: impl Fn(Size) -> (u32, u32),
    draw: impl Fn(&Canvas<'_>, Size) -> Drawn,
) -> String {
    [(Size::Wide, "wide"), (Size::Narrow, "narrow")]
        .into_iter()
        .filter_map(|(size, class)| {
            let mut svg = String::new();
            let drawn = {
                let canvas = SVGBackend::with_string(&mut svg, pixels(size)).into_drawing_area();
                draw(&canvas, size).and_then(|()| Ok(canvas.present()?))
            };
            drawn.ok().map(|()| finish(&svg, title, class, pixels(size)))
        })
        .collect()
}

fn finish(svg: &str, title: &str, class: &str, (width, height): (u32, u32)) -> String {
    // The name is our own text, never a candidate's.
    let opening =
        format!("<svg class=\"plot {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">");
    let body = svg.find(">\n").map_or("", |end| &svg[end + 1..]);
    classed(opening + body)
}

/// Gives every stand-in colour its class.
fn classed(mut text: String) -> String {
    for (ink, name) in INKS {
        let RGBColor(r, g, b) = ink.color();
        for attribute in ["fill", "stroke"] {
            let stand_in = format!("{attribute}=\"#{r:02X}{g:02X}{b:02X}\"");
            text = text.replace(&stand_in, &format!("class=\"{attribute}-{name}\""));
        }
    }
    text.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "")
}

/// Text of `pixels` height. Plotters writes 1/1.24 of what it is told.
pub(crate) fn text(ink: Ink, pixels: f64) -> TextStyle<'static> {
    TextStyle { color: ink.color().to_backend_color(), ..TextStyle::from(("sans-serif", pixels * 1.24).into_font()) }
}

pub(crate) fn anchored(style: &TextStyle<'static>, h: HPos, v: VPos) -> TextStyle<'static> {
    style.clone().pos(Pos::new(h, v))
}

/// Moves labels apart to at least `gap` pixels, downwards, keeping their order.
pub(crate) fn spread(positions: &mut [i32], gap: i32) {
    for i in 1..positions.len() {
        positions[i] = positions[i].max(positions[i - 1] + gap);
    }
}

/// A logarithmic axis's labels: `0.1`, `1`, `20`.
pub(crate) fn tick(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}").chars().take(6).collect() }
}
