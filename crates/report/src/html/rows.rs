//! Rows of the page's tables: numbers turned into cells.
//!
//! Must not do: escape or mark up. The templates do.

use super::{percent, speedup_with_range, times};
use crate::diff::Diff;
use crate::figures::{counted, direction, percent_with_range, range, speedup};
use crate::{CampaignView, CandidateView, ScoreRow, Versus, Yield};
use model::{Seconds, Verdict};

/// A comparison with its interval and its direction in words.
pub(super) struct Cell {
    pub value: String,
    pub interval: String,
    pub word: &'static str,
    pub class: &'static str,
}

/// A workload's row.
pub(super) struct ShapeRow<'a> {
    pub workload: &'a str,
    pub naive: String,
    pub stock: String,
    pub winner: String,
    pub versus_stock: Cell,
    pub versus_naive: Cell,
    pub of_unit: String,
    pub of_floor: String,
    pub bound: &'a str,
}

/// One kind of edit and what came of it.
pub(super) struct EditRow<'a> {
    pub edit: &'a str,
    pub outcomes: Yield,
}

/// A candidate's row.
pub(super) struct CandidateRow<'a> {
    pub id: u32,
    pub parents: String,
    pub note: &'a str,
    pub verdict: String,
    pub class: &'static str,
    pub effect: String,
    pub promoted: bool,
}

/// A jump of the lineage.
pub(super) struct JumpRow<'a> {
    pub id: u32,
    pub note: &'a str,
    pub edit: &'a str,
    pub effect: String,
    pub cumulative: String,
    pub diff: Diff,
}

/// A hunk of the ablation.
pub(super) struct AblationRow<'a> {
    pub hunk: &'a str,
    pub value: String,
    pub interval: String,
    pub word: &'static str,
    pub class: &'static str,
    pub diff: Diff,
}

fn class(verdict: &Verdict) -> &'static str {
    match verdict.outcome() {
        model::Outcome::Win => "win",
        model::Outcome::Loss => "loss",
        model::Outcome::Noise => "noise",
        model::Outcome::Invalid => "invalid",
        model::Outcome::Cheated => "cheated",
    }
}

fn time(time: Option<Seconds>) -> String {
    time.map_or("–".to_owned(), |time| time.to_string())
}

fn cell(versus: Option<&Versus>) -> Cell {
    let Some(versus) = versus else {
        return Cell { value: "–".to_owned(), interval: String::new(), word: "not measured", class: "noise" };
    };
    let gain = speedup(versus.ln);
    Cell {
        value: times(gain.value),
        interval: range(gain.interval),
        word: direction(&versus.verdict),
        class: class(&versus.verdict),
    }
}

pub(super) fn shapes<'a>(view: &'a CampaignView) -> Vec<ShapeRow<'a>> {
    let row = |row: &'a crate::Comparison| {
        let crate::Comparison { workload, naive, stock, winner, versus_naive, versus_stock } = row;
        let score: Option<&ScoreRow> =
            view.scores.iter().find(|score| score.workload == *workload && score.strength == "candidate");
        let fraction = |pick: fn(&ScoreRow) -> Option<model::Estimate>| {
            score.and_then(pick).map_or("–".to_owned(), percent_with_range)
        };
        ShapeRow {
            workload,
            naive: time(*naive),
            stock: time(*stock),
            winner: time(*winner),
            versus_stock: cell(versus_stock.as_ref()),
            versus_naive: cell(versus_naive.as_ref()),
            of_unit: fraction(|score| score.of_unit),
            of_floor: fraction(|score| score.of_floor),
            bound: score.map_or("–", |score| score.bound.as_str()),
        }
    };
    view.comparisons.iter().map(row).collect()
}

/// Kinds of edit, the most tried first.
pub(super) fn edits(view: &CampaignView) -> Vec<EditRow<'_>> {
    let mut names: Vec<&str> = view.candidates.iter().map(|candidate| candidate.edit.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut rows: Vec<EditRow<'_>> = names
        .into_iter()
        .map(|edit| EditRow { edit, outcomes: Yield::of(view.candidates.iter().filter(|c| c.edit == edit)) })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.outcomes.attempted));
    rows
}

pub(super) fn candidates(view: &CampaignView) -> Vec<CandidateRow<'_>> {
    view.candidates.iter().map(candidate).collect()
}

fn candidate(candidate: &CandidateView) -> CandidateRow<'_> {
    let verdict = match (&candidate.verdict, &candidate.skipped) {
        (Some(verdict), _) => verdict.to_string(),
        (None, why) => format!("skipped: {}", why.as_deref().unwrap_or("not judged")),
    };
    let effects = candidate.effects.iter();
    let effect: Vec<_> =
        effects.map(|effect| format!("{}: {}", effect.workload, speedup_with_range(effect.ln))).collect();
    CandidateRow {
        id: candidate.id,
        parents: candidate.parents.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        note: &candidate.note,
        verdict,
        class: candidate.verdict.as_ref().map_or("noise", class),
        effect: effect.join("; "),
        promoted: candidate.promoted,
    }
}

pub(super) fn jumps<'a>(view: &'a CampaignView) -> Vec<JumpRow<'a>> {
    let row = |jump: &'a crate::JumpView| {
        let crate::JumpView { id, note, edit, diff, ln, cumulative } = jump;
        JumpRow {
            id: *id,
            note,
            edit,
            effect: ln.map_or("not measured".to_owned(), speedup_with_range),
            cumulative: cumulative.map_or("–".to_owned(), times),
            diff: Diff::read(diff),
        }
    };
    view.lineage.iter().map(row).collect()
}

/// The hunks, the one that pays most first.
pub(super) fn ablations<'a>(view: &'a CampaignView) -> Vec<AblationRow<'a>> {
    let mut hunks: Vec<_> = view.ablations.iter().collect();
    let worth = |hunk: &crate::AblationView| hunk.ln.map_or(f64::NEG_INFINITY, |ln| ln.value);
    hunks.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let row = |ablation: &'a crate::AblationView| {
        let crate::AblationView { hunk, diff, ln, verdict } = ablation;
        // Of the winner without the hunk: what is slower without it pays.
        let (word, class) = match verdict {
            Verdict::Worse => ("pays", "win"),
            Verdict::Better => ("costs", "loss"),
            Verdict::Equivalent => ("no effect", "noise"),
            Verdict::Undecided => ("undecided", "noise"),
            _ => ("needed", "noise"),
        };
        // ln(t_without / t_winner) is ln of what the hunk is worth.
        let worth = ln.map(|ln| ln.map(f64::exp));
        let value = worth.map(|worth| times(worth.value)).unwrap_or_default();
        let interval = worth.map(|worth| range(worth.interval)).unwrap_or_default();
        AblationRow { hunk, value, interval, word, class, diff: Diff::read(diff) }
    };
    hunks.into_iter().map(row).collect()
}

pub(super) fn budget(view: &CampaignView) -> String {
    let seconds = view.spec.budget_seconds.map(|seconds| format!("{} of search", Seconds(seconds)));
    let candidates = view.spec.max_candidates.map(|n| counted(n as usize, "candidate"));
    let parts: Vec<_> = seconds.into_iter().chain(candidates).collect();
    if parts.is_empty() { "no limit".to_owned() } else { parts.join(", at most ") }
}

pub(super) fn noise(view: &CampaignView) -> String {
    let kinds = view.machine.iter().flat_map(|map| &map.noise);
    kinds
        .map(|noise| format!("{} {} over {} pairs", noise.kind, percent(noise.sigma), noise.pairs))
        .collect::<Vec<_>>()
        .join(", ")
}
