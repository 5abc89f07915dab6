//! A folder as a respondent: prompts as files, replies as files, for a person or an agent that works by hand.
//!
//! `prompts/0001-DIGEST.md` is answered by `replies/0001-DIGEST.md`. A prompt that is there already is not written
//! again, and its reply is taken when it comes: whoever is killed in between goes on where they were.

use crate::ask::{Ask, AskError, Asked, Ended, Progress, Prompt, Reply, Respondent, Usage, Verbatim};
use model::Seconds;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the folder says about itself.
const README: &str = "rooflab writes prompts here, and waits for replies.

Answer prompts/NAME.md by a file replies/NAME.md: the form of a reply is said in the prompt. Write it under another name
first and rename it; a file that is written in place is taken when it has stopped growing.
";
/// How often to look.
const LOOK: Duration = Duration::from_millis(200);

/// A folder that is answered.
pub struct Mailbox {
    folder: PathBuf,
    look: Duration,
}

impl Mailbox {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn open(folder: &Path) -> Result<Self, AskError> {
        let mailbox = Self { folder: folder.to_owned(), look: LOOK };
        for part in ["prompts", "replies"] {
            std::fs::create_dir_all(folder.join(part)).map_err(|error| mailbox.unusable(&error))?;
        }
        mailbox.place(&folder.join("README.txt"), README)?;
        Ok(mailbox)
    }

    fn wait(&self, prompt: &Prompt, ask: &mut Ask<'_>, end: Instant) -> Result<Reply, AskError> {
        let name = self.post(prompt)?;
        let path = self.folder.join("replies").join(&name);
        let mut before = None;
        loop {
            let size = std::fs::metadata(&path).ok().map(|meta| (meta.len(), meta.modified().ok()));
            if size.is_some_and(|(bytes, _)| bytes > 0) && size == before {
                break;
            }
            before = size;
            if Instant::now() >= end {
                return Err(AskError::TimedOut { limit: Seconds(ask.limit.as_secs_f64()) });
            }
            ask.tell(Progress::default())?;
            std::thread::sleep(self.look);
        }
        let bytes = std::fs::read(&path).map_err(|error| self.unusable(&error))?;
        let usage = Usage::estimated(prompt.bytes(), bytes.len());
        Ok(Reply { text: Verbatim(bytes), ended: Ended::Unsaid, usage, model: self.name().to_owned() })
    }

    /// Writes the prompt, unless it is there; gives its file's name.
    fn post(&self, prompt: &Prompt) -> Result<String, AskError> {
        let folder = self.folder.join("prompts");
        let entries = std::fs::read_dir(&folder).map_err(|error| self.unusable(&error))?;
        let names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let end = format!("-{}.md", prompt.digest().short());
        if let Some(there) = names.iter().find(|name| name.ends_with(&end) && !name.starts_with('.')) {
            return Ok(there.clone());
        }
        let number = names.iter().filter_map(|name| name.split('-').next()?.parse::<u64>().ok()).max().unwrap_or(0);
        let name = format!("{:04}{end}", number + 1);
        self.place(&folder.join(&name), &prompt.to_text())?;
        Ok(name)
    }

    /// Writes a file under another name and renames it: it is there as a whole or not at all.
    fn place(&self, path: &Path, text: &str) -> Result<(), AskError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.part"));
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path)).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &std::io::Error) -> AskError {
        AskError::Unusable { what: format!("the mailbox {}: {error}", self.folder.display()) }
    }
}

impl Respondent for Mailbox {
    fn ask(&mut self, prompt: &Prompt, ask: &mut Ask<'_>) -> Asked {
        let begun = Instant::now();
        let result = self.wait(prompt, ask, begun + ask.limit);
        Asked { result, time: Seconds(begun.elapsed().as_secs_f64()) }
    }

    fn name(&self) -> &'static str {
        "mailbox"
    }
}
