//! Plain CSV: a column a set, a row a sample. Units come from the header or from the caller; a guess is never made.

use super::{Format, Problem, Reading, SampleSet, TimeUnit};

/// Header names of a column that says when, not how long.
const CLOCK_NAMES: &[&str] = &["timestamp", "time_stamp", "at", "clock", "date", "start", "started"];

/// Header names of a column that says which result a row is.
const LABEL_NAMES: &[&str] =
    &["commit", "commit_id", "commit_hash", "revision", "rev", "sha", "hash", "label", "version", "tag", "build"];

/// Whether a column or key of this name labels its rows.
pub(super) fn is_label(name: &str) -> bool {
    LABEL_NAMES.contains(&name.trim().to_lowercase().as_str())
}

/// What a column is for.
pub(super) enum Column {
    Samples { name: String, per_second: f64 },
    Clock,
    Label,
    Ignored,
}

/// Columns that fill row by row. Columns may differ in length: each sample keeps the label of its own row.
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    values: Vec<Vec<f64>>,
    labels: Vec<Vec<String>>,
    label: String,
    in_row: Vec<usize>,
}

impl Table {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        let n = columns.len();
        Self {
            columns,
            values: vec![Vec::new(); n],
            labels: vec![Vec::new(); n],
            label: String::new(),
            in_row: Vec::new(),
        }
    }

    /// A sample in column `i`. `place` is for messages.
    pub(super) fn push(&mut self, i: usize, cell: &str, place: &str) -> Result<(), Problem> {
        let Column::Samples { name, per_second } = &self.columns[i] else { return Ok(()) };
        self.values[i].push(number_of(cell, place, name)? / per_second);
        self.in_row.push(i);
        Ok(())
    }

    /// A time of day, which must not go back. A date in words is not checked.
    pub(super) fn clock(&mut self, i: usize, cell: &str, place: &str) -> Result<(), Problem> {
        let Ok(now) = cell.parse::<f64>() else { return Ok(()) };
        if self.values[i].last().is_some_and(|before| now < *before) {
            let fix = "take the samples with a steady clock, or sort out which runs overlap";
            return Err(Problem::new(format!("{place}: the clock goes backwards, to {now}"), fix));
        }
        self.values[i].push(now);
        Ok(())
    }

    pub(super) fn label(&mut self, label: String) {
        self.label = label;
    }

    pub(super) fn end_row(&mut self) {
        let label = std::mem::take(&mut self.label);
        for i in self.in_row.drain(..) {
            self.labels[i].push(label.clone());
        }
    }

    pub(super) fn sets(self, format: Format) -> Vec<SampleSet> {
        let labelled = self.columns.iter().any(|column| matches!(column, Column::Label));
        let filled = self.columns.into_iter().zip(self.values).zip(self.labels);
        let set = |((column, seconds), labels)| match column {
            Column::Samples { name, .. } => {
                Some(SampleSet { labels: labelled.then_some(labels), ..SampleSet::new(name, format, seconds) })
            }
            Column::Clock | Column::Label | Column::Ignored => None,
        };
        filled.filter_map(set).collect()
    }
}

pub(super) fn parse(bytes: &[u8], stem: &str, reading: &Reading) -> Result<Vec<SampleSet>, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Problem::new(format!("is not text (byte {})", error.valid_up_to()), "export it as CSV or JSON in UTF-8")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let is_row = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = text.lines().enumerate().filter(is_row).peekable();
    let Some((_, first)) = lines.peek() else {
        return Err(Problem::new("holds no rows", "write one sample a line"));
    };
    let separator = separator(first);
    let cells: Vec<&str> = first.split(separator).map(clean).collect();
    let has_header = cells.iter().any(|cell| cell.parse::<f64>().is_err() && !is_nothing(cell));
    let mut table =
        Table::new(if has_header { header(&cells, reading)? } else { unnamed(cells.len(), stem, reading)? });
    if has_header {
        lines.next();
    }
    for (number, line) in lines {
        row(line, number + 1, separator, &mut table)?;
    }
    if !text.ends_with('\n') {
        ends_cleanly(text, separator, table.columns.len())?;
    }
    Ok(table.sets(Format::Csv))
}

fn separator(line: &str) -> char {
    [',', ';', '\t'].into_iter().max_by_key(|mark| (line.matches(*mark).count(), *mark == ',')).unwrap_or(',')
}

fn clean(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

/// Cells that stand for a missing or impossible value: numbers to the eye, so no header.
fn is_nothing(cell: &str) -> bool {
    cell.is_empty() || matches!(cell.to_lowercase().as_str(), "na" | "n/a" | "null" | "none")
}

pub(super) fn header(cells: &[&str], reading: &Reading) -> Result<Vec<Column>, Problem> {
    let units: Vec<Option<TimeUnit>> = cells.iter().map(|cell| unit_of(cell).1).collect();
    let samples: Vec<usize> = (0..cells.len()).filter(|i| !is_clock(cells[*i]) && !is_label(cells[*i])).collect();
    let known = samples.iter().filter(|i| units[**i].is_some()).count();
    if known > 0 && known < samples.len() && reading.unit.is_none() && samples.len() > 1 {
        let without = samples.iter().find(|i| units[**i].is_none()).map_or("", |i| cells[*i]);
        let problem = format!("mixes columns with and without a unit (`{without}` has none)");
        return Err(Problem::new(problem, "name the unit of every column, as in `parse_ms`, or pass --unit"));
    }
    cells.iter().zip(units).map(|(cell, unit)| column(cell, unit, reading)).collect()
}

fn is_clock(cell: &str) -> bool {
    CLOCK_NAMES.contains(&unit_of(cell).0.to_lowercase().as_str())
}

fn column(cell: &str, unit: Option<TimeUnit>, reading: &Reading) -> Result<Column, Problem> {
    if is_clock(cell) {
        return Ok(Column::Clock);
    }
    if is_label(cell) {
        return Ok(Column::Label);
    }
    if cell.is_empty() {
        return Ok(Column::Ignored);
    }
    let name = unit_of(cell).0.to_owned();
    let unit = unit.or(reading.unit).ok_or_else(|| no_unit(cell))?;
    Ok(Column::Samples { name, per_second: unit.per_second() })
}

fn no_unit(column: &str) -> Problem {
    let fix = "name it in the header, as in `parse_ms` or `parse (ms)`, or pass --unit ns|us|ms|s";
    Problem::new(format!("does not tell the unit of `{column}`"), fix)
}

fn unnamed(n: usize, stem: &str, reading: &Reading) -> Result<Vec<Column>, Problem> {
    let unit = reading.unit.ok_or_else(|| no_unit(stem))?;
    let name = |i: usize| if n == 1 { stem.to_owned() } else { format!("{stem} column {}", i + 1) };
    Ok((0..n).map(|i| Column::Samples { name: name(i), per_second: unit.per_second() }).collect())
}

/// Name and unit of `parse_ms`, `parse (ms)`, `parse [ms]`, `parse ms`.
fn unit_of(cell: &str) -> (&str, Option<TimeUnit>) {
    let bare = cell.trim_end_matches([')', ']']);
    let split = bare.rfind(['_', '(', '[', ' ']).map(|at| (&bare[..at], &bare[at + 1..]));
    match split.and_then(|(name, unit)| Some((name.trim_end(), TimeUnit::named(unit)?))) {
        Some((name, unit)) if !name.is_empty() => (name, Some(unit)),
        _ => match TimeUnit::named(cell) {
            Some(unit) => (cell, Some(unit)),
            None => (cell, None),
        },
    }
}

fn row(line: &str, number: usize, separator: char, table: &mut Table) -> Result<(), Problem> {
    let place = format!("line {number}");
    for (i, cell) in line.split(separator).enumerate() {
        let cell = clean(cell);
        match table.columns.get(i) {
            // Columns may differ in length; a last separator is no column.
            None | Some(Column::Samples { .. }) if cell.is_empty() => {}
            None => {
                let problem = format!("{place} has more columns than the first line");
                return Err(Problem::new(problem, "quote nothing that holds the separator; one sample a cell"));
            }
            Some(Column::Ignored) => {}
            Some(Column::Label) => table.label(cell.to_owned()),
            Some(Column::Clock) => table.clock(i, cell, &place)?,
            Some(Column::Samples { .. }) => table.push(i, cell, &place)?,
        }
    }
    table.end_row();
    Ok(())
}

fn number_of(cell: &str, place: &str, name: &str) -> Result<f64, Problem> {
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => {
            let fix = "remove the row, after finding out why it is there";
            Err(Problem::new(format!("{place}: `{name}` is {value}"), fix))
        }
        Err(_) => {
            let fix = "write plain numbers with a point, one unit a column";
            Err(Problem::new(format!("{place}: `{cell}` in `{name}` is not a number"), fix))
        }
    }
}

/// A last line without its end and with too few cells was cut off while it was written.
fn ends_cleanly(text: &str, separator: char, columns: usize) -> Result<(), Problem> {
    let last = text.lines().last().unwrap_or_default();
    let cells = last.split(separator).count();
    if cells < columns || last.trim_end().ends_with(['-', '.', 'e', separator]) && columns > 1 {
        let problem = format!("ends in the middle of line {}", text.lines().count());
        return Err(Problem::new(problem, "the file was cut off; export it again"));
    }
    Ok(())
}
