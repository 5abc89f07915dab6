//! The brief of one proposal, from the campaign and what is known beside it.

use crate::archive::Candidate;
use crate::campaign::Campaign;
use crate::proposers::Context;
use model::{Estimate, Judgement, Seconds, Verdict};
use propose::prompt::{Brief, Failure, Figure, Parent, ProblemFacts, Standing, difference};
use std::collections::BTreeMap;

/// Name of a candidate's only file.
pub const FILE: &str = "candidate.c";
/// Diverse parents that are shown: each costs a difference of some thousand characters.
const OTHERS: usize = 3;
/// Longest difference that is shown, in bytes; a parent that has nothing to do with the best is no use as one.
const LONGEST: usize = 8000;
/// Failures that are shown.
const FAILURES: usize = 4;

/// What a prompt says beside the campaign. The app fills it in: it has the problem, the map and the ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// The problem in words.
    pub problem: ProblemFacts,
    /// The function that a candidate defines.
    pub entry: String,
    /// Figures of the map that matter.
    pub machine: Vec<Figure>,
    /// Floors by workload.
    pub floors: BTreeMap<String, Floor>,
    /// What the ledger knows of this op.
    pub ledger: Vec<String>,
}

/// The shortest time that this machine allows a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// The time.
    pub time: Seconds,
    /// What it is made of.
    pub bound: String,
}

/// What is to be said about changing `parent`.
pub fn brief(scene: &Scene, context: &Context<'_>, parent: &Candidate, number: &str) -> Brief {
    let campaign = context.campaign;
    let code = &parent.proposal.source.text;
    let others = context.others().into_iter().filter(|other| other.id != parent.id);
    let others =
        others.map(|other| Parent { code: difference(code, &other.proposal.source.text), ..words(campaign, other) });
    let others = others.filter(|other| !other.code.is_empty() && other.code.len() <= LONGEST);
    Brief {
        problem: scene.problem.clone(),
        target: standing(scene, campaign, parent),
        machine: scene.machine.clone(),
        hints: untitled(context.hints).to_owned(),
        ledger: scene.ledger.clone(),
        failures: context.failures(FAILURES).into_iter().map(failure).collect(),
        others: others.take(OTHERS).collect(),
        best: words(campaign, parent),
        files: [(FILE.to_owned(), code.clone())].into(),
        number: number.to_owned(),
    }
}

/// Hints without the heading of their file: the prompt has one of its own.
fn untitled(hints: &str) -> &str {
    let hints = hints.trim_start();
    if hints.starts_with("# ") { hints.split_once('\n').map_or("", |(_, rest)| rest.trim_start()) } else { hints }
}

fn words(campaign: &Campaign, candidate: &Candidate) -> Parent {
    let chain = campaign.archive.ancestors(candidate.id);
    let before = chain.iter().filter(|id| **id != candidate.id).filter_map(|id| campaign.archive.get(*id));
    let made = before.filter(|c| c.proposal.proposer != "baseline");
    Parent {
        id: Some(candidate.id.0),
        note: candidate.proposal.note.clone(),
        effect: effect(candidate),
        lineage: made.map(|c| c.proposal.note.clone()).collect(),
        code: String::new(),
    }
}

/// The paired effect with its interval.
fn effect(candidate: &Candidate) -> String {
    let against = candidate.against.map_or_else(String::new, |id| format!(" against candidate {}", id.0));
    let paired = judged(candidate).and_then(|judgement| Some((judgement.shapes.first()?.ln?, judgement)));
    let Some((ln, judgement)) = paired else { return "the start".to_owned() };
    let Estimate { value, interval } = ln.map(|ln| (-ln).exp());
    let of_start = candidate.speedup().map_or_else(String::new, |speedup| format!("; {speedup:.2} times the start's"));
    format!(
        "{}{against}: its speed is {value:.3} [{:.3}, {:.3}] times that one's{of_start}",
        judgement.verdict.name(),
        interval.low,
        interval.high
    )
}

fn judged(candidate: &Candidate) -> Option<&Judgement> {
    candidate.fresh.as_ref().or(candidate.judgement.as_ref())
}

/// Times and floors of what was measured of a candidate; of the start that is the comparison with itself.
fn standing(scene: &Scene, campaign: &Campaign, candidate: &Candidate) -> Vec<Standing> {
    let judgement = judged(candidate).or(campaign.noise.as_ref().filter(|_| candidate.id.0 == 0));
    let shapes = judgement.map_or(&[][..], |judgement| &judgement.shapes);
    let of = |shape: &model::ShapeJudgement| {
        let time = shape.candidate?;
        let floor = scene.floors.get(&shape.workload.name);
        Some(Standing {
            workload: shape.workload.name.clone(),
            time: time.to_string(),
            floor: floor.map(|floor| floor.time.to_string()),
            fraction: floor.map(|floor| floor.time / time),
            bound: floor.map(|floor| floor.bound.clone()),
        })
    };
    let mut found: Vec<Standing> = shapes.iter().filter_map(of).collect();
    // The furthest from its ceiling has most to give.
    found.sort_by(|a, b| a.fraction.unwrap_or(1.0).total_cmp(&b.fraction.unwrap_or(1.0)));
    found
}

fn failure(candidate: &Candidate) -> Failure {
    let note = format!("candidate {}, {}", candidate.id.0, candidate.proposal.note);
    let Some(judgement) = judged(candidate) else { return Failure::new(note, "failed", "") };
    match &judgement.verdict {
        Verdict::Failed { stage, cause } => Failure::new(note, format!("failed ({stage})"), cause),
        Verdict::Refused { rule, detail } => Failure::new(note, format!("refused ({rule})"), detail),
        Verdict::Quarantined { why } => Failure::new(note, "faster than this machine allows", why),
        other => Failure::new(note, other.name(), ""),
    }
}
