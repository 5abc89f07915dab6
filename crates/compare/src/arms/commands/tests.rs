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
    let longer_than_the_budget = compare(two("true", "sleep 100")).unwrap_err().to_string();
    assert!(longer_than_the_budget.contains("still running after 5 s"), "{longer_than_the_budget}");
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

#[test]
fn a_command_without_measurable_time_is_named() {
    let settings = Settings { metric: crate::Metric::User, ..settings(5.0) };
    // `sleep` uses no processor time that a clock of 1 us could see, or next to none: whichever it is, no verdict.
    let plan = Plan { target: Target::Commands(two("sleep 0.001", "sleep 0.001")), settings };
    match crate::run(&plan, &mut |_| ()) {
        Err(failure) => assert!(failure.to_string().contains("took no measurable time"), "{failure}"),
        Ok(outcome) => assert!(outcome.warnings.iter().any(|warning| warning.what.contains("start of a process"))),
    }
}

#[test]
fn much_is_printed_into_nothing_or_compared() {
    let loud = || two("head -c 30000000 /dev/zero", "sh -c 'head -c 30000000 /dev/zero; echo x'");
    assert!(compare(loud()).is_ok());
    let failure = compare(CommandsPlan { outputs: Outputs::MustAgree, ..loud() }).unwrap_err().to_string();
    assert!(failure.contains("30000000 and 30000002 bytes"), "{failure}");
}

#[test]
fn a_failure_in_the_middle_keeps_what_was_measured_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    // Fails from the 60th run on; every run leaves a child that has left its group.
    let script = "echo x >> runs; setsid sleep 98765 & test $(wc -l < runs) -lt 60";
    let arm = || CommandArm { cwd: Some(folder.path().to_owned()), ..CommandArm::new(format!("sh -c '{script}'")) };
    let settings = Settings { budget: 60.0, pairs: Pairs::Anytime { max: 1000 }, ..Settings::default() };
    let plan = Plan { target: Target::Commands(CommandsPlan::new(vec![arm(), arm()])), settings };
    let failure = crate::run(&plan, &mut |_| ()).unwrap_err();
    let kept = failure.kept.as_ref().unwrap();
    assert!(failure.to_string().contains("exited with 1") && kept.aborted.is_some(), "{failure}");
    assert!(!kept.arms[0].samples.is_empty() && kept.environment.is_some());
    std::thread::sleep(std::time::Duration::from_millis(100));
    let mut left = Vec::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        left.extend(line.windows(5).any(|five| five == b"98765").then(|| process.path()));
    }
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn files_that_leave_the_page_cache_are_told() {
    let disk = |readings: &[u64]| {
        let mut disk = FromDisk::default();
        for bytes in readings {
            disk.count(*bytes);
        }
        disk.warning("cat x").map(|warning| warning.what)
    };
    // The first run fills the cache.
    assert_eq!(disk(&[9 << 20, 0, 0, 0]), None);
    assert_eq!(disk(&[0, 4096, 4096, 0]), None);
    let told = disk(&[0, 3 << 20, 0, 3 << 20, 0]);
    assert_eq!(told.unwrap(), "`cat x` read 6 MB from disk in 2 of 4 runs: the page cache does not hold its files");
}

#[cfg(target_os = "linux")]
#[test]
fn pinning_is_inherited_and_undone() {
    let cores = || crate::environment::Snapshot::take().cores;
    let before = cores();
    let plan = CommandsPlan { pin: Some(0), ..two("sh -c 'test $(nproc) = 1'", "true") };
    compare(plan).unwrap();
    assert_eq!(cores(), before);
    let plan = CommandsPlan { pin: Some(100_000), ..two("true", "true") };
    assert!(compare(plan).unwrap_err().to_string().contains("--pin"));
}
