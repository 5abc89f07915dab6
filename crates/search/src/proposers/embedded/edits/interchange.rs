//! Two loops with nothing between them change places.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, perfect_parent};

/// Every pair of perfectly nested loops whose headers don't depend on each other.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops() {
        let Some(outer) = perfect_parent(code, &inner) else { continue };
        if inner.header_mentions(code, &outer.var) || outer.header_mentions(code, &inner.var) {
            continue;
        }
        let head = |l: &crate::proposers::embedded::syntax::Loop<'_>| l.node.start_byte()..l.body.start_byte();
        let patch = Patch::replace(head(&outer), format!("{} ", inner.header(code)))
            .and(head(&inner), format!("{} ", outer.header(code)));
        let what = format!("{} and {}", outer.var, inner.var);
        found.push(Offer::text(code, code.line(outer.node), what, patch.apply(code)));
    }
    found
}
