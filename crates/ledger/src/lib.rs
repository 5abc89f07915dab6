//! The ledger: an append-only, content-addressed store in one SQLite file. All SQL of the project lives here.
//!
//! Must not do: update or delete, read a clock (times are passed in), judge or render. docs/ledger.md is its schema page.

mod blobs;
mod campaigns;
mod entry;
mod error;
mod exchange;
mod integrity;
mod known;
mod schema;

pub use campaigns::{CampaignSummary, campaign_id};
pub use entry::{Draft, Entry, EntryId, Filter, Heading};
pub use error::Error;
pub use exchange::{Imported, ReadLine, entry_line, read_entry_line};
pub use integrity::Integrity;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// An open ledger. Any number of processes may hold the same file open.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger at `path`; makes it, and its folder, when there is none.
    ///
    /// # Errors
    /// The file cannot be made, is no ledger, is damaged, or was written by a newer rooflab.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
        }
        Ok(Self { connection: schema::open(path)?, path: path.to_owned() })
    }

    /// Opens the ledger at `path` for a command that only reads: a missing file is an error, not a new ledger.
    ///
    /// # Errors
    /// As for `open`, and when there is no such file.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(Error::Missing { path: path.to_owned() });
        }
        Self::open(path)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one entry. When this returns, the entry is on the disk.
    ///
    /// # Errors
    /// The body is no JSON value, the superseded entry is unknown, or the store fails.
    pub fn append(&mut self, draft: &Draft<'_>, body: &impl Serialize) -> Result<EntryId, Error> {
        let body = serde_json::to_value(body)?;
        self.write(|transaction| entry::insert(transaction, draft, body))
    }

    /// The one entry whose id begins with `prefix` (four digits or more).
    ///
    /// # Errors
    /// No entry, or several: the error lists them.
    pub fn get(&self, prefix: &str) -> Result<Entry, Error> {
        entry::get(&self.connection, prefix)
    }

    /// Headings of the entries that `filter` lets through, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Heading>, Error> {
        entry::list(&self.connection, filter)
    }

    /// Keeps `bytes` under their digest; keeping them again changes nothing.
    ///
    /// # Errors
    /// The store fails.
    pub fn put_blob(&mut self, bytes: &[u8]) -> Result<model::Digest, Error> {
        self.write(|transaction| blobs::put(transaction, bytes))
    }

    /// The bytes kept under `digest`.
    ///
    /// # Errors
    /// The store fails.
    pub fn blob(&self, digest: &model::Digest) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT bytes FROM blobs WHERE digest = ?1";
        Ok(self.connection.query_row(sql, params![digest.to_string()], |row| row.get(0)).optional()?)
    }

    /// Runs `work` in a transaction that takes the write lock at once: what it reads stays true until it has written.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }
}
