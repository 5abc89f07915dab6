//! Unified diffs, as people and models write them: line counts are not believed, line numbers hardly.

use super::Edit;
use super::fences::{self, Fence};
use crate::fault::Fault;

/// Every hunk, in order; none when the reply has none.
///
/// # Errors
/// When a hunk says nothing, or a file would be deleted.
pub fn find(lines: &[&str], fences: &[Fence]) -> Result<Vec<Edit>, Fault> {
    let mut reader = Reader { lines, fences, file: None, edits: Vec::new() };
    let mut i = 0;
    while i < lines.len() {
        i = reader.step(i)?;
    }
    Ok(reader.edits)
}

struct Reader<'a> {
    lines: &'a [&'a str],
    fences: &'a [Fence],
    file: Option<String>,
    edits: Vec<Edit>,
}

/// The two sides of a hunk.
#[derive(Default)]
struct Hunk<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// Empty lines at its end, which may as well lie behind it.
    blanks: usize,
    changes: bool,
}

impl Reader<'_> {
    /// Reads what begins at line `i`; gives the line after it.
    fn step(&mut self, i: usize) -> Result<usize, Fault> {
        let line = self.lines[i];
        if self.is_header(i) {
            let target = path(&self.lines[i + 1][4..]);
            if target.is_none() && self.lines[i + 1].contains("/dev/null") {
                return Err(malformed(i + 1, "a file can't be deleted"));
            }
            self.file = target.or_else(|| path(&line[4..]));
            return Ok(i + 2);
        }
        if let Some(named) = line.trim().strip_prefix("*** Update File:") {
            self.file = path(named);
            let bare = i + 1 < self.lines.len() && !self.lines[i + 1].starts_with("@@");
            return if bare { self.hunk(i) } else { Ok(i + 1) };
        }
        if line.starts_with("@@") { self.hunk(i) } else { Ok(i + 1) }
    }

    fn hunk(&mut self, at: usize) -> Result<usize, Fault> {
        let mut hunk = Hunk::default();
        let mut i = at + 1;
        while i < self.lines.len() && !self.ends(i) && hunk.take(self.lines[i], self.is_fenced(i)) {
            i += 1;
        }
        hunk.old.truncate(hunk.old.len() - hunk.blanks);
        hunk.new.truncate(hunk.new.len() - hunk.blanks);
        if !hunk.changes {
            return Err(malformed(at, "the hunk has neither + nor - lines"));
        }
        let fence = self.fences.iter().find(|fence| fence.inside.contains(&at));
        let file = self.file.clone().or_else(|| fence.and_then(|fence| fence.file.clone()));
        self.edits.push(Edit::Replace {
            file,
            search: hunk.old.join("\n"),
            replace: hunk.new.join("\n"),
            line: first_line(self.lines[at]),
        });
        Ok(i)
    }

    fn is_header(&self, i: usize) -> bool {
        let next = self.lines.get(i + 1).copied().unwrap_or_default();
        self.lines[i].starts_with("--- ") && next.starts_with("+++ ")
    }

    fn is_fenced(&self, i: usize) -> bool {
        self.fences.iter().any(|fence| fence.inside.contains(&i))
    }

    fn ends(&self, i: usize) -> bool {
        let line = self.lines[i];
        let is_mark = ["@@", "diff --git ", "*** ", "```", "~~~"].iter().any(|mark| line.starts_with(mark));
        is_mark || self.is_header(i)
    }
}

impl<'a> Hunk<'a> {
    /// Takes a line; false when it is none of a hunk's.
    fn take(&mut self, line: &'a str, fenced: bool) -> bool {
        let blanks = self.blanks;
        self.blanks = 0;
        match line.as_bytes().first() {
            Some(b'+') => self.new.push(&line[1..]),
            Some(b'-') => self.old.push(&line[1..]),
            Some(b' ') => self.both(&line[1..]),
            // "\ No newline at end of file"
            Some(b'\\') => self.blanks = blanks,
            None => {
                self.both("");
                self.blanks = blanks + 1;
            }
            // A context line without its space; outside of a fence it is prose.
            Some(_) if fenced => self.both(line),
            Some(_) => {
                self.blanks = blanks;
                return false;
            }
        }
        self.changes |= line.starts_with(['+', '-']);
        true
    }

    fn both(&mut self, line: &'a str) {
        self.old.push(line);
        self.new.push(line);
    }
}

fn malformed(line: usize, what: &str) -> Fault {
    Fault::Malformed { line: line + 1, what: what.to_owned() }
}

/// A header's path without `a/`, `b/` and what follows a tab; none for /dev/null.
fn path(text: &str) -> Option<String> {
    let path = text.split('\t').next().unwrap_or_default().trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    fences::heading(path)
}

/// The old side's first line, from 1.
fn first_line(header: &str) -> Option<usize> {
    let digits = header.split_once('-')?.1;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
