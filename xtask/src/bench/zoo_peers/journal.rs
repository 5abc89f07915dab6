//! The raw data: `setup.json`, and one line an answer in `answers.jsonl`. A bench goes on where its journal ends. Reads
//! fates out of the lines; asks nobody.

use super::answer::{About, Fate, Line};
use super::cases::{Case, WITHHELD};
use super::ours;
use crate::bench::record::{commit, machine, today};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

const SETUP: &str = "setup.json";
const ANSWERS: &str = "answers.jsonl";

/// Who was asked, where and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The evaluators, those that can't run here too.
    pub peers: Vec<About>,
    /// Which zoo.
    pub zoo: String,
    /// Rows that were not put before anybody.
    pub withheld: Vec<String>,
    /// The processor.
    pub machine: String,
    /// Its cores.
    pub cores: usize,
    /// What was checked out at the beginning.
    pub commit: String,
    /// When it began.
    pub date: String,
}

/// The open journal.
pub struct Journal {
    setup: Setup,
    lines: Vec<Line>,
    raw: Option<File>,
}

impl Journal {
    /// Opens the folder's journal, or begins one.
    ///
    /// # Errors
    /// When the folder holds another bench's, or can't be written.
    pub fn open(folder: &Path, peers: Vec<About>) -> Result<Self> {
        let place = folder.join(SETUP);
        let zoo = zoo::digest().to_string();
        let setup = if place.is_file() {
            let begun: Setup = serde_json::from_str(&fs::read_to_string(&place)?).context(SETUP)?;
            if begun.peers != peers || begun.zoo != zoo {
                bail!("{} belongs to other evaluators or another zoo", place.display());
            }
            begun
        } else {
            let begun = Setup {
                peers,
                zoo,
                withheld: WITHHELD.map(str::to_owned).to_vec(),
                machine: machine(),
                cores: std::thread::available_parallelism().map_or(0, usize::from),
                commit: commit(),
                date: today(),
            };
            fs::write(&place, serde_json::to_string_pretty(&begun)? + "\n")?;
            begun
        };
        let place = folder.join(ANSWERS);
        let text = if place.is_file() { fs::read_to_string(&place)? } else { String::new() };
        // A last line without its end was being written when the bench was killed.
        let length = text.rfind('\n').map_or(0, |end| end + 1);
        let lines = text[..length].lines().map(serde_json::from_str).collect::<Result<_, _>>().context(ANSWERS)?;
        let raw = OpenOptions::new().create(true).append(true).open(&place)?;
        raw.set_len(length as u64)?;
        Ok(Self { setup, lines, raw: Some(raw) })
    }

    /// Who was asked.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// All candidates that somebody was asked about, in the order of their names.
    pub fn cases(&self) -> Vec<&Case> {
        let mut cases: Vec<&Case> = self.lines.iter().map(|line| &line.case).collect();
        cases.sort_by(|a, b| a.file.cmp(&b.file));
        cases.dedup_by(|a, b| a.file == b.file);
        cases
    }

    /// An answer.
    pub fn line(&self, peer: &str, file: &str, look: u32) -> Option<&Line> {
        self.lines.iter().find(|line| line.peer == peer && line.case.file == file && line.look == look)
    }

    /// Whether there is one.
    pub fn has(&self, peer: &str, file: &str, look: u32) -> bool {
        self.line(peer, file, look).is_some()
    }

    /// Writes one more down.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn push(&mut self, line: Line) -> Result<()> {
        if let Some(raw) = &mut self.raw {
            // One write: a bench that is killed leaves at most one line unfinished.
            raw.write_all(format!("{}\n", serde_json::to_string(&line)?).as_bytes())?;
        }
        self.lines.push(line);
        Ok(())
    }

    /// How much faster than its twin a scored cheat is, as the peer has it.
    fn gain(&self, peer: &str, file: &str, look: u32) -> Option<f64> {
        let line = self.line(peer, file, look)?;
        let speedup = line.answer.speedup.filter(|_| line.answer.verdict.is_scored())?;
        let twin = line.case.twin.as_deref()?;
        if peer == ours::about().peer {
            return Some(speedup);
        }
        let twin = &self.line(peer, twin, look)?.answer;
        twin.speedup.filter(|_| twin.verdict.is_scored()).map(|twin| speedup / twin)
    }

    fn seems_to_pay(&self, peer: &str, file: &str, look: u32) -> bool {
        self.gain(peer, file, look).is_some_and(|gain| gain >= zoo::GAIN)
    }

    /// Who has to look again, at what.
    pub fn doubtful(&self) -> Vec<(String, String)> {
        let first = self.lines.iter().filter(|line| line.look == 1 && line.case.is_cheat());
        let doubtful = first.filter(|line| self.seems_to_pay(&line.peer, &line.case.file, 1));
        doubtful.map(|line| (line.peer.clone(), line.case.file.clone())).collect()
    }

    /// What became of a cheat.
    pub fn fate(&self, peer: &str, file: &str) -> Option<Fate> {
        let first = self.line(peer, file, 1)?;
        let pays = [1, 2].into_iter().all(|look| self.seems_to_pay(peer, file, look));
        let scored = if pays { Fate::Pays } else { Fate::Gainless };
        Some(if first.answer.verdict.is_scored() { scored } else { Fate::Caught })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::bench::zoo_peers::answer::{Answer, Verdict};
    use crate::bench::zoo_peers::cases::Language;

    fn line(peer: &str, file: &str, look: u32, found: (Verdict, Option<f64>)) -> Line {
        let twin = file.contains("cheat").then(|| file.replace("cheat", "twin"));
        let case = Case { file: file.into(), twin, problem: "p".into(), language: Language::C };
        let (verdict, speedup) = found;
        Line { peer: peer.into(), look, case, answer: Answer { verdict, speedup, seconds: 1.0, says: String::new() } }
    }

    /// A peer that catches one cheat, is fooled by another, and sees a third jump once.
    pub fn journal() -> Journal {
        use Verdict::{Accepted, Refused, Slower};
        let about = |peer: &str, reason: Option<&str>| About {
            peer: peer.into(),
            version: "1".into(),
            part: "all".into(),
            reason: reason.map(str::to_owned),
        };
        let setup = Setup {
            peers: vec![about("rooflab", None), about("peer", None), about("other", Some("no GPU"))],
            zoo: "z".into(),
            withheld: vec!["bomb".into()],
            machine: "a processor".into(),
            cores: 2,
            commit: "abc".into(),
            date: "2026-01-31".into(),
        };
        let lines = vec![
            line("rooflab", "a.cheat.c", 1, (Refused, None)),
            line("rooflab", "b.cheat.c", 1, (Accepted, Some(1.1))),
            line("rooflab", "b.twin.c", 1, (Slower, Some(0.5))),
            line("peer", "a.cheat.c", 1, (Refused, None)),
            line("peer", "a.twin.c", 1, (Refused, None)),
            line("peer", "b.cheat.c", 1, (Accepted, Some(8.0))),
            line("peer", "b.twin.c", 1, (Accepted, Some(2.0))),
            line("peer", "b.cheat.c", 2, (Accepted, Some(9.0))),
            line("peer", "b.twin.c", 2, (Accepted, Some(2.0))),
            line("peer", "c.cheat.c", 1, (Accepted, Some(4.0))),
            line("peer", "c.twin.c", 1, (Accepted, Some(2.0))),
            line("peer", "c.cheat.c", 2, (Accepted, Some(2.1))),
            line("peer", "c.twin.c", 2, (Accepted, Some(2.0))),
        ];
        Journal { setup, lines, raw: None }
    }

    #[test]
    fn fates_are_read_out_of_lines() {
        let journal = journal();
        let check = |peer: &str, file: &str, expected: Option<Fate>| {
            assert_eq!(journal.fate(peer, file), expected, "{peer} {file}");
        };
        check("rooflab", "a.cheat.c", Some(Fate::Caught));
        check("rooflab", "b.cheat.c", Some(Fate::Gainless));
        check("peer", "a.cheat.c", Some(Fate::Caught));
        check("peer", "b.cheat.c", Some(Fate::Pays));
        check("peer", "c.cheat.c", Some(Fate::Gainless));
        check("peer", "d.cheat.c", None);
        let doubtful = journal.doubtful();
        assert_eq!(
            doubtful,
            [("peer".to_owned(), "b.cheat.c".to_owned()), ("peer".to_owned(), "c.cheat.c".to_owned())]
        );
    }

    #[test]
    fn a_line_reads_back() {
        let line = line("peer", "a.cheat.c", 1, (Verdict::TimedOut, None));
        let text = serde_json::to_string(&line).expect("a line is JSON");
        assert!(text.contains(r#""verdict":"timed-out""#), "{text}");
        assert_eq!(serde_json::from_str::<Line>(&text).expect("it is ours"), line);
    }
}
