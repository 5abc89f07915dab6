//! Finds `T s = 0; for (..) s += E; tail` in a loop's body: what several edits start from. Changes nothing.

use super::syntax::{Code, Loop, children, perfect_parent};
use tree_sitter::Node;

/// A sum that one loop forms for each turn of another.
pub struct Reduction<'t> {
    /// The loop around.
    pub outer: Loop<'t>,
    /// `s`.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// The initial value.
    pub initial: Node<'t>,
    /// The loop that sums.
    pub inner: Loop<'t>,
    /// What is added.
    pub term: Node<'t>,
    /// What stands before the declaration.
    pub lead: Vec<Node<'t>>,
    /// What follows the sum.
    pub tail: Vec<Node<'t>>,
}

impl Reduction<'_> {
    /// Whether the sum starts at zero.
    pub fn starts_at_zero(&self, code: &Code) -> bool {
        ["0", "0.0", "0.f", "0.0f", "0.F", "0.0F"].contains(&code.of(self.initial))
    }
}

/// All reductions of a source whose inner loop does nothing else.
pub fn reductions(code: &Code) -> Vec<Reduction<'_>> {
    code.loops().into_iter().filter_map(|outer| reduction_in(code, outer)).collect()
}

fn reduction_in<'t>(code: &'t Code, outer: Loop<'t>) -> Option<Reduction<'t>> {
    for (at, pair) in outer.statements.windows(2).enumerate() {
        let Some((kind, name, initial)) = scalar(code, pair[0]) else { continue };
        let Some(inner) = code.counted(pair[1]) else { continue };
        let Some((sum, term)) = summed(code, &inner) else { continue };
        if sum == name {
            let (lead, tail) = (outer.statements[..at].to_vec(), outer.statements[at + 2..].to_vec());
            return Some(Reduction { outer, name, kind, initial, inner, term, lead, tail });
        }
    }
    None
}

/// `T s = value;` with one plain name.
pub fn scalar<'t>(code: &Code, node: Node<'t>) -> Option<(String, String, Node<'t>)> {
    if node.kind() != "declaration" || children(node).iter().any(|n| n.kind() == "type_qualifier") {
        return None;
    }
    let kind = code.of(node.child_by_field_name("type")?).to_owned();
    let declarator = node.child_by_field_name("declarator")?;
    let name = declarator.child_by_field_name("declarator")?;
    let value = declarator.child_by_field_name("value")?;
    (name.kind() == "identifier").then(|| (kind, code.of(name).to_owned(), value))
}

/// The name and the term of a loop that is `s += E` alone.
pub fn summed<'t>(code: &Code, inner: &Loop<'t>) -> Option<(String, Node<'t>)> {
    let [only] = inner.statements[..] else { return None };
    let (name, term) = addition(code, only)?;
    (!code.mentions(term, &name)).then_some((name, term))
}

/// The name and the term of `s += E;` or `s = s + E;`.
pub fn addition<'t>(code: &Code, statement: Node<'t>) -> Option<(String, Node<'t>)> {
    if statement.kind() != "expression_statement" {
        return None;
    }
    let assignment = statement.named_child(0).filter(|n| n.kind() == "assignment_expression")?;
    let left = assignment.child_by_field_name("left").filter(|n| n.kind() == "identifier")?;
    let right = assignment.child_by_field_name("right")?;
    let name = code.of(left).to_owned();
    match assignment.child_by_field_name("operator")?.kind() {
        "+=" => Some((name, right)),
        "=" if right.kind() == "binary_expression" && right.child_by_field_name("operator")?.kind() == "+" => {
            let first = right.child_by_field_name("left")?;
            (code.of(first) == name).then_some(())?;
            Some((name, right.child_by_field_name("right")?))
        }
        _ => None,
    }
}

/// The loop around a reduction's outer loop, when there is nothing beside it.
pub fn around<'t>(code: &Code, reduction: &Reduction<'t>) -> Option<Loop<'t>> {
    perfect_parent(code, &reduction.outer)
}
