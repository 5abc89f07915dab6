//! What a bench leaves behind: every judgement as it came (`judgements.jsonl`), the finding (`result.json`), and a
//! table for people (`table.md`).
//!
//! Raw data first: a bench that is interrupted has written all that it had measured.

use super::{Asked, Finding};
use crate::workspace::{command, output};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A bench's folder, being written.
pub struct Record {
    folder: PathBuf,
    name: &'static str,
    raw: Option<File>,
    seen: usize,
}

#[derive(Serialize)]
struct Line<'a> {
    run: usize,
    wall_s: f64,
    judgement: &'a model::Judgement,
}

#[derive(Serialize)]
struct Summary<'a> {
    bench: &'a str,
    date: String,
    commit: String,
    machine: String,
    cores: usize,
    target: &'a str,
    met: bool,
    rows: &'a [(String, String)],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    milliseconds: BTreeMap<&'a str, f64>,
}

impl Record {
    /// A folder for today's run below `place`. A finished run's stays what it is, and the second of a day is `-2`; one
    /// without a result was interrupted, and is gone on with.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn today(place: &Path, name: &'static str) -> Result<Self> {
        let first = place.join(format!("{}-{name}", today()));
        let mut folder = first.clone();
        for n in 2.. {
            if !folder.join("result.json").exists() {
                break;
            }
            folder = PathBuf::from(format!("{}-{n}", first.display()));
        }
        Self::at(&folder, name)
    }

    /// Writes to this folder, whatever lies in it.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn at(folder: &Path, name: &'static str) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { folder: folder.to_owned(), name, raw: None, seen: 0 })
    }

    /// Where it lies, for benches whose raw data are no judgements.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes one judgement down, and a line for the person who waits. The first replaces an earlier bench's.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn push(&mut self, asked: &Asked) -> Result<()> {
        let line = Line { run: self.seen, wall_s: asked.wall.as_secs_f64(), judgement: &asked.judgement };
        let raw = match &mut self.raw {
            Some(raw) => raw,
            none => none.insert(File::create(self.folder.join("judgements.jsonl"))?),
        };
        writeln!(raw, "{}", serde_json::to_string(&line)?)?;
        self.seen += 1;
        eprintln!("{:4}  {:6.2} s  {}", self.seen, asked.wall.as_secs_f64(), asked.judgement.verdict);
        Ok(())
    }

    /// Writes the finding, and gives the table.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(self, asks: &str, finding: &Finding) -> Result<String> {
        let summary = Summary {
            bench: self.name,
            date: today(),
            commit: commit(),
            machine: machine(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            target: &finding.target,
            met: finding.met,
            rows: &finding.rows,
            milliseconds: finding.milliseconds.iter().copied().collect(),
        };
        fs::write(self.folder.join("result.json"), serde_json::to_string_pretty(&summary)? + "\n")?;
        let met = if finding.met { "met" } else { "missed" };
        let target = (format!("target: {}", finding.target), met.to_owned());
        let rows = finding.rows.iter().chain([&target]).map(|(what, value)| format!("| {what} | {value} |\n"));
        let Summary { machine, cores, commit, date, .. } = &summary;
        let table = format!(
            "{asks}\n\n| | |\n|---|---|\n{}\n{machine}, {cores} cores, commit {commit}, {date}\n",
            rows.collect::<String>()
        );
        fs::write(self.folder.join("table.md"), &table)?;
        Ok(table)
    }
}

/// What is checked out.
pub fn commit() -> String {
    let hash = output(&mut command(&["git", "describe", "--always", "--dirty"]));
    hash.map_or_else(|_| "unknown".into(), |hash| hash.trim().into())
}

/// The processor's name.
pub fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |model| model.trim().to_owned())
}

/// Today in UTC, as `2026-01-31`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The civil date of a day since 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms", 2013).
fn date(days: u64) -> String {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_run_of_the_day_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let run = |ending: Option<&str>| {
            let record = Record::today(place.path(), "bench").unwrap();
            if let Some(text) = ending {
                fs::write(record.folder().join("result.json"), text).unwrap();
            }
            record.folder().file_name().unwrap().to_owned()
        };
        let names = [run(None), run(Some("{}")), run(Some("{}")), run(None)];
        let first = format!("{}-bench", today());
        let expected = [first.clone(), first.clone(), format!("{first}-2"), format!("{first}-3")];
        assert_eq!(names, expected.map(std::ffi::OsString::from));
    }

    #[test]
    fn dates() {
        let check = |days: u64, expected: &str| assert_eq!(date(days), expected);
        check(0, "1970-01-01");
        check(11_016, "2000-02-29");
        check(11_017, "2000-03-01");
        check(20_453, "2025-12-31");
        check(20_454, "2026-01-01");
    }
}
