//! The candidates that go before the evaluators: the zoo's C rows and the Python ones. Runs nothing.

use serde::{Deserialize, Serialize};
use stats::SplitMix;
use zoo::samples::TWIN;
use zoo::{Kind, ROWS, SAMPLES};

/// Seed of the order, so that a bench that is stopped anywhere has met a fair part of the zoo.
const SEED: u64 = 20_261_201;

/// Rows that attack the machine, not the measurement. None of the peers says that it contains a candidate, so what came
/// of these would be the doing of the sandbox that this bench puts around them all.
pub const WITHHELD: [&str; 8] = [
    "kill-everything",
    "fork-raw",
    "fork-libc",
    "memory-hog",
    "artefact-bomb",
    "compile-bomb",
    "assembler-bomb",
    "include-itself",
];

/// How many groups there are.
pub const GROUPS: usize = ROWS.len() - WITHHELD.len() + HONEST.len() + SAMPLES.len() - CONTROLS.len() + HOSTILE.len();

/// Where the Python candidates lie.
const FOLDER: &str = "e2e/foreign";

/// Honest Python candidates; the first is the twin of every hostile one.
const HONEST: [&str; 5] = [
    "hostile/pygpubench-correct.py",
    "python/honest.py",
    "python/returns.py",
    "python/prints.py",
    "python/optional-import.py",
];

/// Hostile Python candidates beside the zoo's samples.
const HOSTILE: [&str; 4] =
    ["python/identity-cache.py", "python/input-mutation.py", "python/reads-file-at-load.py", "python/unwritten.py"];

/// Samples that are no cheats: the two controls. The honest one stands in [`HONEST`].
const CONTROLS: [&str; 2] = [TWIN, "pygpubench-wrong"];

/// In which language a candidate is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C.
    C,
    /// Python.
    Python,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its file, from the workspace's root.
    pub file: String,
    /// The honest one that it is measured against; none for those that are honest themselves.
    pub twin: Option<String>,
    /// What it claims to solve.
    pub problem: String,
    /// Its language.
    pub language: Language,
}

impl Case {
    /// Whether it breaks a rule, or tries to.
    pub fn is_cheat(&self) -> bool {
        self.twin.is_some()
    }
}

/// The twin that a file among these is measured against.
pub fn twin_of<'a>(cases: &'a [Case], file: &str) -> Option<&'a String> {
    cases.iter().find(|case| case.file == file)?.twin.as_ref()
}

/// Cheats with their twins, C, and the Python ones, in an order that a seed decides.
pub fn groups() -> Vec<Vec<Case>> {
    let rows = ROWS.iter().filter(|row| !WITHHELD.contains(&row.name));
    let mut groups: Vec<Vec<Case>> = rows.map(pair).collect();
    let twin = format!("{FOLDER}/{}", HONEST[0]);
    groups.extend(HONEST.iter().map(|file| vec![python(file, None)]));
    groups.extend(hostile().iter().map(|file| vec![python(file, Some(twin.clone()))]));
    SplitMix::new(SEED).shuffle(&mut groups);
    groups
}

/// The samples by name, then our own.
fn hostile() -> Vec<String> {
    let cheats = SAMPLES.iter().filter(|sample| !CONTROLS.contains(&sample.name));
    let mut files: Vec<String> = cheats.map(|sample| format!("hostile/{}.py", sample.name)).collect();
    files.sort_unstable();
    files.extend(HOSTILE.map(str::to_owned));
    files
}

fn pair(row: &zoo::Row) -> Vec<Case> {
    let file = |kind| format!("crates/zoo/candidates/{}", row.file(kind));
    let case = |kind, twin| Case { file: file(kind), twin, problem: row.problem.to_owned(), language: Language::C };
    vec![case(Kind::Cheat, Some(file(Kind::Twin))), case(Kind::Twin, None)]
}

fn python(file: &str, twin: Option<String>) -> Case {
    Case { file: format!("{FOLDER}/{file}"), twin, problem: "rms-norm-silu".to_owned(), language: Language::Python }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;
    use std::collections::BTreeSet;

    #[test]
    fn every_candidate_is_there_once() {
        let cases: Vec<Case> = groups().into_iter().flatten().collect();
        let files: BTreeSet<&str> = cases.iter().map(|case| case.file.as_str()).collect();
        assert_eq!(files.len(), cases.len());
        for case in &cases {
            assert!(root().join(&case.file).is_file(), "{}", case.file);
            assert!(case.twin.as_deref().is_none_or(|twin| files.contains(twin)), "{}", case.file);
        }
        assert_eq!(groups().len(), GROUPS);
    }

    #[test]
    fn what_is_withheld_exists() {
        for name in WITHHELD {
            assert!(ROWS.iter().any(|row| row.name == name), "{name}");
        }
    }
}
