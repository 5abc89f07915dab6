//! `rooflab compare`: from what was parsed to what is compared, and from its verdict to an exit code.
//!
//! Must not measure: the engine does. Nothing is printed while it runs but its own events, which come between runs.

use crate::args::{CompareArgs, HowArgs, RuleArgs};
use crate::outcome::{Done, Failure, Outcome};
use crate::text::{align, line, percent};
use ::compare::arms::commands::{CommandArm, CommandsPlan, OnFailure, Outputs, Shell};
use ::compare::arms::git::{Builds, GitPlan, Merge};
use ::compare::arms::sql::{SqlArm, SqlPlan};
use ::compare::samples::Reading;
use ::compare::{ArmReport, CompareError, Event, GateAnswer, Outcome as Found, Pairs, Plan, Settings, Target};
use model::{Bytes, Seconds};
use stats::Question;

/// Runs it.
///
/// # Errors
/// When the request makes no sense or an arm fails. What was measured until then is printed.
pub fn run(args: &CompareArgs) -> Outcome {
    let plan = Plan { target: target(args)?, settings: settings(&args.rule) };
    plan.settings.check().map_err(Failure::from)?;
    ::compare::catch_interrupts();
    match ::compare::run(&plan, &mut tell) {
        Ok(found) => {
            print(args, &found);
            Ok(if args.rule.gate { gate(&found) } else { Done::Complete })
        }
        Err(failure) => {
            if let Some(kept) = &failure.kept {
                print(args, kept);
            }
            Err(failure.error.into())
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error.exit_code() {
            2 => Self::Usage(miette::miette!("{error}")),
            130 => Self::Interrupted(error.to_string()),
            _ => Self::Environment(miette::miette!("{error}")),
        }
    }
}

fn gate(found: &Found) -> Done {
    match found.gate() {
        GateAnswer::Passes => Done::Complete,
        GateAnswer::Fires => Done::GateWorse,
        GateAnswer::Undecided => Done::GateUndecided,
    }
}

fn settings(rule: &RuleArgs) -> Settings {
    // Any number will do for a coin that nothing else knows.
    let drawn = || jiff::Timestamp::now().as_nanosecond() as u64 ^ u64::from(std::process::id());
    Settings {
        alpha: rule.alpha,
        // The engine's margin is one of ln time.
        margin: rule.margin.ln_1p(),
        budget: rule.budget.0,
        pairs: rule.pairs.map_or(Pairs::Anytime { max: rule.max_pairs }, Pairs::Fixed),
        metric: rule.metric,
        question: if rule.gate { Question::Gate } else { Question::Difference },
        seed: rule.seed.unwrap_or_else(drawn),
        noise: None,
    }
}

fn target(args: &CompareArgs) -> Result<Target, Failure> {
    let arms = arms(&args.arms);
    if let Some(connection) = &args.sql {
        let statements = two("statements", arms)?;
        let arm = |statement: String| SqlArm { name: statement.clone(), session: String::new(), statement };
        let mut plan = SqlPlan::new(connection, statements.into_iter().map(arm).collect());
        plan.limit = args.how.limit.0;
        return Ok(Target::Sql(plan));
    }
    let alone = |target: Target| {
        if arms.is_empty() {
            return Ok(target);
        }
        Err(Failure::usage("commands after `--` and --repo or --samples exclude each other", USAGE))
    };
    if let [a, rest @ ..] = args.samples.as_slice() {
        let reading = Reading { format: args.format, unit: args.unit, names: args.name.clone() };
        return alone(Target::Samples { a: a.clone(), b: rest.first().cloned(), reading });
    }
    if let (Some(repo), Some(base), Some(patch), Some(run)) = (&args.repo, &args.base, &args.patch, &args.run) {
        return alone(Target::Git(GitPlan {
            repo: repo.clone(),
            base: base.clone(),
            patch: patch.clone(),
            merge: if args.merge { Merge::IntoBase } else { Merge::Patch },
            build: args.build.clone(),
            run: run.clone(),
            controls: args.control.clone(),
            builds: Builds::Once,
            commands: commands(&args.how, Vec::new()),
        }));
    }
    Ok(Target::Commands(commands(&args.how, two("commands", arms)?)))
}

const USAGE: &str = "rooflab compare -- 'CMD A' -- 'CMD B'";

fn two(what: &str, arms: Vec<String>) -> Result<Vec<String>, Failure> {
    match arms.len() {
        0 | 1 => Err(Failure::usage(format!("two {what} at least are needed, each after its own `--`"), USAGE)),
        _ => Ok(arms),
    }
}

/// The arms between the separators; the words of one arm are joined as a shell would have split them.
fn arms(words: &[String]) -> Vec<String> {
    let arms = words.split(|word| word == "--").map(|words| words.join(" "));
    arms.filter(|arm| !arm.trim().is_empty()).collect()
}

fn commands(how: &HowArgs, lines: Vec<String>) -> CommandsPlan {
    let arm = |command: String| CommandArm {
        setup: how.setup.clone(),
        prepare: how.prepare.clone(),
        cleanup: how.cleanup.clone(),
        input: how.input.clone(),
        ..CommandArm::new(command)
    };
    CommandsPlan {
        shell: match how.shell.as_deref() {
            None => Shell::Auto,
            Some("none") => Shell::None,
            Some(shell) => Shell::Named(shell.to_owned()),
        },
        outputs: if how.same_output { Outputs::MustAgree } else { Outputs::Discard },
        on_failure: if how.ignore_failure { OnFailure::Ignore } else { OnFailure::Stop },
        limit: how.limit.0,
        pin: how.pin,
        ..CommandsPlan::new(lines.into_iter().map(arm).collect())
    }
}

/// What happens between runs, on standard error.
fn tell(event: &Event) {
    let text = match event {
        Event::Preparing { what } => what.clone(),
        Event::NoiseStarted { units } => format!("A against itself, {units} pairs"),
        Event::NoiseMeasured { sigma, resolvable, units } => {
            format!("sigma {}: the budget's {units} pairs resolve {}", percent(*sigma), percent(*resolvable))
        }
        Event::Warned { warning } => format!("warning: {warning}"),
        Event::Progress { .. } | Event::ControlStarted => return,
    };
    eprintln!("{text}");
}

fn print(args: &CompareArgs, found: &Found) {
    if args.json {
        println!("{}", found.json());
    } else if args.markdown {
        print!("{}", found.markdown());
    } else {
        print!("{}", show(found));
    }
}

fn show(found: &Found) -> String {
    let heads = ["arm", "time", "user", "system", "peak memory", "against the first", "interval"].map(String::from);
    let rows: Vec<[String; 7]> = std::iter::once(heads).chain(found.arms.iter().map(|arm| row(arm, found))).collect();
    let mut lines = vec![found.sentence().replace('`', "'"), align(&rows)];
    let resolvable = found.resolvable.map_or(String::new(), |least| format!(", {} resolvable", percent(least)));
    lines.push(line("", &format!("{} pairs, {}{resolvable}, seed {}", found.pairs, found.rule, found.seed)));
    lines.extend(found.unknowable.iter().map(|text| line("unknown", text)));
    lines.extend(found.notes.iter().map(|text| line("note", text)));
    lines.extend(found.warnings.iter().map(|warning| line("warning", &warning.to_string())));
    lines.join("\n") + "\n"
}

fn row(arm: &ArmReport, found: &Found) -> [String; 7] {
    let absent = || "-".to_owned();
    let time = |seconds: Option<f64>| seconds.map_or_else(absent, |seconds| Seconds(seconds).to_string());
    let comparison = found.comparisons.iter().find(|comparison| comparison.arm == arm.name);
    let end = |end: Option<f64>| end.map_or_else(absent, signed);
    [
        arm.name.clone(),
        time(arm.median),
        time(arm.user),
        time(arm.system),
        arm.peak_memory.map_or_else(absent, |bytes| Bytes(bytes as f64).to_string()),
        comparison.and_then(|comparison| comparison.effect).map_or_else(absent, signed),
        comparison.map_or_else(absent, |c| format!("{} to {}", end(c.interval[0]), end(c.interval[1]))),
    ]
}

fn signed(effect: f64) -> String {
    format!("{}{}", if effect < 0.0 { "" } else { "+" }, percent(effect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn parsed(words: &[&str]) -> Result<Target, Failure> {
        let line = ["rooflab", "compare"].iter().chain(words);
        let Verb::Compare(args) = Args::try_parse_from(line).unwrap().verb else { panic!() };
        target(&args)
    }

    #[test]
    fn arms_lie_between_separators() {
        let check = |words: &[&str], expected: &[&str]| {
            let Ok(Target::Commands(plan)) = parsed(words) else { panic!("{words:?}") };
            assert_eq!(plan.arms.iter().map(CommandArm::shown).collect::<Vec<_>>(), expected, "{words:?}");
        };
        check(&["--", "sleep 1", "--", "sleep 2"], &["sleep 1", "sleep 2"]);
        check(&["--", "sleep", "1", "--", "sleep", "2", "--", "true"], &["sleep 1", "sleep 2", "true"]);
    }

    #[test]
    fn too_few_or_too_many() {
        let check = |words: &[&str], part: &str| match parsed(words) {
            Err(Failure::Usage(report)) => assert!(report.to_string().contains(part), "{report}"),
            other => panic!("{words:?}: {other:?}"),
        };
        check(&[], "two commands at least");
        check(&["--", "sleep 1"], "two commands at least");
        check(&["--sql", "host=x", "--", "SELECT 1"], "two statements at least");
        check(&["--samples", "a", "b", "--", "x"], "exclude each other");
    }

    #[test]
    fn git_and_samples() {
        let words =
            ["--repo", ".", "--base", "main", "--patch", "HEAD", "--merge", "--run", "make", "--control", "true"];
        let Ok(Target::Git(plan)) = parsed(&words) else { panic!() };
        assert_eq!((plan.merge, plan.run.as_str(), plan.controls), (Merge::IntoBase, "make", vec!["true".to_owned()]));
        let Ok(Target::Samples { b, .. }) = parsed(&["--samples", "both.json"]) else { panic!() };
        assert_eq!(b, None);
    }
}
