//! Fills a report's view from a campaign's events.
//!
//! Must not measure or judge: every figure here was in an event. Pure.

use crate::actions;
use crate::ceilings::Bounds;
use jiff::Timestamp;
use model::{CampaignSpec, CandidateId, Estimate, Event, Interval, Judgement, Map, Proposal, Verdict};
use problems::Problem;
use report::{
    AblationView, CampaignView, CandidateView, Comparison, Effect, JumpView, ScoreRow, Versus, WinnerView,
    WorkloadView, Yield,
};
use search::ablation::{self, Part};
use search::mining::{self, Jump};
use search::{Campaign, Candidate, Standing};
use std::collections::BTreeMap;

/// Confidence of the intervals: every comparison that is shown runs at alpha = 5 %.
const CONFIDENCE: f64 = 0.95;

/// What a view is made from.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The campaign's id.
    pub id: &'a str,
    /// Its events with their times.
    pub events: &'a [(Timestamp, Event)],
    /// Its problem, when its folder is still as it was.
    pub problem: Option<&'a Problem>,
    /// The map of the machine it ran on.
    pub map: Option<&'a Map>,
    /// Where the raw data lies, in words.
    pub raw: &'a str,
}

/// The view, or none for a campaign that does not begin with its specification.
pub fn view(record: &Record<'_>) -> Option<CampaignView> {
    let (started, Event::Started { spec }) = record.events.first()? else { return None };
    let campaign = Campaign::fold(record.events.iter().map(|(_, event)| event));
    let candidates = candidates(&campaign, record.events);
    let find = |wanted: fn(&Event) -> bool| record.events.iter().find(|(_, event)| wanted(event));
    let finished = find(|event| matches!(event, Event::Finished)).map(|(at, _)| at.to_string());
    let winner = winner(&campaign);
    let lineage = winner.as_ref().map(|_| mining::lineage(&campaign, campaign.champion())).unwrap_or_default();
    Some(CampaignView {
        id: record.id.to_owned(),
        spec: spec.clone(),
        started: started.to_string(),
        finished,
        ended: campaign.ended.clone(),
        confidence: CONFIDENCE,
        machine: record.map.cloned(),
        workloads: workloads(record),
        outcomes: Yield::of(&candidates),
        lineage: lineage.iter().map(|step| jump(&campaign, step)).collect(),
        ablations: ablations(&campaign, record.problem),
        // Without a winner the campaign compares its starting point, which `start/stock` has told already.
        comparisons: winner.as_ref().map(|_| comparisons(spec, record.events)).unwrap_or_default(),
        scores: scores(spec, record),
        certificate: campaign.certificate.as_ref().map(|(_, certificate)| certificate.clone()),
        warnings: warnings(spec, record),
        raw: record.raw.to_owned(),
        winner,
        candidates,
    })
}

/// The mean effect of a judgement over its workloads; the interval is the mean of the ends, which is wider than need be.
pub fn mean(judgement: &Judgement) -> Option<Estimate> {
    let effects: Vec<Estimate> = judgement.shapes.iter().filter_map(|shape| shape.ln).collect();
    let n = effects.len() as f64;
    let over = |part: fn(&Estimate) -> f64| effects.iter().map(part).sum::<f64>() / n;
    (!effects.is_empty()).then(|| Estimate {
        value: over(|ln| ln.value),
        interval: Interval { low: over(|ln| ln.interval.low), high: over(|ln| ln.interval.high) },
    })
}

/// A step of the winner's ancestry.
fn jump(campaign: &Campaign, jump: &Jump) -> JumpView {
    let fresh = campaign.archive.get(jump.id).and_then(|candidate| candidate.fresh.as_ref());
    JumpView {
        id: jump.id.0,
        note: jump.note.clone(),
        edit: jump.edit.clone(),
        diff: jump.diff.clone(),
        // The fresh estimate, and only where the opponent was the parent.
        ln: fresh.filter(|_| jump.against == Some(jump.parent)).and_then(mean),
        cumulative: jump.cumulative.map(|ln| (-ln).exp()),
    }
}

fn winner(campaign: &Campaign) -> Option<WinnerView> {
    let best = campaign.best().filter(|best| !is_baseline(&best.proposal))?;
    let root = campaign.archive.get(*campaign.archive.ancestors(best.id).first()?)?;
    let baselines = &campaign.spec.as_ref()?.baselines;
    let base = baselines.iter().find(|baseline| baseline.source.as_ref() == Some(&root.proposal.source));
    Some(WinnerView {
        id: best.id.0,
        source: best.proposal.source.clone(),
        base: base.map_or_else(|| root.proposal.note.clone(), |baseline| baseline.name.clone()),
        diff: mining::diff(&root.proposal.source, &best.proposal.source),
    })
}

fn candidates(campaign: &Campaign, events: &[(Timestamp, Event)]) -> Vec<CandidateView> {
    let mut last: BTreeMap<CandidateId, Timestamp> = BTreeMap::new();
    let mut began = None;
    for (when, event) in events {
        if let Event::Proposed { id, .. } | Event::Judged { id, .. } = event {
            began.get_or_insert(*when);
            last.insert(*id, *when);
        }
    }
    let seconds = |id| Some(last.get(&id)?.duration_since(began?).as_secs_f64());
    let offered = campaign.archive.iter().filter(|candidate| !is_baseline(&candidate.proposal));
    offered.map(|candidate| candidate_view(candidate, seconds(candidate.id).unwrap_or(0.0))).collect()
}

fn candidate_view(candidate: &Candidate, seconds: f64) -> CandidateView {
    let judgement = candidate.judgement.as_ref();
    let effects = judgement.into_iter().flat_map(|judgement| &judgement.shapes);
    CandidateView {
        id: candidate.id.0,
        parents: candidate.proposal.parents.iter().map(|parent| parent.0).collect(),
        proposer: candidate.proposal.proposer.clone(),
        edit: candidate.proposal.edit.clone(),
        note: candidate.proposal.note.clone(),
        verdict: judgement.map(|judgement| judgement.verdict.clone()),
        skipped: match &candidate.standing {
            Standing::Skipped(why) => Some(why.clone()),
            _ => None,
        },
        against: candidate.against.map(|against| against.0),
        effects: effects
            .filter_map(|shape| Some(Effect { workload: shape.workload.name.clone(), ln: shape.ln? }))
            .collect(),
        cumulative: candidate.speedup(),
        seconds,
        promoted: candidate.standing == Standing::Promoted,
    }
}

/// Whether the search was given it rather than found it.
fn is_baseline(proposal: &Proposal) -> bool {
    proposal.proposer == "baseline"
}

fn workloads(record: &Record<'_>) -> Vec<WorkloadView> {
    let Some(problem) = record.problem else { return Vec::new() };
    let view = |workload| (workload, problem.work(workload));
    problem
        .workloads
        .iter()
        .map(view)
        .map(|(workload, work)| WorkloadView { name: workload.name.clone(), work })
        .collect()
}

fn ablations(campaign: &Campaign, problem: Option<&Problem>) -> Vec<AblationView> {
    let diff = |part: &Part| {
        let winner = &campaign.best()?.proposal.source;
        let without = ablation::source(campaign, &actions::macros(problem?), part)?;
        Some(mining::diff(&without, winner))
    };
    let parts = ablation::parts(campaign).into_iter();
    let texts: BTreeMap<String, String> =
        parts.filter_map(|part| Some((diff(&part)?, part.words))).map(|(diff, words)| (words, diff)).collect();
    campaign
        .ablations
        .iter()
        .map(|(hunk, judgement)| AblationView {
            hunk: hunk.clone(),
            diff: texts.get(hunk).cloned().unwrap_or_default(),
            ln: mean(judgement),
            verdict: judgement.verdict.clone(),
        })
        .collect()
}

/// Comparisons of that name, the last word on each workload.
fn shapes<'a>(events: &'a [(Timestamp, Event)], wanted: &str) -> BTreeMap<&'a str, &'a model::ShapeJudgement> {
    let judgements = events.iter().filter_map(|(_, event)| match event {
        Event::Compared { name, judgement } if name == wanted => Some(judgement),
        _ => None,
    });
    judgements.flat_map(|judgement| &judgement.shapes).map(|shape| (shape.workload.name.as_str(), shape)).collect()
}

fn comparisons(spec: &CampaignSpec, events: &[(Timestamp, Event)]) -> Vec<Comparison> {
    let against = |strength: &str| {
        let baseline = spec.baselines.iter().find(|baseline| baseline.strength == strength);
        baseline.map(|baseline| shapes(events, &format!("winner/{}", baseline.name))).unwrap_or_default()
    };
    let (naive, stock) = (against("naive"), against("stock"));
    let mut order: Vec<&str> = Vec::new();
    for (_, event) in events {
        if let Event::Compared { name, judgement } = event
            && name.starts_with("winner/")
        {
            let names = judgement.shapes.iter().map(|shape| shape.workload.name.as_str());
            for name in names {
                if !order.contains(&name) {
                    order.push(name);
                }
            }
        }
    }
    let versus = |shape: Option<&&model::ShapeJudgement>| {
        shape.and_then(|shape| Some(Versus { ln: shape.ln?, verdict: shape.verdict.clone() }))
    };
    order
        .into_iter()
        .map(|name| Comparison {
            workload: name.to_owned(),
            naive: naive.get(name).and_then(|shape| shape.against),
            stock: stock.get(name).and_then(|shape| shape.against),
            winner: stock.get(name).or(naive.get(name)).and_then(|shape| shape.candidate),
            versus_naive: versus(naive.get(name)),
            versus_stock: versus(stock.get(name)),
        })
        .collect()
}

/// A row for each arm and workload that was held against its ceiling.
fn scores(spec: &CampaignSpec, record: &Record<'_>) -> Vec<ScoreRow> {
    let (Some(problem), Some(map)) = (record.problem, record.map) else { return Vec::new() };
    let bounds = Bounds::new(problem, map);
    let baselines = spec.baselines.iter().map(|baseline| (baseline.name.as_str(), baseline.strength.as_str()));
    let arms = baselines.chain([("winner", "candidate")]);
    arms.flat_map(|(arm, strength)| {
        let shapes = shapes(record.events, &format!("{arm}/ceiling"));
        let rows = problem
            .workloads
            .iter()
            .filter_map(|workload| bounds.score(shapes.get(workload.name.as_str())?, (arm, strength)));
        rows.collect::<Vec<_>>()
    })
    .collect()
}

fn warnings(spec: &CampaignSpec, record: &Record<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if spec.unconfined {
        warnings.push("The sandbox was off (--unconfined): nothing is promised about what candidates did.".to_owned());
    }
    let noise = record.events.iter().find_map(|(_, event)| match event {
        Event::NoiseMeasured { judgement } => Some(judgement),
        _ => None,
    });
    if let Some(judgement) = noise
        && matches!(judgement.verdict, Verdict::Better | Verdict::Worse)
    {
        warnings.push(format!(
            "Identical code was judged {} than itself before the search: the machine was not quiet. One time in twenty \
             that is chance; if it happens again, stop other load and run again.",
            if judgement.verdict == Verdict::Better { "faster" } else { "slower" }
        ));
    }
    let has_no_selftest = |event: &Event| matches!(event, Event::JudgeChecked { selftest: None, .. });
    if record.events.iter().any(|(_, event)| has_no_selftest(event)) {
        warnings.push(
            "No selftest of the judge had passed on this machine before the search (`rooflab judge selftest`, under 20 s); \
             its two canaries were told apart."
                .to_owned(),
        );
    }
    if record.problem.is_none() {
        warnings.push("The problem's folder has changed or is not here, so ceilings and work are left out.".to_owned());
    }
    if record.map.is_none() {
        warnings.push("No map of the machine is in this ledger, so there are no fractions of ceiling.".to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn made(events: Vec<Event>) -> CampaignView {
        let began: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let at = |i: usize| began + jiff::SignedDuration::from_secs(i as i64);
        let events: Vec<_> = events.into_iter().enumerate().map(|(i, event)| (at(i), event)).collect();
        view(&Record { id: "norm-1", events: &events, problem: None, map: None, raw: "ledger.db" }).unwrap()
    }

    #[test]
    fn a_campaign_is_told_in_full() {
        let view = made(sample::campaign());
        assert_eq!((view.outcomes.attempted, view.outcomes.win, view.outcomes.loss), (2, 1, 1));
        assert_eq!(
            view.candidates.iter().map(|c| (c.id, c.seconds, c.promoted)).collect::<Vec<_>>(),
            [(1, 1.0, false), (2, 3.0, true)]
        );
        let winner = view.winner.unwrap();
        assert_eq!((winner.id, winner.base.as_str()), (2, "naive"));
        assert!(winner.diff.contains("+int winner;"), "{}", winner.diff);
        let jump = &view.lineage[0];
        assert_eq!((jump.id, jump.ln.map(|ln| ln.value)), (2, Some(-0.5)));
        assert!((jump.cumulative.unwrap() - 0.5f64.exp()).abs() < 1e-12);
        assert_eq!(view.comparisons.len(), 2);
        assert!(view.comparisons[0].versus_stock.is_some() && view.comparisons[0].naive.is_some());
        assert_eq!(view.ended.as_deref(), Some("budget spent"));
        assert!(view.finished.is_some());
    }

    #[test]
    fn without_a_winner_nothing_is_claimed() {
        let mut events = sample::campaign();
        events.retain(|event| !matches!(event, Event::Promoted { .. } | Event::Compared { .. } | Event::Finished));
        let view = made(events);
        assert_eq!((view.winner, view.lineage.len(), view.comparisons.len(), view.finished), (None, 0, 0, None));
    }

    #[test]
    fn a_noisy_machine_is_said() {
        let mut events = sample::campaign();
        events[1] = Event::NoiseMeasured { judgement: sample::judgement(Verdict::Worse, &[("len=128", 0.1)]) };
        assert!(made(events).warnings[0].starts_with("Identical code was judged slower"));
    }

    #[test]
    fn a_missing_selftest_is_said() {
        let check = |selftest, expected: usize| {
            let mut events = sample::campaign();
            let judgement = Box::new(sample::judgement(Verdict::Worse, &[]));
            events.insert(
                2,
                Event::JudgeChecked { broken: judgement.clone(), slowed: judgement, selftest, sandbox: Vec::new() },
            );
            let said = made(events).warnings.iter().filter(|text| text.contains("selftest")).count();
            assert_eq!(said, expected);
        };
        check(None, 1);
        let passed = model::Selftest {
            zoo: model::Digest::of("zoo"),
            rows: 20,
            whole: false,
            machine: sample::map().fingerprint,
            version: "0.1.0".into(),
        };
        check(Some(passed), 0);
    }

    #[test]
    fn not_a_campaign() {
        assert!(view(&Record { id: "x", events: &[], problem: None, map: None, raw: "" }).is_none());
    }
}
