//! OpenEvolve and ShinkaEvolve tasks: an initial program with marked blocks, and an evaluator of the task's own.
//!
//! Must not run an evaluator, nor take its word for more than it is: it shares a process with the candidate.

use crate::ForeignError;
use crate::error::read;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Opens a block that a search may change; one closes it.
const MARKS: [&str; 2] = ["EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"];

/// How the evaluator is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluator {
    /// `evaluate(path)` returns metrics: OpenEvolve.
    Returns,
    /// `main(program_path, results_dir)` writes metrics.json and correct.json: ShinkaEvolve.
    Writes,
}

/// The files of each kind, in the order in which they are looked for.
const KINDS: [(Evaluator, &str, &str); 3] = [
    (Evaluator::Returns, "evaluator.py", "initial_program.py"),
    (Evaluator::Writes, "evaluate.py", "initial.py"),
    (Evaluator::Writes, "evaluate.py", "initial_program.py"),
];

/// A task and a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvolveTask {
    /// The folder's name.
    pub name: String,
    /// The folder, which the evaluator may read.
    pub folder: PathBuf,
    /// The evaluator's file in it.
    pub evaluator: String,
    /// How it is asked.
    pub kind: Evaluator,
    /// The base of the comparison.
    pub initial: String,
    /// What is judged.
    pub candidate: String,
    /// The metric that decides; where none is named, `combined_score`, else the mean of all.
    pub metric: Option<String>,
}

/// Whether the folder is such a task.
pub fn is_task(folder: &Path) -> bool {
    KINDS.iter().any(|(_, evaluator, initial)| folder.join(evaluator).is_file() && folder.join(initial).is_file())
}

/// Reads a task, a candidate, and another base where one is named.
///
/// # Errors
/// When a file can't be read.
pub fn task(folder: &Path, candidate: &Path, against: Option<&Path>) -> Result<EvolveTask, ForeignError> {
    let kind =
        KINDS.iter().find(|(_, evaluator, initial)| folder.join(evaluator).is_file() && folder.join(initial).is_file());
    let (kind, evaluator, initial) =
        kind.ok_or_else(|| ForeignError::schema(folder, "no evaluator.py with an initial_program.py"))?;
    let folder = folder.canonicalize().map_err(|error| ForeignError::File { path: folder.to_owned(), error })?;
    Ok(EvolveTask {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        initial: read(against.unwrap_or(&folder.join(initial)))?,
        candidate: read(candidate)?,
        evaluator: (*evaluator).to_owned(),
        kind: *kind,
        folder,
        metric: None,
    })
}

impl EvolveTask {
    /// The first line of the candidate that is outside a marked block and not the initial program's. Where the initial
    /// program has no marks, all of it may change.
    pub fn change_outside_blocks(&self) -> Option<String> {
        let (mut before, mut after) = (fixed_lines(&self.initial)?, fixed_lines(&self.candidate).unwrap_or_default());
        for lines in [&mut before, &mut after] {
            lines.retain(|line| !line.trim().is_empty());
        }
        let longest = before.len().max(after.len());
        (0..longest).find(|i| before.get(*i) != after.get(*i)).map(|i| match (before.get(i), after.get(i)) {
            (_, Some(line)) => format!("`{line}`"),
            (Some(line), None) => format!("`{line}` is gone"),
            (None, None) => unreachable!("one of the two is longer"),
        })
    }
}

/// Lines outside of blocks, the marks themselves among them; none without marks.
fn fixed_lines(text: &str) -> Option<Vec<&str>> {
    let mut fixed = Vec::new();
    let (mut inside, mut any) = (false, false);
    for line in text.lines().map(str::trim_end) {
        if line.contains(MARKS[1]) {
            inside = false;
        }
        if !inside {
            fixed.push(line);
        }
        if line.contains(MARKS[0]) {
            (inside, any) = (true, true);
        }
    }
    any.then_some(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(initial: &str, candidate: &str) -> EvolveTask {
        EvolveTask {
            name: "t".into(),
            folder: PathBuf::from("t"),
            evaluator: "evaluator.py".into(),
            kind: Evaluator::Returns,
            initial: initial.into(),
            candidate: candidate.into(),
            metric: None,
        }
    }

    #[test]
    fn changes_stay_in_their_blocks() {
        let initial = "import a\n# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\ndef run():\n    return x\n";
        let check = |candidate: &str, expected: Option<&str>| {
            assert_eq!(task(initial, candidate).change_outside_blocks().as_deref(), expected, "{candidate}");
        };
        check(initial, None);
        check(&initial.replace("x = 1", "x = 2\ny = 3"), None);
        check(&initial.replace("def run", "\ndef run"), None);
        check(&initial.replace("return x", "return 1e9"), Some("`    return 1e9`"));
        check(&initial.replace("    return x\n", ""), Some("`    return x` is gone"));
        check("x = 2\n", Some("`import a` is gone"));
        // A candidate that marks everything as its own.
        check(&format!("# EVOLVE-BLOCK-START\n{initial}"), Some("`# EVOLVE-BLOCK-START`"));
    }

    #[test]
    fn without_marks_all_of_it_may_change() {
        assert_eq!(task("x = 1\n", "y = 2\n").change_outside_blocks(), None);
    }

    #[test]
    fn a_task_is_recognised_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        assert!(!is_task(folder.path()));
        touch("evaluate.py");
        touch("evaluator.py");
        assert!(!is_task(folder.path()));
        touch("initial_program.py");
        assert!(is_task(folder.path()));
        let task = super::task(folder.path(), &folder.path().join("initial_program.py"), None).unwrap();
        assert_eq!((task.kind, task.evaluator.as_str()), (Evaluator::Returns, "evaluator.py"));
    }
}
