//! The zoo: every cheat is caught by the rule that its table names, every honest twin passes.
//!
//! Must not walk the table itself: `rooflab judge selftest --all` does, which is what people have.

use crate::rig::{self, rooflab, seconds};
use zoo::ROWS;

/// The whole zoo takes two minutes; a machine under load may take longer.
const LIMIT: u64 = 900;

/// `$ROOFLAB_ZOO` names a part of it, for whoever works on a row.
#[test]
fn every_cheat_is_caught_and_every_honest_twin_passes() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = rooflab(["judge", "selftest", "--out"]);
    command.arg(folder.path());
    let only = std::env::var("ROOFLAB_ZOO").unwrap_or_default();
    let rows = ROWS.iter().filter(|row| row.name.contains(&only)).count();
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
