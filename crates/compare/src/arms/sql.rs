//! SQL statements on a PostgreSQL as arms, through one `psql` a session: no client library to build or trust.
//!
//! A pair of sessions is the unit: both are opened afresh, and the median of their pairs counts once. Everything runs
//! inside a transaction that is rolled back, so an index or a setting of one arm is neither kept nor seen by the other.
//! The price: an arm that writes what the other has locked (an index that is being made) waits for it in vain. That ends
//! as an error of its own.

mod psql;

use crate::arms::watch::{Work, watched};
use crate::engine::{Group, Inside, Rig, Role, Sample, drive};
use crate::environment::Warning;
use crate::error::amended;
use crate::{CompareError, Event, Failure, Outcome, Settings};
use psql::Session;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Two open transactions can lock each other out for good; nobody else's lock is worth waiting longer for either.
const LOCK_SECONDS: u32 = 5;

/// One arm.
#[derive(Clone, Debug, Default)]
pub struct SqlArm {
    /// Its name in reports.
    pub name: String,
    /// Run once in each session, before anything is timed: `SET work_mem = '64MB'`, `CREATE INDEX ...`.
    pub session: String,
    /// The timed statement.
    pub statement: String,
}

/// Statements on one database.
#[derive(Clone, Debug)]
pub struct SqlPlan {
    /// Connection string, as psql takes it. A password belongs into PGPASSFILE: this string can be seen by others.
    pub connection: String,
    /// At least two; the first is A.
    pub arms: Vec<SqlArm>,
    /// Seconds for one statement.
    pub limit: f64,
    /// The client, normally `psql`.
    pub psql: PathBuf,
}

impl SqlPlan {
    /// With the defaults.
    pub fn new(connection: impl Into<String>, arms: Vec<SqlArm>) -> Self {
        Self { connection: connection.into(), arms, limit: 600.0, psql: PathBuf::from("psql") }
    }

    /// All that decides how long A's statements take and how they scatter.
    pub(crate) fn first_arm(&self) -> String {
        let arm = self.arms.first().map(|arm| (&arm.session, &arm.statement));
        format!("{} {arm:?}", self.connection)
    }
}

pub(crate) fn run(plan: &SqlPlan, settings: &Settings, on: &mut dyn FnMut(&Event)) -> Result<Outcome, Failure> {
    if plan.arms.len() < 2 {
        return Err(CompareError::Usage("a comparison needs two statements".to_owned()).into());
    }
    let plans = vec![Vec::new(); plan.arms.len()];
    let limit = plan.limit.min(settings.budget);
    let mut rig = SqlRig { plan, limit, sessions: Vec::new(), plans, begun: Instant::now() };
    let group = Group { arms: (0..plan.arms.len()).collect(), role: Role::Main };
    let result = watched(Work::Servers, None, on, |on| drive(&mut rig, &[group], settings, on));
    let notes = rig.notes();
    amended(result, |outcome| outcome.notes.extend(notes))
}

struct SqlRig<'a> {
    plan: &'a SqlPlan,
    /// Seconds for one statement: one that outlasts the budget could never be compared.
    limit: f64,
    /// Each side's session and arm.
    sessions: Vec<(Session, usize)>,
    /// Distinct plans of each arm, in the order in which they were seen.
    plans: Vec<Vec<String>>,
    begun: Instant,
}

impl SqlRig<'_> {
    fn session(&mut self, arm: usize) -> Result<Session, CompareError> {
        let SqlArm { session: before, statement, .. } = &self.plan.arms[arm];
        let mut session = Session::open(&self.plan.psql, &self.plan.connection, self.limit)?;
        session.ask("BEGIN")?;
        session.ask(&format!("SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))?;
        if !before.trim().is_empty() {
            session.ask(before)?;
        }
        session.ask("SAVEPOINT rooflab")?;
        if let Ok(text) = session.ask(&format!("EXPLAIN (FORMAT JSON) {statement}")) {
            let shape = shape_of(&text);
            if !self.plans[arm].contains(&shape) {
                self.plans[arm].push(shape);
            }
        }
        session.ask("ROLLBACK TO rooflab")?;
        // Once untimed: caches, catalogue lookups, the plan's own start.
        session.timed(statement)?;
        session.ask("ROLLBACK TO rooflab")?;
        Ok(session)
    }

    fn notes(&self) -> Vec<String> {
        let plan_of = |(arm, plans): (&SqlArm, &Vec<String>)| {
            let shown = if plans.is_empty() { "none can be shown".to_owned() } else { plans.join("; later ") };
            format!("plan of {}: {shown}", arm.name)
        };
        let mut notes: Vec<String> = self.plan.arms.iter().zip(&self.plans).map(plan_of).collect();
        for (arm, plans) in self.plan.arms.iter().zip(&self.plans).skip(1) {
            if !plans.is_empty() && !self.plans[0].is_empty() {
                let same = if *plans == self.plans[0] { "has the same plan as" } else { "has another plan than" };
                notes.push(format!("{} {same} {}", arm.name, self.plan.arms[0].name));
            }
        }
        notes
    }
}

impl Rig for SqlRig<'_> {
    fn names(&self) -> Vec<String> {
        self.plan.arms.iter().map(|arm| arm.name.clone()).collect()
    }

    fn open(&mut self, sides: &[usize]) -> Result<(), CompareError> {
        // One after the other: an open transaction of the old session could block the new one.
        self.sessions.clear();
        for arm in sides {
            let session = self.session(*arm)?;
            self.sessions.push((session, *arm));
        }
        Ok(())
    }

    fn run(&mut self, side: usize) -> Result<Sample, CompareError> {
        let (session, arm) = &mut self.sessions[side];
        let seconds = session.timed(&self.plan.arms[*arm].statement)?;
        session.ask("ROLLBACK TO rooflab")?;
        Ok(Sample::of_wall(seconds))
    }

    fn inside(&self) -> Inside {
        Inside::LivesOn("session")
    }

    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let changed = |(arm, plans): (&SqlArm, &Vec<String>)| {
            (plans.len() > 1).then(|| {
                Warning::new(
                    format!("the plan of {} changed between sessions", arm.name),
                    "run ANALYZE first, so that both arms are planned from the same statistics",
                )
            })
        };
        self.plan.arms.iter().zip(&self.plans).filter_map(changed).collect()
    }
}

/// `Hash Join(Seq Scan on a, Hash(Index Scan on b using b_pkey))`: what is done, without costs.
fn shape_of(explained: &str) -> String {
    let plan = serde_json::from_str::<Value>(explained).ok().and_then(|json| json.get(0)?.get("Plan").cloned());
    plan.map_or_else(|| "unreadable".to_owned(), |plan| shape(&plan))
}

fn shape(node: &Value) -> String {
    let text = |key: &str| node.get(key).and_then(Value::as_str);
    let mut shown = text("Node Type").unwrap_or("?").to_owned();
    if let Some(relation) = text("Relation Name") {
        let _ = write!(shown, " on {relation}");
    }
    if let Some(index) = text("Index Name") {
        let _ = write!(shown, " using {index}");
    }
    let inner: Vec<String> = node.get("Plans").and_then(Value::as_array).into_iter().flatten().map(shape).collect();
    if inner.is_empty() { shown } else { format!("{shown}({})", inner.join(", ")) }
}

#[cfg(test)]
mod tests;
