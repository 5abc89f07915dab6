//! rooflab among the evaluators, as somebody would use it: `rooflab judge`. A cheat is compared with its twin, a twin with
//! the stock baseline.

use super::answer::{About, Answer, Verdict};
use super::cases::{Case, Language};
use crate::bench::Rig;
use anyhow::Result;
use model::{Judgement, Stage};
use std::sync::LazyLock;
use zoo::{Kind, ROWS, Row};

/// Long enough to see that a candidate is measured and whether it gains much.
const CAP: [&str; 2] = ["--cap", "4s"];
/// One shape of the Python candidates' problem: their interpreters start anew for every pair.
const PYTHON: [&str; 4] = ["--workloads", "rows=16", "--cap", "8s"];

/// What it is.
pub fn about() -> &'static About {
    static ABOUT: LazyLock<About> = LazyLock::new(|| About {
        peer: "rooflab".to_owned(),
        version: format!("rooflab {}", env!("CARGO_PKG_VERSION")),
        part: "judge".to_owned(),
        reason: None,
    });
    &ABOUT
}

/// Asks for a verdict.
///
/// # Errors
/// When the environment fails.
pub fn ask(rig: &Rig, case: &Case) -> Result<Answer> {
    let problem = format!("problems/{}", case.problem);
    let mut arguments = vec![problem.as_str(), case.file.as_str()];
    let own = match case.language {
        Language::C => row(case).map_or_else(Vec::new, |row| row.arguments.to_vec()),
        Language::Python => PYTHON.to_vec(),
    };
    if let Some(twin) = &case.twin
        && !own.contains(&"--against")
    {
        arguments.extend(["--against", twin]);
    }
    if own.is_empty() {
        arguments.extend(CAP);
    }
    arguments.extend(own);
    let asked = rig.judge(&arguments)?;
    Ok(answer(&asked.judgement, asked.wall.as_secs_f64()))
}

fn row(case: &Case) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        [Kind::Cheat, Kind::Twin].into_iter().any(|kind| case.file.ends_with(&format!("/{}", row.file(kind))))
    })
}

fn answer(judgement: &Judgement, seconds: f64) -> Answer {
    let speedup = judgement.speedup();
    let (verdict, says) = match &judgement.verdict {
        model::Verdict::Failed { stage: Stage::Crashed, .. } => (Verdict::Crashed, "failed (crashed)".to_owned()),
        model::Verdict::Failed { stage: Stage::TimedOut, .. } => (Verdict::TimedOut, "failed (timed-out)".to_owned()),
        model::Verdict::Failed { stage, .. } => (Verdict::Refused, format!("failed ({stage})")),
        model::Verdict::Refused { rule, .. } => (Verdict::Refused, format!("refused ({rule})")),
        model::Verdict::Quarantined { .. } => (Verdict::Refused, "quarantined".to_owned()),
        measured => (Verdict::of(speedup), measured.name().to_owned()),
    };
    Answer { verdict, speedup, seconds, says }
}
