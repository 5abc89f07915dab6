//! SQL arms against a real PostgreSQL: a private cluster in a temporary folder, reached by its socket alone.
//!
//! Judged by plans, words and what is left behind; never by how long anything took. Without PostgreSQL on the machine the
//! tests say so and end: `cargo xtask test` installs it where it may.

mod cluster;

use cluster::Cluster;
use compare::arms::sql::{SqlArm, SqlPlan};
use compare::{CompareError, Event, Failure, Outcome, Pairs, Plan, Settings, Target};

/// `(session, statement)` of A and B.
type Arms<'a> = [(&'a str, &'a str); 2];

fn plan(connection: String, arms: Arms<'_>) -> Plan {
    let arm = |(i, (session, statement)): (usize, &(&str, &str))| SqlArm {
        name: ["old", "new"][i].into(),
        session: (*session).into(),
        statement: (*statement).into(),
    };
    let sql = SqlPlan::new(connection, arms.iter().enumerate().map(arm).collect());
    let settings = Settings { budget: 6.0, pairs: Pairs::Anytime { max: 20 }, ..Settings::default() };
    Plan { target: Target::Sql(sql), settings }
}

fn compare(connection: String, arms: Arms<'_>) -> Result<Outcome, Failure> {
    compare::run(&plan(connection, arms), &mut |_| ())
}

/// The cluster with its tables, or None after saying why.
fn cluster(test: &str) -> Option<Cluster> {
    let cluster = Cluster::start(test)?;
    cluster.sql(
        "CREATE TABLE t AS SELECT i AS id, i % 1000 AS k, repeat('x', 60) AS pad FROM generate_series(1, 60000) i;
         CREATE TABLE u (id int PRIMARY KEY, pad text);
         INSERT INTO u SELECT i, repeat('x', 60) FROM generate_series(1, 60000) i;
         CREATE ROLE locked LOGIN PASSWORD 'right';
         VACUUM ANALYZE;",
    );
    Some(cluster)
}

#[test]
fn an_index_is_compared_told_by_its_plan_and_not_kept() {
    let Some(cluster) = cluster("index") else { return };
    let statement = "SELECT count(pad) FROM t WHERE k = 7";
    let arms = [("", statement), ("CREATE INDEX t_k ON t (k)", statement)];
    let outcome = compare(cluster.connection("owner"), arms).unwrap();
    // A busy machine may void the run, so the estimate is asserted and not the verdict.
    assert!(outcome.effect.unwrap() < -0.3, "{}", outcome.markdown());
    let notes = outcome.notes.join("\n");
    assert!(notes.contains("plan of old: Aggregate(Seq Scan on t)"), "{notes}");
    assert!(notes.contains("plan of new: Aggregate(") && notes.contains("t_k"), "{notes}");
    assert!(notes.contains("new has another plan than old"), "{notes}");
    assert_eq!(outcome.levels.as_ref().unwrap().names, ["session", "run"]);
    assert!(outcome.pairs > 0 && outcome.arms.iter().all(|arm| arm.samples.iter().all(|run| run.wall > 0.0)));
    assert_eq!(cluster.sql("SELECT count(*) FROM pg_indexes WHERE indexname = 't_k'"), "0");
}

#[test]
fn settings_and_statements_change_plans_and_the_same_plan_is_said_to_be() {
    let Some(cluster) = cluster("settings") else { return };
    let statement = "SELECT count(pad) FROM u WHERE id < 55000;";
    let arms = [("", statement), ("SET enable_seqscan = off", statement)];
    let notes = compare(cluster.connection("owner"), arms).unwrap().notes.join("\n");
    assert!(notes.contains("plan of old: Aggregate(Seq Scan on u)") && notes.contains("u_pkey"), "{notes}");
    let arms = [("", "SELECT count(*) FROM t"), ("SET work_mem = '8MB'", "SELECT count(pad) FROM t")];
    let notes = compare(cluster.connection("owner"), arms).unwrap().notes.join("\n");
    assert!(notes.contains("new has the same plan as old"), "{notes}");
}

/// What writes is rolled back, run by run.
#[test]
fn what_is_written_is_rolled_back_and_a_lockout_is_an_error() {
    let Some(cluster) = cluster("writes") else { return };
    let before = cluster.sql("SELECT sum(k) FROM t");
    let arms = [("", "UPDATE t SET k = k + 1 WHERE id < 50"), ("", "DELETE FROM t WHERE id < 50")];
    assert!(compare(cluster.connection("owner"), arms).unwrap().pairs > 0);
    assert_eq!(cluster.sql("SELECT sum(k) FROM t"), before);
    let update = "UPDATE t SET k = k + 1 WHERE id < 50";
    let arms = [("", update), ("CREATE INDEX t_id ON t (id)", update)];
    let mut blocked = plan(cluster.connection("owner"), arms);
    blocked.settings.budget = 60.0;
    let failure = compare::run(&blocked, &mut |_| ()).unwrap_err();
    assert!(failure.to_string().contains("lock each other out"), "{failure}");
    assert!(!failure.kept.unwrap().noise.is_empty());
}

#[test]
fn refusals_carry_the_servers_words_and_a_way_out() {
    let Some(cluster) = cluster("refusals") else { return };
    let check = |connection: String, arms: Arms<'_>, expected: &[&str]| {
        let failure = compare(connection, arms).unwrap_err();
        let message = failure.to_string();
        assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(failure.error.exit_code(), 4, "{message}");
    };
    let sound = [("", "SELECT 1"), ("", "SELECT 2")];
    let owner = || cluster.connection("owner");
    check(
        owner(),
        [("", "SELECT 1"), ("", "SELECT * FROM missing")],
        &["relation \"missing\" does not exist, in `SEL"],
    );
    check(owner(), [("", "SELECT 1"), ("", "SELEC 1")], &["syntax error"]);
    check(owner(), [("", "SELECT 1"), ("", "SELECT 1/0")], &["division by zero"]);
    let first = "CREATE INDEX x ON missing (k); SELECT 1";
    check(owner(), [("", "SELECT 1"), (first, "SELECT 1")], &["relation \"missing\" does not exist"]);
    check(owner() + " port=1", sound, &["No such file or directory", "psql CONNECTION"]);
    check(cluster.connection("locked") + " password=wrong", sound, &["password authentication failed", "PGPASSFILE"]);
    check(cluster.connection("locked"), sound, &["no password supplied", "PGPASSFILE"]);
    check(cluster.connection("ghost"), sound, &["role \"ghost\" does not exist"]);
    check(cluster.connection("stranger"), sound, &["rejects connection"]);
    check(owner() + " dbname=nowhere", sound, &["database \"nowhere\" does not exist"]);
    assert!(compare(cluster.connection("locked") + " password=right", sound).is_ok());
}

#[test]
fn a_statement_that_never_ends_is_ended_in_the_server_too() {
    let Some(cluster) = cluster("endless") else { return };
    let arms = [("", "SELECT 1"), ("", "SELECT pg_sleep(1000)")];
    let mut limited = plan(cluster.connection("owner"), arms);
    let Target::Sql(sql) = &mut limited.target else { unreachable!() };
    sql.limit = 1.0;
    let mut budgeted = plan(cluster.connection("owner"), arms);
    budgeted.settings.budget = 2.0;
    for plan in [limited, budgeted] {
        let failure = compare::run(&plan, &mut |_| ()).unwrap_err();
        assert!(matches!(failure.error, CompareError::TimedOut { .. }), "{failure}");
        assert!(
            failure.to_string().contains("pg_sleep(1000)") && failure.to_string().contains("--budget"),
            "{failure}"
        );
        let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(%' AND state <> 'idle' \
                       AND pid <> pg_backend_pid()";
        assert_eq!(cluster.sql(running), "0");
    }
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_what_was_measured() {
    let Some(mut cluster) = cluster("dying") else { return };
    let statement = "SELECT count(*) FROM t WHERE k < 500";
    let mut plan = plan(cluster.connection("owner"), [("", statement), ("", statement)]);
    plan.settings = Settings { budget: 120.0, margin: 0.0, pairs: Pairs::Anytime { max: 100_000 }, ..plan.settings };
    let failure = compare::run(&plan, &mut |event| {
        if matches!(event, Event::Progress { .. }) {
            cluster.die();
        }
    })
    .unwrap_err();
    assert!(matches!(failure.error, CompareError::Sql(_)), "{failure}");
    let kept = failure.kept.as_ref().unwrap();
    assert!(kept.aborted.is_some() && kept.pairs > 0 && !kept.arms[1].samples.is_empty());
    assert!(kept.notes.iter().any(|note| note.contains("plan of old: Aggregate(Seq Scan on t)")), "{:?}", kept.notes);
}
