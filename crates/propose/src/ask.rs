//! Whoever can be asked for code, what they are asked, and what comes back.
//!
//! Must not read a reply: here it is bytes.

use model::{Digest, Seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Who is asked, and by which rules.
    pub system: String,
    /// The conversation; one turn, or three when a reply is sent back.
    pub turns: Vec<Turn>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Whose.
    pub by: By,
    /// What it says.
    pub text: String,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// rooflab.
    User,
    /// Whoever is asked.
    Assistant,
}

impl Prompt {
    /// A first question.
    pub fn new(system: impl Into<String>, question: impl Into<String>) -> Self {
        Self { system: system.into(), turns: vec![Turn { by: By::User, text: question.into() }] }
    }

    /// The same with a reply and what is to be said about it.
    #[must_use]
    pub fn and(&self, reply: impl Into<String>, answer: impl Into<String>) -> Self {
        let mut prompt = self.clone();
        prompt.turns.push(Turn { by: By::Assistant, text: reply.into() });
        prompt.turns.push(Turn { by: By::User, text: answer.into() });
        prompt
    }

    /// Whether it sends a reply back.
    pub fn is_repair(&self) -> bool {
        self.turns.len() > 1
    }

    /// What makes two prompts the same.
    pub fn digest(&self) -> Digest {
        let turns = self.turns.iter().map(|turn| format!("{:?}\0{}", turn.by, turn.text));
        Digest::of(std::iter::once(self.system.clone()).chain(turns).collect::<Vec<_>>().join("\0\0"))
    }

    /// All of it as one text, for programs and people.
    pub fn to_text(&self) -> String {
        let mut text = self.system.trim_end().to_owned();
        for turn in &self.turns {
            let heading = if turn.by == By::Assistant { "# Your reply\n\n" } else { "" };
            let gap = if text.is_empty() { "" } else { "\n\n" };
            // Writing to a string can't fail.
            let _ = write!(text, "{gap}{heading}{}", turn.text.trim_end());
        }
        text.push('\n');
        text
    }

    /// Bytes of text.
    pub fn bytes(&self) -> usize {
        self.system.len() + self.turns.iter().map(|turn| turn.text.len()).sum::<usize>()
    }
}

/// A reply's bytes, as they came. In JSON a string where they are UTF-8, else an array of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct Verbatim(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Form> for Verbatim {
    fn from(form: Form) -> Self {
        match form {
            Form::Text(text) => Self(text.into_bytes()),
            Form::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<Verbatim> for Form {
    fn from(Verbatim(bytes): Verbatim) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

impl From<String> for Verbatim {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its writer says that it is complete.
    Complete,
    /// At the limit of tokens.
    Length,
    /// The service would not give it.
    Withheld,
    /// The connection or the time ended before it did.
    Cut,
    /// Nobody says: a program's or a person's.
    Unsaid,
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt.
    pub input: u64,
    /// Of the reply, thinking included.
    pub output: u64,
    /// Who counted.
    pub counted: Counted,
}

/// Who counted tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// The service.
    Told,
    /// We did, from the bytes.
    Estimated,
}

/// Bytes of code a token, low so that estimates are high. Tokenisers of today's models give 3.0 to 3.6 on C, 4 to 4.5 on
/// English.
const BYTES_PER_TOKEN: u64 = 3;

/// Tokens that so many bytes are at most, as a rule.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

impl Usage {
    /// From bytes.
    pub fn estimated(input: usize, output: usize) -> Self {
        Self { input: tokens(input), output: tokens(output), counted: Counted::Estimated }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The text, as it came; thinking that the service sends apart is not part of it.
    pub text: Verbatim,
    /// How it ended.
    pub ended: Ended,
    /// Tokens.
    pub usage: Usage,
    /// The model, as the service names it; else the respondent's name.
    pub model: String,
}

/// A call and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The reply, or why there is none.
    pub result: Result<Reply, AskError>,
    /// How long it took.
    pub time: Seconds,
}

/// Why there is no reply. Never holds a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "error")]
pub enum AskError {
    /// No connection, or it broke before an answer.
    #[error("can't reach {place}: {cause}; is the service up, and the address right?")]
    Unreachable {
        /// Host and port.
        place: String,
        /// The system's words.
        cause: String,
    },
    /// The service said no, to the end of all retries.
    #[error("{place} answered {code}: {message}")]
    Status {
        /// Host and port.
        place: String,
        /// HTTP status.
        code: u16,
        /// The service's words.
        message: String,
    },
    /// The limit has passed with nothing usable.
    #[error("no reply within {limit}; raise the limit, or ask for less")]
    TimedOut {
        /// The limit.
        limit: Seconds,
    },
    /// The answer is not in the protocol.
    #[error("the answer of {place} can't be read: {what}")]
    Malformed {
        /// Host and port.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// A program failed.
    #[error("`{command}` {how}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended, and the end of what it said on standard error.
        how: String,
    },
    /// A key, a folder or an address that can't be used.
    #[error("{what}")]
    Unusable {
        /// What, and what to do about it.
        what: String,
    },
    /// Someone asked to stop.
    #[error("stopped")]
    Stopped,
    /// A replay has no reply to this prompt.
    #[error("the record has no more replies, or none to prompt {prompt}")]
    NotRecorded {
        /// The prompt's digest, short.
        prompt: String,
    },
}

impl AskError {
    /// Whether the next call would fail in the same way, so that a campaign should end rather than go on asking.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Unusable { .. } | Self::Stopped | Self::NotRecorded { .. } => true,
            Self::Status { code, .. } => matches!(code, 400..=404),
            _ => false,
        }
    }

    /// Whether the service may have worked, and charge for it.
    pub fn may_be_billed(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Malformed { .. } | Self::Failed { .. } | Self::Stopped)
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the reply so far.
    pub bytes: usize,
    /// Bytes of thinking that the service sends apart.
    pub thinking: usize,
    /// What is left of a wait before a retry.
    pub waiting: Option<Duration>,
}

/// The conditions of one call.
pub struct Ask<'a> {
    /// Wall-clock limit of all of it, retries included.
    pub limit: Duration,
    /// Tokens of the reply at most.
    pub max_output: u64,
    /// Told from time to time; `Break` stops the call.
    pub progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Ask<'_> {
    /// Tells.
    ///
    /// # Errors
    /// [`AskError::Stopped`] when the listener says so.
    pub fn tell(&mut self, progress: Progress) -> Result<(), AskError> {
        if (self.progress)(progress).is_break() { Err(AskError::Stopped) } else { Ok(()) }
    }
}

/// Whoever answers prompts.
pub trait Respondent {
    /// Asks, once.
    fn ask(&mut self, prompt: &Prompt, ask: &mut Ask<'_>) -> Asked;

    /// Its name in ledgers and records: `openai:MODEL@HOST`, `command:PROGRAM`, `mailbox`. No secrets.
    fn name(&self) -> &str;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_json() {
        let check = |bytes: &[u8], expected: &str| {
            let json = serde_json::to_string(&Verbatim(bytes.to_vec())).unwrap();
            assert_eq!(json, expected);
            assert_eq!(serde_json::from_str::<Verbatim>(&json).unwrap().0, bytes);
        };
        check(b"int x;\r\n", r#""int x;\r\n""#);
        check(b"", r#""""#);
        check(&[0x66, 0xff], "[102,255]");
    }

    #[test]
    fn prompts_differ_by_who_says_what() {
        let one = Prompt::new("s", "q");
        let turned = Prompt { system: "s".into(), turns: vec![Turn { by: By::Assistant, text: "q".into() }] };
        let all = [one.clone(), one.and("r", "a"), Prompt::new("sq", ""), Prompt::new("", "s"), turned];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.digest() == b.digest(), i == j, "{i} {j}");
            }
        }
        insta::assert_snapshot!(one.and("int x;", "no").to_text(), @"
        s

        q

        # Your reply

        int x;

        no
        ");
    }
}
