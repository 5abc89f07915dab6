//! What is kept between campaigns: machine maps, selftests that passed, and how often a problem's held-out data has been
//! looked at.

use crate::{Draft, EntryId, Error, Ledger, entry};
use jiff::Timestamp;
use model::{Digest, Fingerprint, Map, Selftest};
use rusqlite::{Connection, params};
use serde_json::json;

/// Kind of a map's entry.
const MAP: &str = "map";
/// Kind of an entry that records a selftest that passed.
const SELFTEST: &str = "selftest";
/// Kind of an entry that records one look at held-out data.
const LOOK: &str = "held-out-look";

impl Ledger {
    /// Keeps a map.
    ///
    /// # Errors
    /// The store fails.
    pub fn put_map(&mut self, at: Timestamp, map: &Map) -> Result<EntryId, Error> {
        self.append(&Draft::new(at, MAP), map)
    }

    /// The newest map of the machine with this fingerprint. A map of another schema has another fingerprint.
    ///
    /// # Errors
    /// The store fails.
    pub fn latest_map(&self, machine: &Fingerprint) -> Result<Option<Map>, Error> {
        entry::newest(&self.connection, MAP, |body| {
            serde_json::from_value::<Map>(body).ok().filter(|map| map.fingerprint == *machine)
        })
    }

    /// Keeps a selftest that passed.
    ///
    /// # Errors
    /// The store fails.
    pub fn put_selftest(&mut self, at: Timestamp, selftest: &Selftest) -> Result<EntryId, Error> {
        self.append(&Draft::new(at, SELFTEST), selftest)
    }

    /// The newest selftest that this version of rooflab passed on the machine with this fingerprint.
    ///
    /// # Errors
    /// The store fails.
    pub fn latest_selftest(&self, machine: &Fingerprint, version: &str) -> Result<Option<Selftest>, Error> {
        entry::newest(&self.connection, SELFTEST, |body| {
            let read = serde_json::from_value::<Selftest>(body).ok()?;
            (read.machine == *machine && read.version == version).then_some(read)
        })
    }

    /// Looks at the held-out data of this problem so far.
    ///
    /// # Errors
    /// The store fails.
    pub fn held_out_looks(&self, problem: &Digest) -> Result<u32, Error> {
        looks(&self.connection, problem)
    }

    /// Writes down one more look, and returns the count with it. Count first, then look: a look that a crash cut
    /// short still counts.
    ///
    /// # Errors
    /// The store fails.
    pub fn count_look(&mut self, at: Timestamp, campaign: Option<&str>, problem: &Digest) -> Result<u32, Error> {
        let draft = Draft { campaign, ..Draft::new(at, LOOK) };
        self.write(|transaction| {
            entry::insert(transaction, &draft, json!({ "problem_digest": problem }))?;
            looks(transaction, problem)
        })
    }
}

fn looks(connection: &Connection, problem: &Digest) -> Result<u32, Error> {
    let sql = "SELECT count(*) FROM entries WHERE kind = ?1 AND body ->> '$.problem_digest' = ?2";
    Ok(connection.query_row(sql, params![LOOK, problem.to_string()], |row| row.get(0))?)
}
