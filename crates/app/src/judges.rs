//! The judge of a run: one process for the search, and a fresh one for the ladder.
//!
//! Must not run two at once: a judge and its runners take every core of a small machine.

use crate::evaluator::{Climb, Evaluator};
use crate::outcome::Failure;
use crate::session::Bench;
use judge::client::{JudgeError, JudgeProcess};
use model::{Certificate, Job, Judgement};

/// Judges, one after the other.
pub struct Judges {
    bench: Bench,
    now: Option<JudgeProcess>,
}

impl Judges {
    /// Goes on with a judge that is open.
    pub fn new(bench: Bench, open: JudgeProcess) -> Self {
        Self { bench, now: Some(open) }
    }

    fn fresh(&mut self) -> Result<&mut JudgeProcess, JudgeError> {
        self.now = None;
        let (judge, _) = self.bench.open().map_err(said)?;
        Ok(self.now.insert(judge))
    }
}

impl Evaluator for Judges {
    fn judge(&mut self, job: &Job) -> Result<Judgement, JudgeError> {
        if self.now.is_none() {
            self.fresh()?;
        }
        self.now.as_mut().ok_or(JudgeError::Gone)?.judge(job)
    }

    fn climb(&mut self, climb: &Climb) -> Result<Certificate, JudgeError> {
        self.fresh()?.climb(&climb.source, &climb.baselines, climb.sustained, climb.looks)
    }
}

fn said(failure: Failure) -> JudgeError {
    match failure {
        Failure::Usage(report) | Failure::Environment(report) => JudgeError::Said(report.to_string()),
        Failure::Interrupted(text) => JudgeError::Said(text),
    }
}
