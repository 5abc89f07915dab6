//! `rooflab compare` as a user meets it: exit codes, bad input, what is kept, what is left running.
//!
//! Never asserts how long anything took.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn rooflab(folder: &Path, words: &[&str]) -> Ran {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_rooflab")).current_dir(folder).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    // miette wraps its lines.
    let err = text(stderr).replace("\u{2502}", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    Ran { code: status.code().unwrap_or(-1), out: text(stdout), err }
}

fn compare(folder: &Path, words: &[&str]) -> Ran {
    rooflab(folder, &[&["compare"], words].concat())
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A record of ours whose pairs are `ln` apart, with a little noise.
fn record(folder: &Path, ln: f64) -> PathBuf {
    let path = folder.join("record.json");
    let run = compare(folder, &["--json", "--pairs", "8", "--ignore-failure", "--", "true", "--", "true "]);
    let mut value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let unit = |i: i32| serde_json::json!({"at": i, "ln": ln + 0.0005 * f64::from(i % 7 - 3)});
    let noise: Vec<f64> = (0..20).map(|i| 0.0005 * f64::from(i % 7 - 3)).collect();
    let fields = value.as_object_mut().unwrap();
    fields.insert("noise".into(), noise.into());
    fields.insert("discarded".into(), serde_json::Value::Null);
    fields.insert("design".into(), serde_json::Value::Null);
    fields.insert("sigma".into(), 0.001.into());
    fields["comparisons"][0]["units"] = (0..80).map(unit).collect();
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

#[test]
fn exit_codes_of_the_gate() {
    let check = |ln: f64, code: i32| {
        let folder = folder();
        let path = record(folder.path(), ln);
        let path = path.to_str().unwrap();
        let run = compare(folder.path(), &["--samples", path, "--gate", "--json"]);
        assert_eq!(run.code, code, "{ln}: {} {}", run.out, run.err);
        assert_eq!(compare(folder.path(), &["--samples", path]).code, 0);
        let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        for field in ["verdict", "effect", "interval", "pairs", "resolvable"] {
            assert!(found.get(field).is_some(), "{field}");
        }
    };
    check(0.05, 1);
    check(0.0, 0);
    check(-0.05, 0);
    // Worse, but not with the whole interval beyond the margin.
    check(0.005, 3);
}

#[test]
fn sequential_samples_never_pass_a_gate() {
    let folder = folder();
    let row = |i: i32| format!("{},{}", 10 + i % 3, 20 + i % 3);
    let rows: Vec<String> = std::iter::once("old_ms,new_ms".to_owned()).chain((0..50).map(row)).collect();
    std::fs::write(folder.path().join("s.csv"), rows.join("\n")).unwrap();
    let run = compare(folder.path(), &["--samples", "s.csv", "--gate"]);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.out.contains("not interleaved"), "{}", run.out);
    let plot = compare(folder.path(), &["--samples", "s.csv", "--plot", "s.svg"]);
    assert!(plot.code == 2 && plot.err.contains("no pairs to draw"), "{}", plot.err);
}

#[test]
fn what_makes_no_sense_is_usage() {
    let check = |words: &[&str], part: &str| {
        let folder = folder();
        let run = compare(folder.path(), words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.err);
        assert!(run.err.contains(part), "{words:?}: {}", run.err);
    };
    check(&[], "two commands at least");
    check(&["--", "true"], "two commands at least");
    check(&["--", "true", "--", "echo 'x"], "unclosed quote");
    check(&["--pairs", "3", "--", "true", "--", "true"], "at least 8");
    check(&["--repo", ".", "--", "true"], "--base");
    check(&["--problem", "no-such-problem", "a.c", "b.c"], "no problem");
    check(&["a.c", "b.c"], "--problem");
    check(&["--problem", "x", "a.c", "b.c", "--", "true"], "exclude --repo");
    check(&["--samples", "missing.csv"], "check the path");
    check(&["--history", "missing.csv"], "check the path");
    check(&["--pin", "100000", "--", "true", "--", "true"], "no such core");
}

#[test]
fn commands_that_fail() {
    let check = |words: &[&str], parts: &[&str]| {
        let folder = folder();
        let run = compare(folder.path(), words);
        assert_eq!(run.code, 4, "{words:?}: {}", run.err);
        assert!(parts.iter().all(|part| run.err.contains(part)), "{words:?}: {}", run.err);
    };
    check(&["--", "true", "--", "sh -c 'echo broken >&2; exit 7'"], &["exited with 7", "broken", "--ignore-failure"]);
    check(&["--", "true", "--", "no-such-program-here"], &["cannot start", "PATH"]);
    check(&["--setup", "sh -c 'exit 3'", "--", "true", "--", "true"], &["exited with 3"]);
    check(&["--input", "missing", "--", "cat", "--", "cat"], &["cannot open the input missing"]);
    check(&["--cwd-b", "missing", "--", "true", "--", "true"], &["cannot start"]);
    check(&["--limit", "200ms", "--", "true", "--", "sleep 100"], &["was killed", "raise --limit"]);
    check(&["--same-output", "--", "echo one", "--", "echo three"], &["print different outputs", "4 and 6 bytes"]);
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let folder = folder();
    let script = "echo x >> count; test $(wc -l < count) -lt 8";
    let run = compare(folder.path(), &["--json", "--pairs", "20", "--", "true", "--", script]);
    assert_eq!(run.code, 4, "{}", run.err);
    let kept: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((kept["verdict"].as_str(), kept["pairs"].as_u64()), (Some("undecided"), Some(6)), "{kept}");
    assert!(kept["aborted"].as_str().unwrap().contains("exited with 1"));
    assert!(kept["noise"].as_array().unwrap().len() >= 5);
}

#[test]
fn floods_of_output_are_read_and_thrown_away() {
    let folder = folder();
    let flood = "head -c 2000000000 /dev/zero";
    let run = compare(folder.path(), &["--max-pairs", "1", "--budget", "1s", "--", flood, "--", flood]);
    assert_eq!(run.code, 0, "{}", run.err);
    // Through a pipe, and to standard error as well.
    let both = "head -c 20000000 /dev/zero | tee /dev/stderr";
    let run = compare(folder.path(), &["--same-output", "--max-pairs", "1", "--budget", "1s", "--", both, "--", both]);
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rooflab"))
        .current_dir(folder.path())
        .args(["compare", "--json", "--", "true", "--", "sleep 0.05"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("sigma")));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: String = said.map(Result::unwrap).collect();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{rest}");
    let kept: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert!(kept["aborted"].as_str().unwrap().contains("interrupted"), "{kept}");
    assert!(kept["noise"].as_array().unwrap().len() >= 5);
}

#[test]
fn nothing_is_left_running() {
    let folder = folder();
    // One that stays in its group, one that leaves it.
    let script = "sleep 7531 & setsid sleep 7532 & true";
    let run = compare(folder.path(), &["--max-pairs", "2", "--", "true", "--", script]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("left processes behind"), "{}", run.out);
    let own = format!("PWD={}", folder.path().display());
    assert_eq!(running_with(&own), Vec::<String>::new());
    let failing = format!("{script}; exit 5");
    assert_eq!(compare(folder.path(), &["--", "true", "--", &failing]).code, 4);
    assert_eq!(running_with(&own), Vec::<String>::new());
}

/// Command lines of sleeping processes that were started in a folder.
fn running_with(variable: &str) -> Vec<String> {
    // A killed process takes a moment to go.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let own = std::process::id().to_string();
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = pids.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        let found = environment.split(|byte| *byte == 0).any(|word| word == variable.as_bytes());
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        found.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.collect()
}

#[test]
fn settings_of_each_arm_arrive() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    std::fs::write(folder.path().join("in"), "hello").unwrap();
    let words = [
        "--max-pairs",
        "1",
        "--env",
        "ALL=1",
        "--env-a",
        "X=a",
        "--env-b",
        "X=b",
        "--cwd-b",
        "b",
        "--input",
        "in",
        "--setup",
        "echo s >> setup",
        "--prepare",
        "echo p >> prepare",
        "--cleanup",
        "echo c >> cleanup",
        "--",
        "cat >> log; echo $ALL$X >> log",
    ];
    let run = compare(folder.path(), &words);
    assert_eq!(run.code, 0, "{}", run.err);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("log").starts_with("hello1a\n") && read("b/log").starts_with("hello1b\n"));
    for at in ["", "b/"] {
        let lines = |name: &str| read(&format!("{at}{name}")).lines().count();
        assert_eq!((lines("setup"), lines("cleanup"), lines("prepare")), (1, 1, lines("log")), "{at}");
    }
}

#[test]
fn bad_files_of_samples() {
    let check = |name: &str, text: &str, part: &str| {
        let folder = folder();
        std::fs::write(folder.path().join(name), text).unwrap();
        for verb in ["--samples", "--history"] {
            let run = compare(folder.path(), &[verb, name]);
            assert_eq!(run.code, 2, "{verb} {text:?}: {} {}", run.out, run.err);
            assert!(run.err.contains(part) && run.err.contains(name), "{verb} {text:?}: {}", run.err);
        }
    };
    check("a.csv", "", "is empty");
    check("a.csv", "x_ms\n5\n", "1 sample");
    check("a.csv", "x_ms\n5\nNaN\n", "NaN");
    check("a.csv", "x_ms\n5\n-3\n", "negative");
    check("a.csv", "x_ms,y\n5,6\n7,8\n", "mixes columns with and without a unit");
    check("a.csv", "x_ms,y_ms\n5,6\n7", "cut off");
    check("a.csv", "at,x_ms\n2,5\n1,6\n", "clock goes backwards");
    check("a.csv", "x\n5\n6\n", "--unit");
    check("a.json", r#"{"results": [{"command": "a", "times": [1, 2"#, "export it again");
    let folder = folder();
    std::fs::File::create(folder.path().join("g.csv")).unwrap().set_len(5 << 30).unwrap();
    let run = compare(folder.path(), &["--samples", "g.csv"]);
    assert!(run.code == 2 && run.err.contains("5.4 GB"), "{}", run.err);
}

#[test]
fn plots_and_history() {
    let folder = folder();
    let record = record(folder.path(), 0.02);
    let run = compare(folder.path(), &["--samples", record.to_str().unwrap(), "--plot", "p.svg"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.contains("their distribution") && svg.contains("is slower than") && svg.contains("<polygon"), "{svg}");
    let row = |i: i32| (i % 3 + if i < 18 { 100 } else { 110 }).to_string();
    let rows: Vec<String> = (0..40).map(row).collect();
    std::fs::write(folder.path().join("h.csv"), rows.join("\n")).unwrap();
    let run = compare(folder.path(), &["--history", "h.csv", "--unit", "ms", "--plot", "h.svg"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.starts_with("1 change in 40 results") && run.out.contains("#18"), "{}", run.out);
    assert!(std::fs::read_to_string(folder.path().join("h.svg")).unwrap().contains("at #19"));
    let run = compare(folder.path(), &["--history", "h.csv", "--unit", "ms", "--plot", "no/such/folder/h.svg"]);
    assert!(run.code == 4 && run.out.starts_with("1 change"), "{}", run.err);
}

#[test]
fn the_selftest_keeps_its_raw_data() {
    let folder = folder();
    let words = ["selftest", "compare", "--windows", "1", "--seconds", "0.03", "--out", "raw"];
    let run = rooflab(folder.path(), &words);
    assert_eq!(run.code, 0, "{}", run.err);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("raw").join(name)).unwrap();
    assert_eq!(read("table.md"), run.out);
    // Five effects on two kernels, alone and beside a neighbour; five rules.
    assert_eq!((read("windows.jsonl").lines().count(), read("table.md").lines().count()), (20, 2 + 4 * 5));
    let line: serde_json::Value = serde_json::from_str(read("windows.jsonl").lines().last().unwrap()).unwrap();
    assert_eq!(line["clock"], "memory-bound, beside a noisy neighbour");
    assert_eq!(line["answers"].as_array().unwrap().len(), 5);
}
