//! Rows of JSON: a list of objects, or an object a line. A key is a column, as in CSV.

use super::csv::{Column, Table, header};
use super::{Format, Problem, Reading, SampleSet};
use serde_json::{Map, Value};

/// The rows in `bytes`, when that is what they are. A list that holds anything else is not.
pub(super) fn rows_of(bytes: &[u8]) -> Option<Result<Vec<Value>, serde_json::Error>> {
    let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if is_list {
        return Some(serde_json::from_slice::<Vec<Value>>(bytes));
    }
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let first_is_whole = lines.next().is_some_and(|line| serde_json::from_slice::<Map<String, Value>>(line).is_ok());
    // One line that is whole, and more after it: else it is an object of some tool's.
    (first_is_whole && lines.next().is_some())
        .then(|| serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().collect())
}

pub(super) fn parse(rows: &[Value], reading: &Reading) -> Result<Vec<SampleSet>, Problem> {
    let objects: Vec<&Map<String, Value>> = rows.iter().filter_map(Value::as_object).collect();
    if objects.len() < rows.len() {
        let what = "is a list of other things than objects";
        return Err(Problem::new(what, "write an object a result, as in {\"commit\": \"1a2b\", \"parse_ms\": 1.5}"));
    }
    let mut keys: Vec<&str> = Vec::new();
    for (key, value) in objects.iter().flat_map(|object| object.iter()) {
        // What is no number is a label, a clock or of no use here.
        let of_use = value.is_number() || super::csv::is_label(key);
        if of_use && !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let mut table = Table::new(header(&keys, reading)?);
    for (number, object) in objects.iter().enumerate() {
        for (i, key) in keys.iter().enumerate() {
            if let Some(value) = object.get(*key).filter(|value| !value.is_null()) {
                cell(&mut table, i, value, number + 1)?;
            }
        }
        table.end_row();
    }
    Ok(table.sets(Format::JsonRows))
}

fn cell(table: &mut Table, i: usize, value: &Value, row: usize) -> Result<(), Problem> {
    let place = format!("row {row}");
    match (&table.columns[i], value) {
        (Column::Label, value) => table.label(super::shape::label_of(value).unwrap_or_default()),
        (Column::Samples { .. }, Value::Number(number)) => table.push(i, &number.to_string(), &place)?,
        (Column::Clock, Value::Number(number)) => table.clock(i, &number.to_string(), &place)?,
        (Column::Samples { name, .. }, other) => {
            let problem = format!("{place}: `{name}` is {other}, not a number");
            return Err(Problem::new(problem, "leave the key away where there is no result"));
        }
        _ => {}
    }
    Ok(())
}
