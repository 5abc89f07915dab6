//! Real commands, judged by what happened and never by how long it took.

use super::*;
use crate::{Pairs, Plan, Target};

fn settings(budget: f64) -> Settings {
    Settings { budget, pairs: Pairs::Anytime { max: 4 }, ..Settings::default() }
}

fn compare(plan: CommandsPlan) -> Result<Outcome, Failure> {
    crate::run(&Plan { target: Target::Commands(plan), settings: settings(5.0) }, &mut |_| ())
}

fn two(a: &str, b: &str) -> CommandsPlan {
    CommandsPlan::new(vec![CommandArm::new(a), CommandArm::new(b)])
}

#[test]
fn a_command_that_sleeps_longer_takes_longer() {
    let settings = Settings { budget: 20.0, ..Settings::default() };
    let plan = Plan { target: Target::Commands(two("sleep 0.01", "sleep 0.05")), settings };
    let outcome = crate::run(&plan, &mut |_| ()).unwrap();
    // A busy machine may void the run, so the estimate is asserted and not the verdict.
    assert!(outcome.effect.unwrap() > 0.5, "{}", outcome.markdown());
    assert_eq!(outcome.comparisons[0].against, "sleep 0.01");
    assert!(outcome.environment.is_some() && outcome.arms[1].user.is_some());
}

#[test]
fn failures_say_what_and_why() {
    let check = |a: &str, b: &str, expected: &[&str]| {
        let message = compare(two(a, b)).unwrap_err().to_string();
        assert!(expected.iter().all(|part| message.contains(part)), "{message}");
    };
    check("true", "sh -c 'echo broken >&2; exit 7'", &["exited with 7", "saying: broken", "--ignore-failure"]);
    check("true", "no-such-program-here", &["cannot start `no-such-program-here`", "PATH"]);
    check("true", "", &["empty"]);
    check("true", "echo 'x", &["unclosed quote"]);
}

#[test]
fn arms_must_agree_when_asked() {
    let differing = || two("echo one", "echo three");
    assert!(compare(differing()).is_ok());
    let plan = CommandsPlan { outputs: Outputs::MustAgree, ..differing() };
    assert!(compare(plan).unwrap_err().to_string().contains("print different outputs (4 and 6 bytes)"));
    let same = CommandsPlan { outputs: Outputs::MustAgree, ..two("echo one", "printf 'one\\n'") };
    assert!(compare(same).is_ok());
    let unstable = CommandsPlan { outputs: Outputs::MustAgree, ..two("echo x", "date +%N") };
    assert!(compare(unstable).is_err());
}

#[test]
fn exit_codes_may_be_ignored_and_children_are_reported() {
    let plan = CommandsPlan { on_failure: OnFailure::Ignore, ..two("false", "sh -c 'sleep 1000 & exit 1'") };
    let outcome = compare(plan).unwrap();
    let warned = |part: &str| outcome.warnings.iter().any(|warning| warning.what.contains(part));
    assert!(warned("left processes behind") && warned("start of a process"), "{:?}", outcome.warnings);
}

#[test]
fn setup_prepare_and_cleanup_run_when_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let arm = |name: &str| CommandArm {
        setup: Some("echo setup >> log".into()),
        prepare: Some("echo prepare >> log".into()),
        cleanup: Some("echo cleanup >> log".into()),
        cwd: Some(folder.path().to_owned()),
        env: vec![("NAME".into(), name.into())],
        command: "echo $NAME >> log".into(),
        ..CommandArm::default()
    };
    compare(CommandsPlan::new(vec![arm("a"), arm("b")])).unwrap();
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    assert_eq!((count("setup"), count("cleanup")), (2, 2));
    assert_eq!(count("prepare"), count("a") + count("b"));
    assert!(log.starts_with("setup\nsetup\nprepare\n") && log.ends_with("cleanup\ncleanup\n"));
}

#[test]
fn cleanup_runs_after_an_error_too() {
    let folder = tempfile::tempdir().unwrap();
    let bad = CommandArm {
        cleanup: Some("touch cleaned".into()),
        cwd: Some(folder.path().to_owned()),
        ..CommandArm::new("false")
    };
    assert!(compare(CommandsPlan::new(vec![CommandArm::new("true"), bad])).is_err());
    assert!(folder.path().join("cleaned").exists());
}

#[test]
fn a_limit_ends_it_and_many_arms_work() {
    let slow = CommandsPlan { limit: 0.2, ..two("true", "sleep 100") };
    assert!(compare(slow).unwrap_err().to_string().contains("was killed; raise --limit"));
    let arms = CommandArm::new("sleep 0.00{n}").expand("n", &["1".into(), "2".into(), "3".into()]);
    let outcome = compare(CommandsPlan::new(arms)).unwrap();
    assert_eq!((outcome.comparisons.len(), outcome.rule.as_str()), (2, "e-bh"));
    assert_eq!(outcome.arms[2].name, "sleep 0.003");
}

#[test]
fn one_command_is_not_a_comparison() {
    let failure = compare(CommandsPlan::new(vec![CommandArm::new("true")])).unwrap_err();
    assert_eq!(failure.error.exit_code(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn pinning_is_inherited_and_undone() {
    let before = Snapshot::take().cores;
    let plan = CommandsPlan { pin: Some(0), ..two("sh -c 'test $(nproc) = 1'", "true") };
    compare(plan).unwrap();
    assert_eq!(Snapshot::take().cores, before);
    let plan = CommandsPlan { pin: Some(100_000), ..two("true", "true") };
    assert!(compare(plan).unwrap_err().to_string().contains("--pin"));
}
