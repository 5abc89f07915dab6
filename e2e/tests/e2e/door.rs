//! One open judge, asked through its pipe as the app asks it: many candidates, one process, and a look at what is left.
//!
//! Must not know more of the judge than its messages and what `/proc` shows.

use crate::rig::binary;
use model::{Arm, Fidelity, Job, Judgement, Seconds, Slice, Source};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// An open judge with a temporary folder of its own.
pub struct Door {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    temporary: tempfile::TempDir,
}

/// What a judge holds between two jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Open descriptors.
    pub descriptors: usize,
    /// Processes below it.
    pub descendants: Vec<u32>,
    /// Files and folders below its temporary folder.
    pub files: BTreeSet<String>,
    /// Mappings.
    pub mappings: usize,
}

impl Door {
    /// Starts a judge and opens a problem in it.
    pub fn open(problem: &Path) -> Self {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        // The builder runs as another user where the tests run as root.
        fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o711)).expect("our own folder");
        let mut command = Command::new(binary());
        command.arg("__judge").env("TMPDIR", temporary.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the judge's role");
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut door = Self { child, requests, answers, temporary };
        let open = json!({"request": "open", "problem": problem, "unconfined": false, "seed": null, "map": null});
        let opened = door.ask(&open);
        assert_eq!(opened["response"], "opened", "{opened}");
        door
    }

    /// The judge's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where its temporary files go.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// A question whose answer is not waited for.
    pub fn tell(&mut self, request: &Value) {
        let requests = self.requests.as_mut().expect("open until it is closed");
        writeln!(requests, "{request}").and_then(|()| requests.flush()).expect("the judge reads");
    }

    /// One question, one answer.
    pub fn ask(&mut self, request: &Value) -> Value {
        self.tell(request);
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line).expect("the judge's answer");
            assert!(read > 0, "the judge ended without an answer to {request}");
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if answer["response"] != "progress" {
                return answer;
            }
        }
    }

    /// Whether a candidate is right, on one workload.
    pub fn gate(&mut self, source: Source, workload: &str) -> Judgement {
        let mut answer = self.ask(&gate(source, workload));
        assert_eq!(answer["response"], "judged", "{answer}");
        serde_json::from_value(answer["judgement"].take()).expect("a judgement")
    }

    /// What it holds now.
    pub fn held(&self) -> Held {
        let process = Path::new("/proc").join(self.pid().to_string());
        let count = |name: &str| fs::read_dir(process.join(name)).map_or(0, Iterator::count);
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        Held {
            descriptors: count("fd"),
            descendants: descendants(self.pid()),
            files: files(self.temporary.path()),
            mappings: maps.lines().count(),
        }
    }

    /// Its resident memory, bytes.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().map_or(0, |kib| kib << 10)
    }

    /// Ends its input, waits for it, and gives what is left in its temporary folder.
    pub fn close(mut self) -> BTreeSet<String> {
        self.requests = None;
        let end = Instant::now() + Duration::from_secs(20);
        while self.child.try_wait().expect("our own child").is_none() {
            assert!(Instant::now() < end, "the judge does not leave when its input ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        files(self.temporary.path())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The question whether a candidate is right, on one workload.
pub fn gate(source: Source, workload: &str) -> Value {
    let job = Job {
        candidate: Arm::Source(source),
        against: Arm::Baseline("two-pass".to_owned()),
        slice: Slice::Named(vec![workload.to_owned()]),
        fidelity: Fidelity::Gate,
        margin: 0.005,
        cap: Seconds(60.0),
    };
    json!({"request": "judge", "job": job})
}

fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.insert(entry.path().display().to_string());
        found.extend(files(&entry.path()));
    }
    found
}

/// Every process below one, zombies too.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut below = Vec::new();
    let processes: Vec<(u32, u32)> =
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| parent(&entry)).collect();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let children = processes.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child);
        parents.extend(children.clone());
        below.extend(children);
    }
    below.sort_unstable();
    below
}

fn parent(entry: &fs::DirEntry) -> Option<(u32, u32)> {
    let pid = entry.file_name().to_str()?.parse().ok()?;
    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
    // The name may hold spaces and brackets; state and parent follow the last of them.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, parent))
}
