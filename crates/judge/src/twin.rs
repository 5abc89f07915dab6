//! Twins of a candidate: the same code with one thing done to it, to see whether the judge notices.

use model::{Language, Source};
use problems::Problem;

/// What is done to the twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// One element of the output is wrong.
    Broken,
    /// The work is done twice.
    Slowed,
    /// The entry traps: whoever still answers did not call it.
    Trapped,
}

/// The twin's source.
pub fn twin(problem: &Problem, source: &Source, kind: Twin) -> Source {
    let text = match source.language {
        Language::C | Language::Cpp => in_c(problem, source, kind),
        Language::Rust => in_rust(problem, source, kind),
        Language::Python => in_python(problem, source, kind),
    };
    Source { text, ..source.clone() }
}

fn in_c(problem: &Problem, source: &Source, kind: Twin) -> String {
    let output = &problem.arguments[problem.output()].name;
    let again = problem.call("rooflab_original");
    let (before, after) = match kind {
        Twin::Broken => (String::new(), format!("{output}[0] = 2 * {output}[0] + 1;")),
        Twin::Slowed => (String::new(), format!("__asm__ volatile(\"\" ::: \"memory\"); {again};")),
        Twin::Trapped => ("__builtin_trap();".to_owned(), String::new()),
    };
    let entry = &problem.entry;
    format!(
        "#define {entry} rooflab_original\n{}\n{}\n#undef {entry}\n{} {{\n    {before}\n    {again};\n    {after}\n}}\n",
        problem.prototype("rooflab_original"),
        source.text,
        problem.prototype(entry).trim_end_matches(';'),
    )
}

/// The candidate's function under another name, and one with its own name around it.
fn in_rust(problem: &Problem, source: &Source, kind: Twin) -> String {
    let output = &problem.arguments[problem.output()].name;
    let again = problem.call("rooflab_original");
    let (before, after) = match kind {
        Twin::Broken => (String::new(), format!("*{output} = *{output} * 2.0 + 1.0;")),
        Twin::Slowed => (String::new(), format!("core::arch::asm!(\"\"); {again};")),
        Twin::Trapped => ("rooflab_trap();".to_owned(), String::new()),
    };
    let (entry, parameters) = (&problem.entry, problem.rust_parameters());
    let text = renamed(&source.text, entry);
    format!("{text}\nunsafe fn {entry}({parameters}) {{ unsafe {{ {before} {again}; {after} }} }}\n")
}

fn in_python(problem: &Problem, source: &Source, kind: Twin) -> String {
    let (entry, output) = (&problem.entry, problem.output());
    let broken = format!("out = a[{output}] if r is None else r\n    out.flat[0] = 2 * out.flat[0] + 1");
    let (before, after) = match kind {
        Twin::Broken => ("pass", broken.as_str()),
        Twin::Slowed => ("pass", "r = rooflab_original(*a)"),
        Twin::Trapped => ("raise SystemError('trapped')", "pass"),
    };
    format!(
        "{}\nrooflab_original = {entry}\ndef {entry}(*a):\n    {before}\n    r = rooflab_original(*a)\n    {after}\n    \
         return r\n",
        source.text
    )
}

/// The text with the identifier `name` replaced.
fn renamed(text: &str, name: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        renamed.push_str(before);
        renamed.push_str(if is_whole { "rooflab_original" } else { name });
        rest = after;
    }
    renamed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_identifiers_are_renamed() {
        let check = |text: &str, expected: &str| assert_eq!(renamed(text, "norm"), expected);
        check("fn norm() { norm_row(); }", "fn rooflab_original() { norm_row(); }");
        check("renorm(norm)", "renorm(rooflab_original)");
        check("", "");
    }
}
