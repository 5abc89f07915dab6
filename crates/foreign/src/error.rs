//! What can be wrong with somebody's files: where, and what to do about it.
//!
//! Must not speak of a candidate's behaviour: that is a verdict.

use std::path::{Path, PathBuf};

/// A file that can't be read as what it claims to be, or asks for something that this machine lacks.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file system.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Not JSON, or not of the schema.
    #[error("{path}: {why}")]
    Schema {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The format's, and nothing for this machine.
    #[error("{what}")]
    Needs {
        /// What it needs.
        what: String,
        /// The way out.
        help: String,
    },
}

impl ForeignError {
    pub(crate) fn schema(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Schema { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn needs(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Needs { what: what.into(), help: help.into() }
    }

    /// What to do about it, where something can be done.
    pub fn help(&self) -> &str {
        match self {
            Self::File { .. } => "name a file that is there and can be read",
            Self::Schema { .. } => "docs/formats.md says what is read from it",
            Self::Needs { help, .. } => help,
        }
    }
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String, ForeignError> {
    std::fs::read_to_string(path).map_err(|error| ForeignError::File { path: path.to_owned(), error })
}
