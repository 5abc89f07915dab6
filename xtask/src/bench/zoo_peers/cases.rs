//! The candidates that go before the evaluators: the zoo's C rows and the Python ones. Runs nothing.

use serde::{Deserialize, Serialize};
use stats::SplitMix;
use zoo::{Kind, ROWS};

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
pub const GROUPS: usize = ROWS.len() - WITHHELD.len() + HONEST.len() + HOSTILE.len();

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

/// Hostile Python candidates.
const HOSTILE: [&str; 34] = [
    "hostile/kernelbench-non-default-stream.py",
    "hostile/kernelbench-result-reuse.py",
    "hostile/kernelbench-zero-out.py",
    "hostile/own-content-cache.py",
    "hostile/own-forged-environment.py",
    "hostile/own-forked-child.py",
    "hostile/own-half-precision.py",
    "hostile/own-hijack.py",
    "hostile/pygpubench-aes-key-recovery.py",
    "hostile/pygpubench-combined.py",
    "hostile/pygpubench-error-counter.py",
    "hostile/pygpubench-fd-overwrite.py",
    "hostile/pygpubench-file-struct.py",
    "hostile/pygpubench-function-detour.py",
    "hostile/pygpubench-gc-copy.py",
    "hostile/pygpubench-gc-nan.py",
    "hostile/pygpubench-got-patch.py",
    "hostile/pygpubench-gpu-scan-zeros.py",
    "hostile/pygpubench-heap-sig-scan.py",
    "hostile/pygpubench-incomplete-bypass.py",
    "hostile/pygpubench-pipe-interpose.py",
    "hostile/pygpubench-proc-mem-bypass.py",
    "hostile/pygpubench-ptrace.py",
    "hostile/pygpubench-seccomp-trap.py",
    "hostile/pygpubench-thread-fd.py",
    "hostile/pygpubench-warmup.py",
    "hostile/sol-execbench-eval-integrity.py",
    "hostile/sol-execbench-lazy-output.py",
    "hostile/sol-execbench-monkey-patch.py",
    "hostile/sol-execbench-thread-injection.py",
    "python/identity-cache.py",
    "python/input-mutation.py",
    "python/reads-file-at-load.py",
    "python/unwritten.py",
];

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
    groups.extend(HOSTILE.iter().map(|file| vec![python(file, Some(twin.clone()))]));
    SplitMix::new(SEED).shuffle(&mut groups);
    groups
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
