//! Who offers candidates. A proposer sees the campaign and nothing else; it never judges.

pub mod embedded;
pub mod written;

use crate::archive::Candidate;
use crate::campaign::Campaign;
use model::{CandidateId, Judgement, Proposal, Verdict};
use std::collections::BTreeMap;

/// What a proposer may look at.
pub struct Context<'a> {
    /// The whole history.
    pub campaign: &'a Campaign,
    /// The problem's hints, for proposers that read prose.
    pub hints: &'a str,
    /// The integer constants that the problem defines for the candidate (`DIM` = 128, ...).
    pub constants: &'a BTreeMap<String, i64>,
}

impl<'a> Context<'a> {
    /// The best candidate so far.
    pub fn champion(&self) -> Option<&'a Candidate> {
        self.campaign.best()
    }

    /// Candidates other than the champion that may breed.
    pub fn others(&self) -> Vec<&'a Candidate> {
        let mut others = crate::selection::not_worse(self.campaign);
        others.extend(crate::selection::diverse(self.campaign));
        others.sort_by_key(|c| c.id);
        others.dedup_by_key(|c| c.id);
        others
    }

    /// The last `n` candidates that failed or broke a rule, newest first.
    pub fn failures(&self, n: usize) -> Vec<&'a Candidate> {
        let failed = |c: &&Candidate| {
            let verdict = c.judgement.as_ref().map(|j| &j.verdict);
            matches!(verdict, Some(Verdict::Failed { .. } | Verdict::Refused { .. } | Verdict::Quarantined { .. }))
        };
        self.campaign.archive.iter().rev().filter(failed).take(n).collect()
    }
}

/// Why a proposer offers nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// There is nothing left to try.
    #[default]
    Done,
    /// A cap of its own is reached. The search ends.
    Spent(String),
    /// Something outside of it failed. The search can go on when that is mended.
    Trouble(String),
}

/// Offers candidates.
pub trait Proposer {
    /// Up to `n` proposals; none when there is a reason to be silent. What it offers depends on its seed and the context
    /// alone, so that a campaign that is taken up again goes on as if it had not stopped.
    fn propose(&mut self, context: &Context<'_>, n: usize) -> Vec<Proposal>;

    /// Why the last call of [`Self::propose`] gave nothing.
    fn silence(&self) -> Silence {
        Silence::Done
    }

    /// A judgement of one of its candidates, for proposers with a memory of their own. After an interruption the app
    /// tells all recorded judgements again, in order.
    fn told(&mut self, _id: CandidateId, _judgement: &Judgement) {}
}
