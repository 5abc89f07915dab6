//! Every candidate of a campaign with what is known about it. Nothing is ever removed.

use crate::proposers::embedded;
use model::{CandidateId, Digest, Judgement, Proposal, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// Where a candidate stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Not judged yet.
    Waiting,
    /// Refused before the judge saw it.
    Skipped(String),
    /// Judged, once; promotion not asked for or not yet answered.
    Judged,
    /// A fresh test confirmed it: it was the champion from then on.
    Promoted,
    /// A fresh test did not confirm it.
    NotPromoted,
}

/// A candidate and its history.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its number.
    pub id: CandidateId,
    /// What was offered.
    pub proposal: Proposal,
    /// Where it stands.
    pub standing: Standing,
    /// What the search's own judgement compared it with.
    pub against: Option<CandidateId>,
    /// The search's own judgement: anytime, the one that was selected on.
    pub judgement: Option<Judgement>,
    /// The fresh judgement, when promotion was asked for.
    pub fresh: Option<Judgement>,
    /// ln(t / t of candidate 0) by workload, summed along the chain of comparisons. An estimate: its error grows with
    /// the chain, and a workload that a cascade left out is missing.
    pub ln: BTreeMap<String, f64>,
}

impl Candidate {
    /// The verdict that holds: the fresh one if there is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.fresh.as_ref().or(self.judgement.as_ref()).map(|judgement| &judgement.verdict)
    }

    /// ln(t / t of candidate 0) on the workload that the search judges by, the one that every comparison of the chain
    /// has timed; none when nothing was.
    pub fn search_ln(&self) -> Option<f64> {
        let judged = self.judgement.as_ref().or(self.fresh.as_ref())?;
        self.ln.get(&judged.shapes.first()?.workload.name).copied()
    }

    /// Speed-up over candidate 0, estimated along the chain of comparisons.
    pub fn speedup(&self) -> Option<f64> {
        self.search_ln().map(|ln| (-ln).exp())
    }
}

/// All candidates, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    candidates: Vec<Candidate>,
    seen: BTreeSet<Digest>,
}

impl Archive {
    /// The candidate of a number.
    pub fn get(&self, id: CandidateId) -> Option<&Candidate> {
        self.candidates.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: CandidateId) -> Option<&mut Candidate> {
        self.candidates.get_mut(id.0 as usize)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Candidate> {
        self.candidates.iter()
    }

    /// The number that the next one gets.
    pub fn next_id(&self) -> CandidateId {
        CandidateId(self.candidates.len() as u32)
    }

    /// Whether an equal source was offered before: comments and layout aside, flags included.
    pub fn has(&self, source: &model::Source) -> bool {
        self.seen.contains(&embedded::identity(source))
    }

    /// The first candidate of this identity.
    pub fn find(&self, identity: &Digest) -> Option<CandidateId> {
        let same = |candidate: &&Candidate| embedded::identity(&candidate.proposal.source) == *identity;
        self.seen.contains(identity).then(|| self.iter().find(same).map(|candidate| candidate.id))?
    }

    pub(crate) fn push(&mut self, proposal: Proposal) {
        self.seen.insert(embedded::identity(&proposal.source));
        let id = self.next_id();
        self.candidates.push(Candidate {
            id,
            proposal,
            standing: Standing::Waiting,
            against: None,
            judgement: None,
            fresh: None,
            ln: BTreeMap::new(),
        });
    }

    /// The chain of first parents from a baseline to `id`, both included.
    pub fn ancestors(&self, id: CandidateId) -> Vec<CandidateId> {
        let mut chain = vec![id];
        while let Some(parent) = self.get(chain[chain.len() - 1]).and_then(|c| c.proposal.parents.first().copied()) {
            if parent.0 >= chain[chain.len() - 1].0 {
                break;
            }
            chain.push(parent);
        }
        chain.reverse();
        chain
    }
}
