//! `for d { s = 0; for j s += E; use s }` becomes a zeroed array, `for j for d array[d] += E`, and the uses: the inner
//! loop then runs along d.

use super::Offer;
use crate::proposers::embedded::reduction::{Reduction, reductions};
use crate::proposers::embedded::rewrite::{Patch, lines};
use crate::proposers::embedded::syntax::Code;

/// One offer for each sum whose loops don't depend on each other.
pub fn offers(code: &Code) -> Vec<Offer> {
    let apart = |r: &Reduction<'_>| {
        r.outer.step == "1" && !r.inner.header_mentions(code, &r.outer.var) && !r.tail.is_empty() && r.lead.is_empty()
    };
    reductions(code).iter().filter(|r| apart(r)).map(|r| offer(code, r)).collect()
}

fn offer(code: &Code, reduction: &Reduction<'_>) -> Offer {
    let (outer, inner) = (&reduction.outer, &reduction.inner);
    let (name, kind) = (&reduction.name, &reduction.kind);
    let array = code.fresh(&format!("{name}_of"));
    let place = if outer.low == "0" { outer.var.clone() } else { format!("{} - ({})", outer.var, outer.low) };
    let extent = if outer.low == "0" { outer.end(code) } else { format!("{} - ({})", outer.end(code), outer.low) };
    let head = outer.header(code);
    let text = format!(
        "{{\n_Alignas(64) {kind} {array}[{extent}];\n\
         {head} {array}[{place}] = {};\n\
         {} {{\n{head} {{\n{array}[{place}] += {};\n}}\n}}\n\
         {head} {{\nconst {kind} {name} = {array}[{place}];\n{}}}\n}}",
        code.of(reduction.initial),
        inner.header(code),
        code.of(reduction.term),
        lines(code, &reduction.tail),
    );
    let what = format!("{name} over {} inside {}", outer.var, inner.var);
    Offer::text(code, code.line(outer.node), what, Patch::replace(code.span(outer.node), text).apply(code))
}
