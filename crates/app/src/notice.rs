//! What the loop says while it works. It is rendered elsewhere: `terminal` for people, `Lines` here for programs.
//!
//! Must not decide anything, and must not know how it looks.

use crate::progress::Progress;
use judge::message::Opened;
use model::{Event, Map, Seconds};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Parts of the loop, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Measuring the machine.
    Map,
    /// Starting the judge, building the oracle.
    Open,
    /// Identical arms against each other.
    Noise,
    /// Twins of the baseline whose truth is known.
    Canaries,
    /// Baselines against the ceilings.
    Baselines,
    /// The search.
    Search,
    /// The winner against the baselines and the ceilings.
    Compare,
    /// The winner's hunks, one left out at a time.
    Mine,
    /// The ladder.
    Verify,
    /// Writing files.
    Report,
}

/// How long something will take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// A limit: it ends by then.
    AtMost(Seconds),
    /// An experience.
    About(Seconds),
}

/// Whether a map was measured or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured now.
    Measured,
    /// From the ledger: the fingerprint has not changed.
    Stored,
}

/// How far the search is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// Time spent searching.
    pub time: Seconds,
    /// Candidates judged or skipped.
    pub candidates: u32,
    /// Time allowed.
    pub budget: Option<Seconds>,
    /// Candidates allowed.
    pub max_candidates: Option<u32>,
}

impl Spent {
    /// Share of the budget that is gone, 0 to 1; none without a limit.
    pub fn share(&self) -> Option<f64> {
        let time = self.budget.map(|budget| self.time / budget);
        let count = self.max_candidates.map(|max| f64::from(self.candidates) / f64::from(max));
        let share = time.into_iter().chain(count).fold(None, |most: Option<f64>, x| Some(most.map_or(x, |m| m.max(x))));
        share.map(|share| share.clamp(0.0, 1.0))
    }

    /// Time left, guessed from the rate so far when only candidates are limited.
    pub fn left(&self) -> Option<Seconds> {
        let by_time = self.budget.map(|budget| Seconds(budget.0 - self.time.0));
        let by_count = self.max_candidates.filter(|_| self.candidates > 0).map(|max| {
            Seconds(self.time.0 / f64::from(self.candidates) * f64::from(max.saturating_sub(self.candidates)))
        });
        let least = by_time.into_iter().chain(by_count).map(|seconds| seconds.0).reduce(f64::min);
        least.map(|left| Seconds(left.max(0.0)))
    }
}

/// One thing said.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "notice")]
pub enum Notice<'a> {
    /// A campaign begins or goes on.
    Began {
        /// The problem's name.
        problem: &'a str,
        /// The campaign's id.
        campaign: &'a str,
        /// Seed of the search.
        seed: u64,
        /// Entries that the ledger already holds: not 0 when it is resumed.
        entries: usize,
    },
    /// Measurement chose the problem.
    Chosen {
        /// Which, and why, in lines.
        why: &'a str,
    },
    /// A phase begins.
    Phase {
        /// Which.
        phase: Phase,
        /// How long it will take, where that is known.
        expected: Option<Expected>,
    },
    /// The machine's map.
    Machine {
        /// The map.
        map: &'a Map,
        /// Measured or stored.
        origin: Origin,
    },
    /// The judge is ready.
    Opened {
        /// What it said.
        opened: &'a Opened,
    },
    /// An event went into the ledger.
    Recorded {
        /// The event.
        event: &'a Event,
        /// Where the campaign stands after it.
        progress: &'a Progress,
        /// What the search has used up.
        spent: Spent,
    },
    /// The judge's own words on what it is doing.
    Working {
        /// In words.
        text: &'a str,
    },
    /// Someone is asked for a candidate, and this is how far the reply is.
    Asking {
        /// Whom.
        respondent: &'a str,
        /// Bytes of the reply so far, thinking aside.
        bytes: usize,
        /// Bytes of thinking.
        thinking: usize,
        /// What is left of a wait before the next try.
        waiting: Option<Seconds>,
    },
    /// What came of asking, where it was no candidate.
    Heard {
        /// Whom.
        respondent: &'a str,
        /// In words.
        what: &'a str,
    },
    /// The end.
    Finished {
        /// One paragraph for people.
        summary: &'a str,
        /// The page.
        report: &'a Path,
    },
}

/// Someone who is told.
pub trait Listener: Send {
    /// Hears one notice.
    fn hear(&mut self, notice: &Notice<'_>);
}

/// The listener as many parts of the loop hold it: the driver, and the judge's progress lines.
#[derive(Clone)]
pub struct Voice(Arc<Mutex<Box<dyn Listener>>>);

impl Voice {
    /// Speaks to `listener`.
    pub fn new(listener: impl Listener + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(listener))))
    }

    /// Says something.
    pub fn say(&self, notice: &Notice<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(notice);
    }
}

/// One JSON object a line.
pub struct Lines<W>(pub W);

impl<W: Write + Send> Listener for Lines<W> {
    fn hear(&mut self, notice: &Notice<'_>) {
        // A reader that went away is no reason to stop measuring: the ledger has it all.
        if let Ok(line) = serde_json::to_string(notice) {
            let _ = writeln!(self.0, "{line}").and_then(|()| self.0.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(time: f64, candidates: u32, budget: Option<f64>, max_candidates: Option<u32>) -> Spent {
        Spent { time: Seconds(time), candidates, budget: budget.map(Seconds), max_candidates }
    }

    #[test]
    fn the_nearer_limit_counts() {
        let check = |spent: Spent, share: Option<f64>, left: Option<f64>| {
            assert_eq!((spent.share(), spent.left().map(|s| s.0)), (share, left), "{spent:?}");
        };
        check(spent(30.0, 5, Some(60.0), None), Some(0.5), Some(30.0));
        check(spent(30.0, 15, Some(60.0), Some(20)), Some(0.75), Some(10.0));
        check(spent(30.0, 15, None, None), None, None);
        check(spent(70.0, 15, Some(60.0), None), Some(1.0), Some(0.0));
        check(spent(7.0, 20, Some(60.0), Some(20)), Some(1.0), Some(0.0));
        check(spent(0.0, 0, None, Some(20)), Some(0.0), None);
    }

    #[test]
    fn programs_get_a_line_each() {
        let mut bytes = Vec::new();
        Lines(&mut bytes).hear(&Notice::Phase { phase: Phase::Noise, expected: Some(Expected::About(Seconds(3.0))) });
        Lines(&mut bytes).hear(&Notice::Working { text: "rung 3" });
        let expected = "{\"notice\":\"phase\",\"phase\":\"noise\",\"expected\":{\"about\":3.0}}\n{\"notice\":\"working\",\"text\":\"rung 3\"}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
