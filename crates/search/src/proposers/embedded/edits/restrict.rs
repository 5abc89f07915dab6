//! `restrict` on pointer parameters, `hot` and `always_inline` on functions: promises about the code's surroundings.

use super::Offer;
use crate::proposers::embedded::rewrite::Patch;
use crate::proposers::embedded::syntax::Code;

/// One offer for each function's pointers, one for each attribute that is not there.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for function in code.all(code.root(), "function_definition") {
        let line = code.line(function);
        let mut patch = Patch::default();
        let mut missing = 0;
        for (parameter, name, _) in code.pointers(function) {
            let names = code.all(parameter, "identifier");
            let Some(node) = names.last().filter(|_| !code.of(parameter).contains("restrict")) else { continue };
            patch = patch.and(node.byte_range(), format!("restrict {name}"));
            missing += 1;
        }
        if missing > 0 {
            found.push(Offer::text(code, line, "pointers".to_owned(), patch.apply(code)));
        }
        let text = code.of(function);
        let inline = text.starts_with("static inline");
        let attribute = if inline { "always_inline" } else { "hot" };
        if !text.contains(attribute) {
            let at = function.start_byte();
            let patch = Patch::replace(at..at, format!("__attribute__(({attribute})) "));
            found.push(Offer::text(code, line, attribute.to_owned(), patch.apply(code)));
        }
    }
    found
}
