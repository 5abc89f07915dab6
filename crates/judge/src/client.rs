//! The app's end of the judge: spawns it and speaks `message` with it.
//!
//! Must not judge anything itself.

use crate::message::{Answer, EvolveAnswer, EvolveQuestion, Opened, Question, Ready, Request, Response};
use model::{Certificate, Digest, Job, Judgement, Map, Seconds, Source};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an idle judge may take to end: removing its folders takes a few milliseconds.
const GRACE: Duration = Duration::from_millis(300);

/// First argument that makes the binary a judge.
pub const ROLE: &str = "__judge";

/// The environment failed; nothing is said of any candidate.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The judge process could not be started, or its pipe broke.
    #[error("the judge process failed: {0}")]
    Process(#[from] std::io::Error),
    /// The judge ended without an answer.
    #[error("the judge ended without an answer")]
    Gone,
    /// The judge said something else than was asked for.
    #[error("the judge's answer makes no sense: {0}")]
    Nonsense(String),
    /// The judge's own words.
    #[error("{0}")]
    Said(String),
}

/// A judge process. Dropping it kills the process and all that it started.
pub struct JudgeProcess {
    child: Child,
    /// None once the judge has been told that there are no more.
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
    progress: Box<dyn FnMut(&str) + Send>,
}

/// How to open a problem.
pub struct Opening<'a> {
    /// The problem's folder.
    pub problem: &'a Path,
    /// Go on without the sandbox where it can't be set up.
    pub unconfined: bool,
    /// Seed of the judge's coins, for tests.
    pub seed: Option<u64>,
    /// The machine's map.
    pub map: Option<&'a Map>,
    /// Which tolerances to derive before the first job.
    pub ready: Ready,
}

impl JudgeProcess {
    /// Starts this very binary as a judge and opens a problem in it.
    ///
    /// # Errors
    /// When the process can't be started or the problem doesn't load.
    pub fn open(
        opening: &Opening<'_>,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<(Self, Opened), JudgeError> {
        let mut judge = Self::spawn(progress)?;
        let request = Request::Open {
            problem: opening.problem.to_owned(),
            unconfined: opening.unconfined,
            seed: opening.seed,
            map: opening.map.cloned().map(Box::new),
            ready: opening.ready,
        };
        match judge.ask(&request)? {
            Response::Opened { opened } => Ok((judge, *opened)),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    fn spawn(progress: impl FnMut(&str) + Send + 'static) -> Result<Self, JudgeError> {
        let mut child =
            Command::new(std::env::current_exe()?).arg(ROLE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or(JudgeError::Gone)?;
        let responses = BufReader::new(child.stdout.take().ok_or(JudgeError::Gone)?);
        Ok(Self { child, requests: Some(requests), responses, progress: Box::new(progress) })
    }

    /// Starts this very binary as a judge and asks it about a problem in somebody else's format.
    ///
    /// # Errors
    /// When the environment fails, the problem's reference does not work, or its tolerance judges nothing.
    pub fn foreign(question: Question, progress: impl FnMut(&str) + Send + 'static) -> Result<Answer, JudgeError> {
        let mut judge = Self::spawn(progress)?;
        match judge.ask(&Request::Foreign { question: Box::new(question) })? {
            Response::Foreign { answer } => Ok(*answer),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    /// Starts this very binary as a judge and lets a task's own evaluator score a program.
    ///
    /// # Errors
    /// When the environment fails, or the initial program does not evaluate.
    pub fn evolve(
        question: EvolveQuestion,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<EvolveAnswer, JudgeError> {
        let mut judge = Self::spawn(progress)?;
        match judge.ask(&Request::Evolve { question: Box::new(question) })? {
            Response::Evolved { answer } => Ok(*answer),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    /// Judges one candidate.
    ///
    /// # Errors
    /// When the environment fails; the candidate's failures are verdicts.
    pub fn judge(&mut self, job: &Job) -> Result<Judgement, JudgeError> {
        match self.ask(&Request::Judge { job: job.clone() })? {
            Response::Judged { judgement } => Ok(*judgement),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    /// Climbs the ladder with a candidate.
    ///
    /// # Errors
    /// When the environment fails.
    pub fn climb(
        &mut self,
        source: &Source,
        baselines: &[String],
        sustained: Seconds,
        looks: u32,
    ) -> Result<Certificate, JudgeError> {
        let request = Request::Climb { source: source.clone(), baselines: baselines.to_vec(), sustained, looks };
        match self.ask(&request)? {
            Response::Climbed { certificate } => Ok(*certificate),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    /// Writes a candidate's library and header.
    ///
    /// # Errors
    /// When it does not build or the files can't be written.
    pub fn export(&mut self, source: &Source, library: &Path, header: &Path) -> Result<Digest, JudgeError> {
        let request =
            Request::Export { source: source.clone(), library: library.to_owned(), header: header.to_owned() };
        match self.ask(&request)? {
            Response::Exported { digest } => Ok(digest),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Response, JudgeError> {
        let mut line = serde_json::to_string(request).map_err(|e| JudgeError::Nonsense(e.to_string()))?;
        line.push('\n');
        let requests = self.requests.as_mut().ok_or(JudgeError::Gone)?;
        requests.write_all(line.as_bytes())?;
        requests.flush()?;
        loop {
            let mut line = String::new();
            if self.responses.read_line(&mut line)? == 0 {
                return Err(JudgeError::Gone);
            }
            match serde_json::from_str(&line) {
                Ok(Response::Progress { text }) => (self.progress)(&text),
                Ok(Response::Error { message }) => return Err(JudgeError::Said(message)),
                Ok(response) => return Ok(response),
                Err(_) => return Err(JudgeError::Nonsense(line)),
            }
        }
    }
}

impl Drop for JudgeProcess {
    fn drop(&mut self) {
        // An idle judge ends by itself and takes its folders with it; one in the middle of something is killed.
        self.requests = None;
        let begin = Instant::now();
        while begin.elapsed() < GRACE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
