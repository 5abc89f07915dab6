//! Puts every candidate, every hostile sample, and every problem that rooflab ships, into the library: a new cheat stays
//! two files and a row.
//!
//! Must not read anything else.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What problems and candidates are made of.
const TEXTS: [&str; 5] = ["toml", "c", "h", "md", "py"];

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    let candidates = here.join("candidates");
    let problems = here.join("../../problems");
    let hostile = here.join("../../e2e/foreign/hostile");
    let mut text = String::new();
    list(&mut text, "CANDIDATES", &candidates);
    list(&mut text, "PROBLEMS", &problems);
    list(&mut text, "HOSTILE", &hostile);
    std::fs::write(out.join("files.rs"), text).expect("OUT_DIR can be written");
}

/// A constant that holds all files beneath `folder`, by their paths from there.
fn list(text: &mut String, name: &str, folder: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    walk(folder, &mut files);
    files.sort();
    let _ = writeln!(text, "pub(crate) const {name}: &[(&str, &str)] = &[");
    for file in files {
        let relative = file.strip_prefix(folder).expect("a file beneath it");
        let [relative, file] = [relative, &file].map(|path| path.to_str().expect("names are UTF-8"));
        let _ = writeln!(text, "    ({relative:?}, include_str!({file:?})),");
    }
    let _ = writeln!(text, "];");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| TEXTS.iter().any(|text| extension == *text)) {
            files.push(path);
        }
    }
}
