//! The evaluator: confines itself, then becomes an interpreter that runs somebody's own evaluator on a program.
//!
//! Arguments: `__evaluator confined|unconfined FOLDER FOLDERS PROGRAM ARGUMENT...`. It may read the system's files and
//! FOLDERS, write beneath FOLDER, and start processes, as evaluators do; it has no network. What it says is the
//! evaluator's word, and the program that it evaluates can speak in its place.

use crate::builder::{Limits, become_program};

/// Evaluators train models and start workers.
const LIMITS: Limits = Limits { memory: 16 << 30, file: 1 << 30, cpu: 1_800 };

/// Runs the role. Never returns.
pub fn evaluator_main() -> ! {
    become_program(&LIMITS)
}
