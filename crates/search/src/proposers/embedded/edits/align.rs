//! Says that pointer parameters are 64-byte aligned, as the candidate's interface promises.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::Code;

/// One offer for each function with pointer parameters that doesn't say so yet.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for function in code.all(code.root(), "function_definition") {
        let pointers = code.pointers(function);
        let Some(body) = function.child_by_field_name("body") else { continue };
        if pointers.is_empty() || code.of(body).contains("__builtin_assume_aligned") {
            continue;
        }
        let said: String = pointers.iter().fold(String::new(), |said, (_, name, _)| {
            said + &format!("\n{name} = __builtin_assume_aligned({name}, 64);")
        });
        let at = body.start_byte() + 1;
        let text = Patch::replace(at..at, said).apply(code);
        let what = "parameters to 64".to_owned();
        found.push(Offer::text(code, code.line(function), what, text));
    }
    found
}
