//! Fills a report's view from a campaign's events.
//!
//! Must not measure or judge: every figure here was in an event. Pure.

use crate::ceilings::Bounds;
use crate::hunks;
use jiff::Timestamp;
use model::{CampaignSpec, CandidateId, Estimate, Event, Interval, Judgement, Map, Proposal, Verdict};
use problems::Problem;
use report::{
    AblationView, CampaignView, CandidateView, Comparison, Effect, JumpView, ScoreRow, Versus, WinnerView,
    WorkloadView, Yield,
};
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
    let events = || record.events.iter().map(|(_, event)| event);
    let family = Family::of(record.events);
    let candidates = family.views(record.events);
    let find = |wanted: fn(&Event) -> bool| record.events.iter().find(|(_, event)| wanted(event));
    let finished = find(|event| matches!(event, Event::Finished)).map(|(at, _)| at.to_string());
    let ended = events().find_map(|event| match event {
        Event::SearchEnded { why } => Some(why.clone()),
        _ => None,
    });
    let certificate = events().filter_map(|event| match event {
        Event::Verified { certificate, .. } => Some((**certificate).clone()),
        _ => None,
    });
    Some(CampaignView {
        id: record.id.to_owned(),
        spec: spec.clone(),
        started: started.to_string(),
        finished,
        ended,
        confidence: CONFIDENCE,
        machine: record.map.cloned(),
        workloads: workloads(record),
        outcomes: Yield::of(&candidates),
        lineage: family.lineage(),
        winner: family.winner(spec),
        ablations: ablations(record, &family),
        comparisons: comparisons(spec, record.events),
        scores: scores(spec, record),
        certificate: certificate.last(),
        warnings: warnings(spec, record),
        raw: record.raw.to_owned(),
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

/// Who came from whom, and what the judge said.
pub struct Family<'a> {
    proposals: BTreeMap<CandidateId, &'a Proposal>,
    judged: BTreeMap<CandidateId, (CandidateId, &'a Judgement)>,
    promoted: Vec<(CandidateId, &'a Judgement)>,
    cumulative: BTreeMap<CandidateId, f64>,
}

impl<'a> Family<'a> {
    /// Reads the events.
    pub fn of(events: &'a [(Timestamp, Event)]) -> Self {
        let mut family = Self {
            proposals: BTreeMap::new(),
            judged: BTreeMap::new(),
            promoted: Vec::new(),
            cumulative: BTreeMap::new(),
        };
        for (_, event) in events {
            match event {
                Event::Proposed { id, proposal } => {
                    if proposal.parents.is_empty() {
                        family.cumulative.insert(*id, 1.0);
                    }
                    family.proposals.insert(*id, proposal);
                }
                Event::Judged { id, against, judgement } => {
                    family.judged.insert(*id, (*against, judgement));
                    family.accumulate(*id, *against, judgement);
                }
                Event::Promoted { id, judgement } => family.promoted.push((*id, judgement)),
                _ => {}
            }
        }
        family
    }

    fn accumulate(&mut self, id: CandidateId, against: CandidateId, judgement: &Judgement) {
        let base = self.cumulative.get(&against).copied();
        if let (Some(base), Some(gain)) = (base, judgement.speedup()) {
            self.cumulative.insert(id, base * gain);
        }
    }

    /// The last that was promoted.
    pub fn champion(&self) -> Option<CandidateId> {
        self.promoted.last().map(|(id, _)| *id)
    }

    /// From the root to the champion.
    fn ancestry(&self) -> Vec<CandidateId> {
        let mut line: Vec<CandidateId> = Vec::new();
        let mut next = self.champion();
        while let Some(id) = next.filter(|id| !line.contains(id)) {
            line.push(id);
            next = self.proposals.get(&id).and_then(|proposal| proposal.parents.first()).copied();
        }
        line.reverse();
        line
    }

    /// The champion's source and the one it descends from.
    pub fn ends(&self) -> Option<(&'a Proposal, &'a Proposal)> {
        let line = self.ancestry();
        Some((self.proposals.get(line.first()?)?, self.proposals.get(line.last()?)?))
    }

    fn lineage(&self) -> Vec<JumpView> {
        let line = self.ancestry();
        let jump = |pair: &[CandidateId]| {
            let (parent, id) = (pair[0], pair[1]);
            let (old, new) = (self.proposals.get(&parent)?, self.proposals.get(&id)?);
            let (against, judgement) = self.judged.get(&id).map(|(against, judgement)| (*against, *judgement))?;
            Some(JumpView {
                id: id.0,
                note: new.note.clone(),
                edit: new.edit.clone(),
                diff: diff(old, new, [&format!("#{}", parent.0), &format!("#{}", id.0)]),
                ln: mean(judgement).filter(|_| against == parent),
                cumulative: self.cumulative.get(&id).copied(),
            })
        };
        line.windows(2).filter_map(jump).collect()
    }

    fn winner(&self, spec: &CampaignSpec) -> Option<WinnerView> {
        let id = self.champion()?;
        let (root, winner) = self.ends()?;
        let base = spec.baselines.iter().find(|baseline| baseline.source.as_ref() == Some(&root.source));
        let base = base.map_or_else(|| root.note.clone(), |baseline| baseline.name.clone());
        let diff = diff(root, winner, [&base, "winner"]);
        Some(WinnerView { id: id.0, source: winner.source.clone(), base, diff })
    }

    fn views(&self, events: &[(Timestamp, Event)]) -> Vec<CandidateView> {
        let mut skipped = BTreeMap::new();
        let mut at = BTreeMap::new();
        for (when, event) in events {
            match event {
                Event::Skipped { id, why } => {
                    skipped.insert(*id, why.clone());
                }
                Event::Proposed { id, .. } | Event::Judged { id, .. } => {
                    at.insert(*id, *when);
                }
                _ => {}
            }
        }
        let offered = |event: &Event| matches!(event, Event::Proposed { proposal, .. } if !is_baseline(proposal));
        let began = events.iter().find(|(_, event)| offered(event)).map(|(when, _)| *when);
        let offered = self.proposals.iter().filter(|(_, proposal)| !is_baseline(proposal));
        let seconds = |id| Some(at.get(id)?.duration_since(began?).as_secs_f64());
        offered
            .map(|(id, proposal)| CandidateView {
                skipped: skipped.remove(id),
                seconds: seconds(id).unwrap_or(0.0),
                ..self.candidate(*id, proposal)
            })
            .collect()
    }

    fn candidate(&self, id: CandidateId, proposal: &Proposal) -> CandidateView {
        let judged = self.judged.get(&id);
        let effects = judged.into_iter().flat_map(|(_, judgement)| &judgement.shapes);
        CandidateView {
            id: id.0,
            parents: proposal.parents.iter().map(|parent| parent.0).collect(),
            proposer: proposal.proposer.clone(),
            edit: proposal.edit.clone(),
            note: proposal.note.clone(),
            verdict: judged.map(|(_, judgement)| judgement.verdict.clone()),
            skipped: None,
            against: judged.map(|(against, _)| against.0),
            effects: effects
                .filter_map(|shape| Some(Effect { workload: shape.workload.name.clone(), ln: shape.ln? }))
                .collect(),
            cumulative: self.cumulative.get(&id).copied(),
            seconds: 0.0,
            promoted: self.promoted.iter().any(|(promoted, _)| *promoted == id),
        }
    }
}

/// Whether the search was given it rather than found it.
pub fn is_baseline(proposal: &Proposal) -> bool {
    proposal.proposer == "baseline"
}

fn diff(old: &Proposal, new: &Proposal, names: [&str; 2]) -> String {
    let flags = |proposal: &Proposal| match proposal.source.flags.as_slice() {
        [] => String::new(),
        flags => format!("/* flags: {} */\n", flags.join(" ")),
    };
    let text = |proposal: &Proposal| flags(proposal) + &proposal.source.text;
    report::unified_diff(&text(old), &text(new), names)
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

fn ablations(record: &Record<'_>, family: &Family<'_>) -> Vec<AblationView> {
    let texts: BTreeMap<String, String> = family
        .ends()
        .map(|(root, winner)| hunks::of(&root.source, &winner.source))
        .unwrap_or_default()
        .into_iter()
        .map(|hunk| (hunk.name, hunk.diff))
        .collect();
    let ablated = record.events.iter().filter_map(|(_, event)| match event {
        Event::Ablated { hunk, judgement } => Some((hunk, judgement)),
        _ => None,
    });
    ablated
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
            names.for_each(|name| if !order.contains(&name) { order.push(name) });
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
        let rows = problem.workloads.iter().filter_map(|workload| {
            bounds.score(shapes.get(workload.name.as_str())?, (arm, strength))
        });
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
        assert_eq!(view.candidates.iter().map(|c| (c.id, c.seconds, c.promoted)).collect::<Vec<_>>(), [
            (1, 1.0, false),
            (2, 3.0, true)
        ]);
        let winner = view.winner.unwrap();
        assert_eq!((winner.id, winner.base.as_str()), (2, "naive"));
        assert!(winner.diff.contains("+void f(void) {} /* winner */"), "{}", winner.diff);
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
    fn not_a_campaign() {
        assert!(view(&Record { id: "x", events: &[], problem: None, map: None, raw: "" }).is_none());
    }
}
