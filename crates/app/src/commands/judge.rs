//! `rooflab judge`: one candidate, by hand. People, agents and the zoo come through this door. A folder of them is
//! `batch`, the zoo as a whole `selftest`.

mod batch;
mod selftest;

use super::{foreign, print_json};
use crate::args::{JudgeArgs, JudgeVerb};
use crate::ceilings::Bounds;
use crate::machine;
use crate::notice::Voice;
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{self, Confinement, Format, Place};
use crate::session::{Bench, baseline_names, problem, workload_names};
use crate::terminal::Quiet;
use crate::text::{self, percent};
use ::judge::message::Ready;
use model::{Arm, Digest, Fidelity, Job, Judgement, Map, Slice, Trust};
use problems::{Problem, Strength};
use serde::Serialize;
use std::path::PathBuf;

/// Process pairs at most when the evidence is to decide; what a patient person waits for.
const MAX_PROCESS_PAIRS: u32 = 40;

/// What `--json` prints: the judgement itself, and beside it what was asked.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    problem: &'a str,
    problem_digest: Digest,
    job: &'a Job,
    /// Share of the floor time that the map gives, workload by workload; null without a map.
    of_ceiling: Vec<Option<f64>>,
}

/// Runs it.
///
/// # Errors
/// When the input makes no sense or the environment fails. A candidate that fails is no error.
pub fn run(args: &JudgeArgs) -> Outcome {
    if let Some(JudgeVerb::Selftest(args)) = &args.what {
        return selftest::run(args);
    }
    let format = args.problem.as_deref().and_then(::foreign::Format::of);
    foreign::only_what_fits(args, format)?;
    match (&args.batch, format) {
        (Some(queue), _) => batch::run(args, queue),
        (None, Some(format)) => foreign::run(args, format),
        (None, None) => one(args),
    }
}

fn one(args: &JudgeArgs) -> Outcome {
    let folder = problem_folder(args)?;
    let problem = problem(&folder)?;
    let given = args.candidate.as_deref().ok_or_else(|| Failure::usage("no candidate", "name a candidate's file"))?;
    let candidate = plan::arm(given, &baseline_names(&problem), &args.flags)?;
    let job = job(args, &problem, [candidate, against(args, &problem)?])?;
    let map = machine::stored(&Place::new(&args.place));
    let voice = Voice::new(Quiet);
    let bench = Bench { folder, confinement: Confinement::from_flag(args.unconfined), map, voice };
    let (mut judge, _) = bench.open_aloud(Ready::Shortest)?;
    let judgement = judge.judge(&job)?;
    let of_ceiling = fractions(&problem, bench.map.as_ref(), &judgement);
    if Format::from_flag(args.json) == Format::Json {
        let answer = Answer {
            problem: &problem.name,
            problem_digest: problem.digest,
            job: &job,
            judgement: &judgement,
            of_ceiling,
        };
        return print_json(&answer);
    }
    print!("{}", show(&job, &judgement, &of_ceiling));
    Ok(Done::Complete)
}

fn problem_folder(args: &JudgeArgs) -> Result<PathBuf, Failure> {
    let given = args.problem.as_ref().ok_or_else(|| Failure::usage("no problem", "name a problem's folder"))?;
    plan::problem_folder(given)
}

/// What the options compare with.
fn against(args: &JudgeArgs, problem: &Problem) -> Result<Arm, Failure> {
    match &args.against {
        Some(text) => plan::arm(text, &baseline_names(problem), &[]),
        None => Ok(Arm::Baseline(default_baseline(problem).to_owned())),
    }
}

/// What the options ask about these two.
fn job(args: &JudgeArgs, problem: &Problem, [candidate, against]: [Arm; 2]) -> Result<Job, Failure> {
    let slice = match &args.workloads {
        None => Slice::Declared,
        Some(text) => Slice::Named(plan::workloads(text, &workload_names(problem))?),
    };
    Ok(Job { candidate, against, slice, fidelity: fidelity(args), margin: args.margin, cap: args.cap })
}

/// A fixed number of process pairs where one is named, else as many as decide.
pub fn fidelity(args: &JudgeArgs) -> Fidelity {
    match args.fixed {
        Some(process_pairs) => Fidelity::Fixed { alpha: args.alpha, process_pairs },
        None => Fidelity::Anytime { alpha: args.alpha, max_process_pairs: MAX_PROCESS_PAIRS },
    }
}

/// The stock baseline, else the first.
fn default_baseline(problem: &Problem) -> &str {
    let stock = problem.baselines.iter().find(|baseline| baseline.strength == Strength::Stock);
    stock.or(problem.baselines.first()).map_or("naive", |baseline| baseline.name.as_str())
}

fn fractions(problem: &Problem, map: Option<&Map>, judgement: &Judgement) -> Vec<Option<f64>> {
    let Some(map) = map else { return vec![None; judgement.shapes.len()] };
    let bounds = Bounds::new(problem, map);
    judgement.shapes.iter().map(|shape| Some(bounds.of(&shape.workload.name)?.floor / shape.candidate?)).collect()
}

fn show(job: &Job, judgement: &Judgement, of_ceiling: &[Option<f64>]) -> String {
    let mut text = format!("{} against {}\n", text::arm(&job.candidate), text::arm(&job.against));
    text += &report::terminal::judgement(judgement);
    let shares: Vec<String> = judgement
        .shapes
        .iter()
        .zip(of_ceiling)
        .filter_map(|(shape, share)| Some(format!("{} {}", shape.workload.name, percent((*share)?))))
        .collect();
    if !shares.is_empty() {
        text += "of the floor time that the stored map gives: ";
        text += &shares.join(", ");
        text += "\n";
    }
    text + promise(judgement.trust)
}

/// A line on what is promised of the candidate, where that is less than usual.
pub fn promise(trust: Trust) -> &'static str {
    match trust {
        Trust::Unconfined => "unconfined: the candidate ran without a sandbox, so nothing is promised\n",
        Trust::Open => "open: the candidate was contained, and shared its process with its interpreter\n",
        Trust::Sealed | Trust::Fuelled | Trust::DeviceOnly => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::{Rule, Source, Verdict};

    fn shown(verdict: Verdict, effects: &[(&str, f64)]) -> String {
        let judgement = sample::judgement(verdict, effects);
        let job = Job {
            candidate: Arm::Source(Source::c("int x;")),
            against: Arm::Baseline("stock".into()),
            slice: Slice::Declared,
            fidelity: Fidelity::Gate,
            margin: 0.005,
            cap: model::Seconds(60.0),
        };
        show(&job, &judgement, &[Some(0.5)])
    }

    #[test]
    fn a_win() {
        insta::assert_snapshot!(shown(Verdict::Better, &[("len=128", -0.5)]), @r"
        candidate 4cbce985f3de against baseline stock
        better: 1.65x, geometric mean of 1 workload
        workload  verdict  speed-up  interval      candidate  against  pairs  evidence  error
        len=128   better      1.65x  1.62 to 1.68    6.07 ms  10.0 ms     40  -          10 %
        took 2.00 s: build 0.00 ns, runners 0.00 ns, draw 0.00 ns, calls 0.00 ns, check 0.00 ns
        of the floor time that the stored map gives: len=128 50 %
        ");
    }

    #[test]
    fn a_cheat() {
        let verdict = Verdict::Refused { rule: Rule::WroteInput, detail: "k changed in call 3".into() };
        insta::assert_snapshot!(shown(verdict, &[]), @r"
        candidate 4cbce985f3de against baseline stock
        refused (wrote-input): k changed in call 3
        took 2.00 s: build 0.00 ns, runners 0.00 ns, draw 0.00 ns, calls 0.00 ns, check 0.00 ns
        ");
    }
}
