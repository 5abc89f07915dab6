//! SVG files that stand alone: the page's palette and the plots' own classes travel inside.
//!
//! Must not do: refer to anything outside the file.

use super::{Canvas, Drawn, Ink, anchored, classed, text};
use crate::html::STYLE;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Pixels.
pub(crate) const WIDTH: u32 = 960;

/// Height of the title.
pub(crate) const TITLE: u32 = 34;
/// Characters of a title that fit.
const LONGEST_TITLE: usize = 110;

/// Draws under a title. Empty when the drawing fails.
pub(crate) fn alone(title: &str, height: u32, draw: impl FnOnce(&Canvas<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    let drawn = {
        let canvas = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let (head, body) = canvas.split_vertically(TITLE);
        titled(&head, title).and_then(|()| draw(&body)).and_then(|()| Ok(canvas.present()?))
    };
    if drawn.is_err() {
        return String::new();
    }
    let label = escaped(title);
    let opening = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n<style>\n{}</style>\n\
         <rect class=\"fill-paper\" width=\"{WIDTH}\" height=\"{height}\"/>",
        style()
    );
    let body = svg.find(">\n").map_or("", |end| &svg[end + 1..]);
    classed(opening + body)
}

fn titled(head: &Canvas<'_>, title: &str) -> Drawn {
    let mut shown: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_TITLE).collect();
    if title.chars().count() > LONGEST_TITLE {
        shown += "...";
    }
    let style = anchored(&text(Ink::Text, 15.0), HPos::Left, VPos::Center);
    Ok(head.draw(&Text::new(shown, (12, TITLE as i32 / 2 + 2), style))?)
}

/// The palette in both themes, the classes of ink, and what keeps text legible over lines.
fn style() -> String {
    let palette = STYLE.split("* {").next().unwrap_or_default();
    let of_plots = |line: &&str| [".fill-", ".stroke-", ".plot text"].iter().any(|start| line.starts_with(start));
    let classes: Vec<&str> = STYLE.lines().filter(of_plots).collect();
    format!("{palette}svg {{ font-family: system-ui, sans-serif; }}\n{}\n", classes.join("\n"))
}

/// Text of somebody else's inside an attribute.
fn escaped(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
