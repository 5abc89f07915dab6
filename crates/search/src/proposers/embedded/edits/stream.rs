//! Stores that go past the caches: an output that nobody reads soon needs no read for ownership.

use super::Offer;
use super::register_tile::WIDTH;
use crate::proposers::embedded::affine::{Factor, access_factor};
use crate::proposers::embedded::rewrite::{LANES, LANES_MARK, Patch, rename, render, with_prelude};
use crate::proposers::embedded::syntax::{Code, Loop};
use std::fmt::Write as _;
use tree_sitter::Node;

const MARK: &str = "static inline void stream_line(";
/// Needs 64-byte aligned targets: rows of a multiple of 16 floats in an aligned buffer.
const STREAM: &str = "static inline void stream_line(float *to, const float *line) {
#if defined(__AVX512F__)
    __builtin_ia32_movntps512(to, *(const lanes *)line);
#else
    *(lanes *)to = *(const lanes *)line;
#endif
}
static inline void stream_end(void) {
#if defined(__AVX512F__)
    __builtin_ia32_sfence();
#endif
}
";

/// Every innermost loop of whole lines that stores to one place of a parameter.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.is_innermost(code) && l.low == "0") {
        let whole = code.trip(&inner).is_some_and(|trip| trip % WIDTH == 0);
        let Some(target) = target(code, &inner).filter(|_| whole) else { continue };
        let Some(patch) = with_fence(code, &inner, write(code, &inner, target).trim_end()) else { continue };
        let text = patch.apply(code);
        let text = with_prelude(&text, LANES_MARK, LANES);
        let text = after(&text, LANES, STREAM);
        let base = target.child_by_field_name("argument").map_or("", |n| code.of(n));
        let what = format!("{base} in {}", inner.var);
        found.push(Offer::text(code, code.line(inner.node), what, text));
    }
    found
}

/// The one element of a pointer parameter that each turn stores to before it reads it, if it does; and no other.
fn target<'t>(code: &Code, inner: &Loop<'t>) -> Option<Node<'t>> {
    let function = code.function(inner.node)?;
    for (_, name, constant) in code.pointers(function) {
        let uses: Vec<Node<'t>> = code
            .all(inner.body, "subscript_expression")
            .into_iter()
            .filter(|n| n.child_by_field_name("argument").is_some_and(|base| code.of(base) == name))
            .collect();
        let Some(first) = uses.first().filter(|_| !constant && name != "scratch") else { continue };
        let same = uses.iter().all(|n| code.of(*n) == code.of(*first));
        let stored_first = first.parent().is_some_and(|assignment| {
            assignment.child_by_field_name("left") == Some(*first)
                && assignment.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "=")
                && assignment.parent().is_some_and(|statement| inner.statements.contains(&statement))
        });
        if same && stored_first && access_factor(code, *first, &inner.var) == Factor::One {
            return Some(*first);
        }
    }
    None
}

/// The loop replaced, and a fence where the function ends: others must not see it return before its stores.
fn with_fence(code: &Code, inner: &Loop<'_>, text: &str) -> Option<Patch> {
    let body = code.function(inner.node)?.child_by_field_name("body")?;
    let returns = !code.all(body, "return_statement").is_empty();
    if returns {
        return Some(Patch::replace(code.span(inner.node), format!("{{\n{text}\nstream_end();\n}}")));
    }
    let patch = Patch::replace(code.span(inner.node), text);
    let fenced = code.of(body).contains("stream_end();");
    let end = body.end_byte() - 1;
    Some(if fenced { patch } else { patch.and(end..end, "stream_end();\n") })
}

fn write(code: &Code, inner: &Loop<'_>, target: Node<'_>) -> String {
    let (kind, var, end) = (&inner.kind, &inner.var, inner.end(code));
    let (start, line, lane) = (code.fresh(&format!("{var}0")), code.fresh("line"), code.fresh("lane"));
    let place = code.of(target);
    let mut out = format!(
        "for ({kind} {start} = 0; {start} < {end}; {start} += {WIDTH}) {{\n_Alignas(64) float {line}[{WIDTH}];\n\
         for (int {lane} = 0; {lane} < {WIDTH}; {lane}++) {{\nconst {kind} {var} = {start} + {lane};\n"
    );
    for statement in &inner.statements {
        let text = render(code, *statement, &|n| {
            (n.kind() == "subscript_expression" && code.of(n) == place).then(|| format!("{line}[{lane}]"))
        });
        let _ = writeln!(out, "{text}");
    }
    let to = rename(code, target, &[(var, &start)]);
    let _ = writeln!(out, "}}\nstream_line(&{to}, {line});\n}}");
    out
}

/// Puts the function after the declaration that it needs.
fn after(text: &str, anchor: &str, snippet: &str) -> String {
    if text.contains(MARK) { text.to_owned() } else { text.replacen(anchor, &format!("{anchor}{snippet}"), 1) }
}
