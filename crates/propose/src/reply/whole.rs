//! Whole files: in fences, or bare between lines of prose.

use super::fences::Fence;
use super::{Edit, Expected, code};
use crate::ask::Ended;
use crate::fault::Fault;
use std::collections::BTreeMap;

/// Languages of fences that hold no source.
const OTHER: [&str; 16] = [
    "sh",
    "bash",
    "shell",
    "console",
    "text",
    "txt",
    "output",
    "diff",
    "patch",
    "json",
    "yaml",
    "asm",
    "make",
    "makefile",
    "cmake",
    "plaintext",
];

/// The files that a reply gives.
///
/// # Errors
/// When it gives none, or several that could be meant.
pub fn find(lines: &[&str], fences: &[Fence], ended: Ended, expected: &Expected<'_>) -> Result<Vec<Edit>, Fault> {
    let sources: Vec<&Fence> = fences.iter().filter(|fence| !OTHER.contains(&fence.language.as_str())).collect();
    if sources.is_empty() {
        return bare(lines, expected);
    }
    let texts: Vec<(&Fence, String)> = sources.into_iter().map(|fence| (fence, fence.text(lines))).collect();
    let named = named(&texts)?;
    let chosen = if named.is_empty() { vec![unnamed(&texts, expected)?] } else { named };
    chosen.into_iter().map(|(fence, text)| whole(fence, text, ended, expected)).collect()
}

/// Fences that say which file they are, one for each.
fn named<'a>(texts: &'a [(&'a Fence, String)]) -> Result<Vec<(&'a Fence, &'a str)>, Fault> {
    let mut by_file: BTreeMap<&str, Vec<(&Fence, &str)>> = BTreeMap::new();
    for (fence, text) in texts {
        let Some(file) = &fence.file else { continue };
        let versions = by_file.entry(file.as_str()).or_default();
        if !versions.iter().any(|(_, other)| *other == text) {
            versions.push((*fence, text.as_str()));
        }
    }
    if let Some((file, versions)) = by_file.iter().find(|(_, versions)| versions.len() > 1) {
        return Err(Fault::SeveralWholes { file: (*file).to_owned(), count: versions.len() });
    }
    Ok(by_file.into_values().flatten().collect())
}

/// The one fence that defines the function.
fn unnamed<'a>(texts: &'a [(&'a Fence, String)], expected: &Expected<'_>) -> Result<(&'a Fence, &'a str), Fault> {
    let defining = texts.iter().filter(|(_, text)| code::defines(text, expected.entry));
    let mut versions: Vec<(&Fence, &str)> = defining.map(|(fence, text)| (*fence, text.as_str())).collect();
    versions.dedup_by(|a, b| a.1 == b.1);
    match versions[..] {
        [one] => Ok(one),
        [] => match texts.last() {
            // A fence that is cut may be cut before the function.
            Some((fence, _)) if !fence.closed => Err(cut()),
            _ => Err(Fault::NoEntry { entry: expected.entry.to_owned() }),
        },
        _ => Err(Fault::SeveralWholes { file: expected.entry.to_owned(), count: versions.len() }),
    }
}

fn whole(fence: &Fence, text: &str, ended: Ended, expected: &Expected<'_>) -> Result<Edit, Fault> {
    // Some never close their last fence: then the braces say whether it is whole.
    let may_be_whole = matches!(ended, Ended::Complete | Ended::Unsaid) && code::is_balanced(text);
    if !fence.closed && !may_be_whole {
        return Err(cut());
    }
    let held_it = |file: &String| expected.files.get(file).is_some_and(|old| code::defines(old, expected.entry));
    if fence.file.as_ref().is_some_and(held_it) && !code::defines(text, expected.entry) {
        return Err(Fault::NoEntry { entry: expected.entry.to_owned() });
    }
    Ok(Edit::Whole { file: fence.file.clone(), text: text.to_owned() })
}

fn cut() -> Fault {
    Fault::Truncated { within: "a code block".to_owned() }
}

/// Code without a fence: from the first line that looks like C to the last brace.
fn bare(lines: &[&str], expected: &Expected<'_>) -> Result<Vec<Edit>, Fault> {
    let Some(start) = lines.iter().position(|line| code::begins(line)) else { return Err(Fault::NoCode) };
    let text = |end: usize| lines[start..end].iter().flat_map(|line| [*line, "\n"]).collect::<String>();
    let all = text(lines.len());
    if !code::defines(&all, expected.entry) {
        return Err(Fault::NoCode);
    }
    // What follows the last brace may be prose, or a function whose end is missing.
    if !code::is_balanced(&all) {
        return Err(cut());
    }
    let last = lines.iter().rposition(|line| line.starts_with('}') || line.starts_with("#endif"));
    let source = text(last.map_or(lines.len(), |last| last + 1));
    if code::defines(&source, expected.entry) { Ok(vec![Edit::Whole { file: None, text: source }]) } else { Err(cut()) }
}
