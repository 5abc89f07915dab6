//! The rig against a script that answers as psql does: no server is needed. (A real one is used in the bench.)

use super::*;
use crate::{Pairs, Plan, Target};
use std::os::unix::fs::PermissionsExt;

/// Answers line by line; `slow` takes 2 ms by its own word, `fast` 1 ms, anything with `bad` is an error.
const FAKE: &str = r#"#!/bin/sh
case "$*" in *nowhere*) echo 'psql: error: could not connect' >&2; exit 2;; esac
timing=off; error=false; message=
n=0
while read -r line; do
  case "$line" in
    '\timing on') timing=on;; '\timing off') timing=off;;
    '\o'*) ;;
    '\echo '*) echo "rooflab-end-of-answer $error $message"; error=false; message=;;
    '\q') exit 0;;
    ';') ;;
    *bad*) error=true; message='relation "bad" does not exist';;
    *hang*) sleep 100;;
    'EXPLAIN'*slow*) echo '[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "t"}}]';;
    'EXPLAIN'*) echo '[{"Plan": {"Node Type": "Limit", "Plans": [{"Node Type": "Index Scan", "Relation Name": "t", "Index Name": "i"}]}}]';;
    *) n=$((n + 1)); if [ $timing = on ]; then case "$line" in *slow*) echo "Time: 2.00$((n % 5)) ms";; *) echo "Time: 1.00$((n % 5)) ms";; esac; fi;;
  esac
done
"#;

fn compare(connection: &str, a: &str, b: &str) -> Result<Outcome, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let psql = folder.path().join("psql");
    std::fs::write(&psql, FAKE).unwrap();
    std::fs::set_permissions(&psql, std::fs::Permissions::from_mode(0o755)).unwrap();
    let arm = |name: &str, statement: &str| SqlArm {
        name: name.into(),
        session: "SET work_mem = '64MB'".into(),
        statement: statement.into(),
    };
    let plan = SqlPlan { psql, limit: 1.0, ..SqlPlan::new(connection, vec![arm("old", a), arm("new", b)]) };
    let settings = Settings { budget: 20.0, pairs: Pairs::Anytime { max: 30 }, ..Settings::default() };
    crate::run(&Plan { target: Target::Sql(plan), settings }, &mut |_| ())
}

#[test]
fn times_plans_and_a_verdict() {
    let outcome = compare("x", "SELECT slow;", "SELECT fast").unwrap();
    assert_eq!(outcome.verdict, stats::Decision::Better, "{}", outcome.markdown());
    assert!((outcome.effect.unwrap() + 0.5).abs() < 0.02);
    assert_eq!(outcome.levels.as_ref().unwrap().names, ["session", "run"]);
    assert_eq!(
        outcome.notes,
        ["plan of old: Seq Scan on t", "plan of new: Limit(Index Scan on t using i)", "new has another plan than old"]
    );
}

#[test]
fn errors_carry_the_servers_words() {
    let check = |connection: &str, b: &str, expected: &str| {
        let message = compare(connection, "SELECT slow", b).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    check("nowhere", "SELECT fast", "could not connect");
    check("x", "SELECT * FROM bad", "relation \"bad\" does not exist, in `SELECT * FROM bad`");
    check("x", "SELECT hang", "still running after 1 s");
}

#[test]
fn shapes() {
    assert_eq!(shape_of("nonsense"), "unreadable");
    assert_eq!(shape_of(r#"[{"Plan": {"Node Type": "Result"}}]"#), "Result");
}
