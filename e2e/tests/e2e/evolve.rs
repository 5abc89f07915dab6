//! What would be asked of whoever writes candidates, and what it would cost: nobody is asked, nothing is measured.

use crate::rig::{self, problem, rooflab, seconds};
use std::ffi::OsString;

fn ask(more: &[&str]) -> rig::Ended {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut arguments: Vec<OsString> = vec!["evolve".into(), problem("rms-norm-silu").into(), "--out".into()];
    arguments.push(folder.path().join("out").into());
    arguments.extend(more.iter().map(Into::into));
    let ended = rig::run(&mut rooflab(arguments), seconds(30));
    assert!(!folder.path().join("out").exists(), "something was written:\n{ended}");
    ended
}

#[test]
fn the_prompt_says_what_is_known() {
    let ended = ask(&["--show-prompt"]);
    ended.expect(0);
    for part in ["<<<<<<< SEARCH", "void rms_norm_silu(", "COLS = 4096", "output, every element", "# Hints", "expf(-g)"]
    {
        assert!(ended.out.contains(part), "no `{part}` in:\n{ended}");
    }
}

#[test]
fn a_dry_run_counts_at_the_worst() {
    let ended =
        ask(&["--dry-run", "--candidates", "10", "--proposer", "openai:m@http://localhost:1", "--price", "3,15"]);
    ended.expect(0);
    assert!(ended.out.contains("10 proposals") && ended.out.contains("20 calls"), "{ended}");
    ask(&["--dry-run"]).expect(0);
}

#[test]
fn proposers_that_make_no_sense_end_with_2() {
    for (proposer, says) in [("telepathy:x", "telepathy"), ("openai:m@localhost", "http://"), ("mailbox:", "mailbox")] {
        let ended = ask(&["--proposer", proposer, "--dry-run"]);
        ended.expect(2);
        assert!(ended.err.contains(says), "no `{says}` in:\n{ended}");
    }
}
