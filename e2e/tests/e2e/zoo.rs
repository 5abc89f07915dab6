//! The zoo: every cheat is caught by the rule that its table names, every honest twin passes; the hostile samples of other
//! benchmarks are walked as well, and it is said where no Python can walk them.
//!
//! Must not walk the table itself: `rooflab judge selftest --all` does, which is what people have.

use crate::rig::{self, rooflab, seconds};
use zoo::{ROWS, SAMPLES};

/// The whole zoo takes three minutes; a machine under load may take longer.
const LIMIT: u64 = 900;

/// `$ROOFLAB_ZOO` names a part of it, for whoever works on a row.
#[test]
fn every_cheat_is_caught_and_every_honest_twin_passes() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = rooflab(["judge", "selftest", "--out"]);
    command.arg(folder.path());
    let only = std::env::var("ROOFLAB_ZOO").unwrap_or_default();
    let names = ROWS.iter().map(|row| row.name).chain(SAMPLES.iter().map(|sample| sample.name));
    let rows = names.filter(|name| name.contains(&only)).count();
    if only.is_empty() {
        command.arg("--all")
    } else {
        command.args(["--only", only.as_str()])
    };
    let ended = rig::run(&mut command, seconds(LIMIT));
    println!("{}", ended.out);
    ended.expect(0);
    assert_eq!(ended.out.lines().filter(|line| line.starts_with("ok ")).count(), rows, "{ended}");
    let last = ended.out.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("selftest: {rows} of {rows} rows as expected")), "{ended}");
    if only.is_empty() {
        let mut command = rooflab(["ledger", "export", "--ledger"]);
        let kept = rig::run(command.arg(folder.path().join("ledger.db")), seconds(60));
        assert!(kept.expect(0).out.contains(r#""whole":true"#), "{kept}");
    }
}

/// Where no Python has NumPy, the samples are not walked: that is said, and the pass is not kept as that of the whole zoo.
#[test]
fn samples_without_an_interpreter_are_said_to_be_left_out() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ask = |only: &str| {
        let mut command = rooflab(["judge", "selftest", "--only", only, "--out"]);
        rig::run(command.arg(folder.path()).env("ROOFLAB_PYTHON", "/nonexistent/python3"), seconds(60))
    };
    // `zero-output` in C, and `kernelbench-zero-out`.
    let ended = ask("zero-out");
    ended.expect(0);
    let last = ended.out.lines().last().unwrap_or_default();
    assert!(last.starts_with("selftest: 1 of 1 rows as expected"), "{ended}");
    assert!(last.contains("1 samples not walked"), "{ended}");
    assert!(ended.out.contains("1 samples of other benchmarks are not walked: no Python with numpy"), "{ended}");
    // Where nothing else was asked for, nothing was met: that is no pass.
    let ended = ask("pygpubench-");
    ended.expect(4);
    assert!(ended.err.contains("no Python with numpy"), "{ended}");
}
