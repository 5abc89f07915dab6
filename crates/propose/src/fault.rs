//! Why a reply gives no candidate. The words are for whoever wrote it as much as for people: they are sent back once.
//!
//! Must not hold secrets or paths of the machine: it ends in prompts and records.

use serde::{Deserialize, Serialize};

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "fault")]
pub enum Fault {
    /// Nothing but white space.
    #[error("the reply is empty")]
    Empty,
    /// A `<think>` block and nothing after it.
    #[error("the reply holds nothing but thinking; give the code after it")]
    OnlyThinking,
    /// The service would not give the reply.
    #[error("the service withheld the reply")]
    Withheld,
    /// The code has bytes that are no text.
    #[error("the code is not valid UTF-8; write it in plain ASCII")]
    NotText,
    /// More than a source may have.
    #[error("the code has {bytes} bytes, {most} at most are allowed")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What is allowed.
        most: usize,
    },
    /// Prose.
    #[error("the reply has no code: neither search/replace blocks, nor a unified diff, nor a whole file in a fence")]
    NoCode,
    /// Code, but not the function.
    #[error("no code block defines `{entry}`; give the whole file, or search/replace blocks for a part of it")]
    NoEntry {
        /// The function that is wanted.
        entry: String,
    },
    /// Several versions of one file.
    #[error("{count} different versions of {file} are given; give one")]
    SeveralWholes {
        /// Which file.
        file: String,
        /// How many.
        count: usize,
    },
    /// It ends in the middle.
    #[error("the reply is cut off in {within}; give it again, shorter")]
    Truncated {
        /// In what it ends.
        within: String,
    },
    /// A block or a hunk that is not well formed.
    #[error("line {line} of the reply: {what}")]
    Malformed {
        /// Line of the reply, from 1, after thinking has been taken out.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// "The rest is unchanged."
    #[error("`{text}` stands for code that is left out; write all of it, or use search/replace blocks")]
    Elided {
        /// The line that says so.
        text: String,
    },
    /// A block that says what to write but not where.
    #[error("a block has nothing to search for; repeat a few lines around the place")]
    EmptySearch,
    /// A file that is not part of the candidate.
    #[error("{file} is no file of the candidate; it has {}", .known.join(", "))]
    UnknownFile {
        /// Its name.
        file: String,
        /// The files that there are.
        known: Vec<String>,
    },
    /// The text to be replaced is not there.
    #[error("not found in {file}:\n{search}{}", near(.nearest))]
    NotFound {
        /// Where it was looked for.
        file: String,
        /// What.
        search: String,
        /// What is most like it, or nothing.
        nearest: String,
    },
    /// The text to be replaced is there more than once.
    #[error("found at lines {} of {file}, which of them is meant?\n{search}\nadd lines before or after it", list(.lines))]
    Ambiguous {
        /// Where.
        file: String,
        /// What.
        search: String,
        /// Lines on which it begins, from 1.
        lines: Vec<usize>,
    },
    /// Two blocks that replace the same lines.
    #[error("two blocks replace line {line} of {file}; join them")]
    Overlapping {
        /// Where.
        file: String,
        /// From 1.
        line: usize,
    },
    /// A change outside of the editable regions.
    #[error("line {line} of {file} lies outside the regions that may be changed: `{text}`")]
    Outside {
        /// Where.
        file: String,
        /// Line of the original, from 1.
        line: usize,
        /// The original's text there.
        text: String,
    },
    /// The same code as before, comments and layout aside.
    #[error("nothing is changed but comments and layout")]
    NoChange,
    /// The same code as an earlier candidate's, comments and layout aside.
    #[error("equal to {of} but for comments and layout; try something else")]
    Duplicate {
        /// Which.
        of: String,
    },
}

impl Fault {
    /// Its name, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::OnlyThinking => "only-thinking",
            Self::Withheld => "withheld",
            Self::NotText => "not-text",
            Self::TooLong { .. } => "too-long",
            Self::NoCode => "no-code",
            Self::NoEntry { .. } => "no-entry",
            Self::SeveralWholes { .. } => "several-wholes",
            Self::Truncated { .. } => "truncated",
            Self::Malformed { .. } => "malformed",
            Self::Elided { .. } => "elided",
            Self::EmptySearch => "empty-search",
            Self::UnknownFile { .. } => "unknown-file",
            Self::NotFound { .. } => "not-found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Overlapping { .. } => "overlapping",
            Self::Outside { .. } => "outside",
            Self::NoChange => "no-change",
            Self::Duplicate { .. } => "duplicate",
        }
    }

    /// Whether sending it back once can help. A reply that was understood and is not wanted is not asked for again: the
    /// next prompt knows about it.
    pub fn is_repairable(&self) -> bool {
        !matches!(self, Self::Withheld | Self::NoChange | Self::Duplicate { .. })
    }
}

fn near(nearest: &str) -> String {
    if nearest.is_empty() { String::new() } else { format!("\nmost like it is:\n{nearest}") }
}

fn list(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
