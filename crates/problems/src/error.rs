//! What can be wrong with a problem, each with the place and the fix.
//!
//! Must not print: these are diagnostics for the binary to render.

use miette::{Diagnostic, NamedSource, SourceSpan};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A problem that can't be used, and why.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ProblemError {
    /// `problem.toml` says something that it must not.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Malformed(Box<Malformed>),
    /// The folder or one of its files can't be read or written.
    #[error("{}: {source}", path.display())]
    #[diagnostic(
        code(problem::file),
        help("a problem is a folder with problem.toml; `rooflab new NAME` makes one that runs")
    )]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The compiled oracle can't be loaded or gives no finite answer.
    #[error("the oracle of {problem}: {why}")]
    #[diagnostic(code(problem::oracle), help("check oracle.c: every row of the output must be written and finite"))]
    Oracle {
        /// The problem's name.
        problem: String,
        /// What is wrong.
        why: String,
    },
    /// An answer that needs no work passes the problem's own tolerance.
    #[error("{problem} at {workload}: {answer} passes the tolerance, so the check proves nothing")]
    #[diagnostic(
        code(problem::trivial),
        help("draw inputs that matter more to the output, or lower [tolerance] factor")
    )]
    Trivial {
        /// The problem's name.
        problem: String,
        /// Where.
        workload: String,
        /// Which answer.
        answer: String,
    },
    /// A name that can't be a problem's.
    #[error("`{0}` can't name a problem")]
    #[diagnostic(
        code(problem::name),
        help("use lower-case letters, digits and `-`, a letter first: `scaled-residual`")
    )]
    Name(String),
}

/// A mistake in `problem.toml`, with the text that it is in.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(problem::toml))]
pub struct Malformed {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[help]
    pub help: String,
    /// The file.
    #[source_code]
    pub file: NamedSource<String>,
    /// Where in it.
    #[label("here")]
    pub span: Option<SourceSpan>,
}

/// The file that mistakes are reported against.
pub(crate) struct Page {
    name: String,
    text: String,
}

impl Page {
    /// The page named by its path within the problem's parent, so that messages don't depend on the machine.
    pub(crate) fn new(path: &Path, text: String) -> Self {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let name = Path::new(folder).join(path.file_name().unwrap_or_default());
        Self { name: name.display().to_string(), text }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// An error at `span`.
    pub(crate) fn error(
        &self,
        span: Option<Range<usize>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ProblemError {
        ProblemError::Malformed(Box::new(Malformed {
            message: message.into(),
            help: help.into(),
            file: NamedSource::new(&self.name, self.text.clone()).with_language("toml"),
            span: span.map(SourceSpan::from),
        }))
    }

    /// The TOML reader's error with the fix named.
    pub(crate) fn syntax(&self, error: &toml::de::Error) -> ProblemError {
        let message = error.message();
        let help = if message.starts_with("unknown field") {
            "correct the key's spelling or remove it; problems/README.md lists every key"
        } else if message.starts_with("missing field") {
            "add the key to this table; problems/README.md says what it holds"
        } else if message.starts_with("invalid type") {
            "give the value in the type that is expected; expressions are strings: \"heads_q * len\""
        } else if message.starts_with("unknown variant") {
            "use one of the values listed"
        } else {
            "this is not valid TOML: see https://toml.io/en/v1.0.0"
        };
        self.error(error.span(), message, help)
    }
}
