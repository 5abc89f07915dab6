//! What an evaluator says of a candidate, and what becomes of a cheat by it. Runs nothing.

use super::cases::Case;
use serde::{Deserialize, Serialize};

/// Who is asked, at which version, what part of it, and why it can't be where it can't.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Its name.
    pub peer: String,
    /// Its version.
    pub version: String,
    /// What of it is run.
    pub part: String,
    /// Why nothing of it runs here.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What an evaluator makes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It gets a score, and is as fast as the reference or faster.
    Accepted,
    /// It gets a score, and is slower.
    Slower,
    /// It gets none.
    Refused,
    /// It broke its own process, or its evaluator's.
    Crashed,
    /// It didn't end.
    TimedOut,
}

impl Verdict {
    /// As in the raw data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Slower => "slower",
            Self::Refused => "refused",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
        }
    }

    /// Whether it gets a score: its result counts as right.
    pub fn is_scored(self) -> bool {
        matches!(self, Self::Accepted | Self::Slower)
    }

    /// Of a candidate that gets a score.
    pub fn of(speedup: Option<f64>) -> Self {
        if speedup.is_some_and(|speedup| speedup < 1.0) { Self::Slower } else { Self::Accepted }
    }
}

/// An evaluator's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it makes of the candidate.
    pub verdict: Verdict,
    /// Time of the reference over that of the candidate, as it claims.
    #[serde(default)]
    pub speedup: Option<f64>,
    /// Of the whole evaluation, by our clock.
    pub seconds: f64,
    /// Its own words.
    #[serde(default)]
    pub says: String,
}

/// One line of the raw data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Who was asked.
    pub peer: String,
    /// The first time or the second.
    pub look: u32,
    /// About what.
    #[serde(flatten)]
    pub case: Case,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// What became of a cheat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It gets no score.
    Caught,
    /// It gets one, and no better than its twin's.
    Gainless,
    /// It gets one, and claims to be faster than its twin, in every look.
    Pays,
}
