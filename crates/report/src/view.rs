//! What a report is made from: plain data that the application fills from a campaign.
//!
//! Must not do: compute verdicts. Effects are ln(t_candidate / t_against), as everywhere; reports turn them into
//! speed-ups.

use model::{CampaignSpec, Certificate, Estimate, Map, Outcome, Seconds, Source, Verdict, Work};
use serde::{Deserialize, Serialize};

/// A campaign, ready to be reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignView {
    /// The campaign's id.
    pub id: String,
    /// What started it.
    pub spec: CampaignSpec,
    /// When it started, RFC 3339.
    pub started: String,
    /// When it finished; absent while it has not.
    pub finished: Option<String>,
    /// Why the search ended.
    pub ended: Option<String>,
    /// Confidence of every interval, e.g. 0.95.
    pub confidence: f64,
    /// The machine's map.
    pub machine: Option<Map>,
    /// The problem's workloads.
    pub workloads: Vec<WorkloadView>,
    /// Attempted / invalid / cheated / noise / loss / win.
    pub outcomes: Yield,
    /// Every candidate, baselines left out, in the order of proposal.
    pub candidates: Vec<CandidateView>,
    /// The winner's ancestry, from the base to the winner.
    pub lineage: Vec<JumpView>,
    /// The champion that the search ended with, when it is not the base itself.
    pub winner: Option<WinnerView>,
    /// Leave-one-hunk-out ablation of the winner's difference.
    pub ablations: Vec<AblationView>,
    /// Naive, stock and winner, workload by workload.
    pub comparisons: Vec<Comparison>,
    /// Fractions of ceiling, a row for each workload and arm.
    pub scores: Vec<ScoreRow>,
    /// The certificate, once the ladder was climbed.
    pub certificate: Option<Certificate>,
    /// What a reader must know before believing anything here.
    pub warnings: Vec<String>,
    /// Where the raw data lies and how to read it.
    pub raw: String,
}

/// A workload and its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadView {
    /// Its name.
    pub name: String,
    /// The work of one call.
    pub work: Work,
}

/// How many candidates came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    /// Judged.
    pub attempted: u32,
    /// Did not build, wrong, crashed or timed out.
    pub invalid: u32,
    /// Refused for a broken rule, or quarantined.
    pub cheated: u32,
    /// Equivalent or undecided.
    pub noise: u32,
    /// Worse than what they were compared with.
    pub loss: u32,
    /// Better than what they were compared with.
    pub win: u32,
    /// Refused before the judge saw them (duplicates); not among the attempted.
    pub skipped: u32,
}

impl Yield {
    /// Counts candidates.
    pub fn of<'a>(candidates: impl IntoIterator<Item = &'a CandidateView>) -> Self {
        let mut count = Self::default();
        for candidate in candidates {
            let Some(verdict) = &candidate.verdict else {
                count.skipped += 1;
                continue;
            };
            count.attempted += 1;
            *match verdict.outcome() {
                Outcome::Invalid => &mut count.invalid,
                Outcome::Cheated => &mut count.cheated,
                Outcome::Noise => &mut count.noise,
                Outcome::Loss => &mut count.loss,
                Outcome::Win => &mut count.win,
            } += 1;
        }
        count
    }

    /// The counts after `attempted` with their names, in the order in which a report opens.
    pub fn parts(&self) -> [(&'static str, u32); 5] {
        [
            ("invalid", self.invalid),
            ("cheated", self.cheated),
            ("noise", self.noise),
            ("loss", self.loss),
            ("win", self.win),
        ]
    }
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateView {
    /// Its number.
    pub id: u32,
    /// What it was made from.
    pub parents: Vec<u32>,
    /// Who proposed it.
    pub proposer: String,
    /// Kind of edit.
    pub edit: String,
    /// What was done.
    pub note: String,
    /// The judge's word, or none for one skipped before it was judged.
    pub verdict: Option<Verdict>,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// What it was judged against.
    pub against: Option<u32>,
    /// Its effects, workload by workload.
    pub effects: Vec<Effect>,
    /// Speed-up over the naive baseline, as accumulated along its ancestry: for the eye, not a result.
    pub cumulative: Option<f64>,
    /// Seconds since the search began.
    pub seconds: f64,
    /// Whether a fresh test made it the champion.
    pub promoted: bool,
}

/// An effect on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Which.
    pub workload: String,
    /// ln(t_candidate / t_against).
    pub ln: Estimate,
}

/// One step of the winner's ancestry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JumpView {
    /// The candidate it led to.
    pub id: u32,
    /// What was done.
    pub note: String,
    /// Kind of edit.
    pub edit: String,
    /// Unified diff from its parent.
    pub diff: String,
    /// ln(t_candidate / t_parent), over the workloads.
    pub ln: Option<Estimate>,
    /// Speed-up over the naive baseline so far.
    pub cumulative: Option<f64>,
}

/// The winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WinnerView {
    /// Its number.
    pub id: u32,
    /// Its source.
    pub source: Source,
    /// The baseline that the difference is taken from.
    pub base: String,
    /// Unified diff from that base.
    pub diff: String,
}

/// One hunk taken out of the winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationView {
    /// The hunk, in words.
    pub hunk: String,
    /// The hunk, as a diff.
    pub diff: String,
    /// ln(t_without / t_winner): positive means that the hunk pays.
    pub ln: Option<Estimate>,
    /// Of the winner without the hunk, against the winner.
    pub verdict: Verdict,
}

/// A paired comparison with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// ln(t_winner / t_baseline).
    pub ln: Estimate,
    /// Of the winner.
    pub verdict: Verdict,
}

/// One workload's comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Which.
    pub workload: String,
    /// Median time of one call: naive baseline.
    pub naive: Option<Seconds>,
    /// Median time of one call: stock baseline.
    pub stock: Option<Seconds>,
    /// Median time of one call: winner.
    pub winner: Option<Seconds>,
    /// Winner against naive.
    pub versus_naive: Option<Versus>,
    /// Winner against stock.
    pub versus_stock: Option<Versus>,
}

/// How much of what the machine can do one arm reaches on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// Which workload.
    pub workload: String,
    /// The arm: a baseline's name, or `winner`.
    pub arm: String,
    /// `naive`, `stock`, `tuned`, or `candidate`.
    pub strength: String,
    /// Median time of one call.
    pub time: Seconds,
    /// Floor with every term: the largest of the times that traffic, arithmetic and special functions need.
    pub floor: Seconds,
    /// The term that the floor is made of: `compute: f32`, `memory: DRAM`, `exp`.
    pub bound: String,
    /// The unit that `of_unit` is a fraction of.
    pub unit: String,
    /// Fraction of that unit's ceiling alone.
    pub of_unit: Option<Estimate>,
    /// Floor over time.
    pub of_floor: Option<Estimate>,
}

/// One entry of a ledger's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The entry's id, shortened.
    pub id: String,
    /// When, RFC 3339.
    pub at: String,
    /// What.
    pub kind: String,
    /// Its campaign.
    pub campaign: Option<String>,
    /// One phrase about the body.
    pub note: String,
}

/// A stored map's figure beside what it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedFigure {
    /// Its dotted name.
    pub name: String,
    /// What it counts.
    pub quantity: model::Quantity,
    /// As stored.
    pub stored: f64,
    /// As measured again.
    pub now: f64,
    /// Share that the two may differ by.
    pub tolerance: f64,
    /// Whether they differ by no more.
    pub holds: bool,
}
