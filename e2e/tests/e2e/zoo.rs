//! The zoo: every cheat is caught by the rule that its table names, every honest twin passes.
//!
//! Table and candidates are the crate `zoo`'s, which the product carries too (`rooflab judge selftest`).

use crate::rig::{self, problem, rooflab, root, seconds};
use model::{Judgement, Verdict};
use std::fmt::Write;
use std::path::PathBuf;
use zoo::{Kind, ROWS, Row};

/// Longest judgement that the tests wait for; the slowest twin takes a tenth.
const LIMIT: u64 = 180;

fn file(row: &Row, kind: Kind) -> PathBuf {
    root().join("crates/zoo/candidates").join(row.file(kind))
}

/// Asks for the verdict as a person would.
fn judge(row: &Row, kind: Kind) -> Result<Judgement, String> {
    let mut command = rooflab([PathBuf::from("judge"), problem(row.problem), file(row, kind)]);
    command.arg("--json").args(row.arguments);
    if row.faces_twin(kind) {
        command.arg("--against").arg(file(row, Kind::Twin));
    }
    let ended = rig::run(&mut command, seconds(LIMIT));
    if ended.status.code() != Some(0) {
        return Err(ended.to_string());
    }
    serde_json::from_str(&ended.out).map_err(|error| format!("{error}\n{ended}"))
}

/// Walks the table; one message with every mismatch, not only the first.
fn walk(kind: Kind) {
    let _alone = rig::alone();
    let (mut table, mut wrong, mut mismatches) = (String::new(), String::new(), 0);
    let only = std::env::var("ROOFLAB_ZOO").unwrap_or_default();
    for row in ROWS.iter().filter(|row| row.name.contains(&only)) {
        let begun = std::time::Instant::now();
        let judged = judge(row, kind);
        let took = begun.elapsed().as_secs_f64();
        let said = judged.as_ref().map_or_else(|_| "no judgement".to_owned(), |j| short(&j.verdict));
        let _ = writeln!(table, "{:28} {took:6.1} s  {said}", row.name);
        match &judged {
            Ok(judgement) if row.fits(kind, judgement) => continue,
            Ok(_) if kind == Kind::Twin => {
                let _ = writeln!(wrong, "{}: an honest twin, and {said}", row.name);
            }
            Ok(_) => {
                let _ = writeln!(wrong, "{}: {}\n  expected {:?}, got {said}", row.name, row.does, row.caught);
            }
            Err(error) => {
                let _ = writeln!(wrong, "{}: {error}", row.name);
            }
        }
        mismatches += 1;
    }
    println!("{table}");
    assert!(mismatches == 0, "{table}\n{mismatches} of {} rows do not fit:\n{wrong}", ROWS.len());
}

fn short(verdict: &Verdict) -> String {
    verdict.to_string().lines().next().unwrap_or_default().chars().take(140).collect()
}

#[test]
fn every_cheat_is_caught() {
    walk(Kind::Cheat);
}

#[test]
fn every_honest_twin_passes() {
    walk(Kind::Twin);
}
