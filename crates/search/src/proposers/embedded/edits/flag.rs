//! Compiler flags: one is added or taken away. All are on the allow-list that the judge enforces.

use super::Offer;
use crate::proposers::embedded::syntax::Code;

/// What is offered, of what a candidate may ask for (`model::is_allowed_flag`). Those that more often pay come first.
pub const OFFERED_FLAGS: &[&str] = &[
    "-fassociative-math",
    "-mprefer-vector-width=512",
    "-funroll-loops",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-freciprocal-math",
    "-fno-ivopts",
    "-O2",
    "-O3",
    "-falign-functions=64",
    "-falign-loops=32",
    "-falign-loops=64",
    "-ffinite-math-only",
    "-ffp-contract=fast",
    "-fgcse-las",
    "-fgcse-sm",
    "-fipa-pta",
    "-fno-semantic-interposition",
    "-fno-signed-zeros",
    "-fno-tree-vectorize",
    "-fomit-frame-pointer",
    "-fopenmp-simd",
    "-fpeel-loops",
    "-fprefetch-loop-arrays",
    "-fsplit-loops",
    "-ftree-loop-distribution",
    "-ftree-slp-vectorize",
    "-fvect-cost-model=dynamic",
    "-fvect-cost-model=unlimited",
    "-mprefer-vector-width=256",
];

/// Each flag that is missing, each that is there.
pub fn offers(code: &Code) -> Vec<Offer> {
    let mut found = Vec::new();
    for flag in OFFERED_FLAGS {
        let (what, flags) = if let Some(at) = code.flags.iter().position(|f| f == flag) {
            let mut flags = code.flags.clone();
            flags.remove(at);
            (format!("{flag} off"), flags)
        } else {
            ((*flag).to_owned(), with(&code.flags, flag))
        };
        found.push(Offer { what, line: 0, text: code.text.clone(), flags });
    }
    found
}

/// Adds a flag, in place of one that sets the same option otherwise.
fn with(flags: &[String], flag: &str) -> Vec<String> {
    let option = |f: &str| f.split('=').next().unwrap_or_default().replace("-fno-", "-f");
    let same = |f: &String| {
        let levels = f.starts_with("-O") && flag.starts_with("-O");
        levels || option(f) == option(flag)
    };
    let mut flags: Vec<String> = flags.iter().filter(|f| !same(f)).cloned().collect();
    // gcc ignores -fassociative-math unless both of these hold.
    let needs: &[&str] = if flag == "-fassociative-math" { &["-fno-signed-zeros", "-fno-trapping-math"] } else { &[] };
    for wanted in needs.iter().chain([&flag]) {
        if !flags.iter().any(|f| f == wanted) {
            flags.push((*wanted).to_owned());
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judge_allows_what_is_offered() {
        let refused: Vec<_> = OFFERED_FLAGS.iter().filter(|flag| !model::is_allowed_flag(flag)).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
}
