//! `rooflab judge` on a task that brings its own evaluator.
//!
//! Must not hide that the evaluator is trusted.

use crate::args::JudgeArgs;
use crate::commands::{judge, print_json};
use crate::notice::{Notice, Voice};
use crate::outcome::{Done, Outcome};
use crate::plan::Format;
use crate::terminal::Quiet;
use crate::text;
use ::judge::client::JudgeProcess;
use ::judge::message::{EvolveAnswer, EvolveQuestion};
use model::Trust;
use std::fmt::Write as _;
use std::path::Path;

/// Runs it: the task's folder, the candidate, another base than the initial program.
///
/// # Errors
/// When a file can't be read, the initial program does not evaluate, or the environment fails.
pub fn run(args: &JudgeArgs, (folder, candidate, base): (&Path, &Path, Option<&Path>)) -> Outcome {
    let mut task = ::foreign::evolve::task(folder, candidate, base)?;
    task.metric.clone_from(&args.metric);
    let name = task.name.clone();
    let question = EvolveQuestion { task, terms: super::terms(args) };
    let voice = Voice::new(Quiet);
    let answer = JudgeProcess::evolve(question, move |text| voice.say(&Notice::Working { text }))?;
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&answer);
    }
    print!("{}", show(&name, &candidate.display().to_string(), &answer));
    Ok(Done::Complete)
}

fn show(name: &str, candidate: &str, answer: &EvolveAnswer) -> String {
    let mut text = format!("{candidate} against the initial program, {name}\n{}", answer.verdict);
    if let Some(gain) = answer.gain {
        let [value, low, high] = [gain.value, gain.interval.low, gain.interval.high].map(|x| 100.0 * x);
        let _ = write!(text, ": {} {value:+.3} % [{low:+.3}, {high:+.3}]", answer.metric);
    }
    text += "\n";
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.6}"));
    let mut rows = vec![["metric".to_owned(), "initial".to_owned(), "candidate".to_owned()]];
    rows.extend(answer.means.iter().map(|(metric, [a, b])| [metric.clone(), number(*a), number(*b)]));
    text += &text::align(&rows);
    let _ = writeln!(text, "\n{} evaluations, {} pairs, {}", answer.evaluations, answer.units.len(), answer.total);
    for remark in &answer.remarks {
        let _ = writeln!(text, "warning: {remark}");
    }
    text + if answer.trust == Trust::Unconfined { judge::promise(answer.trust) } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, Interval, Seconds, Verdict};

    #[test]
    fn a_gain_with_its_warning() {
        let answer = EvolveAnswer {
            verdict: Verdict::Better,
            metric: "combined_score".into(),
            gain: Some(Estimate { value: 0.125, interval: Interval { low: 0.1, high: 0.15 } }),
            units: vec![0.125; 9],
            means: [("combined_score".to_owned(), [Some(0.8), Some(0.9)]), ("ok".to_owned(), [Some(1.0), None])].into(),
            evaluations: 28,
            trust: Trust::Open,
            remarks: vec!["the evaluator itself is trusted".into()],
            total: Seconds(2.0),
        };
        insta::assert_snapshot!(show("sums", "better.py", &answer), @r"
        better.py against the initial program, sums
        better: combined_score +12.500 % [+10.000, +15.000]
        metric          initial   candidate
        combined_score  0.800000  0.900000
        ok              1.000000  -
        28 evaluations, 9 pairs, 2.00 s
        warning: the evaluator itself is trusted
        ");
    }
}
