//! The race's raw data: `setup.json`, and one line a window in `windows.jsonl`. A race goes on where its journal ends.

use super::ground::{Ground, Pace, Setup};
use super::window::{Window, turn};
use crate::bench::record::{commit, machine, today};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

const SETUP: &str = "setup.json";
const WINDOWS: &str = "windows.jsonl";

/// What a race was made of, where and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begun {
    /// The same for every window.
    pub setup: Setup,
    /// How long the arms took at the start.
    pub pace: Pace,
    /// The processor.
    pub machine: String,
    /// Its cores.
    pub cores: usize,
    /// What was checked out.
    pub commit: String,
    /// When.
    pub date: String,
}

/// The open journal.
pub struct Journal {
    begun: Begun,
    windows: Vec<Window>,
    raw: File,
}

impl Journal {
    /// Opens the folder's journal, or begins one.
    ///
    /// # Errors
    /// When the folder holds another race, or can't be written.
    pub fn open(folder: &Path, ground: &Ground) -> Result<Self> {
        let place = folder.join(SETUP);
        let begun = if place.is_file() {
            let begun: Begun = serde_json::from_str(&fs::read_to_string(&place)?).context(SETUP)?;
            if begun.setup != *ground.setup() {
                bail!("{} belongs to another race: {:?}, now {:?}", place.display(), begun.setup, ground.setup());
            }
            begun
        } else {
            let begun = Begun {
                setup: ground.setup().clone(),
                pace: ground.pace()?,
                machine: machine(),
                cores: std::thread::available_parallelism().map_or(0, usize::from),
                commit: commit(),
                date: today(),
            };
            fs::write(&place, serde_json::to_string_pretty(&begun)? + "\n")?;
            begun
        };
        let place = folder.join(WINDOWS);
        let text = if place.is_file() { fs::read_to_string(&place)? } else { String::new() };
        let (windows, length) = read(&text, begun.setup.seed)?;
        let raw = OpenOptions::new().create(true).append(true).open(&place)?;
        raw.set_len(length as u64)?;
        Ok(Self { begun, windows, raw })
    }

    /// What the race was made of.
    pub fn begun(&self) -> &Begun {
        &self.begun
    }

    /// All windows so far.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Writes one more down.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn push(&mut self, window: Window) -> Result<()> {
        // One write: a race that is killed leaves at most one line unfinished.
        self.raw.write_all(format!("{}\n", serde_json::to_string(&window)?).as_bytes())?;
        self.windows.push(window);
        Ok(())
    }
}

/// The finished lines and how many bytes they take. A last line without its end is left out: it was being written when
/// the race was killed.
fn read(text: &str, seed: u64) -> Result<(Vec<Window>, usize)> {
    let length = text.rfind('\n').map_or(0, |end| end + 1);
    let mut windows = Vec::new();
    for (number, line) in text[..length].lines().enumerate() {
        let window: Window = serde_json::from_str(line).with_context(|| format!("{WINDOWS}:{}", number + 1))?;
        if window.number != number || (window.tool, window.difference) != turn(seed, number) {
            bail!("{WINDOWS}:{}: not the turn that the seed gives", number + 1);
        }
        windows.push(window);
    }
    Ok((windows, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::race::window::{Answer, SEED};

    fn line(number: usize) -> String {
        let (tool, difference) = turn(SEED, number);
        let answer = Answer {
            wall_s: 5.0,
            readings: Vec::new(),
            effect: None,
            interval: None,
            p: None,
            says: Vec::new(),
            raw: serde_json::Value::Null,
        };
        serde_json::to_string(&Window { number, tool, difference, answer }).expect("a window is JSON") + "\n"
    }

    #[test]
    fn a_killed_race_goes_on() {
        let check = |text: String, windows: usize, length: usize| {
            let (read, kept) = read(&text, SEED).expect("ours");
            assert_eq!((read.len(), kept), (windows, length), "{text}");
        };
        let (one, two) = (line(0), line(1));
        check(String::new(), 0, 0);
        check(one.clone(), 1, one.len());
        check(format!("{one}{two}"), 2, one.len() + two.len());
        check(format!("{one}{}", &two[..two.len() / 2]), 1, one.len());
        check(one[..one.len() - 1].to_owned(), 0, 0);
    }

    #[test]
    fn another_order_is_refused() {
        assert!(read(&line(1), SEED).is_err());
        assert!(read(&format!("{}{}", line(0), line(2)), SEED).is_err());
        assert!(read("{}\n", SEED).is_err());
    }
}
