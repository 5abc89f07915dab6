//! What is kept between campaigns: machine maps, and how often a problem's held-out data has been looked at.

use crate::{Draft, EntryId, Error, Ledger, entry};
use jiff::Timestamp;
use model::{Digest, Fingerprint, Map};
use rusqlite::{Connection, params};
use serde_json::json;

/// Kind of a map's entry.
const MAP: &str = "map";
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
