//! The machine's C compiler, for tests that run code.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether there is one; says so when there is none.
pub fn is_there() -> bool {
    let found = Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no `cc` on this machine");
    }
    found
}

/// Compiles `unit` into `dir` as a shared library.
pub fn library(dir: &Path, name: &str, unit: &str) -> PathBuf {
    let (source, library) = (dir.join(format!("{name}.c")), dir.join(format!("{name}.so")));
    std::fs::write(&source, unit).unwrap();
    let output = Command::new("cc")
        .args(["-O3", "-march=native", "-fPIC", "-shared", "-Wall", "-o"])
        .args([&library, &source])
        .arg("-lm")
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {log}");
    library
}
