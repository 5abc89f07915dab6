//! The one place in a text that an edit means.

use super::Level;
use crate::fault::Fault;
use similar::TextDiff;
use std::ops::Range;

/// Lines that a search needs before its first and last can be anchors.
const FEWEST_ANCHORED: usize = 3;
/// Share of its lines that an anchored place has to have in common with the search. Below three in four the writer
/// thought of other code.
const ALIKE: f32 = 0.75;
/// Lines of a search that a fault shows.
const SHOWN: usize = 8;

/// Every place of a search in a text.
type Finder = fn(&str, &str) -> Vec<Range<usize>>;

/// Where an edit goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is replaced.
    pub bytes: Range<usize>,
    /// How closely it was matched.
    pub level: Level,
}

/// Finds the place of `search`; `line` decides among places that are equally good.
///
/// # Errors
/// [`Fault::EmptySearch`], [`Fault::NotFound`], [`Fault::Ambiguous`].
pub fn locate(file: &str, text: &str, search: &str, line: Option<usize>) -> Result<Place, Fault> {
    let search = search.trim_matches('\n');
    if search.trim().is_empty() {
        return Err(Fault::EmptySearch);
    }
    let levels: [(Level, Finder); 4] = [
        (Level::Exact, whole_lines),
        (Level::Whitespace, tolerant),
        (Level::Exact, anywhere),
        (Level::Anchored, anchored),
    ];
    for (level, find) in levels {
        let places = find(text, search);
        let begins = |bytes: &Range<usize>| line_of(text, bytes.start);
        let chosen = match &places[..] {
            [] => continue,
            [only] => Some(only),
            several => several.iter().find(|bytes| Some(begins(bytes)) == line),
        };
        return chosen.map(|bytes| Place { bytes: bytes.clone(), level }).ok_or_else(|| Fault::Ambiguous {
            file: file.to_owned(),
            search: shown(search),
            lines: places.iter().map(begins).collect(),
        });
    }
    Err(Fault::NotFound { file: file.to_owned(), search: shown(search), nearest: nearest(text, search) })
}

/// The replacement as it fits the place: moved to its indentation, and without an empty line where lines are deleted.
pub fn fitted(text: &str, place: &Place, search: &str, replace: &str) -> String {
    let replace = replace.trim_end_matches('\n');
    let starts_line = place.bytes.start == 0 || text[..place.bytes.start].ends_with('\n');
    let moved = match place.level {
        Level::Exact | Level::Whole => (if starts_line { replace } else { replace.trim() }).to_owned(),
        Level::Whitespace | Level::Anchored => {
            let there = indent(&text[text[..place.bytes.start].rfind('\n').map_or(0, |at| at + 1)..]);
            reindented(replace, indent(search.trim_start_matches('\n')), there)
        }
    };
    let ends_line = text[place.bytes.clone()].ends_with('\n');
    if ends_line && !moved.is_empty() { moved + "\n" } else { moved }
}

/// Line of a byte, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The first lines of a search, for a fault.
pub fn shown(search: &str) -> String {
    let lines: Vec<&str> = search.trim_matches('\n').lines().collect();
    let more = if lines.len() > SHOWN { "\n[and so on]" } else { "" };
    lines[..lines.len().min(SHOWN)].join("\n") + more
}

fn indent(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

/// Takes one indentation off each line that has it, and puts another in its place.
fn reindented(text: &str, from: &str, to: &str) -> String {
    let moved = |line: &str| line.strip_prefix(from).map_or_else(|| line.to_owned(), |rest| format!("{to}{rest}"));
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { String::new() } else { moved(line) }).collect();
    lines.join("\n")
}

/// Whole lines, byte by byte; the range includes the line's end.
fn whole_lines(text: &str, search: &str) -> Vec<Range<usize>> {
    let is_whole = |bytes: &Range<usize>| {
        let (before, after) = (&text[..bytes.start], &text[bytes.end..]);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
    };
    let with_end = |bytes: Range<usize>| bytes.start..(bytes.end + 1).min(text.len());
    occurrences(text, search).into_iter().filter(is_whole).map(with_end).collect()
}

/// Parts of lines, byte by byte.
fn anywhere(text: &str, search: &str) -> Vec<Range<usize>> {
    occurrences(text, search.trim())
}

/// Every occurrence, overlapping ones too.
fn occurrences(text: &str, search: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(search).map(|at| from + at) {
        found.push(at..at + search.len());
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// A line that isn't empty: where it is, and its words.
struct Words {
    bytes: Range<usize>,
    words: String,
}

fn words(text: &str) -> Vec<Words> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            found.push(Words { bytes: at..at + line.len(), words });
        }
        at += line.len();
    }
    found
}

/// The same lines but for white space within them and empty lines between.
fn tolerant(text: &str, search: &str) -> Vec<Range<usize>> {
    let (lines, wanted) = (words(text), words(search));
    let equal = |window: &&[Words]| window.iter().zip(&wanted).all(|(a, b)| a.words == b.words);
    lines.windows(wanted.len()).filter(equal).map(span).collect()
}

fn span(window: &[Words]) -> Range<usize> {
    window[0].bytes.start..window[window.len() - 1].bytes.end
}

/// The same first and last line, about as many lines, and most of them the same.
fn anchored(text: &str, search: &str) -> Vec<Range<usize>> {
    let (lines, wanted) = (words(text), words(search));
    if wanted.len() < FEWEST_ANCHORED {
        return Vec::new();
    }
    let (first, last) = (&wanted[0].words, &wanted[wanted.len() - 1].words);
    let slack = wanted.len().div_ceil(4);
    let mut found = Vec::new();
    for start in (0..lines.len()).filter(|start| lines[*start].words == *first) {
        let sizes = (wanted.len() - slack).max(2)..=wanted.len() + slack;
        let windows = sizes.filter_map(|size| lines.get(start..start + size));
        let ending = windows.filter(|window| window[window.len() - 1].words == *last);
        let alike = ending.map(|window| (likeness(window, &wanted), window)).filter(|(alike, _)| *alike >= ALIKE);
        // From one start the best end is meant; two starts would be two places.
        if let Some((_, window)) = alike.max_by(|a, b| a.0.total_cmp(&b.0)) {
            found.push(span(window));
        }
    }
    found
}

fn likeness(window: &[Words], wanted: &[Words]) -> f32 {
    TextDiff::from_slices(&texts(window), &texts(wanted)).ratio()
}

fn texts(lines: &[Words]) -> Vec<&str> {
    lines.iter().map(|line| line.words.as_str()).collect()
}

/// The lines with most in common with the search; nothing where nothing has.
fn nearest(text: &str, search: &str) -> String {
    let (lines, wanted) = (words(text), words(search));
    let common = |start: usize| lines[start..].iter().zip(&wanted).filter(|(a, b)| a.words == b.words).count();
    let best = (0..lines.len()).max_by_key(|start| (common(*start), std::cmp::Reverse(*start)));
    let Some(start) = best.filter(|start| common(*start) > 0) else { return String::new() };
    let end = (start + wanted.len()).min(lines.len());
    shown(&text[span(&lines[start..end])])
}
