//! Compiler flags that a candidate may ask for: the one list that proposers draw from and the judge enforces.

/// Each flag exactly, or by `prefix*`. None changes what a correct program means beyond the order and the special cases
/// of float arithmetic, which the judge's tolerance covers; none reads or writes a file, or loads anything.
const ALLOWED: [&str; 34] = [
    "-O1",
    "-O2",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-ffp-contract=fast",
    "-ffp-contract=off",
    "-funroll-loops",
    "-funroll-all-loops",
    "-fopenmp-simd",
    "-mprefer-vector-width=*",
    "-fno-tree-vectorize",
    "-ftree-vectorize",
    "-ftree-slp-vectorize",
    "-fno-tree-slp-vectorize",
    "-fpeel-loops",
    "-fvect-cost-model=*",
    "-fsimd-cost-model=*",
    "-fno-semantic-interposition",
    "-fomit-frame-pointer",
    "-falign-loops=*",
    "-falign-functions=*",
    "-fprefetch-loop-arrays",
    "-fno-prefetch-loop-arrays",
    "-fipa-pta",
    "-fgcse-las",
    "-fgcse-sm",
    "-fsplit-loops",
    "-ftree-loop-distribution",
    "-fno-ivopts",
];

/// Whether a candidate may ask for `flag`.
pub fn is_allowed_flag(flag: &str) -> bool {
    let is_word =
        |rest: &str| !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    ALLOWED.iter().any(|rule| match rule.strip_suffix('*') {
        Some(prefix) => flag.strip_prefix(prefix).is_some_and(is_word),
        None => flag == *rule,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags() {
        let check = |flag: &str, allowed: bool| assert_eq!(is_allowed_flag(flag), allowed, "{flag}");
        for flag in ["-funroll-loops", "-mprefer-vector-width=512", "-falign-loops=32"] {
            check(flag, true);
        }
        for flag in [
            "-fplugin=x.so",
            "-Ofast",
            "-o",
            "/etc/passwd",
            "-falign-loops=",
            "-mprefer-vector-width=1 -x",
            "-falign-loops=1,/etc/passwd",
            "-funroll-loops=",
            "@f",
            "",
        ] {
            check(flag, false);
        }
    }
}
