//! Everything that has to hold before a change is good: format, tidy, clippy, tests.
//!
//! One profile for all of it. Dependencies are compiled twice at most, once as metadata for clippy and once as code
//! for the tests; build scripts and procedural macros are shared by both. The package selection is always the whole
//! workspace, since another selection unifies features otherwise and compiles them again.

use crate::needs;
use crate::tidy;
use crate::workspace::{cargo, on_path, run as finish};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs every step, even after one has failed: a change should learn all that is wrong with it at once.
///
/// # Errors
/// When a step fails; the message names which.
pub fn run(arguments: &[String]) -> Result<()> {
    let arguments = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
    needs::meet()?;
    let mut failed = Vec::new();
    let mut step = |name: &'static str, act: &mut dyn FnMut() -> Result<()>| {
        println!("== {name}");
        let begun = Instant::now();
        let done = act();
        let took = begun.elapsed().as_secs_f64();
        match done {
            Ok(()) => println!("== {name}: ok, {took:.0} s"),
            Err(error) => {
                println!("== {name}: failed, {took:.0} s: {error:#}");
                failed.push(name);
            }
        }
    };
    step("fmt", &mut || {
        finish(&mut cargo(&["fmt", "--all", "--check"]))?;
        // A workspace of its own; see there.
        finish(&mut cargo(&["fmt", "--manifest-path", "benches/race/Cargo.toml", "--check"]))
    });
    step("tidy", &mut tidy::run);
    let clippy = ["clippy", "--quiet", "--release", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    step("clippy", &mut || finish(&mut cargo(&clippy)));
    let mut counts = Counts::default();
    step("tests", &mut || {
        counts = tests(arguments)?;
        if counts.failed > 0 {
            bail!("{} failed", counts.failed);
        }
        Ok(())
    });
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
}

/// Builds all targets once (the `rooflab` binary among them, which the end-to-end tests start) and runs them.
fn tests(arguments: &[String]) -> Result<Counts> {
    let selection = ["--release", "--workspace", "--all-targets"];
    let mut command = if on_path("cargo-nextest") {
        cargo(&[&["nextest", "run"][..], &selection].concat())
    } else {
        // Test binaries run one after another here; the end-to-end binary keeps its own tests apart by a lock.
        cargo(&[&["test", "--no-fail-fast"][..], &selection].concat())
    };
    let (success, counts) = watch(command.args(arguments))?;
    if !success && counts.failed == 0 {
        bail!("the tests did not build or did not run");
    }
    Ok(counts)
}

/// Runs a test runner, passes on what it prints, and counts.
fn watch(command: &mut Command) -> Result<(bool, Counts)> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("the test runner did not start")?;
    let err = child.stderr.take().context("a piped standard error")?;
    let out = child.stdout.take().context("a piped standard output")?;
    let errors = std::thread::spawn(move || pass_on(err, |line| eprintln!("{line}")));
    let a = pass_on(out, |line| println!("{line}"));
    let b = errors.join().expect("passing lines on does not panic");
    let status = child.wait()?;
    Ok((status.success(), Counts { passed: a.passed + b.passed, failed: a.failed + b.failed }))
}

fn pass_on(from: impl Read, print: impl Fn(&str)) -> Counts {
    let mut counts = Counts::default();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        print(&line);
        if let Some(found) = summary(&line) {
            counts.passed += found.passed;
            counts.failed += found.failed;
        }
    }
    counts
}

/// The counts of a summary line: of `cargo test`'s, one a binary, or of nextest's, one a run.
fn summary(line: &str) -> Option<Counts> {
    let is_summary = line.starts_with("test result:") || (line.contains("Summary [") && line.contains(" run: "));
    let count = |word: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|w| w.trim_matches([',', ';']) == word)?;
        words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
    };
    is_summary.then(|| Counts {
        passed: count("passed").unwrap_or(0),
        // nextest: `3 passed, 1 failed, 1 timed out, 2 skipped`
        failed: count("failed").unwrap_or(0) + count("timed").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_are_counted() {
        let check = |line: &str, expected: Option<(u64, u64)>| {
            assert_eq!(summary(line).map(|c| (c.passed, c.failed)), expected, "{line}");
        };
        check("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out", Some((3, 0)));
        check("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", Some((3, 2)));
        check("     Summary [   0.104s] 12 tests run: 12 passed (1 slow), 3 skipped", Some((12, 0)));
        check("     Summary [   9.1s] 9/12 tests run: 6 passed, 2 failed, 1 timed out, 0 skipped", Some((6, 3)));
        check("test one::two ... ok", None);
        check("3 passed, 2 failed", None);
    }
}
