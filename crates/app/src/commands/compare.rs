//! `rooflab compare`: from what was parsed to what is compared, and from its verdict to an exit code.
//!
//! Must not measure: the engine does.

use crate::args::CompareArgs;
use crate::outcome::{Failure, Outcome};
use crate::plan::Format;
use std::path::PathBuf;

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// Commands; the first is A.
    Commands(Vec<String>),
    /// Two states of a repository.
    Git {
        /// The repository.
        repo: PathBuf,
        /// A.
        base: String,
        /// B.
        patch: String,
        /// Whether B is the merge of the patch into the base.
        merge: bool,
        /// Builds either.
        build: Option<String>,
        /// Timed.
        run: Vec<String>,
        /// Timed, and not expected to differ.
        control: Vec<String>,
    },
    /// Files of samples.
    Samples {
        /// A.
        a: PathBuf,
        /// B.
        b: PathBuf,
        /// Their format, if it was named.
        format: Option<String>,
    },
    /// SQL statements; the first is A.
    Sql {
        /// Where.
        connection: String,
        /// Which.
        statements: Vec<String>,
    },
}

impl Subject {
    /// Resolves.
    ///
    /// # Errors
    /// When there are fewer than two arms, or arms where none belong.
    pub fn new(args: &CompareArgs) -> Result<Self, Failure> {
        let arms = arms(&args.arms);
        if let Some(connection) = &args.sql {
            return two("statements", arms).map(|statements| Self::Sql { connection: connection.clone(), statements });
        }
        let alone = |subject: Self| match arms.is_empty() {
            true => Ok(subject),
            false => Err(Failure::usage("commands after `--` and --repo or --samples exclude each other", USAGE)),
        };
        if let [a, b] = args.samples.as_slice() {
            return alone(Self::Samples { a: a.clone(), b: b.clone(), format: args.format.clone() });
        }
        if let (Some(repo), Some(base), Some(patch)) = (&args.repo, &args.base, &args.patch) {
            return alone(Self::Git {
                repo: repo.clone(),
                base: base.clone(),
                patch: patch.clone(),
                merge: args.merge,
                build: args.build.clone(),
                run: args.run.clone(),
                control: args.control.clone(),
            });
        }
        two("commands", arms).map(Self::Commands)
    }
}

const USAGE: &str = "rooflab compare -- 'CMD A' -- 'CMD B'";

fn two(what: &str, arms: Vec<String>) -> Result<Vec<String>, Failure> {
    match arms.len() {
        0 | 1 => Err(Failure::usage(format!("two {what} at least are needed, each after its own `--`"), USAGE)),
        _ => Ok(arms),
    }
}

/// The arms between the separators; the words of one arm are joined as a shell would have split them.
fn arms(words: &[String]) -> Vec<String> {
    let arms = words.split(|word| word == "--").map(|words| words.join(" "));
    arms.filter(|arm| !arm.trim().is_empty()).collect()
}

/// Runs it.
///
/// # Errors
/// When the request makes no sense or an arm fails.
pub fn run(args: &CompareArgs) -> Outcome {
    let subject = Subject::new(args)?;
    todo!("{subject:?}")
}

/// `rooflab selftest compare`.
///
/// # Errors
/// When the environment fails.
pub fn selftest(format: Format) -> Outcome {
    todo!("{format:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn subject(words: &[&str]) -> Result<Subject, Failure> {
        let line = ["rooflab", "compare"].iter().chain(words);
        let Verb::Compare(args) = Args::try_parse_from(line).unwrap().verb else { panic!() };
        Subject::new(&args)
    }

    #[test]
    fn arms_lie_between_separators() {
        let check = |words: &[&str], expected: &[&str]| {
            let Ok(Subject::Commands(arms)) = subject(words) else { panic!("{words:?}") };
            assert_eq!(arms, expected, "{words:?}");
        };
        check(&["--", "sleep 1", "--", "sleep 2"], &["sleep 1", "sleep 2"]);
        check(&["--", "sleep", "1", "--", "sleep", "2", "--", "true"], &["sleep 1", "sleep 2", "true"]);
    }

    #[test]
    fn too_few_or_too_many() {
        let check = |words: &[&str], part: &str| match subject(words) {
            Err(Failure::Usage(report)) => assert!(report.to_string().contains(part), "{report}"),
            other => panic!("{words:?}: {other:?}"),
        };
        check(&[], "two commands at least");
        check(&["--", "sleep 1"], "two commands at least");
        check(&["--sql", "host=x", "--", "SELECT 1"], "two statements at least");
        check(&["--samples", "a", "b", "--", "x"], "exclude each other");
    }
}
