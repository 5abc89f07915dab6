//! `if (a > b) x = a;` and `x = fmaxf(x, a);` become a conditional expression: no branch, and no call whose treatment
//! of NaN and signed zeros keeps the compiler from using vectors.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, statements};
use tree_sitter::Node;

/// Every `if` without `else` around one assignment, every running `fmaxf` or `fminf`.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = branches(code);
    found.extend(code.all(code.root(), "assignment_expression").into_iter().filter_map(|n| extreme(code, n)));
    found
}

/// `x = fmaxf(x, a)`.
fn extreme(code: &Code, assignment: Node<'_>) -> Option<Offer> {
    let left = code.of(assignment.child_by_field_name("left")?);
    let call = assignment.child_by_field_name("right").filter(|n| n.kind() == "call_expression")?;
    let (name, sign) = match code.of(call.child_by_field_name("function")?) {
        "fmaxf" => ("maximum", ">"),
        "fminf" => ("minimum", "<"),
        _ => return None,
    };
    let arguments = call.child_by_field_name("arguments")?;
    let [one, two] = [code.of(arguments.named_child(0)?), code.of(arguments.named_child(1)?)];
    let other = if one == left { two } else { one };
    (one == left || two == left).then_some(())?;
    let text = format!("{left} = {other} {sign} {left} ? {other} : {left}");
    let what = format!("{left} as a {name}");
    Some(Offer::text(code, code.line(assignment), what, Patch::replace(assignment.byte_range(), text).apply(code)))
}

fn branches(code: &Code) -> Vec<Offer> {
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
        let what = left.to_owned();
        let text = Patch::replace(branch.byte_range(), text).apply(code);
        found.push(Offer::text(code, code.line(branch), what, text));
    }
    found
}
