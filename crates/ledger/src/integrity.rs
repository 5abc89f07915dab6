//! Holds everything in the ledger against what it claims to be.

use crate::entry::{self, HeadingText};
use crate::{Error, Ledger, blobs};
use model::Digest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Integrity {
    /// Entries held against their digests.
    pub entries: u64,
    /// Blobs held against their digests.
    pub blobs: u64,
    /// One sentence for each thing that is wrong.
    pub problems: Vec<String>,
}

impl Integrity {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Ledger {
    /// Checks SQLite's structure, every digest, every reference, and that no campaign has a gap.
    ///
    /// # Errors
    /// The store fails before the check can finish.
    pub fn integrity(&self) -> Result<Integrity, Error> {
        let mut found = Integrity::default();
        let snapshot = self.connection.unchecked_transaction()?;
        for row in snapshot.prepare("PRAGMA integrity_check")?.query_map([], |row| row.get::<_, String>(0))? {
            let word = row?;
            if word != "ok" {
                found.problems.push(format!("SQLite: {word}"));
            }
        }
        let known = self.check_blobs(&mut found)?;
        self.check_entries(&known, &mut found)?;
        Ok(found)
    }

    fn check_blobs(&self, found: &mut Integrity) -> Result<BTreeSet<String>, Error> {
        let mut known = BTreeSet::new();
        let mut statement = self.connection.prepare("SELECT digest, bytes FROM blobs")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (digest, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if Digest::of(bytes).to_string() != digest {
                found.problems.push(format!("blob {digest}: its content has another digest"));
            }
            found.blobs += 1;
            known.insert(digest);
        }
        Ok(known)
    }

    fn check_entries(&self, known: &BTreeSet<String>, found: &mut Integrity) -> Result<(), Error> {
        let mut next: BTreeMap<String, u64> = BTreeMap::new();
        let sql = "SELECT id, n, at, kind, campaign, supersedes, body FROM entries ORDER BY seq";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, n): (String, i64) = (row.get(0)?, row.get(1)?);
            let (at, kind): (String, String) = (row.get(2)?, row.get(3)?);
            let (campaign, supersedes): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
            let body: String = row.get(6)?;
            let heading = HeadingText {
                n: n as u64,
                at: &at,
                kind: &kind,
                campaign: campaign.as_deref(),
                supersedes: supersedes.as_deref(),
            };
            if entry::identity(&heading, &body).to_string() != id {
                found.problems.push(format!("entry {id}: its content has another digest"));
            }
            for digest in blobs::references(&entry::parse(&id, &body)?) {
                if !known.contains(digest) {
                    found.problems.push(format!("entry {id}: blob {digest} is missing"));
                }
            }
            if let Some(campaign) = campaign {
                let expected = next.entry(campaign).or_default();
                if n as u64 != *expected {
                    found.problems.push(format!("entry {id}: number {n} of its campaign where {expected} follows"));
                }
                *expected = n as u64 + 1;
            }
            found.entries += 1;
        }
        Ok(())
    }
}
