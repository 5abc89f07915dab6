//! Two candidates of a problem, through the judge, as a comparison like any other.
//!
//! Must not measure or decide: the judge does, behind its sandbox.

use super::{Found, Pairs, Settings};
use crate::args::{CompareArgs, StoreArgs};
use crate::machine;
use crate::notice::Voice;
use crate::outcome::Failure;
use crate::plan::{self, Confinement, Place};
use crate::session::{Bench, baseline_names, problem, workload_names};
use crate::terminal::Quiet;
use ::compare::environment::Snapshot;
use ::compare::{ArmReport, Comparison, SigmaOf, Unit};
use judge::message::Ready;
use model::{Arm, Fidelity, Job, Judgement, Seconds, ShapeJudgement, Slice, Verdict};
use problems::Problem;
use stats::{Decision, smallest_effect};
use std::path::{Path, PathBuf};

/// Pairs that show a spread at all.
const LEAST_FOR_SPREAD: usize = 5;

/// Judges B against A. The failure, if any, is B's own.
pub fn run(args: &CompareArgs, given: &Path, settings: &Settings) -> Result<(Found, Option<Failure>), Failure> {
    let folder = plan::problem_folder(given)?;
    let problem = problem(&folder)?;
    let job = job(args, &problem, settings)?;
    // Where `rooflab map` leaves it.
    let ledger = std::env::var_os("ROOFLAB_LEDGER").map(PathBuf::from);
    let map = machine::stored(&Place::of_store(&StoreArgs { ledger }));
    let confinement = Confinement::from_flag(args.candidates.unconfined);
    let before = Snapshot::take();
    let bench = Bench { folder, confinement, map, voice: Voice::new(Quiet) };
    let (mut judge, _) = bench.open_aloud(Ready::Shortest)?;
    let judgement = judge.judge(&job)?;
    let names = names(args);
    let state = Snapshot::take();
    let found = outcome(&judgement, &names, settings, job.fidelity);
    let found = Found {
        warnings: [before.warnings(), state.steal_since(&before).into_iter().collect()].concat(),
        environment: Some(before),
        ..found
    };
    let failure = found
        .aborted
        .as_ref()
        .map(|why| Failure::environment(why, "`rooflab judge` shows all that the judge found out about a candidate"));
    Ok((found, failure))
}

fn names(args: &CompareArgs) -> [String; 2] {
    let files = &args.candidates.files;
    [0, 1].map(|i| args.name.get(i).or(files.get(i)).cloned().unwrap_or_default())
}

fn job(args: &CompareArgs, problem: &Problem, settings: &Settings) -> Result<Job, Failure> {
    let [a, b] = args.candidates.files.as_slice() else {
        let what = format!("--problem needs two candidates, and {} is given", args.candidates.files.len());
        return Err(Failure::usage(what, "rooflab compare --problem PROBLEM A.c B.c"));
    };
    let known = baseline_names(problem);
    let slice = match &args.candidates.workloads {
        None => Slice::Declared,
        Some(text) => Slice::Named(plan::workloads(text, &workload_names(problem))?),
    };
    let alpha = settings.alpha;
    let most = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let fidelity = match settings.pairs {
        Pairs::Anytime { max } => Fidelity::Anytime { alpha, max_process_pairs: most(max) },
        Pairs::Fixed(n) => Fidelity::Fixed { alpha, process_pairs: most(n) },
    };
    let (against, candidate): (Arm, Arm) = (plan::arm(a, &known, &[])?, plan::arm(b, &known, &[])?);
    Ok(Job { candidate, against, slice, fidelity, margin: settings.margin, cap: Seconds(settings.budget) })
}

fn decision(verdict: &Verdict) -> Decision {
    match verdict {
        Verdict::Better => Decision::Better,
        Verdict::Worse => Decision::Worse,
        Verdict::Equivalent => Decision::Equivalent,
        _ => Decision::Undecided,
    }
}

/// The judgement in the shape of every comparison.
fn outcome(judgement: &Judgement, names: &[String; 2], settings: &Settings, fidelity: Fidelity) -> Found {
    let elapsed = judgement.overhead.total.0;
    let comparisons: Vec<Comparison> = judgement.shapes.iter().map(|shape| comparison(shape, names, elapsed)).collect();
    let measured: Vec<_> = judgement.shapes.iter().filter_map(|shape| shape.ln).collect();
    let mean = |pick: fn(&model::Estimate) -> f64| {
        let mean = measured.iter().map(pick).sum::<f64>() / measured.len() as f64;
        mean.is_finite().then(|| mean.exp_m1())
    };
    let rule = if matches!(fidelity, Fidelity::Fixed { .. }) { "fixed" } else { "anytime" };
    Found {
        verdict: decision(&judgement.verdict),
        effect: mean(|ln| ln.value),
        interval: [mean(|ln| ln.interval.low), mean(|ln| ln.interval.high)],
        pairs: judgement.shapes.iter().map(|shape| shape.units.len()).sum(),
        resolvable: resolvable(judgement, settings),
        sigma: spreads(judgement).map(|spread| spread.sigma).max_by(f64::total_cmp),
        sigma_of: spreads(judgement).max_by(|a, b| a.sigma.total_cmp(&b.sigma)).map(|s| SigmaOf::Pairs { pairs: s.n }),
        rule: rule.to_owned(),
        arms: judgement.shapes.iter().flat_map(|shape| reports(shape, names)).collect(),
        comparisons,
        notes: notes(judgement),
        elapsed,
        aborted: match &judgement.verdict {
            verdict if verdict.is_measured() => None,
            verdict => Some(format!("{}: {verdict}", names[1])),
        },
        ..Found::empty(settings)
    }
}

/// The judge keeps its own noise to itself: the spread of each workload's pairs about their median stands for it.
fn spreads(judgement: &Judgement) -> impl Iterator<Item = stats::Noise> {
    let units = judgement.shapes.iter().map(|shape| shape.units.as_slice());
    units.filter(|units| units.len() >= LEAST_FOR_SPREAD).filter_map(stats::Noise::of)
}

/// The smallest effect that the budget resolves on every workload: its pairs at the pace of this run, a share each.
fn resolvable(judgement: &Judgement, settings: &Settings) -> Option<f64> {
    let done: usize = judgement.shapes.iter().map(|shape| shape.units.len()).sum();
    let fit = done as f64 * settings.budget / judgement.overhead.total.0 / judgement.shapes.len() as f64;
    let most = match settings.pairs {
        Pairs::Anytime { max } => max.min(fit as usize),
        Pairs::Fixed(n) => n,
    };
    let least = |noise: stats::Noise| smallest_effect(noise.sigma, most.max(noise.n));
    spreads(judgement).map(least).max_by(f64::total_cmp).filter(|effect| effect.is_finite())
}

fn notes(judgement: &Judgement) -> Vec<String> {
    let mut notes = judgement.remarks.clone();
    if judgement.shapes.len() > 1 {
        let what = "effect and interval of the whole are the geometric means over the workloads; that interval holds \
                    when every workload's does";
        notes.push(what.to_owned());
    }
    if judgement.trust == model::Trust::Unconfined {
        notes.push("unconfined: the candidates ran without a sandbox, so nothing is promised".to_owned());
    }
    notes.push("the judge keeps the order of the pairs alone: their times are spread evenly over the run".to_owned());
    notes
}

fn named(name: &str, shape: &ShapeJudgement) -> String {
    format!("{name} {}", shape.workload.name)
}

fn comparison(shape: &ShapeJudgement, names: &[String; 2], elapsed: f64) -> Comparison {
    let end = |ln: f64| ln.is_finite().then(|| ln.exp_m1());
    let n = shape.units.len() as f64;
    let unit = |(i, ln): (usize, &f64)| Unit { at: elapsed * (i + 1) as f64 / n, ln: *ln };
    Comparison {
        arm: named(&names[1], shape),
        against: named(&names[0], shape),
        is_control: false,
        verdict: decision(&shape.verdict),
        effect: shape.ln.and_then(|ln| end(ln.value)),
        interval: shape.ln.map_or([None, None], |ln| [end(ln.interval.low), end(ln.interval.high)]),
        e: shape.e.map(|e| e.min(f64::MAX)),
        p: shape.p,
        accepted: None,
        units: shape.units.iter().enumerate().map(unit).collect(),
    }
}

fn reports(shape: &ShapeJudgement, names: &[String; 2]) -> [ArmReport; 2] {
    [(0, shape.against), (1, shape.candidate)].map(|(i, median)| ArmReport {
        name: named(&names[i], shape),
        median: median.map(|time| time.0),
        user: None,
        system: None,
        peak_memory: None,
        samples: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn found(verdict: Verdict, effects: &[(&str, f64)]) -> Found {
        let names = ["a.c", "b.c"].map(String::from);
        let fidelity = Fidelity::Anytime { alpha: 0.01, max_process_pairs: 60 };
        outcome(&sample::judgement(verdict, effects), &names, &Settings::default(), fidelity)
    }

    #[test]
    fn a_judgement_has_the_shape_of_every_comparison() {
        let found = found(Verdict::Better, &[("len=1", -0.5), ("len=2", -0.3)]);
        assert_eq!((found.verdict, found.comparisons.len(), found.arms.len()), (Decision::Better, 2, 4));
        assert!((found.effect.unwrap() - (-0.4_f64).exp_m1()).abs() < 1e-12);
        let second = &found.comparisons[1];
        assert_eq!((second.arm.as_str(), second.against.as_str()), ("b.c len=2", "a.c len=2"));
        assert!(found.interval[1].unwrap() < 0.0 && found.aborted.is_none());
        assert_eq!(found.gate_exit_code(), 0);
    }

    #[test]
    fn what_the_budget_resolves_follows_from_the_pairs_of_the_noisiest_workload() {
        let fidelity = Fidelity::Anytime { alpha: 0.01, max_process_pairs: 10_000 };
        let names = ["a.c", "b.c"].map(String::from);
        let mut judgement = sample::judgement(Verdict::Undecided, &[("quiet", 0.0), ("loud", 0.0)]);
        let spread = |scale: f64| (0..20).map(|i| scale * f64::from(i % 5 - 2)).collect::<Vec<f64>>();
        judgement.shapes[0].units = spread(0.001);
        judgement.shapes[1].units = spread(0.01);
        // 40 pairs in 2 s: 60 s hold 600 of each workload.
        let found = outcome(&judgement, &names, &Settings::default(), fidelity);
        assert!((found.sigma.unwrap() - 0.014_826).abs() < 1e-6);
        assert_eq!(found.sigma_of, Some(SigmaOf::Pairs { pairs: 20 }));
        assert!((found.resolvable.unwrap() - 3.86 * 0.014_826 / 600.0_f64.sqrt()).abs() < 1e-6);
        let running = found.running(&found.comparisons[1], 250);
        assert_eq!((running.len(), running[19].units), (20, 20));
        for shape in &mut judgement.shapes {
            shape.units.truncate(2);
        }
        assert_eq!(outcome(&judgement, &names, &Settings::default(), fidelity).resolvable, None);
    }

    #[test]
    fn a_refused_candidate_is_no_answer() {
        let verdict = Verdict::Refused { rule: model::Rule::WroteInput, detail: "k changed in call 3".into() };
        let found = found(verdict, &[]);
        assert!(found.aborted.as_ref().unwrap().contains("b.c: refused"), "{:?}", found.aborted);
        assert_eq!((found.verdict, found.effect, found.gate_exit_code()), (Decision::Undecided, None, 3));
    }
}
