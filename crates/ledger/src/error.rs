//! What can go wrong with a ledger. Each message says what to do.

use crate::{EntryId, Heading};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A failure of the store or of a question to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder of a new ledger could not be made.
    #[error("cannot make the folder {} for the ledger: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A reading command found no file.
    #[error("no ledger at {}: name one with --ledger, or run `rooflab run` to make one", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file could not be opened.
    #[error("cannot open the ledger {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file is something else.
    #[error("{} is not a ledger ({what}): name another file with --ledger, or move this one away", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        what: String,
    },
    /// SQLite found the file damaged.
    #[error(
        "the ledger {} is damaged ({detail}): keep a copy, recover it with `sqlite3 FILE .recover`, \
         or move it away and import an export",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's word.
        detail: String,
    },
    /// A newer rooflab wrote it.
    #[error(
        "the ledger {} has schema {found}, and this rooflab knows {known} at most: update rooflab, \
         or name another file with --ledger",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// No entry has this id.
    #[error("no entry's id begins with `{0}`: `rooflab ledger list` shows them")]
    NotFound(String),
    /// The text cannot be the start of an id.
    #[error("`{0}` cannot be an entry's id: give four or more hexadecimal digits")]
    NotAnId(String),
    /// Several entries share the prefix.
    #[error("`{prefix}` begins several ids; give more digits:{}", lines(matches))]
    Ambiguous {
        /// What was asked.
        prefix: String,
        /// The entries, ten at most.
        matches: Vec<Heading>,
    },
    /// The entry to supersede is not here.
    #[error("entry {0} is not in this ledger, so nothing can supersede it")]
    NothingToSupersede(EntryId),
    /// The body uses the key that marks a reference to a blob.
    #[error("a body may not hold the key `{}`: it marks a stored blob", crate::blobs::MARK)]
    ReservedKey,
    /// A campaign's first event is `started`, and only its first.
    #[error("campaign `{campaign}` {why}")]
    Campaign {
        /// Which.
        campaign: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A stored body does not read back.
    #[error("entry {id} does not read as {expected}: {source}")]
    Unreadable {
        /// Which.
        id: String,
        /// What it should be.
        expected: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A blob that an entry refers to is gone.
    #[error("blob {0} is missing: run `rooflab ledger check`")]
    MissingBlob(String),
    /// An import's line is no record or does not match its digest.
    #[error("line {line} of the import: {why}; nothing was imported")]
    Import {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// SQLite.
    #[error("the ledger's store failed: {0}")]
    Store(#[from] rusqlite::Error),
    /// JSON.
    #[error("cannot write as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Reading an import or writing an export.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

fn lines(matches: &[Heading]) -> String {
    matches.iter().fold(String::new(), |mut text, heading| {
        let campaign = heading.campaign.as_deref().unwrap_or("-");
        let _ = write!(text, "\n  {}  {}  {}  {campaign}", heading.id.short(), heading.at, heading.kind);
        text
    })
}
