//! Where a campaign stands, for the progress line and the summary: a fold over its events.
//!
//! Must not choose: the winner is whoever the events promoted.

use model::{CandidateId, Event, Judgement, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// The counts and the best so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Standing {
    /// Candidates proposed, baselines not counted.
    pub attempted: u32,
    /// Refused before the judge saw them.
    pub skipped: u32,
    /// Answers of the judge.
    pub judged: u32,
    /// By outcome.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// The champion, once something was promoted.
    pub champion: Option<CandidateId>,
    /// ln of the champion's time over the starting point's, as the promotions measured it.
    pub ln_start: f64,
    /// What the champion did, in its proposer's words.
    pub note: String,
    /// ln of the starting point's time over the stock baseline's, where it was measured.
    pub ln_start_stock: Option<f64>,
    #[serde(skip)]
    notes: BTreeMap<CandidateId, String>,
}

/// Name of the comparison of the search's starting point with the stock baseline.
pub const START_STOCK: &str = "start/stock";

impl Standing {
    /// The fold.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut standing = Self::default();
        events.into_iter().for_each(|event| standing.apply(event));
        standing
    }

    /// One event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Proposed { id, proposal } => {
                if proposal.proposer != "baseline" {
                    self.attempted += 1;
                }
                self.notes.insert(*id, proposal.note.clone());
            }
            Event::Skipped { .. } => self.skipped += 1,
            Event::Judged { judgement, .. } => {
                self.judged += 1;
                *self.outcomes.entry(judgement.verdict.outcome()).or_default() += 1;
            }
            Event::Promoted { id, judgement } => {
                self.champion = Some(*id);
                self.ln_start += mean_ln(judgement).unwrap_or(0.0);
                self.note = self.notes.get(id).cloned().unwrap_or_default();
            }
            Event::Compared { name, judgement } if name == START_STOCK => self.ln_start_stock = mean_ln(judgement),
            _ => {}
        }
    }

    /// How many of the judge's answers were of this kind.
    pub fn count(&self, outcome: Outcome) -> u32 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    /// `1.83x the starting point, 0.71x stock`.
    pub fn best(&self) -> String {
        let start = format!("{:.2}x the starting point", (-self.ln_start).exp());
        match self.ln_start_stock {
            Some(ln) => format!("{start}, {:.2}x stock", (-self.ln_start - ln).exp()),
            None => start,
        }
    }
}

fn mean_ln(judgement: &Judgement) -> Option<f64> {
    judgement.speedup().map(|speedup| -speedup.ln())
}
