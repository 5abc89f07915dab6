//! Asks for what an innermost loop will load some turns later.

use super::Offer;
use crate::proposers::embedded::affine::accesses;
use crate::proposers::embedded::rewrite::{Patch, rename};
use crate::proposers::embedded::syntax::Code;

/// Turns ahead.
const AHEAD: &[i64] = &[8, 16, 32, 4];

/// Every array that an innermost loop reads along its counter. Addresses past the end are only asked for, never read.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.is_innermost(code) && l.body.kind() == "compound_statement") {
        if code.of(inner.body).contains("__builtin_prefetch") {
            continue;
        }
        for access in accesses(code, inner.body).into_iter().filter(|a| code.mentions(*a, &inner.var)) {
            let name = access.child_by_field_name("argument").map_or("", |n| code.of(n));
            for ahead in AHEAD {
                let later = format!("({} + {ahead})", inner.var);
                let at = inner.body.start_byte() + 1;
                let text = format!("\n__builtin_prefetch(&{});", rename(code, access, &[(&inner.var, &later)]));
                let what = format!("{name} {ahead} ahead in {}", inner.var);
                let text = Patch::replace(at..at, text).apply(code);
                found.push(Offer::text(code, code.line(inner.node), what, text));
            }
        }
    }
    found
}
