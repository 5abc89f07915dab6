//! KernelBench problem files: a `Model` with `get_inputs` and `get_init_inputs`, and a candidate's `ModelNew`.
//!
//! Must not give the candidate the problem's file: a `ModelNew` that wraps the reference would measure nothing. It gets
//! the values that `get_init_inputs` returned, and a seed, so that both models draw the same weights.

use crate::ForeignError;
use crate::error::read;
use crate::task::{Bound, Program, Style, Task};
use model::Language;
use std::path::Path;

/// What its evaluator allows in float32.
pub const BOUND: Bound = Bound { absolute: 1e-4, relative: 1e-4, share: 1.0 };

/// Makes the model at its first call, with weights from the seed, and calls it; in training mode, as its evaluator does.
const CALLS: &str = "\
import torch
from MODULE import CLASS as Class

made = []


def run(seed, init, *inputs):
    with torch.no_grad():
        if not made:
            torch.manual_seed(seed)
            made.append(Class(*init))
        return made[0](*inputs)
";

/// The problem's own inputs, tensors alone: what else it returns is the same in every call.
const DRAWS: &str = "\
import torch
from problem import get_inputs


def draw(axes, device):
    return [value for value in get_inputs() if isinstance(value, torch.Tensor)]
";

/// Whether the file is such a problem.
pub fn is_problem(path: &Path) -> bool {
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    is_python
        && std::fs::read_to_string(path).is_ok_and(|text| {
            ["class Model", "def get_inputs", "def get_init_inputs"].iter().all(|part| text.contains(part))
        })
}

/// Reads a problem and a candidate. The task has no shapes yet: only running `get_inputs` shows them.
///
/// # Errors
/// When a file can't be read, or the candidate defines no `ModelNew`.
pub fn task(problem: &Path, candidate: &Path, against: Option<&Path>) -> Result<Task, ForeignError> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let model = |path: &Path| -> Result<Program, ForeignError> {
        let text = read(path)?;
        if !text.contains("ModelNew") {
            let what = format!("{}: it defines no `ModelNew`", path.display());
            return Err(ForeignError::needs(what, "the candidate for such a problem is a `class ModelNew(nn.Module)`"));
        }
        Ok(program(stem(path), ("candidate", "ModelNew"), text))
    };
    let text = read(problem)?;
    let mut draws = program(stem(problem), ("problem", "Model"), text.clone());
    DRAWS.clone_into(&mut draws.files[0].1);
    "draw".clone_into(&mut draws.entry);
    Ok(Task {
        name: stem(problem),
        reference: program(stem(problem), ("problem", "Model"), text),
        candidate: model(candidate)?,
        against: against.map(model).transpose()?,
        draws: Some(draws),
        shapes: Vec::new(),
        remarks: Vec::new(),
    })
}

fn program(name: String, (module, class): (&str, &str), text: String) -> Program {
    let calls = CALLS.replace("MODULE", module).replace("CLASS", class);
    Program {
        name,
        language: Language::Python,
        files: vec![("rooflab_calls.py".to_owned(), calls), (format!("{module}.py"), text)],
        main: "rooflab_calls.py".to_owned(),
        entry: "run".to_owned(),
        style: Style::Returns,
        flags: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBLEM: &str = "class Model:\n    pass\ndef get_inputs():\n    pass\ndef get_init_inputs():\n    pass\n";

    #[test]
    fn the_candidate_never_sees_the_problem() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let problem = path("40_norm.py", PROBLEM);
        assert!(is_problem(&problem));
        let task = super::task(&problem, &path("mine.py", "class ModelNew: pass\n"), None).unwrap();
        assert_eq!((task.name.as_str(), task.candidate.name.as_str()), ("40_norm", "mine"));
        assert!(task.candidate.files.iter().all(|(_, text)| !text.contains("get_inputs")));
        assert!(task.candidate.files[0].1.contains("from candidate import ModelNew as Class"));
        assert!(task.reference.files[0].1.contains("from problem import Model as Class"));
        let error = super::task(&problem, &path("none.py", "class Model: pass\n"), None).unwrap_err();
        assert!(error.to_string().contains("no `ModelNew`"), "{error}");
    }

    #[test]
    fn other_files_are_no_problems() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.py");
        std::fs::write(&file, "class Model: pass").unwrap();
        assert!(!is_problem(&file));
        assert!(!is_problem(folder.path()));
    }
}
