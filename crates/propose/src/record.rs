//! Every prompt and every reply, verbatim, as lines that are only ever appended; and the same replies again from them.
//!
//! A kill at any moment leaves it readable: a call is written down before it is made, and a last line that is torn is
//! left out. Must not hold keys.

use crate::ask::{Ask, AskError, Asked, Prompt, Reply, Respondent};
use crate::budget::Spent;
use model::{Digest, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// A call is about to be made.
    Asked {
        /// Its number, from 0.
        number: u64,
        /// Whom.
        respondent: String,
        /// Digest of the prompt.
        digest: Digest,
        /// The prompt.
        prompt: Prompt,
        /// The worst that it can cost.
        reserved: Spent,
    },
    /// It was made.
    Answered {
        /// Its number.
        number: u64,
        /// Whom.
        respondent: String,
        /// Digest of the prompt.
        digest: Digest,
        /// The reply, or none.
        reply: Option<Reply>,
        /// Why there is none.
        error: Option<AskError>,
        /// What it came to.
        spent: Spent,
    },
}

/// A record that is being written.
pub struct Record {
    file: File,
    path: PathBuf,
    lines: Vec<Line>,
}

impl Record {
    /// Opens a record, or begins one. A torn last line is cut off the file.
    ///
    /// # Errors
    /// When the file can't be read or written, or another line than the last can't be understood.
    pub fn open(path: &Path) -> Result<Self, AskError> {
        let failed = |error: std::io::Error| unusable(path, &error.to_string());
        let file = OpenOptions::new().create(true).append(true).read(true).open(path).map_err(failed)?;
        let (lines, sound) = read(path)?;
        file.set_len(sound).map_err(failed)?;
        Ok(Self { file, path: path.to_owned(), lines })
    }

    /// All lines so far.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What all calls came to; a call whose end is not written down counts as the worst.
    pub fn spent(&self) -> Spent {
        spent(&self.lines)
    }

    /// The reply that was given to a prompt, if one was.
    pub fn reply_to(&self, prompt: &Prompt) -> Option<Asked> {
        let wanted = prompt.digest();
        self.lines.iter().find_map(|line| match line {
            Line::Answered { digest, reply: Some(reply), spent, .. } if *digest == wanted => {
                Some(Asked { result: Ok(reply.clone()), time: spent.time })
            }
            _ => None,
        })
    }

    /// Writes down that a call is about to be made; gives its number.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn asked(&mut self, respondent: &str, prompt: &Prompt, reserved: Spent) -> Result<u64, AskError> {
        let number = self.lines.iter().filter(|line| matches!(line, Line::Asked { .. })).count() as u64;
        let (digest, prompt) = (prompt.digest(), prompt.clone());
        self.append(Line::Asked { number, respondent: respondent.to_owned(), digest, prompt, reserved })?;
        Ok(number)
    }

    /// Writes down what became of it.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn answered(&mut self, number: u64, asked: &Asked, spent: Spent) -> Result<(), AskError> {
        let of = |line: &Line| match line {
            Line::Asked { number: n, respondent, digest, .. } if *n == number => Some((respondent.clone(), *digest)),
            _ => None,
        };
        let found = self.lines.iter().find_map(of);
        let (respondent, digest) = found.ok_or_else(|| unusable(&self.path, "answered before it was asked"))?;
        let (reply, error) = (asked.result.as_ref().ok().cloned(), asked.result.as_ref().err().cloned());
        self.append(Line::Answered { number, respondent, digest, reply, error, spent })
    }

    fn append(&mut self, line: Line) -> Result<(), AskError> {
        let failed = |error: std::io::Error| unusable(&self.path, &error.to_string());
        let mut text = serde_json::to_string(&line).map_err(|error| unusable(&self.path, &error.to_string()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(failed)?;
        self.file.sync_data().map_err(failed)?;
        self.lines.push(line);
        Ok(())
    }
}

/// What calls came to, the unfinished ones at their worst.
pub fn spent(lines: &[Line]) -> Spent {
    let ended =
        |wanted: u64| lines.iter().any(|line| matches!(line, Line::Answered { number, .. } if *number == wanted));
    let costs = lines.iter().map(|line| match line {
        Line::Answered { spent, .. } => *spent,
        Line::Asked { number, reserved, .. } if !ended(*number) => *reserved,
        Line::Asked { .. } => Spent::default(),
    });
    costs.sum()
}

/// The lines of a record and the length of what is sound of it.
///
/// # Errors
/// When it can't be read, or another line than the last can't be understood.
pub fn read(path: &Path) -> Result<(Vec<Line>, u64), AskError> {
    let bytes = std::fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
    let mut lines = Vec::new();
    let mut sound = 0;
    for (i, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let is_last = sound + text.len() == bytes.len();
        match serde_json::from_slice(text) {
            Ok(line) if text.ends_with(b"\n") => lines.push(line),
            // Without its line end it may be torn even where it parses.
            _ if is_last => break,
            Ok(_) => unreachable!("only the last line has no end"),
            Err(error) => return Err(unusable(path, &format!("line {}: {error}", i + 1))),
        }
        sound += text.len();
    }
    Ok((lines, sound as u64))
}

fn unusable(path: &Path, why: &str) -> AskError {
    AskError::Unusable { what: format!("the record {}: {why}", path.display()) }
}

/// How a replay finds the reply to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// By the prompt's digest: the campaign is the same again, or the replay says that it isn't.
    Prompt,
    /// The next one, whatever the prompt: the same proposals under other conditions. What was said when a reply was sent
    /// back is given only where one is sent back again.
    Order,
}

/// Answers from a record, under the name of whoever gave them.
pub struct Replay {
    matching: Matching,
    answers: VecDeque<Given>,
    name: String,
}

/// An answer that was recorded.
struct Given {
    respondent: String,
    digest: Digest,
    is_repair: bool,
    asked: Asked,
}

/// What an answered line gives.
fn given(line: &Line, lines: &[Line]) -> Option<Given> {
    let Line::Answered { number, respondent, digest, reply, error, spent } = line else { return None };
    let asked = |line: &Line| match line {
        Line::Asked { number: n, prompt, .. } if n == number => Some(prompt.is_repair()),
        _ => None,
    };
    let result = reply.clone().ok_or_else(|| error.clone().unwrap_or(AskError::Stopped));
    Some(Given {
        respondent: respondent.clone(),
        digest: *digest,
        is_repair: lines.iter().find_map(asked).unwrap_or(false),
        asked: Asked { result, time: spent.time },
    })
}

impl Replay {
    /// Reads a record.
    ///
    /// # Errors
    /// As [`read`].
    pub fn open(path: &Path, matching: Matching) -> Result<Self, AskError> {
        let (lines, _) = read(path)?;
        // A prompt that was asked again after a failure and a new start has the last answer.
        let mut later = BTreeSet::new();
        let mut answers = VecDeque::new();
        for given in lines.iter().rev().filter_map(|line| given(line, &lines)) {
            if later.insert(given.digest) {
                answers.push_front(given);
            }
        }
        Ok(Self { matching, answers, name: "replay".to_owned() })
    }

    fn take(&mut self, prompt: &Prompt) -> Option<Given> {
        if self.matching == Matching::Prompt {
            let digest = prompt.digest();
            let at = self.answers.iter().position(|given| given.digest == digest)?;
            return self.answers.remove(at);
        }
        let is_repair = prompt.is_repair();
        while !is_repair && self.answers.front().is_some_and(|given| given.is_repair) {
            self.answers.pop_front();
        }
        self.answers.front().filter(|given| given.is_repair == is_repair)?;
        self.answers.pop_front()
    }

    /// How many answers are left.
    pub fn left(&self) -> usize {
        self.answers.len()
    }
}

impl Respondent for Replay {
    fn ask(&mut self, prompt: &Prompt, _ask: &mut Ask<'_>) -> Asked {
        let Some(given) = self.take(prompt) else {
            let error = AskError::NotRecorded { prompt: prompt.digest().short() };
            return Asked { result: Err(error), time: Seconds(0.0) };
        };
        self.name = given.respondent;
        given.asked
    }

    /// Who gave the last answer.
    fn name(&self) -> &str {
        &self.name
    }
}
