//! Neighbouring loops over the same range become one; a running maximum that starts at the second element joins too.

use super::Offer;
use crate::proposers::embedded::reduction::scalar;
use crate::proposers::embedded::rewrite::{Patch, lines, rename};
use crate::proposers::embedded::syntax::{Code, Loop, children};
use tree_sitter::Node;

/// Every pair of neighbours, at most one scalar declaration apart.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for block in code.all(code.root(), "compound_statement") {
        let statements: Vec<Node<'_>> =
            children(block).into_iter().filter(|n| n.is_named() && n.kind() != "comment").collect();
        for pair in statements.windows(2) {
            found.extend(fuse(code, pair[0], None, pair[1]));
        }
        for three in statements.windows(3) {
            found.extend(fuse(code, three[0], Some(three[1]), three[2]));
        }
    }
    found
}

fn fuse(code: &Code, first: Node<'_>, between: Option<Node<'_>>, second: Node<'_>) -> Option<Offer> {
    let (one, two) = (code.counted(first)?, code.counted(second)?);
    let same = one.step == two.step
        && one.inclusive == two.inclusive
        && rename(code, two.bound, &[(&two.var, &one.var)]) == code.of(one.bound);
    let carried = assigned(code, one.body).iter().any(|name| code.mentions(two.body, name));
    (same && !carried).then_some(())?;
    let before = match between {
        None => String::new(),
        Some(node) => declared(code, node, &one, &two)?,
    };
    (one.low == two.low || between.is_some()).then_some(())?;
    let joined: String = two.statements.iter().map(|n| rename(code, *n, &[(&two.var, &one.var)]) + "\n").collect();
    let text = format!("{before}{} {{\n{}{joined}}}", one.header(code), lines(code, &one.statements));
    let what = format!("{} into its neighbour before", two.var);
    let range = code.span(first).start..second.end_byte();
    Some(Offer::text(code, code.line(first), what, Patch::replace(range, text).apply(code)))
}

/// Scalars that a body assigns and doesn't declare: complete only after the loop.
fn assigned(code: &Code, body: Node<'_>) -> Vec<String> {
    let own = |name: &str| {
        code.all(body, "init_declarator")
            .into_iter()
            .any(|n| n.child_by_field_name("declarator").is_some_and(|declarator| code.of(declarator) == name))
    };
    let targets = code.all(body, "assignment_expression").into_iter().filter_map(|n| n.child_by_field_name("left"));
    let names = targets.filter(|n| n.kind() == "identifier").map(|n| code.of(n).to_owned());
    names.filter(|name| !own(name)).collect()
}

/// The declaration between the loops, made independent of what the first one stores.
fn declared(code: &Code, node: Node<'_>, one: &Loop<'_>, two: &Loop<'_>) -> Option<String> {
    let (kind, name, value) = scalar(code, node)?;
    if one.low == two.low && value.kind() == "number_literal" {
        return Some(format!("{}\n", code.of(node)));
    }
    let first_element = value.kind() == "subscript_expression" && one.low == "0" && two.low == "1";
    let is_maximum = code.of(two.body).contains('>') || code.of(two.body).contains("fmax");
    (first_element && is_maximum).then(|| format!("{kind} {name} = -INFINITY;\n"))
}
