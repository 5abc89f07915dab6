//! Problems in other benchmarks' formats: whatever their files hold, they are read or refused with words that help. The
//! parts of an input are a definition, its workloads, a solution, and a program; lines `---` stand between them.

use foreign::evolve::{Evaluator, EvolveTask};
use foreign::{ForeignError, bench, kernelbench};
use std::cell::RefCell;
use std::path::Path;

/// A small problem of KernelBench's.
const MODEL: &str = "class Model:\n    pass\ndef get_inputs():\n    pass\ndef get_init_inputs():\n    pass\n";

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

/// One input.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split("\n---\n");
    let [definition, workloads, solution, program] = [(); 4].map(|()| parts.next().unwrap_or_default());
    FOLDER.with_borrow_mut(|kept| {
        let folder = kept.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder")).path();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("our own folder");
        write("definition.json", definition);
        write("workload.jsonl", workloads);
        write("solution.json", solution);
        write("program.py", program);
        write("model.py", MODEL);
        // Where a workload's tensors may lie: the same text, which is rarely a tensor file.
        write("tensors.safetensors", workloads);
        for candidate in ["solution.json", "program.py"] {
            bench_task(folder, &folder.join(candidate));
        }
        if let Err(error) = kernelbench::task(&folder.join("model.py"), &folder.join("program.py"), None) {
            helps(&error);
        }
    });
    for (initial, candidate) in [(program, solution), (program, program)] {
        let task = EvolveTask {
            name: String::new(),
            folder: "/".into(),
            evaluator: String::new(),
            kind: Evaluator::Returns,
            initial: initial.to_owned(),
            candidate: candidate.to_owned(),
            metric: None,
        };
        let change = task.change_outside_blocks();
        assert!(change.is_none() || initial != candidate, "{change:?}");
    }
}

fn bench_task(folder: &Path, candidate: &Path) {
    let task = match bench::task(folder, candidate, None) {
        Ok(task) => task,
        Err(error) => return helps(&error),
    };
    assert!(!task.shapes.is_empty());
    for shape in &task.shapes {
        assert!(shape.tensors().map(|(tensor, _)| tensor).chain(&shape.outputs).all(|tensor| tensor.bytes() > 0));
        assert!(task.candidate.unit(shape).contains("rooflab_entry"));
    }
    assert_eq!(task.candidate.digest(), task.candidate.digest());
}

fn helps(error: &ForeignError) {
    assert!(!error.to_string().is_empty() && !error.help().is_empty());
}
