//! `if (a > b) x = a;` becomes a conditional expression, which needs no branch.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, statements};

/// Every `if` without `else` around one assignment.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for branch in code.all(code.root(), "if_statement") {
        let (None, Some(condition), Some(body)) = (
            branch.child_by_field_name("alternative"),
            branch.child_by_field_name("condition"),
            branch.child_by_field_name("consequence"),
        ) else {
            continue;
        };
        let [only] = statements(body)[..] else { continue };
        let Some(assignment) = only.named_child(0).filter(|n| n.kind() == "assignment_expression") else { continue };
        let field = |name: &str| assignment.child_by_field_name(name).map_or("", |n| code.of(n));
        if field("operator") != "=" {
            continue;
        }
        let (left, right) = (field("left"), field("right"));
        let text = format!("{left} = {} ? {right} : {left};", code.of(condition));
        let what = format!("assign {left} without a branch");
        let text = Patch::replace(branch.byte_range(), text).apply(code);
        found.push(Offer::text(code, code.line(branch), what, text));
    }
    found
}
