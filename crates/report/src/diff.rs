//! Differences: made from two texts, and read for colouring.

use similar::TextDiff;

/// The unified diff from `old` to `new`, three lines of context; empty when they are equal.
pub fn unified_diff(old: &str, new: &str, names: [&str; 2]) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(names[0], names[1]).to_string()
}

/// A diff ready for a page.
pub(crate) struct Diff {
    /// Lines with the class of each.
    pub lines: Vec<(&'static str, String)>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

impl Diff {
    /// Reads a unified diff.
    pub fn read(text: &str) -> Self {
        let lines: Vec<_> = text.lines().map(|line| (class(line), line.to_owned())).collect();
        let count = |class| lines.iter().filter(|(of, _)| *of == class).count();
        Self { added: count("add"), removed: count("del"), lines }
    }

    /// Whether it is short enough to be shown unasked. 40 lines are about one screen.
    pub fn is_short(&self) -> bool {
        self.lines.len() <= 40
    }
}

fn class(line: &str) -> &'static str {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => "file",
        [b'@', b'@', ..] => "hunk",
        [b'+', ..] => "add",
        [b'-', ..] => "del",
        _ => "same",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_counted() {
        let text = unified_diff("a\nb\nc\n", "a\nB\nc\nd\n", ["naive.c", "winner.c"]);
        let diff = Diff::read(&text);
        assert_eq!((diff.added, diff.removed, diff.is_short()), (2, 1, true));
        assert_eq!(diff.lines[0], ("file", "--- naive.c".to_owned()));
        assert_eq!(unified_diff("a\n", "a\n", ["x", "y"]), "");
    }
}
