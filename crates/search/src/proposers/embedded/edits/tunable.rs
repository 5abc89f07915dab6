//! Another value for a declared constant: `enum { X = n }`, `#define X n`, `static const int x = n`.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, children};
use tree_sitter::Node;

const VALUES: &[i64] = &[1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512];
/// How far from the present value a step may go.
const REACH: i64 = 4;

/// Every other value of the list within a factor of the present one.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for (name, value) in declared(code) {
        let Ok(present) = code.of(value).trim().parse::<i64>() else { continue };
        for other in VALUES.iter().filter(|v| **v != present && **v <= present * REACH && **v * REACH >= present) {
            // A macro's value node begins at the blank before it.
            let at = value.start_byte() + code.of(value).len() - code.of(value).trim_start().len();
            let range = at..at + code.of(value).trim().len();
            let text = Patch::replace(range, format!("{other}")).apply(code);
            let what = format!("{} = {other}", code.of(name));
            found.push(Offer::text(code, code.line(name), what, text));
        }
    }
    found
}

fn declared(code: &Code) -> Vec<(Node<'_>, Node<'_>)> {
    let mut found = Vec::new();
    for node in code.descend(code.root()) {
        let (name, value) = match node.kind() {
            "enumerator" | "preproc_def" => ("name", "value"),
            "init_declarator" if is_static_const(code, node) => ("declarator", "value"),
            _ => continue,
        };
        if let (Some(name), Some(value)) = (node.child_by_field_name(name), node.child_by_field_name(value)) {
            found.push((name, value));
        }
    }
    found
}

fn is_static_const(code: &Code, declarator: Node<'_>) -> bool {
    declarator.parent().is_some_and(|declaration| {
        let words: Vec<&str> = children(declaration).into_iter().map(|n| code.of(n)).collect();
        words.contains(&"static") && words.contains(&"const")
    })
}
