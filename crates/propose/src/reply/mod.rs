//! Reading replies: search/replace blocks, unified diffs, whole files, one file or several, with prose around them.
//!
//! Must not look for where an edit applies: `patch` does. Every reply gives an answer or a fault that can be sent back.

mod blocks;
mod code;
mod diff;
mod fences;
mod text;
mod whole;

use crate::ask::{Ended, Reply};
use crate::fault::Fault;
use crate::patch::Files;
use serde::{Deserialize, Serialize};

/// Longest note kept of a reply, in characters.
const LONGEST_NOTE: usize = 160;

/// What a reply is about.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The candidate's files as they are.
    pub files: &'a Files,
    /// The function that the candidate has to define.
    pub entry: &'a str,
}

/// One thing that a reply asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Lines in place of others.
    Replace {
        /// The file, where the reply names one.
        file: Option<String>,
        /// What is there.
        search: String,
        /// What shall be there.
        replace: String,
        /// The line on which it begins, from 1, where the reply says so: believed only among equals.
        line: Option<usize>,
    },
    /// A file's whole text.
    Whole {
        /// The file, where the reply names one.
        file: Option<String>,
        /// Its text.
        text: String,
    },
}

/// How a reply gives its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Search/replace blocks.
    Blocks,
    /// A unified diff.
    Diff,
    /// Whole files.
    Whole,
}

/// A reply that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it asks for, in its order.
    pub edits: Vec<Edit>,
    /// How it says so.
    pub form: Form,
    /// What it says that it does: its `IDEA:` line, else its first line of prose.
    pub note: String,
}

/// Reads a reply.
///
/// # Errors
/// [`Fault`]: what is wrong with it, in words for whoever wrote it.
pub fn parse(reply: &Reply, expected: &Expected<'_>) -> Result<Answer, Fault> {
    if reply.ended == Ended::Withheld {
        return Err(Fault::Withheld);
    }
    let text = text::read(&reply.text.0)?;
    let lines: Vec<&str> = text.lines().collect();
    let (edits, form) = edits(&lines, reply.ended, expected)?;
    for edit in &edits {
        sound(edit, expected)?;
    }
    Ok(Answer { edits, form, note: note(&lines) })
}

fn edits(lines: &[&str], ended: Ended, expected: &Expected<'_>) -> Result<(Vec<Edit>, Form), Fault> {
    let fences = fences::find(lines);
    let mut found = blocks::find(lines, &fences)?;
    let mut form = Form::Blocks;
    if found.is_empty() {
        found = diff::find(lines, &fences)?;
        form = Form::Diff;
    }
    if found.is_empty() {
        return Ok((whole::find(lines, &fences, ended, expected)?, Form::Whole));
    }
    // Half of the edits may not even build; a whole file shows whether it is whole.
    if matches!(ended, Ended::Length | Ended::Cut) {
        return Err(Fault::Truncated { within: "the list of edits".to_owned() });
    }
    Ok((found, form))
}

/// Refuses text that stands for other text.
fn sound(edit: &Edit, expected: &Expected<'_>) -> Result<(), Fault> {
    let (Edit::Replace { replace: new, .. } | Edit::Whole { text: new, .. }) = edit;
    // Replaced by us, or by the service before it was sent.
    let held_it = || expected.files.values().any(|text| text.contains(char::REPLACEMENT_CHARACTER));
    if new.contains(char::REPLACEMENT_CHARACTER) && !held_it() {
        return Err(Fault::NotText);
    }
    let known = |line: &str| expected.files.values().any(|text| text.lines().any(|old| old.trim() == line));
    match new.lines().map(str::trim).find(|line| code::is_elision(line) && !known(line)) {
        Some(line) => Err(Fault::Elided { text: line.to_owned() }),
        None => Ok(()),
    }
}

fn note(lines: &[&str]) -> String {
    let said = |line: &str| line.trim().trim_matches(['*', '#', '_', ' ']).to_owned();
    let idea = |line: &&str| said(line).strip_prefix("IDEA:").map(|rest| rest.trim_matches(['*', ' ']).to_owned());
    let prose = || {
        let first = lines.iter().find(|line| !line.trim().is_empty()).filter(|line| !code::begins(line));
        first.map(|line| said(line)).filter(|line| line.starts_with(char::is_alphabetic))
    };
    let note = lines.iter().find_map(idea).or_else(prose).unwrap_or_default();
    note.chars().take(LONGEST_NOTE).collect()
}
