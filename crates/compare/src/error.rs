//! What can go wrong outside of us, each message with what to do about it. A difference between arms is no error.

use crate::Outcome;
use std::path::PathBuf;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A command could not be started.
    #[error("cannot start `{command}`: {cause}; check the name and PATH, or give it a shell with --shell")]
    Start {
        /// The command.
        command: String,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A command ended with an error.
    #[error("`{command}` {how}{}; run it by hand, or pass --ignore-failure if that is what it does", tail(stderr))]
    Failed {
        /// The command.
        command: String,
        /// `exited with 3`, `was killed by signal 11`.
        how: String,
        /// End of what it printed on standard error.
        stderr: String,
    },
    /// A command outran its limit and was killed with all that it started.
    #[error(
        "`{command}` was still running after {limit} s and was killed; raise --limit and --budget, or make the work smaller"
    )]
    TimedOut {
        /// The command.
        command: String,
        /// Seconds.
        limit: f64,
    },
    /// Arms that have to agree print different things.
    #[error("`{a}` and `{b}` print different outputs ({detail}); they do not do the same work")]
    OutputsDiffer {
        /// First arm.
        a: String,
        /// The other.
        b: String,
        /// Where.
        detail: String,
    },
    /// A run took no measurable time.
    #[error("`{0}` took no measurable time; give it more work per run, or compare the wall time")]
    ZeroTime(String),
    /// Git said no.
    #[error("git: {0}")]
    Git(String),
    /// PostgreSQL said no.
    #[error("postgres: {0}")]
    Sql(String),
    /// A file of samples cannot be used.
    #[error("{}: {problem}; {fix}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// The user or the system asked us to stop.
    #[error("interrupted; the command that was running has been killed")]
    Interrupted,
    /// The system refused something that should work.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// The system's words.
        cause: std::io::Error,
    },
}

fn tail(stderr: &str) -> String {
    let last = stderr.trim_end();
    if last.is_empty() { String::new() } else { format!(", saying: {last}") }
}

impl CompareError {
    /// Exit code: 2 for a bad request or file, 130 for an interrupt, 4 when what was to be compared failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Samples { .. } => 2,
            Self::Interrupted => 130,
            _ => 4,
        }
    }

    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |cause| Self::System { what, cause }
    }
}

/// An error, and what had been measured before it.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// Why it ended.
    #[source]
    pub error: CompareError,
    /// The runs until then, without a verdict. None when nothing had been measured.
    pub kept: Option<Box<Outcome>>,
}

/// Changes what a run found, or what a failed one kept.
pub(crate) fn amended(
    mut result: Result<Outcome, Failure>,
    change: impl FnOnce(&mut Outcome),
) -> Result<Outcome, Failure> {
    let outcome = match &mut result {
        Ok(outcome) => Some(outcome),
        Err(failure) => failure.kept.as_deref_mut(),
    };
    outcome.map(change);
    result
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        Self { error, kept: None }
    }
}
