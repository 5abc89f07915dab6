//! OpenMP's `simd` pragma, with the reduction named, and gcc's `ivdep`: permission to run a loop in lanes.

use super::Offer;
use crate::proposers::embedded::reduction::addition;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, Loop};
use std::collections::BTreeSet;

const FLAG: &str = "-fopenmp-simd";

/// `simd` and `ivdep` for each innermost loop that has neither.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.is_innermost(code)) {
        let before = code.pragmas(inner.node);
        if before.contains("omp simd") || before.contains("ivdep") {
            continue;
        }
        let at = inner.node.start_byte();
        let Some(clause) = sums(code, &inner) else { continue };
        let pragma = format!("#pragma omp simd{clause}\n");
        let what = format!("{}{clause}", inner.var);
        let text = Patch::replace(code.span(inner.node).start..at, pragma).apply(code);
        let mut offer = Offer::text(code, code.line(inner.node), what, text);
        if !offer.flags.iter().any(|flag| flag == FLAG) {
            offer.flags.push(FLAG.to_owned());
        }
        found.push(offer);
        if clause.is_empty() {
            let text = Patch::replace(at..at, "\n#pragma GCC ivdep\n").apply(code);
            let what = format!("{} ivdep", inner.var);
            found.push(Offer::text(code, code.line(inner.node), what, text));
        }
    }
    found
}

/// The clause for what the loop sums; none when that is no scalar.
fn sums(code: &Code, inner: &Loop<'_>) -> Option<String> {
    let names: BTreeSet<String> =
        inner.statements.iter().filter_map(|n| addition(code, *n)).map(|(name, _)| name).collect();
    if names.iter().any(|name| code.is_lanes(name)) {
        return None;
    }
    let list = names.into_iter().collect::<Vec<_>>().join(",");
    Some(if list.is_empty() { String::new() } else { format!(" reduction(+:{list})") })
}
