//! A loop in strips; and, where it is nested perfectly, the loop over strips moved out: tiling.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::{Code, Loop, perfect_parent};

const SIZES: &[i64] = &[16, 32, 64, 128, 256];

/// Every loop of step 1 that is longer than the strip.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for inner in code.loops().into_iter().filter(|l| l.step == "1" && !l.kind.is_empty()) {
        for size in SIZES.iter().filter(|size| code.trip(&inner).is_none_or(|trip| **size < trip)) {
            found.push(strip(code, &inner, *size));
            if let Some(outer) = perfect_parent(code, &inner)
                && !inner.header_mentions(code, &outer.var)
            {
                found.push(tile(code, &outer, &inner, *size));
            }
        }
    }
    found
}

struct Strip {
    over: String,
    within: String,
}

fn headers(code: &Code, inner: &Loop<'_>, size: i64) -> Strip {
    let (kind, var, end) = (&inner.kind, &inner.var, inner.end(code));
    let start = code.fresh(&format!("{var}0"));
    Strip {
        over: format!("for ({kind} {start} = {}; {start} < {end}; {start} += {size})", inner.low),
        within: format!(
            "for ({kind} {var} = {start}; {var} < ({start} + {size} < {end} ? {start} + {size} : {end}); {var}++)"
        ),
    }
}

fn strip(code: &Code, inner: &Loop<'_>, size: i64) -> Offer {
    let strip = headers(code, inner, size);
    let text = format!("{} {{\n{} {}\n}}", strip.over, strip.within, code.of(inner.body));
    let what = format!("{} by {size}", inner.var);
    Offer::text(code, code.line(inner.node), what, Patch::replace(code.span(inner.node), text).apply(code))
}

fn tile(code: &Code, outer: &Loop<'_>, inner: &Loop<'_>, size: i64) -> Offer {
    let strip = headers(code, inner, size);
    let text =
        format!("{} {{\n{} {{\n{} {}\n}}\n}}", strip.over, outer.header(code), strip.within, code.of(inner.body));
    let what = format!("{} by {size} around {}", inner.var, outer.var);
    Offer::text(code, code.line(outer.node), what, Patch::replace(code.span(outer.node), text).apply(code))
}
