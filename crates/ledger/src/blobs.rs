//! Long strings of a body live as blobs: a source that forty entries mention is kept once.
//!
//! Must not do: compress, or change a byte.

use crate::Error;
use model::Digest;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

/// The only key of an object that stands for a blob.
pub(crate) const MARK: &str = "$blob";

/// Longest string, in bytes, that stays inline. A reference takes 75 bytes; sources and diffs are kilobytes.
const INLINE: usize = 512;

/// Keeps `bytes`.
pub(crate) fn put(connection: &Connection, bytes: &[u8]) -> Result<Digest, Error> {
    let digest = Digest::of(bytes);
    let sql = "INSERT INTO blobs (digest, bytes)
               SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE digest = ?1)";
    connection.prepare_cached(sql)?.execute(params![digest.to_string(), bytes])?;
    Ok(digest)
}

/// `body` with every long string replaced by a reference to a blob.
pub(crate) fn store(connection: &Connection, body: Value) -> Result<Value, Error> {
    Ok(match body {
        Value::String(text) if text.len() > INLINE => {
            json!({ MARK: put(connection, text.as_bytes())?.to_string() })
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| store(connection, item)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) if map.contains_key(MARK) => return Err(Error::ReservedKey),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| Ok((key, store(connection, value)?))).collect::<Result<_, Error>>()?,
        ),
        other => other,
    })
}

/// `body` with every reference replaced by its text.
pub(crate) fn restore(connection: &Connection, body: Value) -> Result<Value, Error> {
    if let Some(digest) = reference(&body) {
        return Ok(Value::String(text(connection, digest)?));
    }
    Ok(match body {
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| restore(connection, item)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| Ok((key, restore(connection, value)?))).collect::<Result<_, Error>>()?,
        ),
        other => other,
    })
}

/// Digests of the blobs that `body` refers to.
pub(crate) fn references(body: &Value) -> Vec<&str> {
    if let Some(digest) = reference(body) {
        return vec![digest];
    }
    match body {
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(map) => map.values().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn reference(body: &Value) -> Option<&str> {
    body.as_object().filter(|map| map.len() == 1)?.get(MARK)?.as_str()
}

fn text(connection: &Connection, digest: &str) -> Result<String, Error> {
    let missing = || Error::MissingBlob(digest.to_owned());
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE digest = ?1")?
        .query_row(params![digest], |row| row.get(0))
        .optional()?;
    String::from_utf8(bytes.ok_or_else(missing)?).map_err(|_| missing())
}
