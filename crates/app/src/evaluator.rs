//! The driver's side of the judge: a trait, so that the loop can be tested without one.
//!
//! Must not interpret a judgement.

use judge::client::{JudgeError, JudgeProcess};
use model::{Certificate, Job, Judgement, Seconds, Source};

/// What the ladder is asked to climb with.
#[derive(Clone, Debug, PartialEq)]
pub struct Climb {
    /// The candidate.
    pub source: Source,
    /// Names of the baselines to beat.
    pub baselines: Vec<String>,
    /// How long the sustained rung runs.
    pub sustained: Seconds,
    /// Looks at the held-out slice, this one included.
    pub looks: u32,
}

/// Anything that judges.
pub trait Evaluator {
    /// Judges one job.
    ///
    /// # Errors
    /// When the environment fails; the candidate's failures are verdicts.
    fn judge(&mut self, job: &Job) -> Result<Judgement, JudgeError>;

    /// Climbs the ladder.
    ///
    /// # Errors
    /// When the environment fails; a rung not climbed is in the certificate.
    fn climb(&mut self, climb: &Climb) -> Result<Certificate, JudgeError>;
}

impl Evaluator for JudgeProcess {
    fn judge(&mut self, job: &Job) -> Result<Judgement, JudgeError> {
        Self::judge(self, job)
    }

    fn climb(&mut self, climb: &Climb) -> Result<Certificate, JudgeError> {
        Self::climb(self, &climb.source, &climb.baselines, climb.sustained, climb.looks)
    }
}
