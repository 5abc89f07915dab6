//! What a campaign teaches: the winner's lineage, its hunks, and how each kind of edit fared. Judges nothing anew.

use crate::archive::{Candidate, Standing};
use crate::campaign::Campaign;
use model::{CandidateId, Estimate, Outcome, Source, Verdict};
use similar::{DiffTag, TextDiff};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// One step of a lineage.
#[derive(Clone, Debug, PartialEq)]
pub struct Jump {
    /// The candidate that it led to.
    pub id: CandidateId,
    /// The one that was changed.
    pub parent: CandidateId,
    /// Kind of edit.
    pub edit: String,
    /// What was done.
    pub note: String,
    /// Unified diff from parent to candidate, flags as a last line.
    pub diff: String,
    /// What it was compared with: the champion of its time.
    pub against: Option<CandidateId>,
    /// Effects at selection time by workload: ln(t / t of `against`), too good on average.
    pub selected: Vec<(String, Estimate)>,
    /// The same in the fresh test that promoted it.
    pub fresh: Vec<(String, Estimate)>,
    /// Mean ln against candidate 0, estimated along the chain.
    pub cumulative: Option<f64>,
}

/// The jumps from a baseline to `id`, oldest first.
pub fn lineage(campaign: &Campaign, id: CandidateId) -> Vec<Jump> {
    let chain = campaign.archive.ancestors(id);
    let pairs = chain.windows(2);
    pairs.filter_map(|pair| jump(campaign.archive.get(pair[0])?, campaign.archive.get(pair[1])?).into()).collect()
}

fn jump(parent: &Candidate, candidate: &Candidate) -> Jump {
    let effects = |judgement: Option<&model::Judgement>| {
        let shapes = judgement.into_iter().flat_map(|j| &j.shapes);
        shapes.filter_map(|s| Some((s.workload.name.clone(), s.ln?))).collect()
    };
    Jump {
        id: candidate.id,
        parent: parent.id,
        edit: candidate.proposal.edit.clone(),
        note: candidate.proposal.note.clone(),
        diff: diff(&parent.proposal.source, &candidate.proposal.source),
        against: candidate.against,
        selected: effects(candidate.judgement.as_ref()),
        fresh: effects(candidate.fresh.as_ref()),
        cumulative: candidate.search_ln(),
    }
}

/// Unified diff of two sources; a change of flags is its last line.
pub fn diff(old: &Source, new: &Source) -> String {
    let changes = TextDiff::from_lines(old.text.as_str(), new.text.as_str());
    let mut text = changes.unified_diff().context_radius(3).header("parent", "candidate").to_string();
    if old.flags != new.flags {
        let _ = writeln!(text, "flags: {} -> {}", or_none(&old.flags), or_none(&new.flags));
    }
    text
}

fn or_none(flags: &[String]) -> String {
    if flags.is_empty() { "none".to_owned() } else { flags.join(" ") }
}

/// A part of the difference between two sources that can be taken back alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    /// In words: the event's name for it.
    pub words: String,
    change: Change,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
    Lines { old: Range<usize>, new: Range<usize> },
    Flag(String),
}

impl Hunk {
    /// How many lines it takes away and adds.
    pub fn lines(&self) -> usize {
        match &self.change {
            Change::Lines { old, new } => old.len() + new.len(),
            Change::Flag(_) => 1,
        }
    }
}

/// The text hunks from `base` to `winner` and each flag that the winner adds. Taking one back may leave code that does
/// not compile: the judge then says so, and that is the answer.
pub fn hunks(base: &Source, winner: &Source) -> Vec<Hunk> {
    let changes = TextDiff::from_lines(base.text.as_str(), winner.text.as_str());
    let mut found: Vec<Hunk> = changes
        .ops()
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Hunk {
            words: words(&op.old_range(), &op.new_range()),
            change: Change::Lines { old: op.old_range(), new: op.new_range() },
        })
        .collect();
    let added = winner.flags.iter().filter(|flag| !base.flags.contains(flag));
    found.extend(added.map(|flag| Hunk { words: format!("flag {flag}"), change: Change::Flag(flag.clone()) }));
    found
}

fn words(old: &Range<usize>, new: &Range<usize>) -> String {
    let lines = |range: &Range<usize>| match range.len() {
        1 => format!("line {}", range.start + 1),
        _ => format!("lines {}-{}", range.start + 1, range.end),
    };
    match (old.is_empty(), new.is_empty()) {
        (true, _) => format!("{} added", lines(new)),
        (_, true) => format!("base's {} removed", lines(old)),
        _ => format!("{} in place of base's {}", lines(new), lines(old)),
    }
}

/// The winner with one hunk taken back.
pub fn without(winner: &Source, base: &Source, hunk: &Hunk) -> Source {
    let mut source = winner.clone();
    match &hunk.change {
        Change::Flag(flag) => source.flags.retain(|other| other != flag),
        Change::Lines { old, new } => {
            let (theirs, ours): (Vec<&str>, Vec<&str>) =
                (base.text.split_inclusive('\n').collect(), winner.text.split_inclusive('\n').collect());
            let parts = [&ours[..new.start], &theirs[old.clone()], &ours[new.end..]];
            source.text = parts.into_iter().flatten().copied().collect();
        }
    }
    source
}

/// How one kind of edit fared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fared {
    /// Judged candidates.
    pub judged: u32,
    /// Of those: better at the first judgement.
    pub better: u32,
    /// Confirmed by a fresh test.
    pub promoted: u32,
    /// Did not build, wrong, crashed, timed out.
    pub invalid: u32,
    /// Broke a rule.
    pub cheated: u32,
    /// Promotions that lie in the champion's lineage.
    pub in_lineage: u32,
}

/// Counts by kind of edit.
pub fn by_edit(campaign: &Campaign) -> BTreeMap<String, Fared> {
    let winners = campaign.archive.ancestors(campaign.champion());
    let mut counts: BTreeMap<String, Fared> = BTreeMap::new();
    for candidate in campaign.archive.iter().filter(|c| c.proposal.proposer != "baseline") {
        let Some(judgement) = &candidate.judgement else { continue };
        let fared = counts.entry(candidate.proposal.edit.clone()).or_default();
        let outcome = judgement.verdict.outcome();
        fared.judged += 1;
        fared.better += u32::from(outcome == Outcome::Win);
        fared.invalid += u32::from(outcome == Outcome::Invalid);
        fared.cheated += u32::from(outcome == Outcome::Cheated);
        fared.promoted += u32::from(candidate.standing == Standing::Promoted);
        fared.in_lineage += u32::from(winners.contains(&candidate.id));
    }
    counts
}

/// Ideas that were tried more than once, most often first: how often, how often better.
pub fn recurring(campaign: &Campaign) -> Vec<(String, u32, u32)> {
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for candidate in campaign.archive.iter().filter(|c| c.judgement.is_some() && c.proposal.proposer != "baseline") {
        let idea = candidate.proposal.note.clone();
        let count = counts.entry(idea).or_default();
        count.0 += 1;
        count.1 += u32::from(candidate.judgement.as_ref().is_some_and(|j| j.verdict == Verdict::Better));
    }
    let mut found: Vec<(String, u32, u32)> =
        counts.into_iter().filter(|(_, (tried, _))| *tried > 1).map(|(idea, (t, b))| (idea, t, b)).collect();
    found.sort_by_key(|(idea, tried, _)| (std::cmp::Reverse(*tried), idea.clone()));
    found
}

/// How often candidates failed in the same way: stage or rule, and the first line of the cause.
pub fn failures(campaign: &Campaign) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for judgement in campaign.archive.iter().filter_map(|c| c.judgement.as_ref()) {
        let way = match &judgement.verdict {
            Verdict::Failed { stage, cause } => format!("{stage}: {}", cause.lines().next().unwrap_or_default()),
            Verdict::Refused { rule, .. } => rule.to_string(),
            Verdict::Quarantined { .. } => "quarantined".to_owned(),
            _ => continue,
        };
        *counts.entry(way).or_default() += 1;
    }
    let mut found: Vec<(String, u32)> = counts.into_iter().collect();
    found.sort_by_key(|(way, count)| (std::cmp::Reverse(*count), way.clone()));
    found
}
