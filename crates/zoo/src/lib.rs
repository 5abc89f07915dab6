//! The zoo: cheats and their honest twins, as text, with what a judge has to make of each.
//!
//! Must not judge: it holds questions and expected answers. A new cheat is two files in `candidates/` and one row of
//! `table.rs`.

pub mod samples;
mod table;

pub use samples::{SAMPLES, Sample};
pub use table::{ROWS, Row};

use model::{Digest, Judgement, Rule, Stage, Verdict};
use std::collections::BTreeSet;
use std::fmt;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A trick that the judge does not name may not pay: this much faster than its honest twin would.
///
/// A hijack that works gains a factor of hundreds, noise between two builds of one function a few percent.
pub const GAIN: f64 = 1.25;

/// Rows that show every boundary once and take under 20 s together: no compiler is filled up, no endless loop waited
/// for, and nothing is timed until the evidence decides.
const QUICK: [&str; 20] = [
    "no-op",
    "nan-output",
    "zero-output",
    "replay-first",
    "call-counter",
    "input-mutation",
    "write-past-end",
    "read-past-end",
    "bfloat16",
    "thread-raw",
    "clock-raw",
    "file-raw",
    "exit-in-call",
    "fault-handler-raw",
    "symbol-lookup",
    "constructor",
    "writable-code",
    "include-file",
    "own-entry",
    "packed-stash",
];

/// What may become of a cheat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Refused for this rule.
    Refused(Rule),
    /// Failed at this stage.
    Failed(Stage),
    /// Not caught, since it gains nothing: measured, and no faster than its twin.
    Gainless,
}

impl Caught {
    /// Whether the judgement is this.
    pub fn is(self, judgement: &Judgement) -> bool {
        match (self, &judgement.verdict) {
            (Self::Refused(expected), Verdict::Refused { rule, .. }) => expected == *rule,
            (Self::Failed(expected), Verdict::Failed { stage, .. }) => expected == *stage,
            (Self::Gainless, verdict) if verdict.is_measured() => judgement.speedup().is_some_and(|s| s < GAIN),
            _ => false,
        }
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(rule) => write!(f, "refused ({rule})"),
            Self::Failed(stage) => write!(f, "failed ({stage})"),
            Self::Gainless => f.write_str("no faster than its twin"),
        }
    }
}

/// Which of a row's two candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It breaks a rule, or tries to.
    Cheat,
    /// The honest code that is nearest to it.
    Twin,
}

impl Kind {
    /// As the candidate's file is named.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cheat => "cheat",
            Self::Twin => "twin",
        }
    }
}

impl Row {
    /// The candidate's file, from the zoo's folder.
    pub fn file(&self, kind: Kind) -> String {
        format!("{}.{}.c", self.name, kind.name())
    }

    /// The candidate's text.
    ///
    /// # Panics
    /// When the file is missing; a test of this crate holds table and folder together.
    pub fn text(&self, kind: Kind) -> &'static str {
        let name = self.file(kind);
        CANDIDATES
            .iter()
            .find(|(file, _)| *file == name)
            .map_or_else(|| panic!("the zoo lacks {name}"), |found| found.1)
    }

    /// Whether the row is asked for by default.
    pub fn is_quick(&self) -> bool {
        QUICK.contains(&self.name)
    }

    /// Whether the cheat need not be caught where it gains nothing: then it is timed against its twin.
    pub fn is_timed(&self) -> bool {
        self.caught.contains(&Caught::Gainless)
    }

    /// Whether this candidate is judged against the row's twin, and not against the problem's own baseline.
    pub fn faces_twin(&self, kind: Kind) -> bool {
        kind == Kind::Cheat && self.is_timed()
    }

    /// Whether the judgement is what the row expects: a cheat caught by a rule that the row names, a twin measured.
    pub fn fits(&self, kind: Kind, judgement: &Judgement) -> bool {
        match kind {
            Kind::Cheat => self.caught.iter().any(|caught| caught.is(judgement)),
            Kind::Twin => judgement.verdict.is_measured(),
        }
    }
}

/// Identity of tables and candidates: which zoo a machine has passed.
pub fn digest() -> Digest {
    let rows = ROWS.iter().map(|row| {
        let Row { problem, name, does: _, caught, arguments } = row;
        let texts = [Kind::Cheat, Kind::Twin].map(|kind| Digest::of(row.text(kind)));
        format!("{problem}\0{name}\0{caught:?}\0{arguments:?}\0{texts:?}\n")
    });
    let samples = SAMPLES.iter().map(|sample| {
        let Sample { name, does: _, caught } = sample;
        format!("{}\0{name}\0{caught:?}\0{}\n", samples::PROBLEM, Digest::of(sample.text()))
    });
    Digest::of(rows.chain(samples).collect::<String>())
}

/// Files of a shipped problem, each with its path from the problem's folder: a zoo needs no other file beside it.
pub fn problem(name: &str) -> Vec<(&'static str, &'static str)> {
    let inside = |path: &'static str| path.strip_prefix(name)?.strip_prefix('/');
    PROBLEMS.iter().filter_map(|(path, text)| Some((inside(path)?, *text))).collect()
}

/// Names of the problems that the zoo's candidates claim to solve, in the table's order.
pub fn problems() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    ROWS.iter().map(|row| row.problem).filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_folder_agree() {
        let files: BTreeSet<String> = CANDIDATES.iter().map(|(file, _)| (*file).to_owned()).collect();
        let names = ROWS.iter().flat_map(|row| [Kind::Cheat, Kind::Twin].map(|kind| row.file(kind)));
        let names: BTreeSet<String> = names.collect();
        assert_eq!(names.len(), 2 * ROWS.len(), "a row is there twice");
        let differences: Vec<_> = files.symmetric_difference(&names).collect();
        assert!(differences.is_empty(), "on one side only: {differences:?}");
    }

    #[test]
    fn quick_rows_are_rows_and_need_no_long_timing() {
        for name in QUICK {
            let row = ROWS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row is named {name}"));
            assert!(!row.is_timed(), "{name} is timed until the evidence decides");
        }
    }

    #[test]
    fn every_problem_is_here_whole() {
        for name in problems() {
            let files: Vec<_> = problem(name).into_iter().map(|(path, _)| path).collect();
            for file in ["problem.toml", "oracle.c", "baselines/naive.c"] {
                assert!(files.contains(&file), "{name} lacks {file}: {files:?}");
            }
        }
    }
}
