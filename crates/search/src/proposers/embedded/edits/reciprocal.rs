//! A division by something that a loop doesn't change becomes a product with its reciprocal, formed once.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, Loop};
use tree_sitter::Node;

/// Every division inside a loop by a name or element that is not changed there.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for division in code.all(code.root(), "binary_expression") {
        let fields = ["left", "operator", "right"].map(|name| division.child_by_field_name(name));
        let [Some(left), Some(operator), Some(right)] = fields else { continue };
        let divisor = ["identifier", "subscript_expression"].contains(&right.kind());
        if operator.kind() != "/" || !divisor || code.value(right).is_some() {
            continue;
        }
        let Some(around) = invariant_in(code, right) else { continue };
        let name = code.fresh("reciprocal");
        let start = code.span(around.node).start;
        // A block of its own keeps the declaration a statement wherever the loop stands.
        let patch = Patch::replace(start..start, format!("{{\nconst float {name} = 1.0f / {};\n", code.of(right)))
            .and(division.byte_range(), format!("{} * {name}", code.of(left)))
            .and(around.node.end_byte()..around.node.end_byte(), "\n}");
        let what = format!("{} inside {}", code.of(right), around.var);
        found.push(Offer::text(code, code.line(division), what, patch.apply(code)));
    }
    found
}

/// The outermost loop around `node` that neither counts nor assigns what `node` mentions.
fn invariant_in<'t>(code: &'t Code, node: Node<'t>) -> Option<Loop<'t>> {
    let names: Vec<&str> = code.all(node, "identifier").into_iter().map(|n| code.of(n)).collect();
    let mut found = None;
    let mut at = node.parent();
    while let Some(parent) = at {
        if let Some(around) = code.counted(parent) {
            if names.iter().any(|name| changes(code, parent, name)) {
                break;
            }
            found = Some(around);
        }
        at = parent.parent();
    }
    found
}

/// Whether a name is declared or assigned somewhere below a node.
pub fn changes(code: &Code, node: Node<'_>, name: &str) -> bool {
    code.descend(node).into_iter().any(|n| {
        let target = match n.kind() {
            "assignment_expression" => n.child_by_field_name("left"),
            "update_expression" => n.child_by_field_name("argument"),
            "init_declarator" => n.child_by_field_name("declarator"),
            "declaration" => n.child_by_field_name("declarator").filter(|d| d.kind() != "init_declarator"),
            _ => None,
        };
        target.and_then(|t| code.all(t, "identifier").first().copied()).is_some_and(|t| code.of(t) == name)
    })
}
