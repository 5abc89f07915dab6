//! One entry: its identity, its insertion, and the questions that find it.

use crate::{Error, blobs};
use jiff::Timestamp;
use model::Digest;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Identity of an entry: the digest of everything it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub Digest);

impl EntryId {
    /// The first twelve digits: enough for people.
    pub fn short(&self) -> String {
        self.0.short()
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the caller says about an entry to be, beside its body.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// When, by the caller's clock.
    pub at: Timestamp,
    /// What it is: `map`, `event.judged`, ...
    pub kind: &'a str,
    /// Campaign that it belongs to.
    pub campaign: Option<&'a str>,
    /// Entry that it corrects.
    pub supersedes: Option<EntryId>,
}

impl<'a> Draft<'a> {
    /// An entry of `kind` outside any campaign, correcting nothing.
    pub fn new(at: Timestamp, kind: &'a str) -> Self {
        Self { at, kind, campaign: None, supersedes: None }
    }
}

/// An entry without its body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Heading {
    /// Identity.
    pub id: EntryId,
    /// Number within its campaign, from 0.
    pub n: u64,
    /// When it was appended.
    pub at: Timestamp,
    /// What it is.
    pub kind: String,
    /// Campaign that it belongs to.
    pub campaign: Option<String>,
    /// Entry that it corrects.
    pub supersedes: Option<EntryId>,
}

/// An entry with its body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// All but the body.
    #[serde(flatten)]
    pub heading: Heading,
    /// Entries that correct this one, oldest first.
    pub superseded_by: Vec<EntryId>,
    /// What it says, blobs put back in place.
    pub body: Value,
}

/// Which entries to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this kind; `judged` finds `event.judged` too.
    pub kind: Option<String>,
    /// Of this campaign.
    pub campaign: Option<String>,
    /// The newest so many.
    pub limit: Option<u32>,
}

const COLUMNS: &str = "id, n, at, kind, campaign, supersedes";

/// The identity of an entry that says this. The body enters as its very text, so no reformatting can change an id.
pub(crate) fn identity(heading: &HeadingText<'_>, body: &str) -> Digest {
    let HeadingText { n, at, kind, campaign, supersedes } = heading;
    let canonical = serde_json::json!(["rooflab-entry-1", kind, campaign, n, at, supersedes, body]);
    Digest::of(canonical.to_string())
}

/// An entry's heading as the texts that its identity covers.
pub(crate) struct HeadingText<'a> {
    pub n: u64,
    pub at: &'a str,
    pub kind: &'a str,
    pub campaign: Option<&'a str>,
    pub supersedes: Option<&'a str>,
}

/// Appends inside a transaction.
pub(crate) fn insert(connection: &Connection, draft: &Draft<'_>, body: Value) -> Result<EntryId, Error> {
    if let Some(id) = draft.supersedes.filter(|id| !exists(connection, &id.to_string()).unwrap_or(false)) {
        return Err(Error::NothingToSupersede(id));
    }
    let body = blobs::store(connection, body)?.to_string();
    let n = count_in(connection, draft.campaign)?;
    let (at, supersedes) = (draft.at.to_string(), draft.supersedes.map(|id| id.to_string()));
    let heading =
        HeadingText { n, at: &at, kind: draft.kind, campaign: draft.campaign, supersedes: supersedes.as_deref() };
    let id = identity(&heading, &body);
    insert_row(connection, &id.to_string(), &heading, &body)?;
    Ok(EntryId(id))
}

/// Writes one row.
pub(crate) fn insert_row(
    connection: &Connection,
    id: &str,
    heading: &HeadingText<'_>,
    body: &str,
) -> Result<(), Error> {
    let HeadingText { n, at, kind, campaign, supersedes } = heading;
    let sql = "INSERT INTO entries (id, n, at, kind, campaign, supersedes, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![id, *n as i64, at, kind, campaign, supersedes, body])?;
    Ok(())
}

/// Whether an entry has this id.
pub(crate) fn exists(connection: &Connection, id: &str) -> Result<bool, Error> {
    Ok(connection.prepare_cached("SELECT 1 FROM entries WHERE id = ?1")?.exists(params![id])?)
}

/// The number that the next entry of `campaign` gets.
pub(crate) fn count_in(connection: &Connection, campaign: Option<&str>) -> Result<u64, Error> {
    let sql = "SELECT coalesce(max(n) + 1, 0) FROM entries WHERE campaign IS ?1";
    let n: i64 = connection.prepare_cached(sql)?.query_row(params![campaign], |row| row.get(0))?;
    Ok(n as u64)
}

pub(crate) fn get(connection: &Connection, prefix: &str) -> Result<Entry, Error> {
    let prefix = prefix.to_ascii_lowercase();
    if !(4..=64).contains(&prefix.len()) || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::NotAnId(prefix));
    }
    // 'g' follows the last hexadecimal digit.
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 10");
    let mut found: Vec<Heading> =
        connection.prepare(&sql)?.query_map(params![prefix], heading)?.collect::<Result<_, _>>()?;
    match found.len() {
        0 => Err(Error::NotFound(prefix)),
        1 => complete(connection, found.remove(0)),
        _ => Err(Error::Ambiguous { prefix, matches: found }),
    }
}

fn complete(connection: &Connection, heading: Heading) -> Result<Entry, Error> {
    let id = heading.id.to_string();
    let sql = "SELECT body FROM entries WHERE id = ?1";
    let body: String = connection.query_row(sql, params![id], |row| row.get(0))?;
    let body = parse(&id, &body)?;
    let superseded_by = connection
        .prepare("SELECT id FROM entries WHERE supersedes = ?1 ORDER BY seq")?
        .query_map(params![id], |row| entry_id(row, 0))?
        .collect::<Result<_, _>>()?;
    Ok(Entry { heading, superseded_by, body: blobs::restore(connection, body)? })
}

pub(crate) fn list(connection: &Connection, filter: &Filter) -> Result<Vec<Heading>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM (
             SELECT * FROM entries
             WHERE (?1 IS NULL OR kind = ?1 OR kind = 'event.' || ?1) AND (?2 IS NULL OR campaign = ?2)
             ORDER BY seq DESC LIMIT ?3
         ) ORDER BY seq"
    );
    let limit = filter.limit.map_or(-1, i64::from);
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params![filter.kind, filter.campaign, limit], heading)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest body of `kind` that `read` makes something of.
pub(crate) fn newest<T>(
    connection: &Connection,
    kind: &str,
    mut read: impl FnMut(Value) -> Option<T>,
) -> Result<Option<T>, Error> {
    let mut statement = connection.prepare("SELECT id, body FROM entries WHERE kind = ?1 ORDER BY seq DESC")?;
    let mut rows = statement.query(params![kind])?;
    while let Some(row) = rows.next()? {
        let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
        let body = blobs::restore(connection, parse(&id, &body)?)?;
        if let Some(found) = read(body) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The first column of the one row that `sql` may give.
pub(crate) fn one(connection: &Connection, sql: &str, argument: &str) -> Result<Option<String>, Error> {
    Ok(connection.query_row(sql, params![argument], |row| row.get(0)).optional()?)
}

pub(crate) fn parse(id: &str, body: &str) -> Result<Value, Error> {
    serde_json::from_str(body).map_err(|source| Error::Unreadable { id: id.to_owned(), expected: "JSON", source })
}

fn heading(row: &Row<'_>) -> rusqlite::Result<Heading> {
    Ok(Heading {
        id: entry_id(row, 0)?,
        n: row.get::<_, i64>(1)? as u64,
        at: timestamp(row, 2)?,
        kind: row.get(3)?,
        campaign: row.get(4)?,
        supersedes: row.get::<_, Option<String>>(5)?.map(|_| entry_id(row, 5)).transpose()?,
    })
}

fn entry_id(row: &Row<'_>, column: usize) -> rusqlite::Result<EntryId> {
    let text: String = row.get(column)?;
    text.parse().map(EntryId).map_err(|error| unreadable(column, error))
}

/// A time column.
pub(crate) fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| unreadable(column, error))
}

fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
