//! Search/replace blocks: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.

use super::Edit;
use super::fences::{self, Fence};
use crate::fault::Fault;

/// Marks in a row: seven in the books, miscounted by a few in replies.
const MARKS: std::ops::RangeInclusive<usize> = 5..=9;
/// Words that may follow the opening marks.
const OPENING: [&str; 5] = ["SEARCH", "ORIGINAL", "OLD", "HEAD", "BEFORE"];
/// Words that may follow the closing marks.
const CLOSING: [&str; 5] = ["REPLACE", "UPDATED", "NEW", "AFTER", "END"];

/// Every block, in order; none when there are none.
///
/// # Errors
/// When one is cut or not well formed.
pub fn find(lines: &[&str], fences: &[Fence]) -> Result<Vec<Edit>, Fault> {
    let mut edits = Vec::new();
    let mut i = 0;
    while i < lines.len() {
        let Some(rest) = opening(lines[i]) else {
            i += 1;
            continue;
        };
        let malformed = |line: usize, what: &str| Fault::Malformed { line: line + 1, what: what.to_owned() };
        let divider = until(lines, i + 1, is_divider).map_err(|cut| {
            let close = (i + 1..lines.len()).find(|at| is_closing(lines[*at]));
            close.map_or(cut, |close| malformed(close, "the block has no ======= line"))
        })?;
        if let Some(close) = (i + 1..divider).find(|at| is_closing(lines[*at])) {
            return Err(malformed(close, "the block has no ======= line"));
        }
        let end = until(lines, divider + 1, is_closing)?;
        if let Some(again) = (divider + 1..end).find(|at| is_divider(lines[*at]) || opening(lines[*at]).is_some()) {
            return Err(malformed(again, "the block before is not closed by >>>>>>> REPLACE"));
        }
        edits.push(Edit::Replace {
            file: fences::heading(rest).or_else(|| file(lines, fences, i)),
            search: joined(&lines[i + 1..divider]),
            replace: joined(&lines[divider + 1..end]),
            line: None,
        });
        i = end + 1;
    }
    Ok(edits)
}

fn until(lines: &[&str], from: usize, ends: fn(&str) -> bool) -> Result<usize, Fault> {
    let truncated = || Fault::Truncated { within: "a search/replace block".to_owned() };
    (from..lines.len()).find(|at| ends(lines[*at])).ok_or_else(truncated)
}

fn joined(lines: &[&str]) -> String {
    lines.join("\n")
}

/// The file that a block is about: its fence's, or that of the line before it.
fn file(lines: &[&str], fences: &[Fence], at: usize) -> Option<String> {
    let fence = fences.iter().find(|fence| fence.inside.contains(&at));
    let own = fences::before(lines, at);
    own.or_else(|| fence.and_then(|fence| fence.file.clone()))
}

/// What follows so many marks.
fn after_marks(line: &str, mark: char) -> Option<&str> {
    let line = line.trim();
    let rest = line.trim_start_matches(mark);
    MARKS.contains(&(line.len() - rest.len())).then(|| rest.trim())
}

/// What follows the word of an opening line, if it is one.
fn opening(line: &str) -> Option<&str> {
    let rest = after_marks(line, '<')?;
    let (word, more) = rest.split_once([' ', ':']).unwrap_or((rest, ""));
    OPENING.contains(&word.to_uppercase().as_str()).then_some(more)
}

fn is_divider(line: &str) -> bool {
    after_marks(line, '=').is_some_and(str::is_empty)
}

fn is_closing(line: &str) -> bool {
    let word = |rest: &str| rest.split([' ', ':']).next().unwrap_or_default().to_uppercase();
    after_marks(line, '>').is_some_and(|rest| rest.is_empty() || CLOSING.contains(&word(rest).as_str()))
}
