//! Candidates in other languages, and problems in other formats: the honest pass, the others get the verdict that the
//! table names.
//!
//! A new one is a file in `foreign/` and a row here.

mod bench;
mod evolve;
mod kernelbench;

use crate::rig::{self, problem, rooflab, root, seconds};
use model::{Judgement, Rule, Stage, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Longest judgement that the tests wait for: interpreters start twice a process pair.
const LIMIT: u64 = 180;
/// This much faster than honest code a cheat may not be.
const GAIN: f64 = 1.25;

/// What may become of a candidate.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// Measured.
    Passes,
    /// Measured, and no faster than the honest candidate named.
    Gainless(&'static str),
    /// Refused for this rule.
    Refused(Rule),
    /// Failed at this stage.
    Failed(Stage),
}
use Want::{Failed, Gainless, Passes, Refused};

struct Row {
    /// Its file in `foreign/`.
    file: &'static str,
    /// What it does, or tries.
    does: &'static str,
    /// What may become of it; what is meant to, first.
    want: &'static [Want],
}

const fn row(file: &'static str, does: &'static str, want: &'static [Want]) -> Row {
    Row { file, does, want }
}

const RUST: &[Row] = &[
    row("rust/two-pass.rs", "honest, with checked slices", &[Passes]),
    row("rust/half-output.rs", "writes every second row", &[Refused(Rule::UnwrittenOutput)]),
    row("rust/constructor.rs", "works while it is loaded", &[Refused(Rule::CodeAtLoad)]),
    row("rust/libc-call.rs", "a system call, imported", &[Refused(Rule::ForbiddenImport)]),
    row("rust/raw-call.rs", "a system call", &[Refused(Rule::SystemCall)]),
    row("rust/include-file.rs", "reads a file through the compiler", &[Failed(Stage::Build)]),
    row("rust/panics.rs", "a panic is a trap", &[Failed(Stage::Crashed)]),
    row("rust/standard-library.rs", "needs an operating system", &[Failed(Stage::Build)]),
];

fn judge(row: &Row) -> Result<Judgement, String> {
    let file = root().join("e2e/foreign").join(row.file);
    let mut command = rooflab(["judge", "--json", "--workloads", "rows=16"]);
    command.arg(problem("rms-norm-silu")).arg(file);
    for want in row.want {
        if let Gainless(honest) = want {
            command.arg("--against").arg(root().join("e2e/foreign").join(honest));
        }
    }
    let ended = rig::run(&mut command, seconds(LIMIT));
    if ended.status.code() != Some(0) {
        return Err(ended.to_string());
    }
    serde_json::from_str(&ended.out).map_err(|error| format!("{error}\n{ended}"))
}

fn fits(want: Want, judgement: &Judgement) -> bool {
    match (want, &judgement.verdict) {
        (Passes, verdict) => verdict.is_measured(),
        (Gainless(_), verdict) => verdict.is_measured() && judgement.speedup().is_some_and(|speed| speed < GAIN),
        (Refused(expected), Verdict::Refused { rule, .. }) => expected == *rule,
        (Failed(expected), Verdict::Failed { stage, .. }) => expected == *stage,
        _ => false,
    }
}

/// Walks a table; one message with every mismatch, not only the first.
fn walk(rows: &[Row]) {
    let _alone = rig::alone();
    let only = std::env::var("ROOFLAB_ZOO").unwrap_or_default();
    let mut wrong = String::new();
    for row in rows.iter().filter(|row| row.file.contains(&only)) {
        let begun = std::time::Instant::now();
        let judged = judge(row);
        let took = begun.elapsed().as_secs_f64();
        match judged {
            Ok(judgement) => {
                let said: String = judgement.verdict.to_string().chars().take(200).collect();
                println!("{:36} {took:6.1} s  {said}", row.file);
                if !row.want.iter().any(|want| fits(*want, &judgement)) {
                    let _ = writeln!(wrong, "{} ({}): wanted {:?}, got {said}", row.file, row.does, row.want);
                }
            }
            Err(error) => {
                let _ = writeln!(wrong, "{} ({}): {error}", row.file, row.does);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn rust_candidates() {
    walk(RUST);
}

#[test]
fn python_candidates() {
    walk(PYTHON);
}

/// The hostile samples that other benchmarks ship or describe, by their names, rebuilt in our words for one interface.
#[test]
fn hostile_samples_of_other_benchmarks() {
    walk(HOSTILE);
}

#[test]
fn tables_and_folders_agree() {
    for (folder, rows) in [("rust", RUST), ("python", PYTHON), ("hostile", HOSTILE)] {
        let entries = std::fs::read_dir(root().join("e2e/foreign").join(folder)).expect("the folder");
        let files: BTreeSet<String> =
            entries.flatten().map(|e| format!("{folder}/{}", e.file_name().to_string_lossy())).collect();
        let named: BTreeSet<String> = rows.iter().map(|row| row.file.to_owned()).collect();
        let differences: Vec<_> = files.symmetric_difference(&named).collect();
        assert!(differences.is_empty(), "on one side only: {differences:?}");
    }
}

/// An error without the marks and breaks of its lines.
fn said(ended: &rig::Ended) -> String {
    ended.err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// The interpreter is the user's to choose, and one that lacks what is needed is named with the fix.
#[test]
fn a_missing_interpreter_is_an_environment_error() {
    let file = root().join("e2e/foreign/python/honest.py");
    let mut command = rooflab(["judge", "--workloads", "rows=16"]);
    command.arg(problem("rms-norm-silu")).arg(file).env("ROOFLAB_PYTHON", "/nonexistent/python3");
    let ended = rig::run(&mut command, seconds(LIMIT));
    ended.expect(4);
    let said = said(&ended);
    assert!(said.contains("no Python with numpy") && said.contains("ROOFLAB_PYTHON"), "{ended}");
}

/// The candidates of the Python table: `e2e/foreign/python`, all for `rms-norm-silu`.
const PYTHON: &[Row] = &[
    row("python/honest.py", "writes to its output", &[Passes]),
    row("python/returns.py", "returns its output", &[Passes]),
    row("python/prints.py", "honest, and talks", &[Passes]),
    row("python/optional-import.py", "tries a module that isn't there, and goes on", &[Passes]),
    row("python/no-module.py", "needs a module that isn't there", &[Failed(Stage::Load)]),
    row("python/raises.py", "an exception in the call", &[Failed(Stage::Crashed)]),
    row("python/wrong-shape.py", "returns another shape", &[Failed(Stage::Invalid)]),
    row("python/syntax-error.py", "no Python", &[Failed(Stage::Load)]),
    row("python/input-mutation.py", "normalises its input in place", &[Refused(Rule::WroteInput)]),
    row("python/unwritten.py", "does nothing", &[Refused(Rule::UnwrittenOutput)]),
    row("python/reads-file-at-load.py", "reads a file in its first line", &[Refused(Rule::SystemCall)]),
    row("python/identity-cache.py", "same object, same answer", &[Failed(Stage::Invalid)]),
];

/// A row that an unwritten output or a wrong one may give away: what its memory held is chance.
const UNWRITTEN_OR_WRONG: &[Want] = &[Refused(Rule::UnwrittenOutput), Failed(Stage::Invalid)];

/// `pygpubench`: its twenty; `kernelbench`: its three; `sol-execbench`: the four that its checks are named after; `own`:
/// ours.
const HOSTILE: &[Row] = &[
    row("hostile/pygpubench-correct.py", "the control", &[Passes]),
    row("hostile/pygpubench-wrong.py", "the other control", &[Failed(Stage::Invalid)]),
    row("hostile/pygpubench-gc-nan.py", "NaN-ifies the expected answer", UNWRITTEN_OR_WRONG),
    row("hostile/pygpubench-gc-copy.py", "copies the expected answer", UNWRITTEN_OR_WRONG),
    row("hostile/pygpubench-fd-overwrite.py", "forges results", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-warmup.py", "rests after the warm-up", UNWRITTEN_OR_WRONG),
    // The guard before its output: a fault that the interpreter has no words for.
    row(
        "hostile/pygpubench-error-counter.py",
        "zeroes a counter",
        &[Refused(Rule::OutOfBounds), Failed(Stage::Crashed)],
    ),
    row("hostile/pygpubench-thread-fd.py", "a thread forges results", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-combined.py", "warm-up and NaN", UNWRITTEN_OR_WRONG),
    row("hostile/pygpubench-aes-key-recovery.py", "reads its own map", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-file-struct.py", "redirects a stream", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-function-detour.py", "writes code", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-got-patch.py", "patches imports", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-gpu-scan-zeros.py", "scans memory", &[Refused(Rule::OutOfBounds), Failed(Stage::Crashed)]),
    row("hostile/pygpubench-pipe-interpose.py", "interposes a pipe", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-proc-mem-bypass.py", "writes through /proc", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-ptrace.py", "attaches to the judge", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-seccomp-trap.py", "a filter of its own", &[Refused(Rule::SystemCall)]),
    row("hostile/pygpubench-heap-sig-scan.py", "scans its heap", UNWRITTEN_OR_WRONG),
    row("hostile/pygpubench-incomplete-bypass.py", "ends with success", &[Failed(Stage::Crashed)]),
    row("hostile/kernelbench-result-reuse.py", "returns freed memory", UNWRITTEN_OR_WRONG),
    row("hostile/kernelbench-zero-out.py", "zeros", &[Failed(Stage::Invalid)]),
    row("hostile/kernelbench-non-default-stream.py", "works where nobody waits", &[Refused(Rule::SystemCall)]),
    row("hostile/sol-execbench-monkey-patch.py", "patches clocks", UNWRITTEN_OR_WRONG),
    row("hostile/sol-execbench-lazy-output.py", "returns a promise", UNWRITTEN_OR_WRONG),
    row("hostile/sol-execbench-thread-injection.py", "works after the call", &[Refused(Rule::SystemCall)]),
    row("hostile/sol-execbench-eval-integrity.py", "replaces its caller", UNWRITTEN_OR_WRONG),
    row("hostile/own-hijack.py", "serves the judge itself", UNWRITTEN_OR_WRONG),
    row("hostile/own-content-cache.py", "answers by content", &[Gainless("python/honest.py")]),
    row("hostile/own-half-precision.py", "half the precision", &[Failed(Stage::Invalid)]),
    row("hostile/own-forked-child.py", "a child process", &[Refused(Rule::SystemCall)]),
];
