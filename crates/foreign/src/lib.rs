//! Problems that people already have, in the formats of other benchmarks: read into one `Task`, and their results
//! written back.
//!
//! Must not run anything: a reference is somebody's code, and only the judge's confined roles run code.

pub mod bench;
pub mod evolve;
pub mod kernelbench;
pub mod task;
pub mod traces;

mod axes;
mod dtype;
mod error;
mod safetensors;
mod unit;

pub use dtype::Dtype;
pub use error::ForeignError;
pub use task::{Bound, Fill, Input, Program, Shape, Style, Task, Tensor};

/// Keeps the `foreign` formats apart by what lies in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `definition.json`, `workload.jsonl`, solutions: SOL-ExecBench and FlashInfer-Bench.
    Bench,
    /// `evaluator.py` and `initial_program.py`: OpenEvolve; `evaluate.py` and `initial.py`: ShinkaEvolve.
    Evolve,
    /// A Python file with `Model`, `get_inputs` and `get_init_inputs`: KernelBench.
    KernelBench,
}

impl Format {
    /// The format of a folder or file, if it is one of these.
    pub fn of(folder: &std::path::Path) -> Option<Self> {
        if kernelbench::is_problem(folder) {
            Some(Self::KernelBench)
        } else if folder.join("definition.json").is_file() {
            Some(Self::Bench)
        } else {
            evolve::is_task(folder).then_some(Self::Evolve)
        }
    }
}
