//! Twins of a candidate: the same code with one thing done to it, to see whether the judge notices.

use model::Source;
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
    let output = &problem.arguments[problem.output()].name;
    let again = problem.call("rooflab_original");
    let (before, after) = match kind {
        Twin::Broken => (String::new(), format!("{output}[0] = 2 * {output}[0] + 1;")),
        Twin::Slowed => (String::new(), format!("__asm__ volatile(\"\" ::: \"memory\"); {again};")),
        Twin::Trapped => ("__builtin_trap();".to_owned(), String::new()),
    };
    let entry = &problem.entry;
    let text = format!(
        "#define {entry} rooflab_original\n{}\n{}\n#undef {entry}\n{} {{\n    {before}\n    {again};\n    {after}\n}}\n",
        problem.prototype("rooflab_original"),
        source.text,
        problem.prototype(entry).trim_end_matches(';'),
    );
    Source { text, ..source.clone() }
}
