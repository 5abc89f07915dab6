//! The certificate: which rungs of the ladder a candidate passed, failed, or was not asked.

use crate::{Digest, Fingerprint, Judgement, Trust};
use serde::{Deserialize, Serialize};

/// What one rung found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RungOutcome {
    /// Climbed.
    Passed,
    /// Fell here.
    Failed,
    /// Not asked; the detail says why.
    NotRun,
}

/// One rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Number on the ladder, 1 to 12.
    pub number: u32,
    /// Short name.
    pub name: String,
    /// Result.
    pub outcome: RungOutcome,
    /// One sentence with the figures.
    pub detail: String,
    /// The judgements that say so.
    pub judgements: Vec<Judgement>,
}

/// A candidate's certificate. No certificate, no number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The problem's name.
    pub problem: String,
    /// Digest of the problem's folder.
    pub problem_digest: Digest,
    /// The candidate's source digest.
    pub candidate: Digest,
    /// Where it ran.
    pub machine: Fingerprint,
    /// What the backend promises.
    pub trust: Trust,
    /// rooflab's version.
    pub version: String,
    /// Times the held-out slice has been looked at for this problem, this one included.
    pub held_out_looks: u32,
    /// The ladder.
    pub rungs: Vec<Rung>,
}

impl Certificate {
    /// Whether every rung that ran was climbed.
    pub fn holds(&self) -> bool {
        self.rungs.iter().all(|rung| rung.outcome != RungOutcome::Failed)
            && self.rungs.iter().any(|rung| rung.outcome == RungOutcome::Passed)
    }

    /// The first rung that failed.
    pub fn fell_at(&self) -> Option<&Rung> {
        self.rungs.iter().find(|rung| rung.outcome == RungOutcome::Failed)
    }
}
