//! Fenced blocks of Markdown, and names of files near them.

use std::ops::Range;

/// Endings of names that are taken for files.
const ENDINGS: [&str; 14] =
    ["c", "h", "cc", "cpp", "cxx", "hpp", "cu", "cuh", "metal", "wgsl", "rs", "py", "toml", "ll"];

/// A fenced block.
#[derive(Clone, Debug, PartialEq)]
pub struct Fence {
    /// Its language, lower case, or nothing.
    pub language: String,
    /// The file that it is, where its opening line or the line before it says so.
    pub file: Option<String>,
    /// The line that opens it.
    pub opening: usize,
    /// The lines inside.
    pub inside: Range<usize>,
    /// Whether it is closed.
    pub closed: bool,
}

impl Fence {
    /// What is inside, without the fence's own indentation.
    pub fn text(&self, lines: &[&str]) -> String {
        let opening = lines[self.opening];
        let indent = &opening[..opening.len() - opening.trim_start().len()];
        let inside = lines[self.inside.clone()].iter();
        inside.flat_map(|line| [line.strip_prefix(indent).unwrap_or(line), "\n"]).collect()
    }
}

/// All fences, in order.
pub fn find(lines: &[&str]) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut i = 0;
    while i < lines.len() {
        let Some((mark, length, info)) = opening(lines[i]) else {
            i += 1;
            continue;
        };
        let (language, named) = words(info);
        // A fence around the whole reply: what counts is inside.
        if ["markdown", "md"].contains(&language.as_str()) {
            i += 1;
            continue;
        }
        let closes =
            |line: &&str| opening(line).is_some_and(|(m, n, rest)| m == mark && n >= length && rest.is_empty());
        let end = (i + 1..lines.len()).find(|at| closes(&lines[*at]));
        let inside = i + 1..end.unwrap_or(lines.len());
        let file = named.or_else(|| before(lines, i));
        i = inside.end + 1;
        fences.push(Fence { language, file, opening: inside.start - 1, closed: end.is_some(), inside });
    }
    fences
}

/// The mark, how many of it, and what follows.
fn opening(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| "`~".contains(*c))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3 && !rest.contains('`')).then(|| (mark, length, rest.trim()))
}

/// Language and file of an opening line: `c`, `c:x.c`, `c title="x.c"`, `c x.c`, `x.c`.
fn words(info: &str) -> (String, Option<String>) {
    let parts: Vec<&str> = info.split([' ', ':', '=', ',', '{', '}']).filter(|part| !part.is_empty()).collect();
    let file = parts.iter().find_map(|part| name(part));
    let language = parts.first().filter(|part| name(part).is_none()).map(|part| part.trim_start_matches('.'));
    (language.unwrap_or_default().to_lowercase(), file)
}

/// The file that the nearest line with text before line `at` names.
pub fn before(lines: &[&str], at: usize) -> Option<String> {
    let line = lines[..at].iter().rev().find(|line| !line.trim().is_empty())?;
    heading(line)
}

/// The file that a line names when it says nothing else: `x.c`, `**x.c**`, `### File: x.c`, `// x.c`.
pub fn heading(line: &str) -> Option<String> {
    let bare = line.trim().trim_start_matches(['#', '/', '*', '`', ' ', '-']);
    let lower = bare.to_ascii_lowercase();
    let labels = ["filename:", "file:", "path:", "file", "in"];
    let label = labels.iter().find(|label| lower.starts_with(**label) && lower[label.len()..].starts_with([' ', '`']));
    name(bare[label.map_or(0, |label| label.len())..].trim())
}

/// A word as a file's name.
fn name(word: &str) -> Option<String> {
    let word = word.trim().trim_matches(['`', '*', '"', '\'', ':', ',', ' ', '<', '>', '(', ')']);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+".contains(c));
    let (stem, ending) = word.rsplit_once('.')?;
    let is_name = plain && !stem.is_empty() && ENDINGS.contains(&ending);
    is_name.then(|| word.trim_start_matches("./").to_owned())
}
