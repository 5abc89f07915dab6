//! A sum in several independent parts: scalars, or vectors of lanes, added up at the end.
//!
//! Changes the order of the additions: within the tolerance or not, the judge says.

use super::Offer;
use super::register_tile::WIDTH;
use crate::proposers::embedded::affine::{Factor, access_factor, accesses, is_arithmetic};
use crate::proposers::embedded::reduction::summed;
use crate::proposers::embedded::rewrite::{LANES, LANES_MARK, Patch, rename, render, with_prelude};
use crate::proposers::embedded::syntax::{Code, Loop};
use std::fmt::Write as _;
use tree_sitter::Node;

const SCALARS: &[i64] = &[4, 8];
const VECTORS: &[i64] = &[1, 2, 4, 8];

/// Scalar and vector forms for every loop that only sums.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops() {
        let Some((name, term)) = summed(code, &inner) else { continue };
        if inner.step != "1" || inner.kind.is_empty() || code.is_lanes(&name) {
            continue;
        }
        let mut push = |what: String, text: String| {
            let text = Patch::replace(code.span(inner.node), text).apply(code);
            let text = if text.contains("lanes_any") { with_prelude(&text, LANES_MARK, LANES) } else { text };
            found.push(Offer::text(code, code.line(inner.node), what, text));
        };
        if in_lanes(code, &inner, term) {
            for count in VECTORS {
                push(format!("{name} in {count} vectors"), vectors(code, &inner, &name, term, *count));
            }
        }
        for count in SCALARS {
            push(format!("{name} in {count} scalars"), scalars(code, &inner, &name, term, *count));
        }
    }
    found
}

fn in_lanes(code: &Code, inner: &Loop<'_>, term: Node<'_>) -> bool {
    let found = accesses(code, term);
    let bare = code.all(term, "identifier").iter().filter(|n| code.of(**n) == inner.var).count();
    let inside: usize = code
        .all(term, "subscript_expression")
        .iter()
        .map(|access| code.all(*access, "identifier").iter().filter(|n| code.of(**n) == inner.var).count())
        .sum();
    is_arithmetic(term)
        && bare == inside
        && found.iter().any(|access| access_factor(code, *access, &inner.var) == Factor::One)
        && found.iter().all(|access| access_factor(code, *access, &inner.var) != Factor::Other)
}

fn vectors(code: &Code, inner: &Loop<'_>, name: &str, term: Node<'_>, count: i64) -> String {
    let (var, kind, low, end) = (&inner.var, &inner.kind, &inner.low, inner.end(code));
    let wide = code.fresh(&format!("{name}_wide"));
    let lane = code.fresh("lane");
    let parts: Vec<String> = (0..count).map(|v| format!("{wide}{v} = {{0}}")).collect();
    let stride = count * WIDTH;
    let whole = inner.whole_end(code, stride);
    let mut out = format!("{{\nlanes {};\n", parts.join(", "));
    let _ = writeln!(out, "for ({kind} {var} = {low}; {var} < {whole}; {var} += {stride}) {{");
    for v in 0..count {
        let at = if v == 0 { var.clone() } else { format!("({var} + {})", v * WIDTH) };
        let value = render(code, term, &|node| {
            (node.kind() == "subscript_expression").then_some(())?;
            let moved = rename(code, node, &[(var, &at)]);
            let along = access_factor(code, node, var) == Factor::One;
            Some(if along { format!("*(const lanes_any *)&{moved}") } else { moved })
        });
        let _ = writeln!(out, "{wide}{v} += {value};");
    }
    out.push_str("}\n");
    for v in 1..count {
        let _ = writeln!(out, "{wide}0 += {wide}{v};");
    }
    let _ = writeln!(out, "for (int {lane} = 0; {lane} < {WIDTH}; {lane}++) {name} += {wide}0[{lane}];");
    if whole != end {
        let _ = writeln!(out, "for ({kind} {var} = {whole}; {var} < {end}; {var}++) {}", code.of(inner.body));
    }
    out.push('}');
    out
}

fn scalars(code: &Code, inner: &Loop<'_>, name: &str, term: Node<'_>, count: i64) -> String {
    let (var, kind, low, end) = (&inner.var, &inner.kind, &inner.low, inner.end(code));
    let part = code.fresh(&format!("{name}_part"));
    let zeros: Vec<String> = (0..count).map(|v| format!("{part}{v} = 0")).collect();
    let whole = inner.whole_end(code, count);
    let mut out = format!("{{\nfloat {};\n", zeros.join(", "));
    let _ = writeln!(out, "for ({kind} {var} = {low}; {var} < {whole}; {var} += {count}) {{");
    for v in 0..count {
        let at = if v == 0 { var.clone() } else { format!("({var} + {v})") };
        let _ = writeln!(out, "{part}{v} += {};", rename(code, term, &[(var, &at)]));
    }
    out.push_str("}\n");
    let sum: Vec<String> = (0..count).map(|v| format!("{part}{v}")).collect();
    let _ = writeln!(out, "{name} += {};", sum.join(" + "));
    if whole != end {
        let _ = writeln!(out, "for ({kind} {var} = {whole}; {var} < {end}; {var}++) {}", code.of(inner.body));
    }
    out.push('}');
    out
}
