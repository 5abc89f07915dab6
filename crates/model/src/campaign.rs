//! A campaign's vocabulary: proposals and the events that the ledger keeps and the reducer folds.

use crate::{Certificate, Digest, Fingerprint, Judgement, Source};
use serde::{Deserialize, Serialize};

/// Number of a candidate within its campaign, from 0 (the first baseline).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateId(pub u32);

/// A candidate that a proposer offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The code, or why there is none.
    pub source: Source,
    /// What it was made from; two for a crossover, none for a seed.
    pub parents: Vec<CandidateId>,
    /// Who proposes: `embedded`, `baseline`, ...
    pub proposer: String,
    /// What was done, in words: `unroll-and-jam by 4 the loop over i (line 12)`.
    pub note: String,
    /// Kind of edit, for counting: `unroll-and-jam`, `flag`, `crossover`, ...
    pub edit: String,
}

/// What starts a campaign, and makes it repeatable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignSpec {
    /// The problem's name.
    pub problem: String,
    /// Digest of the problem's folder.
    pub problem_digest: Digest,
    /// Seed of every choice that the search makes.
    pub seed: u64,
    /// Seconds of search, or none for no limit.
    pub budget_seconds: Option<f64>,
    /// Candidates at most, or none for no limit.
    pub max_candidates: Option<u32>,
    /// Hypothesis, written before the run.
    pub hypothesis: String,
    /// Baselines: name, strength (`naive`, `stock`, `tuned`), and source where it is a candidate's language.
    pub baselines: Vec<BaselineSpec>,
    /// Whether the sandbox was off.
    pub unconfined: bool,
    /// rooflab's version.
    pub version: String,
}

/// A baseline of the problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineSpec {
    /// Its name.
    pub name: String,
    /// `naive`, `stock`, `tuned`.
    pub strength: String,
    /// Its source, when the search can start from it.
    pub source: Option<Source>,
}

/// A run of the judge's selftest in which every row was as expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selftest {
    /// Digest of the table and its candidates.
    pub zoo: Digest,
    /// Rows that were judged.
    pub rows: u32,
    /// Whether these were all rows.
    pub whole: bool,
    /// Where.
    pub machine: Fingerprint,
    /// rooflab's version.
    pub version: String,
}

/// Events that change a campaign's state. Each is one entry of the ledger; a campaign is the fold over them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The campaign began.
    Started {
        /// How.
        spec: CampaignSpec,
    },
    /// Identical arms were compared: the noise floor.
    NoiseMeasured {
        /// The A/A judgement.
        judgement: Judgement,
    },
    /// The judge was asked about two twins of the baseline whose truth is known, before the search leans on it.
    JudgeChecked {
        /// The twin with a wrong output: it has to have failed.
        broken: Box<Judgement>,
        /// The twin that does its work twice, against the baseline: it has to be worse.
        slowed: Box<Judgement>,
        /// The selftest that this judge passed on this machine, or none.
        selftest: Option<Selftest>,
        /// Layers of the sandbox that were in force, by name.
        sandbox: Vec<String>,
    },
    /// A candidate was offered.
    Proposed {
        /// Its number.
        id: CandidateId,
        /// What was offered.
        proposal: Proposal,
    },
    /// A candidate was refused before the judge saw it (duplicate, no-op).
    Skipped {
        /// Its number.
        id: CandidateId,
        /// Why.
        why: String,
    },
    /// The judge answered about a candidate against a parent.
    Judged {
        /// Its number.
        id: CandidateId,
        /// What it was compared with.
        against: CandidateId,
        /// The answer.
        judgement: Judgement,
    },
    /// A candidate passed a fresh test at its share of alpha and became the champion.
    Promoted {
        /// Its number.
        id: CandidateId,
        /// The fresh judgement.
        judgement: Judgement,
    },
    /// A fresh test did not confirm a candidate.
    NotPromoted {
        /// Its number.
        id: CandidateId,
        /// The fresh judgement.
        judgement: Judgement,
    },
    /// One part of the winner's difference was taken out and judged against the winner.
    Ablated {
        /// The hunk, in words.
        hunk: String,
        /// The winner without it, against the winner: `worse` means the hunk pays.
        judgement: Judgement,
    },
    /// A measurement for the report: a named comparison (`winner/stock`, `stock/ceiling`).
    Compared {
        /// Which.
        name: String,
        /// The answer.
        judgement: Judgement,
    },
    /// The ladder was climbed.
    Verified {
        /// By whom.
        id: CandidateId,
        /// The certificate.
        certificate: Box<Certificate>,
    },
    /// The campaign was interrupted and goes on.
    Resumed,
    /// The search ended.
    SearchEnded {
        /// Budget spent, candidates spent, nothing left to try, interrupted.
        why: String,
    },
    /// The campaign is complete.
    Finished,
}
