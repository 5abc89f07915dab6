//! The app's end of the judge: spawns it and speaks `message` with it.
//!
//! Must not judge anything itself.

use crate::message::{Answer, EvolveAnswer, EvolveQuestion, Interrupt, Opened, Question, Ready, Request, Response};
use model::{Certificate, Digest, Job, Judgement, Map, Seconds, Source, Verdict};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an idle judge may take to end: removing its folders takes a few milliseconds.
const GRACE: Duration = Duration::from_millis(300);

/// First argument that makes the binary a judge.
pub const ROLE: &str = "__judge";

/// The longest job has its cap, minutes, and its gates; a judge that is silent for an hour has stopped.
const SILENCE: Duration = Duration::from_secs(3600);
/// No answer is longer: a certificate of many judgements takes a few megabytes.
const LONGEST_LINE: usize = 64 << 20;
/// Characters of a senseless answer that are shown.
const SHOWN: usize = 300;

/// The environment failed; nothing is said of any candidate.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The judge process could not be started, or its pipe broke.
    #[error("the judge process failed: {0}")]
    Process(#[from] std::io::Error),
    /// The judge ended without an answer.
    #[error("the judge ended without an answer")]
    Gone,
    /// The judge said nothing for longer than any job of its takes.
    #[error("the judge has been silent for {0}")]
    Silent(Seconds),
    /// The judge said something else than was asked for.
    #[error("the judge's answer makes no sense: {0}")]
    Nonsense(String),
    /// What a candidate is to be compared with does not work.
    #[error("the base of the comparison does not work: {0}")]
    Against(Verdict),
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
    silence: Duration,
}

/// What a judge says that can be interrupted.
#[derive(Debug)]
pub struct Judged {
    /// All that was measured.
    pub judgement: Judgement,
    /// Whether it was cut short, so that there is no verdict.
    pub is_cut_short: bool,
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
        Self::open_within(opening, SILENCE, progress)
    }

    /// The same, with a silence of one's own after which the judge is taken for broken.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_within(
        opening: &Opening<'_>,
        silence: Duration,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<(Self, Opened), JudgeError> {
        let mut judge = Self::spawn(silence, progress)?;
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

    fn spawn(silence: Duration, progress: impl FnMut(&str) + Send + 'static) -> Result<Self, JudgeError> {
        let mut child =
            Command::new(std::env::current_exe()?).arg(ROLE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or(JudgeError::Gone)?;
        let responses = BufReader::new(child.stdout.take().ok_or(JudgeError::Gone)?);
        Ok(Self { child, requests: Some(requests), responses, progress: Box::new(progress), silence })
    }

    /// Starts this very binary as a judge and asks it about a problem in somebody else's format.
    ///
    /// # Errors
    /// When the environment fails, the problem's reference does not work, or its tolerance judges nothing.
    pub fn foreign(question: Question, progress: impl FnMut(&str) + Send + 'static) -> Result<Answer, JudgeError> {
        let mut judge = Self::spawn(SILENCE, progress)?;
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
        let mut judge = Self::spawn(SILENCE, progress)?;
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
        self.judge_as(job, Interrupt::Ends).map(|answer| answer.judgement)
    }

    /// Judges one candidate; a SIGINT to the judge has it answer with what was measured by then.
    ///
    /// # Errors
    /// As [`Self::judge`].
    pub fn judge_until_interrupted(&mut self, job: &Job) -> Result<Judged, JudgeError> {
        self.judge_as(job, Interrupt::Answers)
    }

    fn judge_as(&mut self, job: &Job, interrupt: Interrupt) -> Result<Judged, JudgeError> {
        let request = Request::Judge { job: job.clone(), interrupt };
        match self.ask_within(&request, self.silence.saturating_add(job.cap.into()))? {
            Response::Judged { judgement, is_cut_short } => Ok(Judged { judgement: *judgement, is_cut_short }),
            other => Err(JudgeError::Nonsense(format!("{other:?}"))),
        }
    }

    /// The judge's process, for a signal.
    pub fn id(&self) -> u32 {
        self.child.id()
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
        match self.ask_within(&request, self.silence.saturating_add(sustained.into()))? {
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
        self.ask_within(request, self.silence)
    }

    fn ask_within(&mut self, request: &Request, silence: Duration) -> Result<Response, JudgeError> {
        let mut line = serde_json::to_string(request).map_err(|e| JudgeError::Nonsense(e.to_string()))?;
        line.push('\n');
        let requests = self.requests.as_mut().ok_or(JudgeError::Gone)?;
        requests.write_all(line.as_bytes())?;
        requests.flush()?;
        loop {
            let line = self.line(silence)?;
            match serde_json::from_str(&line) {
                Ok(Response::Progress { text }) => (self.progress)(&text),
                Ok(Response::Error { message }) => return Err(JudgeError::Said(message)),
                Ok(Response::Against { verdict }) => return Err(JudgeError::Against(verdict)),
                Ok(response) => return Ok(response),
                Err(_) => return Err(JudgeError::Nonsense(line.chars().take(SHOWN).collect())),
            }
        }
    }

    /// One line: not longer than any answer, and not later than `silence`.
    fn line(&mut self, silence: Duration) -> Result<String, JudgeError> {
        let mut line = Vec::new();
        // A cap without bound is no reason to overflow: a month will do.
        let end = Instant::now() + silence.min(Duration::from_secs(30 * 86_400));
        while line.last() != Some(&b'\n') && line.len() < LONGEST_LINE {
            if self.responses.buffer().is_empty() {
                self.wait_until(end).map_err(|late| late.unwrap_or(JudgeError::Silent(silence.into())))?;
            }
            let part = self.responses.fill_buf()?;
            if part.is_empty() {
                break;
            }
            let taken = part.iter().position(|byte| *byte == b'\n').map_or(part.len(), |at| at + 1);
            line.extend_from_slice(&part[..taken]);
            self.responses.consume(taken);
        }
        if line.is_empty() {
            return Err(JudgeError::Gone);
        }
        String::from_utf8(line)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8").into())
    }

    /// Waits for something to read, or the end of the pipe. An error without words is that nothing came in time.
    fn wait_until(&self, end: Instant) -> Result<(), Option<JudgeError>> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            // Rounded up, so that it doesn't come down to a spin.
            let milliseconds = (left.as_millis() + 1).min(i32::MAX as u128) as i32;
            let mut poll = libc::pollfd { fd: self.responses.get_ref().as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: a plain system call on a local struct.
            let ready = unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
            if ready > 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if ready < 0 && error.kind() != io::ErrorKind::Interrupted {
                return Err(Some(error.into()));
            }
            if Instant::now() >= end {
                return Err(None);
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
