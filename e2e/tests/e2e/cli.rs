//! The command line as people meet it: help, usage errors, a broken problem file, a new problem.

use crate::rig::{self, problem, rooflab, seconds};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn help_names_every_verb() {
    let ended = rig::run(&mut rooflab(["--help"]), seconds(10));
    ended.expect(0);
    for verb in ["run", "map", "score", "judge", "mine", "verify", "report", "ledger", "export", "new", "compare"] {
        let listed = ended.out.lines().any(|line| line.split_whitespace().next() == Some(verb));
        assert!(listed, "`{verb}` isn't a line of the help:\n{ended}");
    }
}

#[test]
fn usage_errors_end_with_2_and_say_what_to_do() {
    let check = |arguments: &[&str], says: &str| {
        let ended = rig::run(&mut rooflab(arguments), seconds(30));
        ended.expect(2);
        assert!(ended.err.contains(says), "no word of `{says}` in:\n{ended}");
        assert!(!ended.err.contains("panicked"), "{ended}");
    };
    check(&["frobnicate"], "frobnicate");
    check(&["run", "problems/there-is-no-such-problem"], "there-is-no-such-problem");
    check(&["run", "problems/rms-norm-silu", "--budget", "soon"], "soon");
    let folder = problem("rms-norm-silu");
    let folder = folder.to_str().expect("UTF-8");
    check(&["judge", folder, "no-such-candidate.c"], "no-such-candidate");
    check(&["judge", folder, "naive", "--workloads", "rows=-7"], "rows=-7");
}

/// A problem's folder as `rooflab new` makes it.
fn new_problem(folder: &Path) -> PathBuf {
    let ended = rig::run(rooflab(["new", "fresh"]).current_dir(folder), seconds(30));
    ended.expect(0);
    folder.join("fresh")
}

#[test]
fn a_new_problem_can_be_judged_at_once() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fresh = new_problem(folder.path());
    let naive = fresh.join("baselines/naive.c");
    assert!(naive.is_file(), "a new problem has a naive baseline to start from");
    let arguments = [Path::new("judge"), &fresh, &naive, Path::new("--json")];
    let ended = rig::run(rooflab(arguments).current_dir(folder.path()), seconds(300));
    ended.expect(0);
    let judgement: model::Judgement = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}:\n{ended}"));
    assert!(judgement.verdict.is_measured(), "{}", judgement.verdict);
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fresh = new_problem(folder.path());
    fs::write(fresh.join("problem.toml"), "# mine\n").expect("writable");
    rig::run(rooflab(["new", "fresh"]).current_dir(folder.path()), seconds(30)).expect(2);
    assert_eq!(fs::read_to_string(fresh.join("problem.toml")).expect("still there"), "# mine\n");
}

#[test]
fn a_malformed_problem_is_shown_where_it_is_wrong() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fresh = new_problem(folder.path());
    let file = fresh.join("problem.toml");
    let good = fs::read_to_string(&file).expect("a new problem has a problem.toml");
    let check = |bad: &str, wrong: &str| {
        fs::write(&file, bad).expect("writable");
        let line = bad.lines().position(|line| line.contains(wrong)).expect("the fault is planted") + 1;
        let arguments = [Path::new("judge"), &fresh, Path::new("naive")];
        let ended = rig::run(rooflab(arguments).current_dir(folder.path()), seconds(30));
        ended.expect(2);
        let place = format!("problem.toml:{line}");
        assert!(ended.err.contains(&place), "no `{place}` in:\n{ended}");
        assert!(ended.err.contains(wrong), "the line at fault isn't shown:\n{ended}");
    };
    check(&format!("{good}\nthis is not = = toml\n"), "this is not");
    assert!(good.contains("\"activation\""), "a new problem has an argument with that role:\n{good}");
    check(&good.replacen("\"activation\"", "\"banana\"", 1), "banana");
    check(&format!("surprise = 1\n{good}"), "surprise");
}
