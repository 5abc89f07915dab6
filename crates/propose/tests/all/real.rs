//! A real model behind a real server: llama.cpp's, with Qwen2.5-Coder-0.5B. Opt-in: ROOFLAB_REAL_MODEL names a folder,
//! into which everything is fetched once (550 MB). Such a model is no optimiser; what is tested is that whatever it says is
//! heard to its end, counted, written down, and gives a candidate or a named fault.

use super::{Nothing, files};
use propose::ask::Counted;
use propose::budget::{Budget, Caps, Price};
use propose::endpoint::{Backoff, Endpoint, KeySource, Protocol, Target};
use propose::exchange::{Desk, Outcome, Question, exchange};
use propose::prompt::{Brief, Parent, ProblemFacts};
use propose::record::Line;
use propose::{Matching, Progress, Record, Replay, Respondent, Spent, Templates};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Exchanges of one run.
const EXCHANGES: usize = 4;
/// Of a problem that is small enough for a small model.
const CODE: &str = include_str!("../../../../problems/rms-norm-silu/baselines/naive.c");

/// The server, which ends with its standard input.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(folder: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/serve.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http"))).expect("no address");
        Self { child, url }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn brief(number: usize) -> Brief {
    Brief {
        problem: ProblemFacts {
            title: "RMS norm, then SiLU".to_owned(),
            prototype:
                "void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows);"
                    .to_owned(),
            facts: vec!["COLS = 4096, a macro of problem.h".to_owned()],
        },
        best: Parent { effect: "the start".to_owned(), ..Parent::default() },
        files: files(&[("candidate.c", CODE)]),
        number: number.to_string(),
        ..Brief::default()
    }
}

/// Asks for one candidate; what came of it, in a word.
fn one(respondent: &mut dyn Respondent, record: Option<&mut Record>, number: usize) -> String {
    let mut budget = Budget::new(Caps::default(), Spent::default());
    let mut deaf = |_: Progress| ControlFlow::Continue(());
    let mut desk = Desk {
        respondent,
        budget: &mut budget,
        record,
        price: Price::default(),
        max_output: 1500,
        limit: Duration::from_secs(400),
        progress: &mut deaf,
    };
    let (templates, brief) = (Templates::shipped().unwrap(), brief(number));
    let prompt = templates.prompt(&brief, None).unwrap();
    let question = Question {
        prompt: &prompt,
        files: &brief.files,
        entry: "rms_norm_silu",
        known: &Nothing,
        templates: &templates,
    };
    match exchange(&mut desk, &question).outcome {
        Outcome::Candidate(candidate) => format!("{:?} {:?}", candidate.form, candidate.levels),
        Outcome::Fault(fault) => fault.kind().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "fetches 550 MB once, and takes minutes: ROOFLAB_REAL_MODEL=FOLDER cargo nextest run --run-ignored only"]
fn a_real_model_is_heard() {
    let folder = PathBuf::from(std::env::var_os("ROOFLAB_REAL_MODEL").expect("ROOFLAB_REAL_MODEL names a folder"));
    let service = Service::start(&folder);
    let target = Target {
        protocol: Protocol::OpenAi,
        url: format!("{}/v1", service.url),
        model: "qwen2.5-coder-0.5b".to_owned(),
        temperature: Some(0.7),
    };
    let key = KeySource::None.fetch().unwrap();
    let mut endpoint = Endpoint::new(target, key, Backoff::default()).unwrap();
    let path = folder.join("replies.jsonl");
    let _ = std::fs::remove_file(&path);
    let mut record = Record::open(&path).unwrap();
    let first: Vec<String> = (0..EXCHANGES).map(|n| one(&mut endpoint, Some(&mut record), n)).collect();
    println!("{first:?}");
    let told = |line: &Line| match line {
        Line::Answered { reply: Some(reply), .. } => reply.usage.counted == Counted::Told && !reply.text.0.is_empty(),
        Line::Answered { .. } => false,
        Line::Asked { .. } => true,
    };
    assert!(record.lines().iter().all(told), "every call has a reply, counted by the server");
    let mut replay = Replay::open(&path, Matching::Prompt).unwrap();
    let again: Vec<String> = (0..EXCHANGES).map(|n| one(&mut replay, None, n)).collect();
    assert_eq!(again, first);
}
