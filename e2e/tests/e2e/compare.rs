//! `rooflab compare` as people and pipelines use it: interrupts, exit codes, files, the day's noise.
//!
//! Must not assert how long anything took, nor a verdict that a busy machine can void.

use crate::rig::{self, rooflab, seconds};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// Away from the user's own cache.
fn compare(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = rooflab([&["compare"], arguments].concat());
    command.env("XDG_CACHE_HOME", cache).current_dir(cache);
    command
}

/// Processes whose command line holds `word`.
fn running(word: &str) -> usize {
    let holds = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(word.len()).any(|part| part == word.as_bytes())
    };
    std::fs::read_dir("/proc").expect("/proc").flatten().map(holds).filter(|holds| *holds).count()
}

#[test]
fn an_interrupt_keeps_what_was_measured_cleans_up_and_leaves_nothing() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arm = "sh -c 'setsid sleep 7531 & sleep 0.021'";
    let arguments =
        ["--json", "--margin", "0%", "--budget", "300s", "--cleanup", "touch cleaned", "--", arm, "--", arm];
    let mut child = rig::spawn(&mut compare(folder.path(), &arguments), folder.path());
    let begun = Instant::now();
    let told = || std::fs::read_to_string(folder.path().join("stderr")).unwrap_or_default();
    while !told().contains("sigma") {
        assert!(begun.elapsed() < seconds(120), "{}", told());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(500));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let (status, overran) = rig::wait(&mut child, seconds(30));
    assert!(!overran && status.code() == Some(130), "{status}: {}", told());
    let found = json(&std::fs::read_to_string(folder.path().join("stdout")).expect("its output"));
    assert_eq!(found["verdict"], "undecided");
    assert!(found["aborted"].as_str().is_some_and(|why| why.contains("interrupted")), "{found}");
    assert!(found["noise"].as_array().is_some_and(|noise| noise.len() >= 5), "{found}");
    assert!(folder.path().join("cleaned").exists(), "--cleanup runs after an interrupt too");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(running("sleep\x007531"), 0);
}

#[test]
fn exit_codes_tell_usage_from_failure_and_the_gate_speaks() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let check = |arguments: &[&str], code: i32, says: &str| {
        let ended = rig::run(&mut compare(folder.path(), arguments), seconds(120));
        ended.expect(code);
        // Messages are wrapped to the terminal's width.
        let text = format!("{} {}", ended.out, ended.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.replace("│ ", "").contains(says), "no `{says}` in:\n{ended}");
    };
    check(&["--", "true"], 2, "two commands at least");
    check(&["--noise", "week", "--", "a", "--", "b"], 2, "neither session nor day");
    check(&["--samples", "missing.csv"], 2, "check the path");
    check(&["--", "true", "--", "no-such-program-here"], 4, "cannot start `no-such-program-here`");
    check(&["--", "true", "--", "false"], 4, "exited with 1");
    check(&["--same-output", "--", "echo 1", "--", "echo 22"], 4, "print different outputs");
    check(&["--budget", "2s", "--", "true", "--", "sleep 60"], 4, "still running after 2 s");
    check(&["--sql", "host=/nowhere", "--", "SELECT 1", "--", "SELECT 2"], 4, "");
    let slower = ["--gate", "--budget", "20s", "--", "sleep 0.01", "--", "sleep 0.1"];
    let ended = rig::run(&mut compare(folder.path(), &slower), seconds(120));
    // 3 when a busy machine voids the run.
    assert!(matches!(ended.status.code(), Some(1 | 3)), "{ended}");
    std::fs::write(folder.path().join("a.csv"), "x_ms,y_ms\n1,2\n1,2\n1,2\n").expect("writable");
    check(&["--gate", "--samples", "a.csv"], 3, "not interleaved");
}

#[test]
fn the_days_noise_is_kept_and_used() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |from: &str| {
        let arguments = [
            "--json",
            "--noise",
            from,
            "--budget",
            "20s",
            "--max-pairs",
            "13",
            "--",
            "sleep 0.01",
            "--",
            "sleep 0.011",
        ];
        let ended = rig::run(&mut compare(folder.path(), &arguments), seconds(120));
        ended.expect(0);
        json(&ended.out)
    };
    let first = run("session");
    assert_eq!(first["sigma_of"]["measured"], "session");
    let kept = || std::fs::read_dir(folder.path().join("rooflab/noise")).into_iter().flatten().flatten();
    // A run that a busy machine voided keeps nothing.
    assert!(kept().count() == 1 || !first["discarded"].is_null(), "{first}");
    if first["discarded"].is_null() {
        let second = run("day");
        let afresh = second["notes"].to_string().contains("does not fit");
        assert!(second["sigma_of"]["measured"] == "day" || afresh, "{second}");
    }
    for file in kept() {
        std::fs::write(file.path(), "{").expect("writable");
    }
    let third = run("day");
    assert_eq!(third["sigma_of"]["measured"], "session");
    assert!(third["notes"].to_string().contains("so"), "a note says why: {third}");
}

#[test]
fn plots_show_every_arm_and_histories_their_commits() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arms = ["--plot", "p.svg", "--budget", "5s", "--", "sleep 0.01", "--", "sleep 0.011", "--", "sleep 0.02"];
    rig::run(&mut compare(folder.path(), &arms), seconds(120)).expect(0);
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).expect("a plot");
    assert!(svg.contains("sleep 0.011 against sleep 0.01") && svg.contains("sleep 0.02 against sleep 0.01"), "{svg}");
    let row = |i: u32| format!("c{i},{}\n", if i < 15 { 20.0 } else { 22.0 } + 0.01 * f64::from(i % 4));
    let rows: String = std::iter::once("commit,parse_ms\n".to_owned()).chain((0..30).map(row)).collect();
    std::fs::write(folder.path().join("h.csv"), rows).expect("writable");
    let ended = rig::run(&mut compare(folder.path(), &["--history", "h.csv", "--plot", "h.svg"]), seconds(60));
    ended.expect(0);
    let change = ended.out.lines().any(|line| line.split_whitespace().take(2).eq(["c14", "c15"]));
    assert!(change, "{ended}");
    let svg = std::fs::read_to_string(folder.path().join("h.svg")).expect("a plot");
    assert!(svg.contains("at c15"), "{svg}");
}
