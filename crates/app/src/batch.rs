//! A batch's file: what was asked and what came out, a line each, in the form that `rooflab ledger import` takes in.
//!
//! Must survive a kill at any moment: a line counts once its line feed is on the disk, and what follows the last line
//! feed was never written. Must not touch a file that is no batch's.

use crate::outcome::Failure;
use jiff::Timestamp;
use ledger::Draft;
use model::{Digest, Fingerprint, Job, Judgement, Map};
use problems::Problem;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Kind of a batch's first entry.
pub const STARTED: &str = "batch.started";
/// Kind of the others.
pub const JUDGED: &str = "batch.judged";
/// How every line begins, as `ledger::entry_line` writes it.
const BEGINNING: &[u8] = b"{\"id\":\"";

/// What all judgements of a batch have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The problem's name.
    pub problem: String,
    /// Digest of the problem's folder.
    pub problem_digest: Digest,
    /// Where it is judged.
    pub machine: Fingerprint,
    /// rooflab's version.
    pub version: String,
    /// Whether the sandbox is off.
    pub unconfined: bool,
    /// The machine's map, measured before the first candidate; none when it was left out.
    pub map: Option<Map>,
}

impl Header {
    /// Whether a batch that began so can go on with this problem on this machine.
    ///
    /// # Errors
    /// What differs.
    pub fn holds_for(&self, problem: &Problem, machine: &Fingerprint) -> Result<(), String> {
        if self.problem_digest != problem.digest {
            return Err(format!("it judges {} as it was then ({})", self.problem, self.problem_digest.short()));
        }
        if self.machine != *machine {
            return Err(format!("it began on another machine ({})", self.machine.cpu));
        }
        if self.version != env!("CARGO_PKG_VERSION") {
            return Err(format!("rooflab {} began it", self.version));
        }
        Ok(())
    }
}

/// One candidate of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Its file's name.
    pub file: String,
    /// The question.
    pub job: Job,
}

/// One line after the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// What came out.
    pub judgement: Judgement,
}

/// An open batch's file, locked against a second process.
pub struct Book {
    file: File,
    path: PathBuf,
    id: String,
    header: Option<Header>,
    next: u64,
    done: HashSet<Digest>,
}

impl Book {
    /// Opens the file, or makes it; takes away a line that was cut short.
    ///
    /// # Errors
    /// When it can't be read or written, another process has it open, or it is no batch's.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: std::io::Error| Failure::file(path, &error);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("{} is being written by another process", path.display());
                return Err(Failure::usage(what, "wait for it, or name another file with --out"));
            }
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(wrong)?;
        let path = path.to_owned();
        let mut book = Self { file, path, id: String::new(), header: None, next: 0, done: HashSet::new() };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            book.take(line).ok_or_else(|| book.foreign())?;
        }
        let tail = &bytes[whole..];
        let begins = tail.len().min(BEGINNING.len());
        if tail[..begins] != BEGINNING[..begins] {
            return Err(book.foreign());
        }
        book.file.set_len(whole as u64).map_err(|error| Failure::file(&book.path, &error))?;
        book.file.seek(SeekFrom::End(0)).map_err(|error| Failure::file(&book.path, &error))?;
        Ok(book)
    }

    fn foreign(&self) -> Failure {
        let what = format!("{} is there already, and is no batch's file", self.path.display());
        Failure::usage(what, "name another file with --out")
    }

    fn take(&mut self, line: &[u8]) -> Option<()> {
        let line = ledger::read_entry_line(std::str::from_utf8(line).ok()?.trim_end())?;
        match line.kind.as_str() {
            STARTED if self.next == 0 => {
                self.header = Some(serde_json::from_value(line.body).ok()?);
                self.id = line.campaign?;
            }
            JUDGED if self.next == line.n && line.campaign.as_ref() == Some(&self.id) => {
                let answered: Answered = serde_json::from_value(line.body).ok()?;
                self.done.insert(key(&answered.asked));
            }
            _ => return None,
        }
        self.next += 1;
        Some(())
    }

    /// How the batch began, where it has.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Begins a batch.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn begin(&mut self, header: Header) -> Result<Header, Failure> {
        let salt = u64::from(std::process::id());
        self.id = format!("batch-{}", ledger::campaign_id(&header.problem, Timestamp::now(), salt));
        self.write(STARTED, &header)?;
        Ok(self.header.insert(header).clone())
    }

    /// Whether this very question has been answered.
    pub fn holds(&self, asked: &Asked) -> bool {
        self.done.contains(&key(asked))
    }

    /// Writes down an answer; it is on disk when this returns.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn append(&mut self, asked: &Asked, judgement: Judgement) -> Result<(), Failure> {
        self.write(JUDGED, &Answered { asked: asked.clone(), judgement })?;
        self.done.insert(key(asked));
        Ok(())
    }

    fn write(&mut self, kind: &str, body: &impl Serialize) -> Result<(), Failure> {
        let draft = Draft { campaign: Some(&self.id), ..Draft::new(Timestamp::now(), kind) };
        let line = ledger::entry_line(&draft, self.next, body)? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| Failure::file(&self.path, &error))?;
        self.next += 1;
        Ok(())
    }
}

fn key(asked: &Asked) -> Digest {
    Digest::of(serde_json::to_string(asked).expect("plain data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ledger::Ledger;
    use model::{Arm, Fidelity, Seconds, Slice, Verdict};

    fn header() -> Header {
        Header {
            problem: "norm".into(),
            problem_digest: Digest::of("p"),
            machine: sample::map().fingerprint,
            version: env!("CARGO_PKG_VERSION").into(),
            unconfined: false,
            map: Some(sample::map()),
        }
    }

    fn asked(i: usize) -> Asked {
        let job = Job {
            candidate: Arm::Source(sample::source(&format!("int a{i};"))),
            against: Arm::Baseline("stock".into()),
            slice: Slice::Declared,
            fidelity: Fidelity::Gate,
            margin: 0.005,
            cap: Seconds(60.0),
        };
        Asked { file: format!("{i}.c"), job }
    }

    fn judgement() -> Judgement {
        sample::judgement(Verdict::Better, &[("len=128", -0.5)])
    }

    /// One sitting: begins where need be, judges what is not judged yet, at most `most` candidates.
    fn sit(path: &Path, most: usize) {
        let mut book = Book::open(path).unwrap();
        if book.header().is_none() {
            book.begin(header()).unwrap();
        }
        let todo: Vec<Asked> = (0..3).map(asked).filter(|asked| !book.holds(asked)).collect();
        for asked in todo.iter().take(most) {
            book.append(asked, judgement()).unwrap();
        }
    }

    fn files(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| ledger::read_entry_line(line).unwrap());
        lines.filter_map(|line| Some(line.body.get("file")?.as_str()?.to_owned())).collect()
    }

    #[test]
    fn a_cut_at_any_byte_loses_one_line_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        sit(&path, 3);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(files(&path), ["0.c", "1.c", "2.c"]);
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            sit(&path, 3);
            assert_eq!(files(&path), ["0.c", "1.c", "2.c"], "cut at {cut}");
        }
    }

    #[test]
    fn a_batch_is_imported_once_and_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        let mut ledger = Ledger::open(folder.path().join("l.db")).unwrap();
        let mut import = || {
            let text = std::fs::read(&path).unwrap();
            let imported = ledger.import(&mut text.as_slice()).unwrap();
            (imported.entries, imported.known)
        };
        sit(&path, 1);
        assert_eq!(import(), (2, 0));
        assert_eq!(import(), (0, 2));
        sit(&path, 3);
        assert_eq!(import(), (2, 2));
        assert!(ledger.integrity().unwrap().holds());
        let judged = ledger.list(&ledger::Filter { kind: Some(JUDGED.into()), ..Default::default() }).unwrap();
        let entry = ledger.get(&judged[2].id.to_string()).unwrap();
        let answered: Answered = serde_json::from_value(entry.body).unwrap();
        assert_eq!(answered, Answered { asked: asked(2), judgement: judgement() });
        assert!(ledger.campaigns().unwrap().is_empty(), "a batch is no campaign");
    }

    #[test]
    fn other_peoples_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let check = |text: &str| {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Book::open(&path), Err(Failure::Usage(_))), "{text:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        };
        check("my notes");
        check("my notes\n");
        check("{\"a\":1}\n");
        check("{\"blob\":");
        sit(&path.with_extension("jsonl"), 1);
        let batch = std::fs::read_to_string(path.with_extension("jsonl")).unwrap();
        check(&batch.replacen("norm", "worm", 1));
        check(&format!("{batch}{batch}"));
    }

    #[test]
    fn two_processes_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        let _book = Book::open(&path).unwrap();
        assert!(matches!(Book::open(&path), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_batch_goes_on_where_it_began() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/rms-norm-silu");
        let problem = Problem::load(&folder).unwrap();
        let here = sample::map().fingerprint;
        let fits = Header { problem_digest: problem.digest, ..header() };
        let check = |header: &Header, machine: &Fingerprint, part: Option<&str>| {
            let said = header.holds_for(&problem, machine).err();
            assert_eq!(said.is_some(), part.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().contains(part.unwrap_or_default()));
        };
        check(&fits, &here, None);
        check(&header(), &here, Some("as it was then"));
        check(&fits, &Fingerprint { cores: 7, ..here.clone() }, Some("another machine"));
        check(&Header { version: "0.0.1".into(), ..fits }, &here, Some("rooflab 0.0.1"));
    }
}
