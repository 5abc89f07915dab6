//! The whole loop, small: what a run leaves behind, and what a killed run loses (nothing).

use crate::page;
use crate::rig::{self, rooflab, seconds};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run of five candidates takes a minute or so, what comes after it (mining, the ladder) included.
const LIMIT: Duration = Duration::from_secs(900);

fn run_arguments(problem: &Path, out: &Path, more: &[&str]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["run".into(), problem.into(), "--out".into(), out.into()];
    arguments.extend(["--sustained", "1s"].map(Into::into));
    arguments.extend(more.iter().map(Into::into));
    arguments
}

/// Files of that name anywhere below.
fn find(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let entries: Vec<PathBuf> = entries.unwrap_or_default();
    let below = entries.iter().filter(|path| path.is_dir()).flat_map(|path| find(path, name));
    entries.iter().filter(|path| path.file_name().is_some_and(|n| n == name)).cloned().chain(below).collect()
}

/// Every event in the ledger, through the door that people have.
fn events(ledger: &Path) -> Vec<Value> {
    let arguments = [Path::new("ledger"), Path::new("export"), Path::new("--ledger"), ledger];
    let ended = rig::run(&mut rooflab(arguments), seconds(60));
    ended.expect(0);
    let mut events = Vec::new();
    for line in ended.out.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not one JSON object a line: {e}: {line}"));
        collect(&line, &mut events);
    }
    events
}

/// Events lie somewhere inside an entry, as an object or as its text.
fn collect(value: &Value, events: &mut Vec<Value>) {
    match value {
        Value::Object(map) if map.get("event").is_some_and(Value::is_string) => events.push(value.clone()),
        Value::Object(map) => map.values().for_each(|v| collect(v, events)),
        Value::Array(items) => items.iter().for_each(|v| collect(v, events)),
        Value::String(text) if text.starts_with('{') => {
            if let Ok(inner) = serde_json::from_str(text) {
                collect(&inner, events);
            }
        }
        _ => {}
    }
}

fn count(events: &[Value], name: &str) -> usize {
    events.iter().filter(|event| event["event"] == name).count()
}

/// The problem at two shapes of little data and with one family of inputs: a run does everything, on a fraction of the
/// data.
fn small() -> (TempDir, PathBuf) {
    let changes = [
        ("range = [8, 2048]", "range = [8, 64]"),
        (
            "[[workload]]\nrows = 128\n\n[[workload]]\nrows = 777\n\n[[workload]]\nrows = 2048\n",
            "[[workload]]\nrows = 48\n",
        ),
        ("rows = [1, 2, 3, 7, 17, 129]", "rows = [1, 17]"),
        (
            "[\"small\", \"large\", \"shifted\", \"constant-rows\", \"sparse\", \"cancelling\", \"denormal\"]",
            "[\"small\"]",
        ),
    ];
    rig::variant("rms-norm-silu", &changes)
}

/// One test, since the second campaign takes the machine's map from the first's ledger: measuring it is most of a small
/// run.
#[test]
fn a_run_leaves_everything_and_a_killed_one_goes_on_where_it_was() {
    let _alone = rig::alone();
    let (folder, problem) = small();
    let out = folder.path().join("out");
    let first = leaves_everything(&problem, &out);
    goes_on(&problem, &out, &first);
}

/// What a run left in the ledger, its page and its certificate looked at.
fn leaves_everything(problem: &Path, out: &Path) -> Vec<Value> {
    let ended = rig::run(&mut rooflab(run_arguments(problem, out, &["--candidates", "5", "--budget", "60s"])), LIMIT);
    ended.expect(0);

    let last = ended.out.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let page = out.join(last.trim());
    assert!(page.is_file() && page.ends_with("report.html"), "the last line isn't the report's path:\n{ended}");
    if find(out, "certificate.json").is_empty() {
        let said = ended.out.to_lowercase();
        assert!(said.contains("no candidate"), "neither a certificate nor an honest none:\n{ended}");
    } else {
        let certificate = fs::read_to_string(&find(out, "certificate.json")[0]).expect("readable");
        let certificate: model::Certificate = serde_json::from_str(&certificate).expect("a certificate");
        assert!(!certificate.rungs.is_empty(), "a certificate names its rungs");
    }
    page::check(&page);

    let ledger = out.join("ledger.db");
    let events = events(&ledger);
    assert_eq!(count(&events, "started"), 1);
    assert_eq!(count(&events, "finished"), 1);
    assert!(count(&events, "judged") + count(&events, "skipped") >= 5, "five candidates were asked for");
    for verb in [&["ledger", "list"][..], &["ledger", "show", "last"], &["ledger", "show", "last", "--json"]] {
        let ended = rig::run(rooflab(verb).arg("--ledger").arg(&ledger), seconds(60));
        ended.expect(0);
        assert!(ended.out.contains("rms-norm-silu"), "the campaign isn't named:\n{ended}");
    }
    events
}

/// A second campaign in that ledger is killed in its search, and taken up.
fn goes_on(problem: &Path, out: &Path, first: &[Value]) {
    let ledger = out.join("ledger.db");
    let mark = format!("ROOFLAB_E2E={}-{:p}", std::process::id(), &raw const ledger);
    let (name, value) = mark.split_once('=').expect("made above");
    let second = || events(&ledger).split_off(first.len());

    let arguments = run_arguments(problem, out, &["--candidates", "5", "--seed", "7"]);
    let mut child = rig::spawn(rooflab(arguments).env(name, value), out);
    let begun = Instant::now();
    while count(&second(), "judged") < 2 {
        assert!(begun.elapsed() < LIMIT, "two candidates aren't judged yet");
        assert!(child.try_wait().expect("our child").is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(500));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("our child");
    let before = second();
    assert_eq!(count(&before, "finished"), 0, "too late: the run had finished");
    assert_nothing_left(&mark);

    rig::run(&mut rooflab(run_arguments(problem, out, &["--resume"])), LIMIT).expect(0);
    assert_eq!(events(&ledger)[..first.len()], *first, "the first campaign stays as it was");
    let after = second();
    assert_eq!(after[..before.len()], before[..], "what was written stays as it was");
    assert_eq!(count(&after, "started"), 1);
    assert_eq!(count(&after, "resumed"), 1);
    assert_eq!(count(&after, "finished"), 1);
    assert_eq!(find(out, "report.html").len(), 2, "one page a campaign");
    let proposed: Vec<u64> =
        after.iter().filter(|e| e["event"] == "proposed").map(|e| e["id"].as_u64().expect("a number")).collect();
    assert_eq!(proposed.iter().collect::<BTreeSet<_>>().len(), proposed.len(), "a candidate was proposed twice");
}

/// No process that carries the mark in its environment is left, at most a moment after its parent was killed.
fn assert_nothing_left(mark: &str) {
    let begun = Instant::now();
    loop {
        let left = processes_with(mark);
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < seconds(10), "still running after the kill: {left:?}");
        std::thread::sleep(seconds(1));
    }
}

fn processes_with(mark: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let marked = |folder: &Path| {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let paths = entries.into_iter().map(|entry| entry.path()).filter(|path| marked(path));
    paths.map(|path| format!("{}: {}", path.display(), name_of(&path))).collect()
}

fn name_of(folder: &Path) -> String {
    String::from_utf8_lossy(&fs::read(folder.join("cmdline")).unwrap_or_default()).replace('\0', " ")
}
