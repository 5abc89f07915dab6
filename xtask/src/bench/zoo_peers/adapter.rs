//! An adapter's process: started once, asked about one candidate after the other, started again when it is lost.
//!
//! Must not believe that it answers: it shares its namespaces with hostile code.

use super::answer::{About, Answer, Verdict};
use super::cases::Case;
use super::confined;
use super::place::{self, CHECKOUTS, Packages};
use crate::workspace::{command, output, root};
use anyhow::{Context, Result};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// Where the adapters lie.
pub const FOLDER: &str = "benches/zoo-peers";

/// For an adapter's first word: it imports its peer.
const START: Duration = Duration::from_secs(120);
/// For an answer; an adapter's own limit is lower.
const LIMIT: Duration = Duration::from_secs(100);

/// A peer, ready to be asked.
pub struct Adapter {
    script: PathBuf,
    python: PathBuf,
    about: About,
    running: Option<Running>,
}

struct Running {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Adapter {
    /// Installs what the peer needs and starts its adapter.
    ///
    /// # Errors
    /// When it can't be installed, or the adapter says nothing.
    pub fn open(script: &str, packages: Packages) -> Result<Self> {
        let python = place::python(packages)?;
        let script = root().join(FOLDER).join(script);
        let (running, about) = start(&python, &script)?;
        Ok(Self { script, python, about, running: Some(running) })
    }

    /// What it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Asks about one candidate. An adapter that is lost over it was broken by the candidate.
    ///
    /// # Errors
    /// When the adapter can't be started again, or says what is no answer.
    pub fn ask(&mut self, case: &Case) -> Result<Answer> {
        let text = fs::read_to_string(root().join(&case.file)).with_context(|| case.file.clone())?;
        let order = json!({ "problem": case.problem, "language": case.language, "text": text });
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(&self.python, &self.script)?.0,
        };
        let begun = Instant::now();
        let sent = running.orders.write_all(format!("{order}\n").as_bytes());
        let answer = sent.ok().and_then(|()| running.answers.recv_timeout(LIMIT).ok());
        let Some(answer) = answer else {
            running.end();
            let (verdict, seconds) = (Verdict::Crashed, begun.elapsed().as_secs_f64());
            return Ok(Answer { verdict, speedup: None, seconds, says: "the evaluator is gone".to_owned() });
        };
        self.running = Some(running);
        serde_json::from_str(&answer).with_context(|| format!("{} about {}: {answer}", self.about.peer, case.file))
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }
}

impl Running {
    /// Its namespaces end with it.
    fn end(mut self) {
        drop(self.orders);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(python: &Path, script: &Path) -> Result<(Running, About)> {
    let mut command = confined::command_for(python.as_os_str());
    let programs = python.parent().context("a Python lies in a folder")?;
    command.arg(script).env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
    for name in CHECKOUTS {
        if let Some(checkout) = std::env::var_os(name) {
            command.env(format!("{name}_COMMIT"), commit_of(Path::new(&checkout))).env(name, checkout);
        }
    }
    let log = place::folder().join(script.with_extension("log").file_name().context("a script's name")?);
    let mut child = command.stderr(Stdio::from(File::create(&log)?)).spawn().context("unshare (util-linux)")?;
    let (orders, said) = (child.stdin.take().context("a pipe")?, child.stdout.take().context("a pipe")?);
    let (sender, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let running = Running { child, orders, answers };
    let Ok(about) = running.answers.recv_timeout(START) else {
        running.end();
        let said = fs::read_to_string(&log).unwrap_or_default();
        anyhow::bail!("{} did not start; it said: {said}", script.display());
    };
    let about = serde_json::from_str(&about).with_context(|| format!("{}: {about}", script.display()))?;
    Ok((running, about))
}

fn commit_of(checkout: &Path) -> String {
    let checkout = checkout.to_string_lossy();
    let commit = output(&mut command(&["git", "-C", &checkout, "rev-parse", "--short=12", "HEAD"]));
    commit.map_or_else(|_| "an unknown commit".to_owned(), |commit| format!("commit {}", commit.trim()))
}
