//! The campaign as a fold over events: `apply` changes the state, `next` says what the app should do now.
//!
//! Each candidate is judged against the champion of the moment, whatever its parents are, so that effects compare. One
//! that is better is tested afresh, at its share of alpha, before it becomes the champion.

use crate::archive::{Archive, Candidate, Standing};
use crate::tasks::{Task, remaining};
use model::{CampaignSpec, CandidateId, Certificate, Event, Judgement, Outcome, Proposal, Seconds, Verdict};
use std::collections::BTreeMap;

/// Error rates and patience.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Error rate of the anytime test that lets a candidate breed.
    pub alpha: f64,
    /// Error rate of all promotions of a campaign together.
    pub promotion_alpha: f64,
    /// Candidates asked of the proposer at a time.
    pub batch: usize,
    /// Parts of the winner at most in the leave-one-out ablation; each costs a judgement.
    pub max_ablations: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self { alpha: 0.01, promotion_alpha: 0.05, batch: 1, max_ablations: 8 }
    }
}

/// What the app should do now.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Emit `Started`.
    Start,
    /// Compare a candidate with itself; emit `NoiseMeasured`.
    MeasureNoise {
        /// Which.
        baseline: CandidateId,
    },
    /// Judge; emit `Judged`.
    Judge {
        /// B.
        id: CandidateId,
        /// A: the champion.
        against: CandidateId,
        /// Error rate.
        alpha: f64,
    },
    /// Judge afresh, with new processes and seeds; emit `Promoted` when better, else `NotPromoted`.
    Promote {
        /// B.
        id: CandidateId,
        /// A: the champion.
        against: CandidateId,
        /// Error rate of this, the k-th, fresh test: 6 alpha / (pi^2 k^2).
        alpha: f64,
    },
    /// Ask the proposer; emit `Proposed` for each (and `Skipped` where `Campaign::refusal` says so), or `SearchEnded`
    /// when it has nothing to offer.
    Propose {
        /// How many.
        n: usize,
    },
    /// Emit `SearchEnded`.
    EndSearch {
        /// Why.
        why: String,
    },
    /// Do one thing of those left after the search, and emit its event.
    After(Task),
    /// Emit `Finished`.
    Finish,
    /// The campaign is complete.
    Done,
}

/// Counts of what became of the proposals; baselines don't count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yield {
    /// Judged candidates.
    pub attempted: u32,
    /// Refused before the judge saw them.
    pub skipped: u32,
    /// Did not build, wrong, crashed, timed out.
    pub invalid: u32,
    /// Broke a rule, or quarantined.
    pub cheated: u32,
    /// Equivalent or undecided.
    pub noise: u32,
    /// Worse.
    pub loss: u32,
    /// Better at the first judgement.
    pub win: u32,
    /// Confirmed by a fresh test.
    pub promoted: u32,
}

/// A campaign's state: what its events say, and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Campaign {
    /// How it was started.
    pub spec: Option<CampaignSpec>,
    /// Every candidate.
    pub archive: Archive,
    /// The A/A judgement.
    pub noise: Option<Judgement>,
    /// Comparisons made after the search, by name.
    pub comparisons: BTreeMap<String, Judgement>,
    /// Leave-one-out judgements, in order: the hunk in words, the judgement.
    pub ablations: Vec<(String, Judgement)>,
    /// The certificate and whose it is.
    pub certificate: Option<(CandidateId, Certificate)>,
    /// Why the search ended.
    pub ended: Option<String>,
    /// Whether everything is done.
    pub finished: bool,
    /// Times that it was interrupted.
    pub interruptions: u32,
    champion: u32,
    fresh_tests: u32,
}

impl Campaign {
    /// The state after these events.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut campaign = Self::default();
        events.into_iter().for_each(|event| campaign.apply(event));
        campaign
    }

    /// One event more.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Started { spec } => self.start(spec),
            Event::NoiseMeasured { judgement } => self.noise = Some(judgement.clone()),
            Event::Proposed { proposal, .. } => self.archive.push(proposal.clone()),
            Event::Skipped { id, why } => self.set(*id, |c| c.standing = Standing::Skipped(why.clone())),
            Event::Judged { id, against, judgement } => self.judged(*id, *against, judgement),
            Event::Promoted { id, judgement } => self.tested(*id, judgement, Standing::Promoted),
            Event::NotPromoted { id, judgement } => self.tested(*id, judgement, Standing::NotPromoted),
            Event::Ablated { hunk, judgement } => self.ablations.push((hunk.clone(), judgement.clone())),
            Event::Compared { name, judgement } => {
                self.comparisons.insert(name.clone(), judgement.clone());
            }
            Event::Verified { id, certificate } => self.certificate = Some((*id, (**certificate).clone())),
            // What the judge is worth is the driver's to ask: the search has nothing to learn from it.
            Event::JudgeChecked { .. } => {}
            Event::Resumed => self.interruptions += 1,
            Event::SearchEnded { why } => self.ended = Some(why.clone()),
            Event::Finished => self.finished = true,
        }
    }

    fn start(&mut self, spec: &CampaignSpec) {
        for baseline in &spec.baselines {
            let Some(source) = &baseline.source else { continue };
            self.archive.push(Proposal {
                source: source.clone(),
                parents: Vec::new(),
                proposer: "baseline".to_owned(),
                note: format!("{} ({})", baseline.name, baseline.strength),
                edit: "baseline".to_owned(),
            });
        }
        self.spec = Some(spec.clone());
        // Candidate 0 is what everything is measured from: by definition at ln 0.
        self.set(CandidateId(0), |c| c.standing = Standing::Promoted);
    }

    fn set(&mut self, id: CandidateId, change: impl FnOnce(&mut Candidate)) {
        if let Some(candidate) = self.archive.get_mut(id) {
            change(candidate);
        }
    }

    fn judged(&mut self, id: CandidateId, against: CandidateId, judgement: &Judgement) {
        let ln = self.chained(against, judgement);
        self.set(id, |c| {
            c.standing = Standing::Judged;
            c.against = Some(against);
            c.judgement = Some(judgement.clone());
            c.ln = ln;
        });
    }

    fn tested(&mut self, id: CandidateId, judgement: &Judgement, standing: Standing) {
        self.fresh_tests += 1;
        let ln = self.chained(self.champion(), judgement);
        if standing == Standing::Promoted {
            self.champion = id.0;
        }
        self.set(id, |c| {
            c.standing = standing;
            c.fresh = Some(judgement.clone());
            // The fresh estimate replaces the one that was selected on: that one is too good on average.
            if !ln.is_empty() {
                c.ln = ln;
            }
        });
    }

    /// ln against candidate 0: that of what it was compared with, plus the paired effect.
    fn chained(&self, against: CandidateId, judgement: &Judgement) -> BTreeMap<String, f64> {
        // A start is at 0 everywhere; any other base only where the chain back to the start was measured throughout.
        let base = self.archive.get(against);
        let is_start = base.is_none_or(|c| c.proposal.parents.is_empty());
        let behind = |name: &str| if is_start { Some(0.0) } else { base?.ln.get(name).copied() };
        let effects = judgement.shapes.iter().filter_map(|shape| Some((&shape.workload.name, shape.ln?.value)));
        effects.filter_map(|(name, ln)| Some((name.clone(), ln + behind(name)?))).collect()
    }

    /// The best candidate that a fresh test confirmed; candidate 0 before any.
    pub fn champion(&self) -> CandidateId {
        CandidateId(self.champion)
    }

    /// The champion's record, once the campaign has started with a baseline that has a source.
    pub fn best(&self) -> Option<&Candidate> {
        self.archive.get(self.champion())
    }

    /// Fresh tests made so far.
    pub fn fresh_tests(&self) -> u32 {
        self.fresh_tests
    }

    /// Why a proposal should be skipped, if it should: `Skipped` is then emitted after its `Proposed`.
    pub fn refusal(&self, proposal: &Proposal) -> Option<String> {
        self.archive
            .has(&proposal.source)
            .then(|| "equal to an earlier candidate but for comments and layout".to_owned())
    }

    /// What became of the proposals.
    pub fn tally(&self) -> Yield {
        let mut tally = Yield::default();
        for candidate in self.archive.iter().filter(|c| c.proposal.proposer != "baseline") {
            tally.skipped += u32::from(matches!(candidate.standing, Standing::Skipped(_)));
            tally.promoted += u32::from(candidate.standing == Standing::Promoted);
            let Some(judgement) = &candidate.judgement else { continue };
            tally.attempted += 1;
            let line = match judgement.verdict.outcome() {
                Outcome::Invalid => &mut tally.invalid,
                Outcome::Cheated => &mut tally.cheated,
                Outcome::Noise => &mut tally.noise,
                Outcome::Loss => &mut tally.loss,
                Outcome::Win => &mut tally.win,
            };
            *line += 1;
        }
        tally
    }

    /// What to do now. `elapsed` is the search time spent so far, over all sittings.
    pub fn next(&self, elapsed: Seconds, policy: &Policy) -> Action {
        let Some(spec) = &self.spec else { return Action::Start };
        if self.finished {
            return Action::Done;
        }
        if self.ended.is_some() {
            return remaining(self, policy).into_iter().next().map_or(Action::Finish, Action::After);
        }
        if self.best().is_none() {
            return Action::EndSearch { why: "no baseline has a source to start from".to_owned() };
        }
        if self.noise.is_none() {
            return Action::MeasureNoise { baseline: CandidateId(0) };
        }
        if let Some(action) = self.pending(policy) {
            return action;
        }
        if spec.budget_seconds.is_some_and(|budget| elapsed.0 >= budget) {
            return Action::EndSearch { why: "budget spent".to_owned() };
        }
        let offered = self.archive.iter().filter(|c| c.proposal.proposer != "baseline").count();
        let left = spec.max_candidates.map(|max| (max as usize).saturating_sub(offered));
        match left {
            Some(0) => Action::EndSearch { why: "candidates spent".to_owned() },
            Some(left) => Action::Propose { n: policy.batch.min(left) },
            None => Action::Propose { n: policy.batch },
        }
    }

    /// A promotion that is due, else a candidate that waits for the judge.
    fn pending(&self, policy: &Policy) -> Option<Action> {
        let against = self.champion();
        let due = |c: &&Candidate| {
            c.standing == Standing::Judged
                && c.against == Some(against)
                && c.judgement.as_ref().is_some_and(|j| j.verdict == Verdict::Better)
        };
        if let Some(candidate) = self.archive.iter().find(due) {
            let alpha = promotion_alpha(policy.promotion_alpha, self.fresh_tests + 1);
            return Some(Action::Promote { id: candidate.id, against, alpha });
        }
        let waiting = self.archive.iter().find(|c| c.standing == Standing::Waiting)?;
        Some(Action::Judge { id: waiting.id, against, alpha: policy.alpha })
    }
}

/// The k-th fresh test's share of alpha: 6 alpha / (pi^2 k^2), which sums to alpha over all k. Counted over tests, not
/// over successes, so that failing often buys nothing.
pub fn promotion_alpha(alpha: f64, k: u32) -> f64 {
    6.0 * alpha / (std::f64::consts::PI.powi(2) * f64::from(k).powi(2))
}
