//! Two candidates of a problem, or prebuilt libraries for it, through the judge, as a comparison like any other.
//!
//! Must not measure or decide: the judge does, behind its sandbox.

mod libraries;

use super::{Found, Pairs, Settings};
use crate::args::{CompareArgs, StoreArgs};
use crate::interrupt;
use crate::machine;
use crate::notice::Voice;
use crate::outcome::Failure;
use crate::plan::{self, Confinement, Place};
use crate::session::{Bench, problem, workload_names};
use crate::terminal::Quiet;
use ::compare::environment::Snapshot;
use ::compare::{ArmReport, Comparison, SigmaOf, Unit};
use judge::client::{JudgeError, Judged};
use judge::message::Ready;
use model::{Fidelity, Job, Judgement, Seconds, ShapeJudgement, Slice, Verdict};
use problems::Problem;
use stats::{Decision, smallest_effect};
use std::path::{Path, PathBuf};

/// Pairs that show a spread at all.
const LEAST_FOR_SPREAD: usize = 5;

/// What to do about a candidate that fails.
const HELP: &str = "`rooflab judge` shows all that the judge found out about a candidate";
/// Why an interrupted run has no verdict.
const INTERRUPTED: &str = "interrupted; the candidates that were running have been killed";

/// Judges B against A. The failure, if any, is B's own, or that it was interrupted.
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
    let help = libraries::help(&job, &problem).unwrap_or_else(|| HELP.to_owned());
    let names = names(args);
    let answer = ask(&bench, &job, |error| match error {
        JudgeError::Against(verdict) => Failure::environment(format!("{}: {verdict}", names[0]), &help),
        error => error.into(),
    })?;
    let state = Snapshot::take();
    let found = outcome(&answer.judgement, &names, settings, job.fidelity);
    let is_interrupted = answer.is_cut_short && found.aborted.is_none();
    let found = if is_interrupted { cut_short(found) } else { found };
    let found = Found {
        warnings: [before.warnings(), state.steal_since(&before).into_iter().collect()].concat(),
        environment: Some(before),
        ..found
    };
    if is_interrupted {
        return Ok((found, Some(Failure::Interrupted(INTERRUPTED.to_owned()))));
    }
    let failure = found.aborted.as_ref().map(|why| Failure::environment(why, &help));
    Ok((found, failure))
}

/// The judge's answer. Ctrl-C has it answer with what it has measured by then.
fn ask(bench: &Bench, job: &Job, failed: impl Fn(JudgeError) -> Failure) -> Result<Judged, Failure> {
    let nothing = || Failure::Interrupted("interrupted before anything was measured".to_owned());
    // A terminal's Ctrl-C ends a judge that is still being opened: its death is no failure of the environment then.
    let or_interrupted = |failure| if interrupt::asked() { nothing() } else { failure };
    interrupt::listen();
    let (mut judge, _) = bench.open_aloud(Ready::Shortest).map_err(or_interrupted)?;
    if interrupt::pass_on_to(Some(judge.id())) {
        return Err(nothing());
    }
    let answer = judge.judge_until_interrupted(job).map_err(|error| or_interrupted(failed(error)));
    interrupt::pass_on_to(None);
    let answer = answer?;
    let is_empty = answer.judgement.shapes.iter().all(|shape| shape.units.is_empty());
    if answer.is_cut_short && answer.judgement.verdict.is_measured() && is_empty { Err(nothing()) } else { Ok(answer) }
}

/// What was measured until someone asked to stop, without a verdict.
fn cut_short(mut found: Found) -> Found {
    found.verdict = Decision::Undecided;
    found.comparisons.iter_mut().for_each(|comparison| comparison.verdict = Decision::Undecided);
    Found { aborted: Some(INTERRUPTED.to_owned()), ..found }
}

fn names(args: &CompareArgs) -> [String; 2] {
    let files = &args.candidates.files;
    [0, 1].map(|i| args.name.get(i).or(files.get(i)).cloned().unwrap_or_default())
}

fn job(args: &CompareArgs, problem: &Problem, settings: &Settings) -> Result<Job, Failure> {
    let [a, b] = args.candidates.files.as_slice() else {
        let what = format!("--problem needs two candidates, and {} is given", args.candidates.files.len());
        return Err(Failure::usage(what, "rooflab compare --problem PROBLEM A.c B.c, or A.so B.so"));
    };
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
    let (against, candidate) = (libraries::arm(a, problem)?, libraries::arm(b, problem)?);
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
    fn an_interrupted_run_keeps_its_pairs_and_gives_no_verdict() {
        let found = cut_short(found(Verdict::Worse, &[("len=1", 0.5)]));
        assert_eq!((found.verdict, found.comparisons[0].verdict), (Decision::Undecided, Decision::Undecided));
        assert!(found.effect.is_some() && found.pairs == 8 && found.gate_exit_code() == 3);
        assert!(found.sentence().contains("interrupted"), "{}", found.sentence());
    }

    #[test]
    fn a_refused_candidate_is_no_answer() {
        let verdict = Verdict::Refused { rule: model::Rule::WroteInput, detail: "k changed in call 3".into() };
        let found = found(verdict, &[]);
        assert!(found.aborted.as_ref().unwrap().contains("b.c: refused"), "{:?}", found.aborted);
        assert_eq!((found.verdict, found.effect, found.gate_exit_code()), (Decision::Undecided, None, 3));
    }
}
