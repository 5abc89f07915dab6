//! Reads parts of a JSON value, with messages that say where. Knows no format.

use super::Problem;
use serde_json::Value;

pub(super) fn text<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Value::as_str)
}

pub(super) fn array<'a>(json: &'a Value, key: &str) -> Result<&'a Vec<Value>, Problem> {
    json.get(key)
        .and_then(Value::as_array)
        .ok_or_else(|| Problem::new(format!("has no list `{key}`"), "export it again with the tool's JSON option"))
}

/// A list of numbers; null is what tools write for NaN.
pub(super) fn numbers(json: &Value, name: &str) -> Result<Vec<f64>, Problem> {
    let list =
        json.as_array().ok_or_else(|| Problem::new(format!("`{name}` is not a list of numbers"), "export it again"))?;
    let number = |(i, value): (usize, &Value)| {
        value.as_f64().ok_or_else(|| {
            let problem = format!("sample {} of `{name}` is not a number ({value})", i + 1);
            Problem::new(problem, "remove it, after finding out why it is there")
        })
    };
    list.iter().enumerate().map(number).collect()
}

/// Characters of a commit that tell it from all others.
const ENOUGH_OF_A_HASH: usize = 12;

/// The commit or version that one of an object's keys names.
pub(super) fn label_in(json: &Value) -> Option<String> {
    json.as_object()?.iter().find(|(key, _)| super::csv::is_label(key)).and_then(|(_, value)| label_of(value))
}

/// A label as it is shown: text, a number, or an object's id. Hashes are cut.
pub(super) fn label_of(value: &Value) -> Option<String> {
    let label = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Object(_) => ["id", "sha", "hash"].iter().find_map(|key| text(value, key))?.to_owned(),
        _ => return None,
    };
    let is_hash = label.len() >= 40 && label.chars().all(|digit| digit.is_ascii_hexdigit());
    Some(if is_hash { label[..ENOUGH_OF_A_HASH].to_owned() } else { label }).filter(|label| !label.is_empty())
}
