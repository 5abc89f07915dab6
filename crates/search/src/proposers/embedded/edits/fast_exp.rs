//! `expf` of the library becomes an inline polynomial without branches, which the compiler can turn into vectors.

use super::Offer;
use crate::proposers::embedded::rewrite::{Patch, with_prelude};
use crate::proposers::embedded::syntax::Code;

/// Cody and Waite's two-part ln 2 and Taylor coefficients to degree 7 (error below 2 ulp) or 6 (below 4 ulp) on
/// |r| <= ln(2)/2. Inputs are clamped to [-87.3, 88.37], where f32 and 2^n are normal: exp(-inf) gives 1e-38 instead of 0.
const DEGREES: &[(&str, &str, &str)] = &[
    ("exp_poly7", "degree 7", "0.00833333377f + r * (0.00138888892f + r * 0.000198412701f)"),
    ("exp_poly6", "degree 6", "0.00833333377f + r * 0.00138888892f"),
];

/// All calls at once, one offer a degree; and one degree for the other.
pub fn offers(code: &Code) -> Vec<Offer> {
    let calls = |names: &[&str]| {
        let is_one =
            |n: &tree_sitter::Node<'_>| n.child_by_field_name("function").is_some_and(|f| names.contains(&code.of(f)));
        code.all(code.root(), "call_expression").into_iter().filter(is_one).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for (name, degree, rest) in DEGREES {
        let other = DEGREES.iter().map(|d| d.0).find(|other| other != name).unwrap_or_default();
        let sites = calls(&["expf", "exp", other]);
        let Some(first) = sites.first() else { continue };
        let names = sites.iter().filter_map(|n| n.child_by_field_name("function"));
        let patch = names.fold(Patch::default(), |patch, n| patch.and(n.byte_range(), *name));
        let text = with_prelude(&patch.apply(code), &format!("float {name}(float"), &definition(name, rest));
        let text = with_prelude(&text, "#include <string.h>", "#include <string.h>\n");
        found.push(Offer::text(code, code.line(*first), (*degree).to_owned(), text));
    }
    found
}

fn definition(name: &str, rest: &str) -> String {
    format!(
        "static inline float {name}(float x) {{
    x = x < -87.3f ? -87.3f : x;
    x = x > 88.37f ? 88.37f : x;
    const float shifted = x * 1.44269504f + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    const float tail = 0.5f + r * (0.166666672f + r * (0.0416666679f + r * ({rest})));
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    bits = (int32_t)((uint32_t)bits << 23) + 0x3f800000;
    float power;
    memcpy(&power, &bits, 4);
    return power * (1.0f + r * (1.0f + r * tail));
}}
"
    )
}
