//! Applying what a reply asks for to a candidate's files: exactly, else whatever the white space, else by its first and
//! last lines. What could be meant twice is a fault, and so is what changes nothing or was there before.
//!
//! Must not guess: an edit applies at one place or at none.

mod find;
mod regions;

use crate::fault::Fault;
use crate::reply::{Answer, Edit};
use find::Place;
use model::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use regions::{END, START};

/// A candidate's files: text by name.
pub type Files = BTreeMap<String, String>;

/// Longest source that is taken, in bytes: a hundred times what the shipped problems' best candidates have.
pub const MOST_BYTES: usize = 1 << 20;

/// How closely a place was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The whole file was given.
    Whole,
    /// Byte by byte.
    Exact,
    /// But for white space and empty lines.
    Whitespace,
    /// First and last line, and most of what is between.
    Anchored,
}

/// Files after a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// All files, changed or not.
    pub files: Files,
    /// How each edit was matched, in the answer's order by file.
    pub levels: Vec<Level>,
}

/// Which code is there already.
pub trait Known {
    /// What makes two candidates the same: comments and layout aside, where the language can be parsed.
    fn identity(&self, files: &Files) -> Digest;

    /// The earlier candidate of this identity, in words, if there is one.
    fn seen(&self, identity: &Digest) -> Option<String>;
}

/// Applies an answer.
///
/// # Errors
/// [`Fault`]: the first edit that has no place, or more than one, or one that may not be changed.
pub fn apply(files: &Files, answer: &Answer) -> Result<Patched, Fault> {
    let mut patched = Patched { files: files.clone(), levels: Vec::new() };
    for (file, edits) in by_file(files, &answer.edits)? {
        let old = &files[&file];
        let plain = old.replace("\r\n", "\n");
        let (mut new, levels) = rewritten(&file, &plain, &edits)?;
        regions::check(&file, &plain, &new)?;
        if new.len() > MOST_BYTES {
            return Err(Fault::TooLong { bytes: new.len(), most: MOST_BYTES });
        }
        if old.contains("\r\n") {
            new = new.replace('\n', "\r\n");
        }
        patched.files.insert(file, new);
        patched.levels.extend(levels);
    }
    Ok(patched)
}

/// Refuses what need not be judged.
///
/// # Errors
/// [`Fault::NoChange`], [`Fault::Duplicate`].
pub fn admit(before: &Files, after: &Files, known: &dyn Known) -> Result<(), Fault> {
    let identity = known.identity(after);
    if identity == known.identity(before) {
        return Err(Fault::NoChange);
    }
    known.seen(&identity).map_or(Ok(()), |of| Err(Fault::Duplicate { of }))
}

/// Each edit under the file that it is about.
fn by_file<'a>(files: &Files, edits: &'a [Edit]) -> Result<BTreeMap<String, Vec<&'a Edit>>, Fault> {
    let names: BTreeSet<&String> = edits.iter().filter_map(named).collect();
    let mut found: BTreeMap<String, Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        let file = match (named(edit), files.keys().next()) {
            // Where there is one file, one name is as good as another.
            (_, Some(only)) if files.len() == 1 && names.len() < 2 => only.clone(),
            (Some(name), _) => resolve(files, name)?,
            (None, _) => whose(files, edit)?,
        };
        found.entry(file).or_default().push(edit);
    }
    Ok(found)
}

fn named(edit: &Edit) -> Option<&String> {
    let (Edit::Replace { file, .. } | Edit::Whole { file, .. }) = edit;
    file.as_ref()
}

/// A file by its name, or by the end of its path where only one ends so.
fn resolve(files: &Files, name: &str) -> Result<String, Fault> {
    if files.contains_key(name) {
        return Ok(name.to_owned());
    }
    let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let alike: Vec<&String> = files.keys().filter(|file| base(file) == base(name)).collect();
    match alike[..] {
        [only] => Ok(only.clone()),
        _ => Err(Fault::UnknownFile { file: name.to_owned(), known: files.keys().cloned().collect() }),
    }
}

/// The one file in which an edit without a name has a place.
fn whose(files: &Files, edit: &Edit) -> Result<String, Fault> {
    let Edit::Replace { search, line, .. } = edit else {
        let known = files.keys().cloned().collect();
        return Err(Fault::UnknownFile { file: "a whole file without a name".to_owned(), known });
    };
    let places = files.iter().map(|(file, text)| (file, find::locate(file, text, search, *line)));
    let mut holding: Vec<(&String, Level)> =
        places.filter_map(|(file, place)| Some((file, place.ok()?.level))).collect();
    holding.sort_by_key(|(_, level)| *level);
    let all = || files.keys().cloned().collect::<Vec<_>>().join(", ");
    match holding[..] {
        [(file, _)] => Ok(file.clone()),
        [(file, best), (_, next), ..] if best < next => Ok(file.clone()),
        [] => Err(Fault::NotFound { file: all(), search: find::shown(search), nearest: String::new() }),
        _ => Err(Fault::Ambiguous { file: all(), search: find::shown(search), lines: Vec::new() }),
    }
}

fn rewritten(file: &str, text: &str, edits: &[&Edit]) -> Result<(String, Vec<Level>), Fault> {
    let wholes: Vec<&String> =
        edits.iter().filter_map(|edit| if let Edit::Whole { text, .. } = edit { Some(text) } else { None }).collect();
    match wholes[..] {
        [] => replaced(file, text, edits),
        [whole] if edits.len() == 1 => Ok((ended(whole), vec![Level::Whole])),
        _ => Err(Fault::SeveralWholes { file: file.to_owned(), count: edits.len() }),
    }
}

fn ended(text: &str) -> String {
    format!("{}\n", text.trim_end_matches('\n'))
}

/// All edits are placed in the original, so that their order doesn't matter.
fn replaced(file: &str, text: &str, edits: &[&Edit]) -> Result<(String, Vec<Level>), Fault> {
    let mut placed: Vec<(Place, String)> = Vec::new();
    for edit in edits {
        let Edit::Replace { search, replace, line, .. } = edit else { continue };
        let place = find::locate(file, text, search, *line)?;
        let new = find::fitted(text, &place, search, replace);
        placed.push((place, new));
    }
    let levels = placed.iter().map(|(place, _)| place.level).collect();
    placed.sort_by_key(|(place, _)| place.bytes.start);
    if let Some(pair) = placed.windows(2).find(|pair| meet(&pair[0].0.bytes, &pair[1].0.bytes)) {
        return Err(Fault::Overlapping { file: file.to_owned(), line: find::line_of(text, pair[1].0.bytes.start) });
    }
    let mut new = text.to_owned();
    for (place, with) in placed.iter().rev() {
        new.replace_range(place.bytes.clone(), with);
    }
    Ok((new, levels))
}

fn meet(first: &Range<usize>, second: &Range<usize>) -> bool {
    first.end > second.start || first == second
}
