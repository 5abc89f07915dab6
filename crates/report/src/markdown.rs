//! The report's figures as Markdown, for a pull request or a README.

use crate::figures::{percent_with_range, speedup_with_range};
use crate::{CampaignView, ScoreRow, Versus, headline};
use std::fmt::Write as _;

/// Foreign text as one cell of a table.
pub(crate) fn cell(text: &str) -> String {
    crate::figures::one_line(text).replace('|', "\\|").replace('<', "&lt;")
}

/// Verdict, yield and the table of shapes.
pub fn markdown(view: &CampaignView) -> String {
    let opening = headline(view);
    let mut text = format!(
        "# {}: {}\n\n{}\n\n{}\n\n{}\n",
        cell(&view.spec.problem),
        cell(&view.id),
        cell(&opening.verdict),
        cell(&opening.standing),
        crate::terminal::yield_line(&view.outcomes)
    );
    if !view.comparisons.is_empty() {
        text += "\n| workload | naive | stock | winner | against stock | against naive |\n|---|---|---|---|---|---|\n";
    }
    for row in &view.comparisons {
        let time = |time: Option<model::Seconds>| time.map_or("-".to_owned(), |time| time.to_string());
        let versus = |versus: &Option<Versus>| {
            versus.as_ref().map_or("-".to_owned(), |v| format!("{} {}", speedup_with_range(v.ln), v.verdict.name()))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            cell(&row.workload),
            time(row.naive),
            time(row.stock),
            time(row.winner),
            versus(&row.versus_stock),
            versus(&row.versus_naive)
        );
    }
    for warning in &view.warnings {
        let _ = write!(text, "\n> {}\n", cell(warning));
    }
    if !view.scores.is_empty() {
        let _ = write!(text, "\n{}", score_markdown(&view.scores));
    }
    text
}

/// Fractions of ceiling as a Markdown table.
pub fn score_markdown(rows: &[ScoreRow]) -> String {
    let mut text = "| workload | arm | time | floor | of the unit | of the floor | bound |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    for row in rows {
        let fraction = |fraction: Option<_>| fraction.map_or("-".to_owned(), percent_with_range);
        let _ = writeln!(
            text,
            "| {} | {} ({}) | {} | {} | {} of {} | {} | {} |",
            cell(&row.workload),
            cell(&row.arm),
            row.strength,
            row.time,
            row.floor,
            fraction(row.of_unit),
            cell(&row.unit),
            fraction(row.of_floor),
            cell(&row.bound)
        );
    }
    text
}
