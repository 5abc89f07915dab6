//! The zoo: every cheat is caught by the rule that the table names, every honest twin passes.
//!
//! A new cheat is two files in `candidates/` and one row of `table.rs`.

mod table;

use crate::rig::{self, problem, rooflab, root, seconds};
use model::{Judgement, Rule, Stage, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use table::{ROWS, Row};

/// A trick that the judge does not name may not pay: this much faster than its honest twin would.
///
/// A hijack that works gains a factor of hundreds, noise between two builds of one function a few percent.
const GAIN: f64 = 1.25;

/// Longest judgement that the tests wait for; the slowest twin takes a tenth.
const LIMIT: u64 = 180;

/// What may become of a cheat.
#[derive(Clone, Copy, Debug)]
pub enum Caught {
    /// Refused for this rule.
    Refused(Rule),
    /// Failed at this stage.
    Failed(Stage),
    /// Not caught, since it gains nothing: measured, and no faster than its twin.
    Gainless,
}

impl Caught {
    fn is(self, judgement: &Judgement) -> bool {
        match (self, &judgement.verdict) {
            (Self::Refused(expected), Verdict::Refused { rule, .. }) => expected == *rule,
            (Self::Failed(expected), Verdict::Failed { stage, .. }) => expected == *stage,
            (Self::Gainless, verdict) if verdict.is_measured() => judgement.speedup().is_some_and(|s| s < GAIN),
            _ => false,
        }
    }
}

fn file(row: &Row, kind: &str) -> PathBuf {
    root().join("e2e/candidates").join(format!("{}.{kind}.c", row.name))
}

/// Asks for the verdict as a person would.
fn judge(row: &Row, kind: &str) -> Result<Judgement, String> {
    let mut command = rooflab([PathBuf::from("judge"), problem(row.problem), file(row, kind)]);
    command.arg("--json").args(row.arguments);
    if kind == "cheat" && row.caught.iter().any(|caught| matches!(caught, Caught::Gainless)) {
        command.arg("--against").arg(file(row, "twin"));
    }
    let ended = rig::run(&mut command, seconds(LIMIT));
    if ended.status.code() != Some(0) {
        return Err(ended.to_string());
    }
    serde_json::from_str(&ended.out).map_err(|error| format!("{error}\n{ended}"))
}

/// Walks the table; one message with every mismatch, not only the first.
fn walk(kind: &str, fits: impl Fn(&Row, &Judgement) -> bool) {
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
            Ok(judgement) if fits(row, judgement) => continue,
            Ok(_) if kind == "twin" => {
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
    walk("cheat", |row, judgement| row.caught.iter().any(|caught| caught.is(judgement)));
}

#[test]
fn every_honest_twin_passes() {
    walk("twin", |_, judgement| judgement.verdict.is_measured());
}

#[test]
fn the_table_and_the_folder_agree() {
    let folder = std::fs::read_dir(root().join("e2e/candidates")).expect("the zoo's folder");
    let files: BTreeSet<String> = folder.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    let names = ROWS.iter().flat_map(|row| ["cheat", "twin"].map(|kind| format!("{}.{kind}.c", row.name)));
    let names: BTreeSet<String> = names.collect();
    assert_eq!(names.len(), 2 * ROWS.len(), "a row is there twice");
    let differences: Vec<_> = files.symmetric_difference(&names).collect();
    assert!(differences.is_empty(), "on one side only: {differences:?}");
}
