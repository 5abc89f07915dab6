//! The schema and the opening of the file. docs/ledger.md explains each column.
//!
//! Must not do: change what a schema number means. A change is a new number and a migration.

use crate::Error;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;
use std::time::{Duration, Instant};

/// Schema that this code writes, kept in `PRAGMA user_version`.
pub(crate) const VERSION: u32 = 1;

/// `PRAGMA application_id`: "rflb" in ASCII, so that another program's database is told apart.
const APPLICATION: u32 = 0x7266_6c62;

/// How long a writer waits for another. A transaction here takes milliseconds; a minute outlasts a suspended laptop's disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Updates and deletes abort. So does an insert over an existing row: `INSERT OR REPLACE` deletes without firing the
/// delete trigger.
const SCHEMA: &str = "
CREATE TABLE blobs (
    digest TEXT NOT NULL PRIMARY KEY CHECK (length(digest) = 64),
    bytes  BLOB NOT NULL
) STRICT;

CREATE TABLE entries (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE CHECK (length(id) = 64),
    n          INTEGER NOT NULL CHECK (n >= 0),
    at         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    campaign   TEXT,
    supersedes TEXT REFERENCES entries (id),
    body       TEXT NOT NULL CHECK (json_valid(body)),
    UNIQUE (campaign, n)
) STRICT;

CREATE INDEX entries_by_kind ON entries (kind, seq);
CREATE INDEX entries_by_superseded ON entries (supersedes) WHERE supersedes IS NOT NULL;

CREATE TRIGGER blobs_no_update BEFORE UPDATE ON blobs
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blobs_no_delete BEFORE DELETE ON blobs
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blobs_no_replace BEFORE INSERT ON blobs
    WHEN EXISTS (SELECT 1 FROM blobs WHERE digest = NEW.digest)
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE seq = NEW.seq OR id = NEW.id
                 OR (campaign = NEW.campaign AND n = NEW.n))
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
";

/// Opens `path` and brings it to the schema.
pub(crate) fn open(path: &Path) -> Result<Connection, Error> {
    let mut connection = Connection::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
    prepare(&mut connection, path).map_err(|error| explain(error, path))?;
    Ok(connection)
}

fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    connection.busy_timeout(PATIENCE)?;
    // Look before touching: the switch to WAL writes, and another program's database is not ours to change.
    // In one transaction, for another process may be making the schema between two pragmas.
    recognise(&*connection.transaction()?, path)?;
    write_ahead(connection)?;
    // FULL: an acknowledged entry survives a power cut too. One fsync an entry costs milliseconds, a candidate's
    // judgement costs seconds; NORMAL would survive a killed process only.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Under the write lock: of two processes that open a new file, one makes the schema and the other finds it.
    if recognise(&transaction, path)? == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The file's schema number: 0 for an empty file.
fn recognise(connection: &Connection, path: &Path) -> Result<u32, Error> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && version == 0 {
        return Ok(0);
    }
    if application != APPLICATION || version == 0 {
        let what = "an SQLite database of another program".to_owned();
        return Err(Error::NotALedger { path: path.to_owned(), what });
    }
    if version > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found: version, known: VERSION });
    }
    Ok(version)
}

/// Switches to WAL. SQLite does not call the busy handler for this switch, so the wait is here.
fn write_ahead(connection: &Connection) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match switched {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return Ok(other.map(drop)?),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn explain(error: Error, path: &Path) -> Error {
    let Error::Store(source) = error else { return error };
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotALedger { path, what: "not an SQLite file".to_owned() },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, detail: source.to_string() },
        _ => Error::Open { path, source },
    }
}
