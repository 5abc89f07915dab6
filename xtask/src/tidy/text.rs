//! Rules about the text of our own files.
// tidy: expect(unfinished, reason = "the words looked for are written here")
// tidy: expect(home-path, reason = "so are the paths")

use super::{items, table};
use crate::workspace::{command, output, root};
use anyhow::Result;
use std::path::PathBuf;

/// Longest source file, in lines before its tests.
const LONGEST: usize = 400;

/// Words that say a thing is not done.
const UNFINISHED: [&str; 5] = ["TODO", "FIXME", "todo!(", "unimplemented!(", "dbg!("];

/// Places that exist on one machine only.
const HOME_PATHS: [&str; 4] = ["/work/", "/home/", "/root/", "/Users/"];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "misc", "manager", "shared"];

/// A file of ours, with its path from the root.
pub struct File {
    path: String,
    text: String,
}

/// Every text file that git knows or would add.
///
/// # Errors
/// When git can't be asked.
pub fn files() -> Result<Vec<File>> {
    let listed = output(&mut command(&["git", "ls-files", "--cached", "--others", "--exclude-standard"]))?;
    let read = |path: &str| {
        let text = std::fs::read_to_string(root().join(PathBuf::from(path))).ok()?;
        Some(File { path: path.to_owned(), text })
    };
    Ok(listed.lines().filter_map(read).collect())
}

/// Every breach of the rules that hold for all files.
pub fn check(files: &[File]) -> Vec<String> {
    files.iter().flat_map(|file| [opening(file), length(file), name(file), words(file)].concat()).collect()
}

/// Every breach of ARCHITECTURE.md's table of absences.
pub fn check_absences(files: &[File], architecture: &str) -> Vec<String> {
    let Some(rows) = table(architecture, &["crate", "has no"]) else {
        return vec!["ARCHITECTURE.md has no table `| crate | has no |`".into()];
    };
    rows.iter().flat_map(|row| files.iter().flat_map(|file| absent(file, &row[0], &items(&row[1])))).collect()
}

fn absent(file: &File, name: &str, words: &[String]) -> Vec<String> {
    if !file.path.starts_with(&format!("crates/{name}/src/")) || !is_rust(file) {
        return Vec::new();
    }
    let code = product_lines(file).filter(|(_, line)| !line.trim_start().starts_with("//"));
    let found =
        code.filter_map(|(number, line)| Some((number, words.iter().find(|word| line.contains(word.as_str()))?)));
    found.map(|(number, word)| format!("{}:{number}: `{name}` must not contain `{word}`", file.path)).collect()
}

fn is_rust(file: &File) -> bool {
    std::path::Path::new(&file.path).extension().is_some_and(|extension| extension == "rs")
}

/// Whether the file states an exception, with its reason, among its first lines.
fn excepted(file: &File, rule: &str) -> bool {
    let marker = format!("tidy: expect({rule}, reason = \"");
    file.text.lines().take(20).any(|line| line.contains(&marker))
}

/// The lines before the unit tests, numbered from 1.
fn product_lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let is_tests = |i: usize| {
        lines[i].trim() == "#[cfg(test)]" && lines.get(i + 1).is_some_and(|next| next.trim_start().starts_with("mod "))
    };
    let end = (0..lines.len()).find(|&i| is_tests(i)).unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().map(|(i, line)| (i + 1, line))
}

fn opening(file: &File) -> Vec<String> {
    let bare = is_rust(file) && !file.text.starts_with("//! ");
    let breach = || format!("{}:1: does not open with `//!` and what the file is for", file.path);
    bare.then(breach).into_iter().collect()
}

fn length(file: &File) -> Vec<String> {
    let counted = is_rust(file) && !file.path.contains("/tests/") && !excepted(file, "file-length");
    let lines = if counted { product_lines(file).count() } else { 0 };
    let breach = || format!("{}: {lines} lines before its tests, {LONGEST} at most", file.path);
    (lines > LONGEST).then(breach).into_iter().collect()
}

fn name(file: &File) -> Vec<String> {
    let path = std::path::Path::new(&file.path);
    let mut parts = path.with_extension("").components().map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>();
    parts.retain(|part| EMPTY_NAMES.iter().any(|name| part == name));
    let breach = |part: &std::ffi::OsString| format!("{}: `{}` says nothing", file.path, part.to_string_lossy());
    if is_rust(file) { parts.iter().map(breach).collect() } else { Vec::new() }
}

fn words(file: &File) -> Vec<String> {
    let code = is_rust(file) || std::path::Path::new(&file.path).extension().is_some_and(|e| e == "c" || e == "h");
    let unfinished: &[&str] = if code && !excepted(file, "unfinished") { &UNFINISHED } else { &[] };
    let paths: &[&str] = if excepted(file, "home-path") { &[] } else { &HOME_PATHS };
    let mut breaches = Vec::new();
    for (number, line) in file.text.lines().enumerate().map(|(i, line)| (i + 1, line)) {
        for word in unfinished.iter().filter(|word| line.contains(**word)) {
            breaches.push(format!("{}:{number}: `{word}` is not done", file.path));
        }
        for path in paths.iter().filter(|path| holds_path(line, path)) {
            breaches.push(format!("{}:{number}: `{path}` exists on one machine only", file.path));
        }
    }
    breaches
}

/// Whether the path stands in the line by itself, not as the middle of a longer one such as `a/work/b`.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-*}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<String> {
        check(&[File { path: path.into(), text: text.into() }])
    }

    #[test]
    fn rules_are_held() {
        let check = |path: &str, text: &str, expected: &[&str]| assert_eq!(breaches(path, text), expected, "{text}");
        check("a.rs", "//! Good.\n", &[]);
        check("a.rs", "fn f() {}\n", &["a.rs:1: does not open with `//!` and what the file is for"]);
        check("a.md", "TODO is a word here\n", &[]);
        check("a.c", "/* TODO */\n", &["a.c:1: `TODO` is not done"]);
        check("a.md", "see /home/me/x\n", &["a.md:1: `/home/` exists on one machine only"]);
        check("a.md", "example.com/home/x, src/work/y\n", &[]);
        check("x/utils.rs", "//! Good.\n", &["x/utils.rs: `utils` says nothing"]);
        check("a.rs", "//! Good.\n// tidy: expect(unfinished, reason = \"a list\")\n// TODO\n", &[]);
    }

    #[test]
    fn tests_do_not_count_towards_the_length() {
        let body = "\n".repeat(399);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(500));
        assert_eq!(breaches("a.rs", &format!("//! Good.{body}{tests}")), Vec::<String>::new());
        let long = format!("//! Good.{body}\n\n{tests}");
        assert_eq!(breaches("a.rs", &long), ["a.rs: 401 lines before its tests, 400 at most"]);
        assert_eq!(breaches("a/tests/a.rs", &long), Vec::<String>::new());
    }

    #[test]
    fn absences_hold_for_product_code() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            let file = File { path: path.into(), text: text.into() };
            assert_eq!(absent(&file, "stats", &["std::fs".to_owned()]), expected);
        };
        check(
            "crates/stats/src/a.rs",
            "use std::fs;\n",
            &["crates/stats/src/a.rs:1: `stats` must not contain `std::fs`"],
        );
        check("crates/stats/src/a.rs", "// no std::fs here\n", &[]);
        check("crates/stats/src/a.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n", &[]);
        check("crates/ledger/src/a.rs", "use std::fs;\n", &[]);
    }
}
