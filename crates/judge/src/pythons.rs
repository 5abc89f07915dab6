//! Where a Python is looked for: the judge looks, and the workshop includes this very file to see that one is there.
//!
//! Must not start one, and must not need anything but the standard library.

use std::path::PathBuf;

/// Names another interpreter than the first that fits.
pub const VARIABLE: &str = "ROOFLAB_PYTHON";

/// What is tried, in order: the one that is named, alone; else `python3` on the path and the system's own.
pub fn programs() -> Vec<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(program) => vec![PathBuf::from(program)],
        None => vec![PathBuf::from("python3"), PathBuf::from("/usr/bin/python3")],
    }
}
