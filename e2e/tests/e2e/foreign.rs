//! Candidates in other languages, and problems in other formats: the honest pass, the others get the verdict that the
//! table names.
//!
//! A new one is a file in `foreign/` and a row here.

mod bench;
mod evolve;
mod kernelbench;

use crate::rig::{self, problem, rooflab, root, seconds};
use model::{Judgement, Rule, Stage, Verdict};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Longest queue that the tests wait for.
const LIMIT: u64 = 180;

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

/// A row's file in one folder with the others.
fn flat(row: &Row) -> String {
    row.file.replace('/', "-")
}

/// Judges all rows in one go, as a queue: each is held against the stock baseline, or against the honest candidate that
/// its row names. Three process pairs are enough to see that something is measured.
fn judge(rows: &[&Row], against: Option<&str>) -> Result<BTreeMap<String, Judgement>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (queue, out) = (folder.path().join("queue"), folder.path().join("batch.jsonl"));
    fs::create_dir(&queue).expect("a folder");
    let samples = root().join("e2e/foreign");
    for row in rows {
        fs::copy(samples.join(row.file), queue.join(flat(row))).expect("the row's file");
    }
    let mut command = rooflab(["judge", "--no-map", "--workloads", "rows=16", "--cap", "1s"]);
    command.arg(problem("rms-norm-silu")).arg("--batch").arg(&queue).arg("--out").arg(&out);
    if let Some(honest) = against {
        command.arg("--against").arg(samples.join(honest));
    }
    let ended = rig::run(&mut command, seconds(LIMIT));
    if ended.status.code() != Some(0) {
        return Err(ended.to_string());
    }
    let text = fs::read_to_string(&out).expect("the judgements");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let judged = |line: Value| {
        let file = line["body"]["file"].as_str()?.to_owned();
        Some((file, serde_json::from_value(line["body"]["judgement"].clone()).expect("a judgement")))
    };
    Ok(lines.filter_map(judged).collect())
}

fn fits(want: Want, judgement: &Judgement) -> bool {
    match (want, &judgement.verdict) {
        (Passes, verdict) => verdict.is_measured(),
        (Gainless(_), verdict) => verdict.is_measured() && judgement.speedup().is_some_and(|speed| speed < zoo::GAIN),
        (Refused(expected), Verdict::Refused { rule, .. }) => expected == *rule,
        (Failed(expected), Verdict::Failed { stage, .. }) => expected == *stage,
        _ => false,
    }
}

/// Walks a table; one message with every mismatch, not only the first.
fn walk(rows: &[Row]) {
    let _alone = rig::alone();
    let only = std::env::var("ROOFLAB_ZOO").unwrap_or_default();
    let mut groups: BTreeMap<Option<&str>, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.file.contains(&only)) {
        let honest = row.want.iter().find_map(|want| if let Gainless(honest) = want { Some(*honest) } else { None });
        groups.entry(honest).or_default().push(row);
    }
    let mut wrong = String::new();
    for (against, rows) in groups {
        let judged = judge(&rows, against).unwrap_or_else(|error| panic!("{error}"));
        for row in rows {
            let Some(judgement) = judged.get(&flat(row)) else {
                let _ = writeln!(wrong, "{}: not judged", row.file);
                continue;
            };
            let said: String = judgement.verdict.to_string().chars().take(200).collect();
            println!("{:48} {:>9}  {said}", row.file, judgement.overhead.total.to_string());
            if !row.want.iter().any(|want| fits(*want, judgement)) {
                let _ = writeln!(wrong, "{} ({}): wanted {:?}, got {said}", row.file, row.does, row.want);
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
        let entries = fs::read_dir(root().join("e2e/foreign").join(folder)).expect("the folder");
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

/// The folders of judges in a place.
fn folders(place: &Path) -> Vec<PathBuf> {
    let is_judges =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rooflab-"));
    fs::read_dir(place).expect("the place").flatten().map(|entry| entry.path()).filter(is_judges).collect()
}

/// A judge sweeps up what killed judges have left: however old the folders of a living one look, they are not that. Its
/// interpreters start again for every process pair, and could not without the place that their root is mounted on.
#[test]
fn another_judge_leaves_the_folders_of_a_running_one() {
    let _alone = rig::alone();
    let place = tempfile::tempdir().expect("a temporary folder");
    let ask = |file: &str, options: &[&str]| {
        let mut command = rooflab(["judge", "--json", "--workloads", "rows=16"]);
        command.args(options).arg(problem("rms-norm-silu")).arg(root().join("e2e/foreign").join(file));
        command.env("TMPDIR", place.path());
        command
    };
    let said = tempfile::tempdir().expect("a temporary folder");
    let mut first = rig::spawn(&mut ask("python/honest.py", &["--fixed", "12"]), said.path());
    let begun = Instant::now();
    while folders(place.path()).len() < 2 {
        assert!(begun.elapsed() < seconds(LIMIT), "no folders: {:?}", folders(place.path()));
        std::thread::sleep(Duration::from_millis(20));
    }
    let before = folders(place.path());
    for folder in &before {
        let long_ago = SystemTime::now() - seconds(3600);
        fs::File::open(folder).and_then(|folder| folder.set_modified(long_ago)).expect("our own folder");
    }
    rig::run(&mut ask("python/syntax-error.py", &[]), seconds(LIMIT)).expect(0);
    assert!(first.try_wait().expect("our own child").is_none(), "the first has to outlive the second");
    let after = folders(place.path());
    assert!(before.iter().all(|folder| after.contains(folder)), "{before:?} became {after:?}");
    let (status, _) = rig::wait(&mut first, seconds(LIMIT));
    let out = fs::read_to_string(said.path().join("stdout")).expect("what it said");
    assert_eq!(status.code(), Some(0), "{out}");
    let judgement: Judgement = serde_json::from_str(&out).expect("a judgement");
    assert!(judgement.verdict.is_measured(), "{}", judgement.verdict);
    assert_eq!(folders(place.path()), Vec::<PathBuf>::new(), "nothing is left");
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
    row("hostile/own-forged-environment.py", "forges a broken sandbox", &[Failed(Stage::Crashed)]),
    row("hostile/own-forked-child.py", "a child process", &[Refused(Rule::SystemCall)]),
];
