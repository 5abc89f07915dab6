//! What every command that judges needs first: the problem, the machine's map, a judge with its warnings shown.
//!
//! Must not measure: a map is read here and measured in `machine`.

use crate::notice::{Notice, Phase, Voice};
use crate::outcome::Failure;
use crate::plan::Confinement;
use judge::client::{JudgeProcess, Opening};
use judge::message::{Opened, Ready};
use model::Map;
use problems::{Problem, ProblemError};
use std::path::{Path, PathBuf};

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Self {
        Self::Usage(miette::Report::new(error))
    }
}

/// How to open judges for one problem.
#[derive(Clone)]
pub struct Bench {
    /// The problem's folder.
    pub folder: PathBuf,
    /// Sandbox or not.
    pub confinement: Confinement,
    /// The machine's map, where there is one.
    pub map: Option<Map>,
    /// Who hears the judge's progress.
    pub voice: Voice,
}

impl Bench {
    /// Starts a judge.
    ///
    /// # Errors
    /// When the sandbox can't be set up, the compiler is missing, or the problem does not load.
    pub fn open(&self) -> Result<(JudgeProcess, Opened), Failure> {
        self.open_ready(Ready::Shortest)
    }

    fn open_ready(&self, ready: Ready) -> Result<(JudgeProcess, Opened), Failure> {
        let opening = Opening {
            problem: &self.folder,
            unconfined: self.confinement.is_waived(),
            seed: None,
            map: self.map.as_ref(),
            ready,
        };
        let voice = self.voice.clone();
        Ok(JudgeProcess::open(&opening, move |text| voice.say(&Notice::Working { text }))?)
    }

    /// Starts a judge, made ready as far as `ready` says, and shows what it holds.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_aloud(&self, ready: Ready) -> Result<(JudgeProcess, Opened), Failure> {
        self.voice.say(&Notice::Phase { phase: Phase::Open, expected: None });
        let (judge, opened) = self.open_ready(ready)?;
        self.voice.say(&Notice::Opened { opened: &opened });
        Ok((judge, opened))
    }
}

/// Loads a problem.
///
/// # Errors
/// With the place in problem.toml and the fix.
pub fn problem(folder: &Path) -> Result<Problem, Failure> {
    Ok(Problem::load(folder)?)
}

/// Names of a problem's baselines.
pub fn baseline_names(problem: &Problem) -> Vec<String> {
    problem.baselines.iter().map(|baseline| baseline.name.clone()).collect()
}

/// Names of a problem's workloads.
pub fn workload_names(problem: &Problem) -> Vec<String> {
    problem.workloads.iter().map(|workload| workload.name.clone()).collect()
}

/// The problem named, if it is found where problems lie and is still the one with this digest.
pub fn unchanged(name: &Path, digest: &str) -> Option<Problem> {
    let folder = crate::plan::problem_folder(name).ok()?;
    Problem::load(&folder).ok().filter(|problem| problem.digest.to_string() == digest)
}
