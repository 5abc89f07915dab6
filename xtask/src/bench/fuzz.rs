//! `fuzz`: every fuzz target for a minute (`--runs` is in seconds), from its corpus: does anything fall over?
//!
//! The targets are cargo-fuzz's, so `cargo fuzz run NAME` does the same on a nightly toolchain. Here they are built
//! with the stable one: the coverage pass that libFuzzer needs is LLVM's own.

use super::{Entry, Finding, Record, Rig};
use crate::workspace::{command, root, run as finish};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "fuzz",
    asks: "every reader of what comes from outside, against a fuzzer, so many seconds each: does one fall over?",
    runs: 60,
    measure,
};

/// What each target reads.
const TARGETS: [(&str, &str); 5] = [
    ("messages", "messages between app and judge"),
    ("problem", "problem.toml"),
    ("samples", "files of timings"),
    ("formats", "other benchmarks' problems and solutions"),
    ("records", "maps, events, certificates, exports of a ledger"),
];

/// Coverage of edges, with the comparisons that guide a fuzzer through them.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// One target's run.
struct Run {
    inputs: String,
    covered: String,
    fell: Vec<PathBuf>,
    ended_well: bool,
}

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let binaries = build()?;
    let mut rows = Vec::new();
    let mut fallen = 0;
    for (name, reads) in TARGETS {
        let run = fuzz(&binaries.join(name), name, (rig.runs(), record.folder()))?;
        let how = if run.ended_well && run.fell.is_empty() { "nothing fell over" } else { "fell over" };
        fallen += usize::from(how == "fell over");
        rows.push((format!("{name}: {reads}"), format!("{how}; {} inputs, {} edges", run.inputs, run.covered)));
        rows.extend(run.fell.iter().map(|path| (format!("{name}: input"), path.display().to_string())));
    }
    Ok(Finding {
        rows,
        milliseconds: Vec::new(),
        target: "no input that a reader does not survive".into(),
        met: fallen == 0,
    })
}

/// Builds the targets; gives their folder. A target triple is named so that the flags stay off build scripts.
fn build() -> Result<PathBuf> {
    let version = crate::workspace::output(&mut command(&["rustc", "-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names its host")?;
    let place = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("fuzz");
    let manifest = root().join("fuzz/Cargo.toml");
    let manifest = manifest.to_str().context("a path in UTF-8")?;
    let mut cargo =
        crate::workspace::cargo(&["build", "--release", "--bins", "--target", host, "--manifest-path", manifest]);
    finish(cargo.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &place))?;
    Ok(place.join(host).join("release"))
}

fn fuzz(binary: &Path, name: &str, (seconds, folder): (usize, &Path)) -> Result<Run> {
    let work = std::env::temp_dir().join(format!("rooflab-fuzz-{name}-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let found = folder.join(name);
    fs::create_dir_all(&found)?;
    let mut fuzzer = std::process::Command::new(binary);
    fuzzer.arg(&work).arg(root().join("fuzz/corpus").join(name));
    fuzzer.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={}/", found.display()));
    fuzzer.args(["-print_final_stats=1", "-rss_limit_mb=2048", "-timeout=10", "-max_len=16384", "-verbosity=1"]);
    let output = fuzzer.output().with_context(|| binary.display().to_string())?;
    let log = String::from_utf8_lossy(&output.stderr);
    fs::write(folder.join(format!("{name}.log")), tail(&log))?;
    let fell: Vec<PathBuf> = fs::read_dir(&found)?.flatten().map(|entry| entry.path()).collect();
    if fell.is_empty() {
        let _ = fs::remove_dir(&found);
    }
    let _ = fs::remove_dir_all(&work);
    let stat = |key: &str| log.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?").trim().to_owned();
    let covered = log.lines().rev().find_map(|line| line.split_once("cov: ")?.1.split(' ').next().map(str::to_owned));
    let inputs = stat("stat::number_of_executed_units:");
    eprintln!("{name}: {inputs} inputs, {}", if fell.is_empty() { "nothing fell over" } else { "fell over" });
    Ok(Run { inputs, covered: covered.unwrap_or_else(|| "?".into()), fell, ended_well: output.status.success() })
}

/// The log's last lines: those before tell of progress alone.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n") + "\n"
}
