//! `judge-leaks`: candidates that do nothing through one judge's correctness gate, one after the other: what is left?
//!
//! The one bench that speaks the judge's own messages: one process for all candidates is the point.

use super::{Asked, Entry, Finding, Record, Rig};
use crate::workspace::root;
use anyhow::{Context, Result, bail};
use model::{Arm, Fidelity, Job, Judgement, Seconds, Slice, Source, Verdict};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "judge-leaks",
    asks: "candidates that do nothing, through the correctness gate of one judge: what do they leave behind?",
    runs: 20_000,
    measure,
};

/// Every so many candidates the text is a new one, so that the builder runs as well.
const DISTINCT: usize = 100;
/// Candidates after which all that is kept by design is there: memory by workload, a cache of artefacts at its fullest.
const WARM: usize = 1_000;
/// A line of the record every so many.
const EVERY: usize = 1_000;
/// Growth that is noise: what glibc's heap keeps.
const GROWTH_MIB: f64 = 16.0;
/// Artefacts that the judge keeps at most.
const CACHED: usize = 257;

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let mut judge = Judge::open(rig)?;
    let folders = folders();
    let (mut early, mut passed) = (judge.held()?, 0);
    let begun = Instant::now();
    let warm = WARM.min(rig.runs() / 10);
    for i in 0..rig.runs() {
        if i == warm {
            early = judge.held()?;
        }
        let asked = judge.gate(i / DISTINCT)?;
        passed += usize::from(!matches!(asked.judgement.verdict, Verdict::Refused { .. }));
        if i % EVERY == 0 {
            record.push(&asked)?;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let late = judge.held()?;
    judge.close()?;
    let left = self::folders().saturating_sub(folders);
    let grown = late.resident_mib - early.resident_mib;
    let rows = vec![
        ("candidates".into(), rig.runs().to_string()),
        ("not refused".into(), passed.to_string()),
        ("candidates a second".into(), format!("{:.0}", rig.runs() as f64 / seconds)),
        (
            "descriptors, after the warm-up and at the end".into(),
            format!("{}, {}", early.descriptors, late.descriptors),
        ),
        ("mappings".into(), format!("{}, {}", early.mappings, late.mappings)),
        ("processes below the judge".into(), format!("{}, {}", early.children, late.children)),
        ("resident memory".into(), format!("{:.1} MiB, {:.1} MiB", early.resident_mib, late.resident_mib)),
        ("folders left when the judge has gone".into(), left.to_string()),
    ];
    let met = passed == 0
        && late.descriptors <= early.descriptors + CACHED
        && late.mappings <= early.mappings + 8
        && late.children == 0
        && left == 0
        && grown < GROWTH_MIB;
    let target = format!(
        "no process, folder or mapping more, no descriptor but the {CACHED} artefacts that are cached, less than {GROWTH_MIB} MiB"
    );
    Ok(Finding { rows, milliseconds: Vec::new(), target, met })
}

/// Builders' folders in the temporary folder.
fn folders() -> usize {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("rooflab-build-")).count()
}

/// What a judge holds.
struct Held {
    descriptors: usize,
    mappings: usize,
    children: usize,
    resident_mib: f64,
}

/// A judge's process.
struct Judge {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    fn open(rig: &Rig) -> Result<Self> {
        let mut command = Command::new(&rig.binary);
        let mut child = command.arg("__judge").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().context("piped")?;
        let answers = BufReader::new(child.stdout.take().context("piped")?);
        let mut judge = Self { child, requests, answers };
        let problem = root().join("problems/rms-norm-silu");
        let open = json!({"request": "open", "problem": problem, "unconfined": false, "seed": null, "map": null});
        judge.ask(&open, "opened")?;
        Ok(judge)
    }

    fn ask(&mut self, request: &Value, wanted: &str) -> Result<Value> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).context("the judge's answer")?;
        if answer["response"] != wanted {
            bail!("not `{wanted}` but {answer}");
        }
        Ok(answer)
    }

    fn gate(&mut self, text: usize) -> Result<Asked> {
        let begun = Instant::now();
        let text = format!(
            "void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {{}}\n\
             /* {text} */\n"
        );
        let job = Job {
            candidate: Arm::Source(Source::c(text)),
            against: Arm::Baseline("two-pass".to_owned()),
            slice: Slice::Named(vec!["rows=16".to_owned()]),
            fidelity: Fidelity::Gate,
            margin: 0.005,
            cap: Seconds(60.0),
        };
        let mut answer = self.ask(&json!({"request": "judge", "job": job}), "judged")?;
        let judgement: Judgement = serde_json::from_value(answer["judgement"].take())?;
        Ok(Asked { judgement, wall: begun.elapsed() })
    }

    fn held(&self) -> Result<Held> {
        let process = format!("/proc/{}", self.child.id());
        let status = fs::read_to_string(format!("{process}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kib: f64 = resident.trim().trim_end_matches(" kB").parse().context("resident memory")?;
        let children = fs::read_to_string(format!("{process}/task/{}/children", self.child.id())).unwrap_or_default();
        Ok(Held {
            descriptors: fs::read_dir(format!("{process}/fd"))?.count(),
            mappings: fs::read_to_string(format!("{process}/maps"))?.lines().count(),
            children: children.split_whitespace().count(),
            resident_mib: kib / 1024.0,
        })
    }

    fn close(self) -> Result<()> {
        let Self { mut child, requests, answers } = self;
        drop(requests);
        drop(answers);
        child.wait()?;
        Ok(())
    }
}
