//! Writes changed C text: replaces ranges, renames identifiers, keeps the layout. Decides nothing.

use super::syntax::{Code, children};
use std::fmt::Write as _;
use std::ops::Range;
use tree_sitter::Node;

/// Vectors of 16 floats, as gcc and clang split them for the machine at hand.
pub const LANES_MARK: &str = "typedef float lanes ";
/// Declares `lanes` (aligned) and `lanes_any` (any address).
pub const LANES: &str = "typedef float lanes __attribute__((vector_size(64)));\n\
     typedef float lanes_any __attribute__((vector_size(64), aligned(4), may_alias));\n";

/// Text changes to one source.
#[derive(Default)]
pub struct Patch(Vec<(Range<usize>, String)>);

impl Patch {
    /// One replacement.
    pub fn replace(range: Range<usize>, with: impl Into<String>) -> Self {
        Self(vec![(range, with.into())])
    }

    /// Another replacement; ranges must not overlap.
    #[must_use]
    pub fn and(mut self, range: Range<usize>, with: impl Into<String>) -> Self {
        self.0.push((range, with.into()));
        self
    }

    /// The changed text, laid out again.
    pub fn apply(mut self, code: &Code) -> String {
        self.0.sort_by_key(|(range, _)| range.start);
        let mut out = String::new();
        let mut at = 0;
        for (range, with) in &self.0 {
            out.push_str(&code.text[at..range.start]);
            out.push_str(with);
            at = range.end;
        }
        out.push_str(&code.text[at..]);
        reindent(&out)
    }
}

/// The text of a node, with the parts replaced for which `change` has an answer.
pub fn render(code: &Code, node: Node<'_>, change: &dyn Fn(Node<'_>) -> Option<String>) -> String {
    if let Some(text) = change(node) {
        return text;
    }
    let mut out = String::new();
    let mut at = node.start_byte();
    for child in children(node) {
        out.push_str(&code.text[at..child.start_byte()]);
        out.push_str(&render(code, child, change));
        at = child.end_byte();
    }
    out.push_str(&code.text[at..node.end_byte()]);
    out
}

/// The text of a node with identifiers replaced.
pub fn rename(code: &Code, node: Node<'_>, names: &[(&str, &str)]) -> String {
    render(code, node, &|n| {
        (n.kind() == "identifier").then_some(())?;
        let (_, to) = names.iter().find(|(from, _)| *from == code.of(n))?;
        Some((*to).to_owned())
    })
}

/// The text of a list of statements, one a line.
pub fn lines(code: &Code, nodes: &[Node<'_>]) -> String {
    nodes.iter().fold(String::new(), |mut out, node| {
        let _ = writeln!(out, "{}", &code.text[code.span(*node)]);
        out
    })
}

/// Puts `snippet` after the includes unless `mark` is there already.
pub fn with_prelude(text: &str, mark: &str, snippet: &str) -> String {
    if text.contains(mark) {
        return text.to_owned();
    }
    let mut at = 0;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let known = ["#include", "typedef float lanes"];
        if known.iter().any(|start| line.trim_start().starts_with(start)) {
            at = offset;
        }
    }
    format!("{}{snippet}{}", &text[..at], &text[at..])
}

/// Indents by braces, four spaces each; leaves lines inside parentheses and comments alone.
pub fn reindent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut parens, mut hanging) = (0_i32, 0_i32, 0_i32);
    for line in text.lines() {
        let trimmed = line.trim();
        let directive = trimmed.starts_with('#') && !trimmed.starts_with("#pragma");
        if parens > 0 || trimmed.starts_with("* ") || trimmed == "*/" || trimmed.is_empty() {
            out.push_str(line.trim_end());
        } else {
            let closing = trimmed.chars().take_while(|c| *c == '}').count() as i32;
            let level = if directive { 0 } else { (depth - closing + hanging).max(0) };
            out.extend(std::iter::repeat_n("    ", level as usize));
            out.push_str(trimmed);
        }
        out.push('\n');
        let code = trimmed.split("//").next().unwrap_or_default();
        for c in code.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                '(' => parens += 1,
                ')' => parens -= 1,
                _ => {}
            }
        }
        let opens = ["for (", "if (", "else", "while ("].iter().any(|word| code.starts_with(word));
        let goes_on = parens == 0 && opens && !code.trim_end().ends_with(['{', ';', '}']);
        if goes_on {
            hanging += 1;
        } else if !trimmed.starts_with('#') && !trimmed.is_empty() {
            hanging = 0;
        }
    }
    out
}

/// The leaves of the tree without comments and layout, with the flags: equal for sources that differ in neither.
pub fn normalised(code: &Code) -> String {
    let mut out = String::new();
    for node in code.descend(code.root()) {
        let in_comment = node.kind() == "comment";
        if (node.child_count() == 0 || node.kind() == "preproc_call") && !in_comment {
            out.push_str(code.of(node).trim());
            out.push(' ');
        }
    }
    let mut flags = code.flags.clone();
    flags.sort();
    out.push_str(&flags.join(" "));
    out
}
