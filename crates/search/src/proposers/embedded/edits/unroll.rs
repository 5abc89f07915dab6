//! gcc's unroll pragma on innermost loops.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::Code;

const FACTORS: &[u32] = &[2, 4, 8, 16];

/// Every innermost loop at every factor that it doesn't have already.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.is_innermost(code)) {
        let before = code.pragmas(inner.node);
        for factor in FACTORS {
            let pragma = format!("#pragma GCC unroll {factor}\n");
            if before.contains(pragma.trim()) {
                continue;
            }
            let kept: String = before.split_inclusive('\n').filter(|l| !l.contains("GCC unroll")).collect();
            let range = code.span(inner.node).start..inner.node.start_byte();
            let text = Patch::replace(range, format!("{kept}{pragma}")).apply(code);
            let what = format!("{} by {factor}", inner.var);
            found.push(Offer::text(code, code.line(inner.node), what, text));
        }
    }
    found
}
