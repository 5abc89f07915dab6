//! Export and import as JSON lines: blobs first, then entries in the order of their appending.
//!
//! Must not do: trust a line. Every digest is computed again; an import is taken whole or not at all.

use crate::entry::{self, HeadingText};
use crate::{Draft, Error, Ledger, blobs};
use model::Digest;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{BufRead, Write};

/// A line that is a blob.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BlobLine {
    Text { blob: String, text: String },
    Bytes { blob: String, bytes: Vec<u8> },
}

/// A line that is an entry.
#[derive(Serialize, Deserialize)]
struct EntryLine {
    id: String,
    n: u64,
    at: String,
    kind: String,
    campaign: Option<String>,
    supersedes: Option<String>,
    body: Box<RawValue>,
}

impl EntryLine {
    fn heading(&self) -> HeadingText<'_> {
        HeadingText {
            n: self.n,
            at: &self.at,
            kind: &self.kind,
            campaign: self.campaign.as_deref(),
            supersedes: self.supersedes.as_deref(),
        }
    }

    fn is_itself(&self) -> bool {
        entry::identity(&self.heading(), self.body.get()).to_string() == self.id
    }
}

/// One entry as the line of an export, made where there is no ledger: `import` takes it in like any other. `n` is its
/// number within `draft`'s campaign. Ends without a line feed.
///
/// # Errors
/// The body is no JSON value.
pub fn entry_line(draft: &Draft<'_>, n: u64, body: &impl Serialize) -> Result<String, Error> {
    let mut line = EntryLine {
        id: String::new(),
        n,
        at: draft.at.to_string(),
        kind: draft.kind.to_owned(),
        campaign: draft.campaign.map(str::to_owned),
        supersedes: draft.supersedes.map(|id| id.to_string()),
        body: serde_json::value::to_raw_value(&serde_json::to_value(body)?)?,
    };
    line.id = entry::identity(&line.heading(), line.body.get()).to_string();
    Ok(serde_json::to_string(&line)?)
}

/// A line that [`entry_line`] made.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLine {
    /// What the entry is.
    pub kind: String,
    /// Campaign that it belongs to.
    pub campaign: Option<String>,
    /// Number within its campaign.
    pub n: u64,
    /// What it says.
    pub body: serde_json::Value,
}

/// Reads one line back; none when it is no entry, or is not what its id says.
pub fn read_entry_line(text: &str) -> Option<ReadLine> {
    let line = serde_json::from_str::<EntryLine>(text).ok().filter(EntryLine::is_itself)?;
    let body = serde_json::from_str(line.body.get()).ok()?;
    Some(ReadLine { kind: line.kind, campaign: line.campaign, n: line.n, body })
}

/// What an import brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Entries that were new.
    pub entries: u32,
    /// Entries that were here already.
    pub known: u32,
}

impl Ledger {
    /// Writes everything as JSON lines. Entries appended meanwhile are left out.
    ///
    /// # Errors
    /// The store or the writer fails.
    pub fn export(&self, out: &mut impl Write) -> Result<(), Error> {
        // A read transaction: both tables as of one moment.
        let snapshot = self.connection.unchecked_transaction()?;
        let mut statement = snapshot.prepare("SELECT digest, bytes FROM blobs ORDER BY digest")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (blob, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            let line = match String::from_utf8(bytes) {
                Ok(text) => BlobLine::Text { blob, text },
                Err(error) => BlobLine::Bytes { blob, bytes: error.into_bytes() },
            };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        let sql = "SELECT id, n, at, kind, campaign, supersedes, body FROM entries ORDER BY seq";
        let mut statement = snapshot.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let line = EntryLine {
                id: row.get(0)?,
                n: row.get::<_, i64>(1)? as u64,
                at: row.get(2)?,
                kind: row.get(3)?,
                campaign: row.get(4)?,
                supersedes: row.get(5)?,
                body: RawValue::from_string(row.get(6)?)?,
            };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        Ok(())
    }

    /// Takes in an export. What is here already is skipped.
    ///
    /// # Errors
    /// A line is malformed, a digest does not fit, or a campaign is here with another content. Nothing is kept then.
    pub fn import(&mut self, input: &mut impl BufRead) -> Result<Imported, Error> {
        self.write(|transaction| {
            let mut imported = Imported::default();
            for (index, text) in input.lines().enumerate() {
                let text = text?;
                if text.trim().is_empty() {
                    continue;
                }
                let wrong = |why| Error::Import { line: index + 1, why };
                match take(transaction, &text).map_err(wrong)? {
                    Some(true) => imported.entries += 1,
                    Some(false) => imported.known += 1,
                    None => {}
                }
            }
            Ok(imported)
        })
    }
}

/// Takes one line: whether its entry was new, or nothing for a blob.
fn take(connection: &Connection, text: &str) -> Result<Option<bool>, String> {
    // Not one untagged enum of both: that buffers its input, which a raw value does not survive.
    if let Ok(line) = serde_json::from_str::<EntryLine>(text) {
        return take_entry(connection, &line).map(Some);
    }
    let line = serde_json::from_str::<BlobLine>(text).map_err(|_| "neither an entry nor a blob".to_owned())?;
    let (claimed, bytes) = match line {
        BlobLine::Text { blob, text } => (blob, text.into_bytes()),
        BlobLine::Bytes { blob, bytes } => (blob, bytes),
    };
    if Digest::of(&bytes).to_string() != claimed {
        return Err(format!("the content of blob {claimed} has another digest"));
    }
    blobs::put(connection, &bytes).map_err(|error| error.to_string())?;
    Ok(None)
}

fn take_entry(connection: &Connection, line: &EntryLine) -> Result<bool, String> {
    let heading = line.heading();
    if !line.is_itself() {
        return Err(format!("the content of entry {} has another digest", line.id));
    }
    line.at.parse::<jiff::Timestamp>().map_err(|error| error.to_string())?;
    let text = |error: Error| error.to_string();
    if entry::exists(connection, &line.id).map_err(text)? {
        return Ok(false);
    }
    let body = entry::parse(&line.id, line.body.get()).map_err(text)?;
    for digest in blobs::references(&body) {
        let mut statement = connection.prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1");
        let known = statement.as_mut().map(|statement| statement.exists(params![digest]));
        if !matches!(known, Ok(Ok(true))) {
            return Err(format!("entry {} refers to blob {digest}, which is not here", line.id));
        }
    }
    if let Some(campaign) = line.campaign.as_deref() {
        let next = entry::count_in(connection, Some(campaign)).map_err(text)?;
        if next != line.n {
            return Err(format!("campaign {campaign} is here with another content, or has a gap"));
        }
    }
    entry::insert_row(connection, &line.id, &heading, line.body.get()).map_err(text)?;
    Ok(true)
}
