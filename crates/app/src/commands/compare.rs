//! `rooflab compare`: from what was parsed to what is compared, and from its verdict to an exit code.
//!
//! Must not measure: the engine does. Nothing is printed while it runs but its own events, which come between runs.

mod answer;
mod candidates;
mod pictures;

use crate::args::{CompareArgs, HowArgs, RuleArgs};
use crate::outcome::{Done, Failure, Outcome};
use crate::text::percent;
use ::compare::arms::commands::{CommandArm, CommandsPlan, OnFailure, Outputs, Shell};
use ::compare::arms::git::{Builds, GitPlan, Merge};
use ::compare::arms::sql::{SqlArm, SqlPlan};
use ::compare::samples::Reading;
use ::compare::{CompareError, Event, GateAnswer, NoiseStore, Outcome as Found, Pairs, Plan, Settings, Target};
use ::compare::{history, run_with_noise};
use stats::Question;

/// Runs it.
///
/// # Errors
/// When the request makes no sense or an arm fails. What was measured until then is printed.
pub fn run(args: &CompareArgs) -> Outcome {
    let settings = settings(&args.rule);
    settings.check().map_err(Failure::from)?;
    if !args.history.is_empty() {
        return series(args);
    }
    if let Some(problem) = &args.candidates.problem {
        alone(args, ())?;
        let (found, failure) = candidates::run(args, problem, &settings)?;
        return finish(args, &found, failure);
    }
    let plan = Plan { target: target(args)?, settings };
    ::compare::catch_interrupts();
    let result = match NoiseStore::of_user() {
        Some(store) => run_with_noise(&plan, &store, args.rule.noise, &mut tell),
        None => ::compare::run(&plan, &mut tell),
    };
    match result {
        Ok(found) => finish(args, &found, None),
        Err(failure) => match &failure.kept {
            Some(kept) => finish(args, kept, Some(failure.error.into())),
            None => Err(failure.error.into()),
        },
    }
}

/// Prints, draws, and ends with what went wrong or what the gate says.
fn finish(args: &CompareArgs, found: &Found, failure: Option<Failure>) -> Outcome {
    print(args, found);
    let drawn = args.plot.as_ref().map_or(Ok(()), |path| pictures::write_comparison(path, found));
    match failure {
        Some(failure) => Err(failure),
        None => drawn.map(|()| if args.rule.gate { gate(found) } else { Done::Complete }),
    }
}

/// Where a series of results changed.
fn series(args: &CompareArgs) -> Outcome {
    alone(args, ())?;
    let points = history::read(&args.history, &reading(args)).map_err(Failure::from)?;
    let search =
        stats::ChangeSearch { alpha: args.rule.alpha, seed: args.rule.seed.unwrap_or(0), ..Default::default() };
    let found = history::history(points, search).map_err(Failure::from)?;
    if args.json {
        println!("{}", found.json());
    } else if args.markdown {
        print!("{}", found.markdown());
    } else {
        print!("{}", pictures::table(&found));
    }
    args.plot.as_ref().map_or(Ok(()), |path| pictures::write_history(path, &found))?;
    Ok(Done::Complete)
}

fn reading(args: &CompareArgs) -> Reading {
    Reading { format: args.format, unit: args.unit, names: args.name.clone() }
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
    if let Some(connection) = &args.sql {
        return statements(args, connection).map(Target::Sql);
    }
    if let [a, rest @ ..] = args.samples.as_slice() {
        return alone(args, Target::Samples { a: a.clone(), b: rest.first().cloned(), reading: reading(args) });
    }
    if let (Some(repo), Some(base), Some(patch), Some(run)) = (&args.repo, &args.base, &args.patch, &args.run) {
        let plan = GitPlan {
            repo: repo.clone(),
            base: base.clone(),
            patch: patch.clone(),
            merge: if args.merge { Merge::IntoBase } else { Merge::Patch },
            build: args.build.clone(),
            run: run.clone(),
            controls: args.control.clone(),
            builds: if args.fresh_builds { Builds::EachUnit } else { Builds::Once },
            commands: commands(&args.how, vec![arm(&args.how, String::new(), 0), arm(&args.how, String::new(), 1)]),
        };
        return alone(args, Target::Git(plan));
    }
    let mut lines = arms(&args.arms);
    let is_one_command_in_two_ways = lines.len() == 1 && differs_by_arm(&args.how);
    if is_one_command_in_two_ways {
        lines.push(lines[0].clone());
    }
    let mut arms: Vec<CommandArm> =
        lines.into_iter().enumerate().map(|(i, command)| arm(&args.how, command, i)).collect();
    if is_one_command_in_two_ways {
        arms[0].name = told_by(&arms[0].command, &args.how.env_a, args.how.cwd_a.as_deref());
        arms[1].name = told_by(&arms[1].command, &args.how.env_b, args.how.cwd_b.as_deref());
    }
    let arms = expanded(&args.how, arms)?;
    let arms = renamed(args, two("commands", arms)?, |arm, name| arm.name = name)?;
    Ok(Target::Commands(commands(&args.how, arms)))
}

const USAGE: &str = "rooflab compare -- 'CMD A' -- 'CMD B'";

/// Passes `value` on when there are no arms after `--`.
fn alone<T>(args: &CompareArgs, value: T) -> Result<T, Failure> {
    if args.arms.is_empty() {
        return Ok(value);
    }
    let what = "commands after `--` exclude --repo, --problem, --samples and --history";
    Err(Failure::usage(what, USAGE))
}

fn two<T>(what: &str, arms: Vec<T>) -> Result<Vec<T>, Failure> {
    match arms.len() {
        0 | 1 => Err(Failure::usage(format!("two {what} at least are needed, each after its own `--`"), USAGE)),
        _ => Ok(arms),
    }
}

fn renamed<T>(args: &CompareArgs, mut arms: Vec<T>, rename: fn(&mut T, String)) -> Result<Vec<T>, Failure> {
    if args.name.len() > arms.len() {
        let what = format!("--name is given {} times for {} arms", args.name.len(), arms.len());
        return Err(Failure::usage(what, "give one name an arm, in their order"));
    }
    arms.iter_mut().zip(&args.name).for_each(|(arm, name)| rename(arm, name.clone()));
    Ok(arms)
}

/// The arms between the separators; the words of one arm are joined as a shell would have split them.
fn arms(words: &[String]) -> Vec<String> {
    let arms = words.split(|word| word == "--").map(|words| words.join(" "));
    arms.filter(|arm| !arm.trim().is_empty()).collect()
}

fn statements(args: &CompareArgs, connection: &str) -> Result<SqlPlan, Failure> {
    let mut lines = arms(&args.arms);
    let in_two_sessions = lines.len() == 1 && args.session_a != args.session_b;
    if in_two_sessions {
        lines.push(lines[0].clone());
    }
    let session = |i: usize| [&args.session_a, &args.session_b].get(i).map_or_else(String::new, ToString::to_string);
    let arm = |(i, statement): (usize, String)| {
        let session = session(i);
        let name =
            if in_two_sessions && !session.is_empty() { format!("{session}; {statement}") } else { statement.clone() };
        SqlArm { name, session, statement }
    };
    let arms = two("statements", lines.into_iter().enumerate().map(arm).collect())?;
    let arms = renamed(args, arms, |arm, name| arm.name = name)?;
    Ok(SqlPlan { limit: args.how.limit.0, ..SqlPlan::new(connection, arms) })
}

fn differs_by_arm(how: &HowArgs) -> bool {
    how.env_a != how.env_b || how.cwd_a != how.cwd_b
}

/// The same command in two ways, told apart by what differs.
fn told_by(command: &str, env: &[(String, String)], cwd: Option<&std::path::Path>) -> String {
    let variables = env.iter().map(|(key, value)| format!("{key}={value}"));
    let ways: Vec<String> = variables.chain(cwd.map(|cwd| format!("in {}", cwd.display()))).collect();
    if ways.is_empty() { String::new() } else { format!("{command} ({})", ways.join(" ")) }
}

/// Arm `i`: 0 is A, 1 is B.
fn arm(how: &HowArgs, command: String, i: usize) -> CommandArm {
    let (env, cwd) = match i {
        0 => (how.env_a.as_slice(), &how.cwd_a),
        1 => (how.env_b.as_slice(), &how.cwd_b),
        _ => (&[][..], &None),
    };
    CommandArm {
        setup: how.setup.clone(),
        prepare: how.prepare.clone(),
        cleanup: how.cleanup.clone(),
        input: how.input.clone(),
        env: [&how.env, env].concat(),
        cwd: cwd.clone().or_else(|| how.cwd.clone()),
        ..CommandArm::new(command)
    }
}

/// One arm for each value of each parameter.
fn expanded(how: &HowArgs, arms: Vec<CommandArm>) -> Result<Vec<CommandArm>, Failure> {
    how.parameter.iter().try_fold(arms, |arms, (name, values)| {
        if arms.iter().any(|arm| arm.command.contains(&format!("{{{name}}}"))) {
            return Ok(arms.iter().flat_map(|arm| arm.expand(name, values)).collect());
        }
        let what = format!("no command holds {{{name}}}, which --parameter is to replace");
        Err(Failure::usage(what, "write it into a command, as in `sleep {n}`"))
    })
}

fn commands(how: &HowArgs, arms: Vec<CommandArm>) -> CommandsPlan {
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
        ..CommandsPlan::new(arms)
    }
}

/// What happens between runs, on standard error.
fn tell(event: &Event) {
    let text = match event {
        Event::Preparing { what } => what.clone(),
        Event::NoiseStarted { units } => format!("A against itself, up to {units} pairs"),
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
        print!("{}", answer::show(found));
    }
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
        check(&["--samples", "a", "b", "--", "x"], "exclude --repo");
    }

    #[test]
    fn each_arm_has_its_own_environment_and_folder() {
        let words = ["--env", "ALL=1", "--env-a", "X=1", "--env-b", "X=2", "--cwd", "/all", "--cwd-b", "/b"];
        let shown = |arms: &[&str]| {
            let Ok(Target::Commands(plan)) = parsed(&[&words, arms].concat()) else { panic!() };
            let arm = |arm: &CommandArm| format!("{} {:?} {:?}", arm.shown(), arm.env, arm.cwd.as_ref().unwrap());
            plan.arms.iter().map(arm).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(&["--", "a", "--", "b", "--", "c"]), @r#"
        a [("ALL", "1"), ("X", "1")] "/all"
        b [("ALL", "1"), ("X", "2")] "/b"
        c [("ALL", "1")] "/all"
        "#);
        insta::assert_snapshot!(shown(&["--", "make"]), @r#"
        make (X=1) [("ALL", "1"), ("X", "1")] "/all"
        make (X=2 in /b) [("ALL", "1"), ("X", "2")] "/b"
        "#);
    }

    #[test]
    fn parameters_and_names() {
        let check = |words: &[&str], expected: &[&str]| {
            let Ok(Target::Commands(plan)) = parsed(words) else { panic!("{words:?}") };
            assert_eq!(plan.arms.iter().map(CommandArm::shown).collect::<Vec<_>>(), expected, "{words:?}");
        };
        check(&["--parameter", "n=1,2", "--", "sleep {n}"], &["sleep 1", "sleep 2"]);
        check(&["--name", "old", "--name", "new", "--", "a", "--", "b"], &["old", "new"]);
        let refused = |words: &[&str], part: &str| match parsed(words) {
            Err(Failure::Usage(report)) => assert!(report.to_string().contains(part), "{report}"),
            other => panic!("{words:?}: {other:?}"),
        };
        refused(&["--parameter", "n=1,2", "--", "sleep {m}"], "no command holds {n}");
        refused(&["--name", "a", "--name", "b", "--name", "c", "--", "a", "--", "b"], "3 times for 2 arms");
    }

    #[test]
    fn one_statement_in_two_sessions() {
        let Ok(Target::Sql(plan)) = parsed(&["--sql", "host=x", "--session-b", "SET jit = off", "--", "SELECT 1"])
        else {
            panic!()
        };
        let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["SELECT 1", "SET jit = off; SELECT 1"]);
        assert_eq!(plan.arms[1].session, "SET jit = off");
    }

    #[test]
    fn git_and_samples() {
        let words =
            ["--repo", ".", "--base", "main", "--patch", "HEAD", "--merge", "--run", "make", "--control", "true"];
        let Ok(Target::Git(plan)) = parsed(&words) else { panic!() };
        assert_eq!((plan.merge, plan.run.as_str(), plan.controls), (Merge::IntoBase, "make", vec!["true".to_owned()]));
        assert!(plan.builds == Builds::Once && plan.commands.arms.len() == 2);
        let Ok(Target::Samples { b, .. }) = parsed(&["--samples", "both.json"]) else { panic!() };
        assert_eq!(b, None);
    }
}
