//! How a command ends: the exit codes, and errors that say what to do.
//!
//! A candidate's failure is never one of these: it is a verdict, and the command that reports it is done.

use judge::client::JudgeError;
use std::fmt;
use std::process::ExitCode;

/// A command that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Exit 0.
    Complete,
    /// Exit 1: a gate was asked for, and B is worse than A.
    GateWorse,
    /// Exit 1: the judge's selftest was asked for, and a row is not as expected.
    RowUnexpected,
    /// Exit 3: a gate was asked for, and the evidence does not decide.
    GateUndecided,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        Self::from(match done {
            Done::Complete => 0,
            Done::GateWorse | Done::RowUnexpected => 1,
            Done::GateUndecided => 3,
        })
    }
}

/// A command that did not.
#[derive(Debug)]
pub enum Failure {
    /// Exit 2: what was asked for makes no sense.
    Usage(miette::Report),
    /// Exit 4: the environment failed.
    Environment(miette::Report),
    /// Exit 130: Ctrl-C; the text says how to go on.
    Interrupted(String),
}

/// What every command returns.
pub type Outcome = Result<Done, Failure>;

impl Failure {
    /// Bad input, and what to do about it.
    pub fn usage(what: impl fmt::Display, help: impl fmt::Display) -> Self {
        Self::Usage(miette::miette!(help = help.to_string(), "{what}"))
    }

    /// A failed environment, and what to do about it.
    pub fn environment(what: impl fmt::Display, help: impl fmt::Display) -> Self {
        Self::Environment(miette::miette!(help = help.to_string(), "{what}"))
    }

    /// A file that could not be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Environment(miette::miette!("{}: {error}", path.display()))
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Environment(_) => 4,
            Self::Interrupted(_) => 130,
        }
    }

    /// Says it on standard error.
    pub fn report(self) -> ExitCode {
        let code = self.code();
        match self {
            Self::Usage(report) | Self::Environment(report) => eprintln!("{report:?}"),
            Self::Interrupted(text) => eprintln!("{text}"),
        }
        ExitCode::from(code)
    }
}

impl From<JudgeError> for Failure {
    fn from(error: JudgeError) -> Self {
        Self::Environment(miette::miette!("{error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert_eq!(Failure::usage("a", "b").code(), 2);
        assert_eq!(Failure::from(JudgeError::Gone).code(), 4);
        assert_eq!(Failure::Interrupted(String::new()).code(), 130);
    }

    #[test]
    fn help_is_shown() {
        let Failure::Usage(report) = Failure::usage("no such problem", "name a folder") else { panic!() };
        let shown = format!("{report:?}");
        assert!(shown.contains("no such problem") && shown.contains("name a folder"), "{shown}");
    }
}
