//! How array accesses depend on a loop's counter. Syntactic: says `Other` when it doesn't see at once.

use super::syntax::Code;
use tree_sitter::Node;

/// The factor in front of a counter in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The counter does not occur.
    Zero,
    /// Neighbouring counters reach neighbouring elements.
    One,
    /// Anything else.
    Other,
}

/// The factor of `var` in an index expression.
pub fn factor(code: &Code, node: Node<'_>, var: &str) -> Factor {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "identifier" if code.of(node) == var => Factor::One,
        "parenthesized_expression" => node.named_child(0).map_or(Factor::Other, |n| factor(code, n, var)),
        "cast_expression" => field("value").map_or(Factor::Other, |n| factor(code, n, var)),
        "binary_expression" => {
            let (Some(left), Some(right), Some(operator)) = (field("left"), field("right"), field("operator")) else {
                return Factor::Other;
            };
            match (factor(code, left, var), operator.kind(), factor(code, right, var)) {
                (Factor::Zero, _, Factor::Zero) => Factor::Zero,
                (Factor::Zero, "+", other) | (other, "+" | "-", Factor::Zero) => other,
                _ => Factor::Other,
            }
        }
        _ if code.mentions(node, var) => Factor::Other,
        _ => Factor::Zero,
    }
}

/// The factor of `var` in a whole access `a[..][..]`: what counts is the last index.
pub fn access_factor(code: &Code, access: Node<'_>, var: &str) -> Factor {
    let (Some(base), Some(index)) = (access.child_by_field_name("argument"), access.child_by_field_name("index"))
    else {
        return Factor::Other;
    };
    if code.mentions(base, var) { Factor::Other } else { factor(code, index, var) }
}

/// The accesses in an expression, each once, in order.
pub fn accesses<'t>(code: &Code, node: Node<'t>) -> Vec<Node<'t>> {
    let mut found: Vec<Node<'t>> = Vec::new();
    collect(code, node, &mut found);
    found
}

fn collect<'t>(code: &Code, node: Node<'t>, found: &mut Vec<Node<'t>>) {
    if node.kind() == "subscript_expression" {
        if !found.iter().any(|other| code.of(*other) == code.of(node)) {
            found.push(node);
        }
        return;
    }
    for child in super::syntax::children(node) {
        collect(code, child, found);
    }
}

/// Whether an expression is made of accesses, names, numbers and the four operations alone.
pub fn is_arithmetic(node: Node<'_>) -> bool {
    match node.kind() {
        "subscript_expression" | "identifier" | "number_literal" => true,
        "parenthesized_expression" => node.named_child(0).is_some_and(|n| is_arithmetic(n)),
        "unary_expression" => node.child_by_field_name("argument").is_some_and(|n| is_arithmetic(n)),
        "binary_expression" => {
            let operator = node.child_by_field_name("operator").map_or("", |n| n.kind());
            ["+", "-", "*", "/"].contains(&operator)
                && ["left", "right"]
                    .iter()
                    .all(|field| node.child_by_field_name(field).is_some_and(|n| is_arithmetic(n)))
        }
        _ => false,
    }
}
