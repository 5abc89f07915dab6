//! A loop over several statements becomes one loop for each part.

use super::Offer;
use crate::proposers::embedded::rewrite::{Patch, lines};
use crate::proposers::embedded::syntax::Code;

/// Every split of every loop whose body declares nothing.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for outer in code.loops() {
        let declares = outer.statements.iter().any(|n| n.kind() == "declaration");
        if declares || outer.kind.is_empty() {
            continue;
        }
        for cut in 1..outer.statements.len() {
            let head = outer.header(code);
            let (first, second) = outer.statements.split_at(cut);
            let text = format!("{head} {{\n{}}}\n{head} {{\n{}}}", lines(code, first), lines(code, second));
            let what = format!("{} after statement {cut}", outer.var);
            let text = Patch::replace(code.span(outer.node), text).apply(code);
            found.push(Offer::text(code, code.line(outer.node), what, text));
        }
    }
    found
}
