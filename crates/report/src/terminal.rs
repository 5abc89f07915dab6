//! Aligned text for a terminal: one line a result, legible without colour.
//!
//! Must not do: write colours or control characters; what comes from candidates is shown, never obeyed.

mod map;

pub use map::{map, map_check, map_diff};

use crate::figures::{direction, one_line, percent, percent_with_range, printable, range, speedup, times};
use crate::{CampaignView, LedgerRow, ScoreRow, Yield, headline};
use model::{Judgement, ShapeJudgement};
use std::fmt::Write as _;

/// How a column lies.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}
use Side::{Left, Right};

/// Lines up `rows` under `head`.
fn table<const N: usize>(head: [(&str, Side); N], rows: &[[String; N]]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| width(&row[column])).chain([width(head[column].0)]).max().unwrap_or(0)
    });
    let line = |cells: [&str; N]| {
        let mut text = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let pad = " ".repeat(widths[column] - width(cell));
            let gap = if column == 0 { "" } else { "  " };
            let (before, after) = match head[column].1 {
                Left => ("", pad.as_str()),
                Right => (pad.as_str(), ""),
            };
            let _ = write!(text, "{gap}{before}{cell}{after}");
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(head.map(|(title, _)| title));
    for row in rows {
        text += &line(std::array::from_fn(|column| row[column].as_str()));
    }
    text
}

/// `attempted 214 / invalid 23 / cheated 4 / noise 112 / loss 61 / win 14`.
pub fn yield_line(outcomes: &Yield) -> String {
    let mut text = format!("attempted {}", outcomes.attempted);
    for (name, n) in outcomes.parts() {
        let _ = write!(text, " / {name} {n}");
    }
    if outcomes.skipped > 0 {
        let _ = write!(text, " ({} more skipped as duplicates)", outcomes.skipped);
    }
    text
}

/// The end of a run: verdict, yield, shapes, warnings.
pub fn summary(view: &CampaignView) -> String {
    let opening = headline(view);
    let mut text = format!("{}\n", opening.verdict);
    if !opening.standing.is_empty() {
        let _ = writeln!(text, "{}", opening.standing);
    }
    let _ = writeln!(text, "{}", yield_line(&view.outcomes));
    let rows: Vec<_> = view.comparisons.iter().map(comparison).collect();
    if !rows.is_empty() {
        let head = [
            ("workload", Left),
            ("naive", Right),
            ("stock", Right),
            ("winner", Right),
            ("vs stock", Right),
            ("interval", Left),
            ("", Left),
            ("vs naive", Right),
            ("interval", Left),
            ("", Left),
        ];
        let _ = write!(text, "\n{}", table(head, &rows));
    }
    for warning in &view.warnings {
        let _ = writeln!(text, "warning: {}", one_line(warning));
    }
    text
}

fn comparison(row: &crate::Comparison) -> [String; 10] {
    let time = |time: Option<model::Seconds>| time.map_or("-".to_owned(), |time| time.to_string());
    let versus = |versus: &Option<crate::Versus>| {
        versus.as_ref().map_or(["-".to_owned(), String::new(), String::new()], |versus| {
            let gain = speedup(versus.ln);
            [times(gain.value), range(gain.interval), direction(&versus.verdict).to_owned()]
        })
    };
    let [a, b, c] = versus(&row.versus_stock);
    let [d, e, f] = versus(&row.versus_naive);
    [one_line(&row.workload), time(row.naive), time(row.stock), time(row.winner), a, b, c, d, e, f]
}

/// One judgement: verdict, shapes, remarks, the compiler's words, and where the time went.
pub fn judgement(judgement: &Judgement) -> String {
    let mut text = format!("{}", judgement.verdict).lines().map(one_line).collect::<Vec<_>>().join("\n");
    if let Some(mean) = judgement.speedup() {
        let n = judgement.shapes.iter().filter(|shape| shape.ln.is_some()).count();
        let _ = write!(text, ": {}, geometric mean of {}", times(mean), crate::figures::counted(n, "workload"));
    }
    text += "\n";
    let head = [
        ("workload", Left),
        ("verdict", Left),
        ("speed-up", Right),
        ("interval", Left),
        ("candidate", Right),
        ("against", Right),
        ("pairs", Right),
        ("evidence", Left),
        ("error", Right),
    ];
    let rows: Vec<_> = judgement.shapes.iter().map(shape).collect();
    if !rows.is_empty() {
        text += &table(head, &rows);
    }
    for remark in &judgement.remarks {
        let _ = writeln!(text, "note: {}", one_line(remark));
    }
    if !judgement.log.trim().is_empty() {
        let _ = writeln!(text, "compiler:");
        for line in printable(judgement.log.trim_end()).lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    let part = &judgement.overhead;
    let _ = writeln!(
        text,
        "took {}: build {}, runners {}, draw {}, calls {}, check {}",
        part.total, part.build, part.runners, part.draw, part.calls, part.check
    );
    text
}

fn shape(shape: &ShapeJudgement) -> [String; 9] {
    let gain = shape.ln.map(speedup);
    let time = |time: Option<model::Seconds>| time.map_or("-".to_owned(), |time| time.to_string());
    let evidence = match (shape.e, shape.p) {
        (Some(e), _) if e < 100.0 => format!("e {e:.1}"),
        (Some(e), _) => format!("e {e:.0}"),
        (None, Some(p)) => format!("p {p:.4}"),
        (None, None) => "-".to_owned(),
    };
    [
        one_line(&shape.workload.name),
        shape.verdict.name().to_owned(),
        gain.map_or("-".to_owned(), |gain| times(gain.value)),
        gain.map_or("-".to_owned(), |gain| range(gain.interval)),
        time(shape.candidate),
        time(shape.against),
        shape.pairs.to_string(),
        evidence,
        if shape.checks == 0 { "-".to_owned() } else { percent(shape.worst_error) },
    ]
}

/// Fractions of ceiling.
pub fn score(rows: &[ScoreRow]) -> String {
    let head = [
        ("workload", Left),
        ("arm", Left),
        ("strength", Left),
        ("time", Right),
        ("floor", Right),
        ("of the floor", Left),
        ("of the unit", Left),
        ("unit", Left),
        ("bound", Left),
    ];
    let fraction = |fraction: Option<_>| fraction.map_or("-".to_owned(), percent_with_range);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                one_line(&row.workload),
                one_line(&row.arm),
                row.strength.clone(),
                row.time.to_string(),
                row.floor.to_string(),
                fraction(row.of_floor),
                fraction(row.of_unit),
                row.unit.clone(),
                row.bound.clone(),
            ]
        })
        .collect();
    table(head, &rows)
}

/// A ledger's list.
pub fn ledger(rows: &[LedgerRow]) -> String {
    let head = [("id", Left), ("at", Left), ("kind", Left), ("campaign", Left), ("", Left)];
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let campaign = row.campaign.clone().unwrap_or_else(|| "-".to_owned());
            [row.id.clone(), row.at.clone(), row.kind.clone(), campaign, one_line(&row.note)]
        })
        .collect();
    table(head, &rows)
}
