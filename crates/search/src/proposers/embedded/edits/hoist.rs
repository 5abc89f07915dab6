//! The part of an access that an inner loop doesn't change becomes a pointer formed before the loop.

use super::Offer;
use super::reciprocal::changes;
use crate::proposers::embedded::affine::{Factor, access_factor, accesses, factor};
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, Loop};
use tree_sitter::Node;

/// One offer for each access `p[X + c]` in an innermost loop over c.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.is_innermost(code)) {
        for access in accesses(code, inner.body) {
            found.extend(hoist(code, &inner, access));
        }
    }
    found
}

fn hoist(code: &Code, inner: &Loop<'_>, access: Node<'_>) -> Option<Offer> {
    let base = access.child_by_field_name("argument").filter(|n| n.kind() == "identifier")?;
    let index = access.child_by_field_name("index").filter(|n| n.kind() == "binary_expression")?;
    let parts = [index.child_by_field_name("left")?, index.child_by_field_name("right")?];
    (index.child_by_field_name("operator")?.kind() == "+").then_some(())?;
    let along = access_factor(code, access, &inner.var) == Factor::One;
    let fixed = parts.into_iter().find(|n| factor(code, *n, &inner.var) == Factor::Zero)?;
    let moving = parts.into_iter().find(|n| code.of(*n) == inner.var)?;
    let names: Vec<&str> = code.all(fixed, "identifier").into_iter().map(|n| code.of(n)).collect();
    let still = !names.iter().any(|name| changes(code, inner.node, name));
    (along && still && !names.is_empty()).then_some(())?;
    let function = code.function(access)?;
    let constant = code.pointers(function).into_iter().find(|(_, name, _)| name == code.of(base))?.2;
    let row = code.fresh(&format!("{}_row", code.of(base)));
    let qualifier = if constant { "const " } else { "" };
    let start = code.span(inner.node).start;
    let before = format!("{{\n{qualifier}float *{row} = {} + {};\n", code.of(base), code.of(fixed));
    let mut patch = Patch::replace(start..start, before);
    for same in code.all(inner.body, "subscript_expression").into_iter().filter(|n| code.of(*n) == code.of(access)) {
        patch = patch.and(same.byte_range(), format!("{row}[{}]", code.of(moving)));
    }
    let patch = patch.and(inner.node.end_byte()..inner.node.end_byte(), "\n}");
    let what = format!("{} out of {}", code.of(base), inner.var);
    Some(Offer::text(code, code.line(access), what, patch.apply(code)))
}
