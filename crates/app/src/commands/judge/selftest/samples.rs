//! The hostile samples of other benchmarks, which are Python: walked where the judge finds an interpreter with NumPy.
//!
//! Must not pass over them in silence where it finds none.

use super::{GAIN_PAIRS, Keeper, Met, keep, words};
use crate::args::JudgeSelftestArgs;
use crate::outcome::Failure;
use judge::message::NO_PYTHON;
use model::{Arm, Fidelity, Job, Language, Seconds, Slice, Source};
use std::time::Instant;
use zoo::samples::{PROBLEM, TWIN};
use zoo::{SAMPLES, Sample};

/// One shape: interpreters start anew for every pair, and a larger one shows nothing more.
const WORKLOAD: &str = "rows=16";
/// Error rate, as that of `rooflab judge`; nothing is decided but whether something gains a lot.
const ALPHA: f64 = 0.01;
/// Time of one judgement.
const CAP: Seconds = Seconds(20.0);

/// Those that were asked for: all, or by name. They are none of the quick rows.
pub fn asked(args: &JudgeSelftestArgs) -> Vec<&'static Sample> {
    let is_asked = |sample: &&Sample| match &args.only {
        Some(part) => sample.name.contains(part.as_str()),
        None => args.all,
    };
    SAMPLES.iter().filter(is_asked).collect()
}

/// Walks them, or says why they can't be walked.
///
/// # Errors
/// When the problem can't be written down; or when nothing else was asked for, and they can't be walked.
pub fn meet(args: &JudgeSelftestArgs, samples: &[&Sample], met: &mut Vec<Met>) -> Result<Option<String>, Failure> {
    let mut keeper = Keeper::new(PROBLEM)?;
    for (i, sample) in samples.iter().enumerate() {
        let begun = Instant::now();
        let judged = keeper.ask(&Ok(question(sample)));
        if let Err(why) = &judged
            && i == 0
            && why.starts_with(NO_PYTHON)
        {
            return not_walked(args, samples.len(), why, met.is_empty());
        }
        let said = words(&judged);
        let [cheat, twin] = if sample.is_honest() { ["-".to_owned(), said] } else { [said, TWIN.to_owned()] };
        let row = Met {
            problem: PROBLEM,
            name: sample.name,
            does: sample.does,
            expected: sample.caught.iter().map(ToString::to_string).collect(),
            as_expected: judged.as_ref().is_ok_and(|judgement| sample.fits(judgement)),
            cheat,
            twin,
            seconds: begun.elapsed().as_secs_f64(),
        };
        keep(args, met, row);
    }
    Ok(None)
}

fn not_walked(args: &JudgeSelftestArgs, n: usize, why: &str, is_all: bool) -> Result<Option<String>, Failure> {
    if is_all {
        return Err(Failure::environment(why, "the samples of other benchmarks are Python, and need NumPy"));
    }
    let said = format!("{n} samples of other benchmarks are not walked: {why}");
    if !args.json {
        println!("{said}");
    }
    Ok(Some(said))
}

/// Against the twin where only a gain would tell, else against naive code: what is caught is caught on the way.
fn question(sample: &Sample) -> Job {
    let twin = SAMPLES.iter().find(|other| other.name == TWIN).expect("a test of the zoo's holds the table");
    let against = if sample.is_timed() { source(twin) } else { Arm::Baseline("naive".to_owned()) };
    Job {
        candidate: source(sample),
        against,
        slice: Slice::Named(vec![WORKLOAD.to_owned()]),
        fidelity: Fidelity::Anytime { alpha: ALPHA, max_process_pairs: GAIN_PAIRS },
        margin: 0.005,
        cap: CAP,
    }
}

fn source(sample: &Sample) -> Arm {
    Arm::Source(Source { language: Language::Python, text: sample.text().to_owned(), flags: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, JudgeVerb, Verb};
    use clap::Parser;

    #[test]
    fn they_are_walked_with_all_and_by_name() {
        let check = |options: &[&str], expected: usize| {
            let line = Args::parse_from([&["rooflab", "judge", "selftest"], options].concat());
            let Verb::Judge(judge) = line.verb else { panic!() };
            let Some(JudgeVerb::Selftest(args)) = judge.what else { panic!() };
            assert_eq!(asked(&args).len(), expected, "{options:?}");
        };
        check(&[], 0);
        check(&["--all"], SAMPLES.len());
        check(&["--only", "kernelbench-"], 3);
        check(&["--only", "no-op"], 0);
    }

    #[test]
    fn only_what_has_to_gain_nothing_faces_the_twin() {
        for sample in SAMPLES {
            let job = question(sample);
            let faces = job.against != Arm::Baseline("naive".to_owned());
            assert_eq!(faces, sample.is_timed(), "{}", sample.name);
        }
    }
}
