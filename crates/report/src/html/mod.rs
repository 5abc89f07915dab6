//! The HTML page: one file, no script, no outside request, legible at 400 pixels and in both themes.
//!
//! Must not do: put foreign text anywhere but through the templates' escaping. Only our own SVG and fragments are
//! marked safe.

mod machine;
mod rows;

pub use machine::map_page;

use crate::certificate::{certificate_summary, outcome_word, trust_words};
use crate::diff::Diff;
use crate::figures::{counted, percent, percent_with_range, speedup_with_range, times};
use crate::{CampaignView, Headline, ScoreRow, Tone, headline, plot};
use askama::Template;
use model::{Certificate, Map, RungOutcome};
use rows::{AblationRow, CandidateRow, EditRow, JumpRow, ShapeRow};

/// The style sheet, for pages and fragments alike.
pub(crate) const STYLE: &str = include_str!("../../templates/style.css");

#[derive(Template)]
#[template(path = "shell.html")]
struct Shell<'a> {
    title: &'a str,
    style: &'static str,
    content: &'a str,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Report<'a> {
    view: &'a CampaignView,
    headline: Headline,
    tone: &'static str,
    parts: [(&'static str, u32); 5],
    shapes: Vec<ShapeRow<'a>>,
    roofline: String,
    progress: String,
    scores: String,
    edits: Vec<EditRow<'a>>,
    candidates: Vec<CandidateRow<'a>>,
    jumps: Vec<JumpRow<'a>>,
    winner_diff: Option<Diff>,
    ablations: Vec<AblationRow<'a>>,
    certificate: String,
    machine: String,
    budget: String,
    confidence: String,
    noise: String,
}

#[derive(Template)]
#[template(path = "certificate.html")]
struct CertificateFragment<'a> {
    certificate: &'a Certificate,
    summary: String,
    trust: &'static str,
    looks: String,
    rungs: Vec<RungRow<'a>>,
}

struct RungRow<'a> {
    number: u32,
    name: &'a str,
    class: &'static str,
    word: &'static str,
    detail: &'a str,
}

#[derive(Template)]
#[template(path = "map.html")]
struct MapFragment<'a> {
    map: &'a Map,
    cores: String,
    features: String,
    latency: String,
    noise: Vec<[String; 3]>,
}

#[derive(Template)]
#[template(path = "score.html")]
struct ScoreFragment {
    rows: Vec<[String; 8]>,
}

/// Renders a template of ours.
fn rendered(template: &impl Template) -> String {
    template.render().expect("a template that writes to a string cannot fail")
}

/// A campaign as one self-contained page.
pub fn html(view: &CampaignView) -> String {
    let headline = headline(view);
    let tone = match headline.tone {
        Tone::Gain => "gain",
        Tone::Open => "open",
        Tone::Fell => "fell",
    };
    let content = rendered(&Report {
        tone,
        headline,
        parts: view.outcomes.parts(),
        shapes: rows::shapes(view),
        roofline: plot::roofline(view),
        progress: plot::progress(view),
        scores: if view.scores.is_empty() { String::new() } else { score_html(&view.scores) },
        edits: rows::edits(view),
        candidates: rows::candidates(view),
        jumps: rows::jumps(view),
        winner_diff: view.winner.as_ref().map(|winner| Diff::read(&winner.diff)),
        ablations: rows::ablations(view),
        certificate: view.certificate.as_ref().map(certificate_html).unwrap_or_default(),
        machine: view.machine.as_ref().map(map_html).unwrap_or_default(),
        budget: rows::budget(view),
        confidence: percent(view.confidence),
        noise: rows::noise(view),
        view,
    });
    page(&format!("{}: {}", view.spec.problem, view.id), &content)
}

fn page(title: &str, content: &str) -> String {
    rendered(&Shell { title, style: STYLE, content })
}

/// A certificate as a fragment of a page.
pub fn certificate_html(certificate: &Certificate) -> String {
    let rungs = certificate.rungs.iter().map(|rung| RungRow {
        number: rung.number,
        name: &rung.name,
        class: match rung.outcome {
            RungOutcome::Passed => "passed",
            RungOutcome::Failed => "failed",
            RungOutcome::NotRun => "not-run",
        },
        word: outcome_word(rung.outcome),
        detail: &rung.detail,
    });
    rendered(&CertificateFragment {
        summary: certificate_summary(certificate),
        trust: trust_words(certificate.trust),
        looks: counted(certificate.held_out_looks as usize, "time"),
        rungs: rungs.collect(),
        certificate,
    })
}

/// A certificate as a page of its own.
pub fn certificate_page(certificate: &Certificate) -> String {
    let heading = "<header><h1>Certificate</h1></header>";
    page(&format!("Certificate: {}", certificate.problem), &format!("{heading}{}", certificate_html(certificate)))
}

/// A map as a fragment of a page.
pub fn map_html(map: &Map) -> String {
    rendered(&MapFragment {
        cores: counted(map.fingerprint.cores as usize, "core"),
        features: map.fingerprint.features.join(" "),
        latency: plot::latency(map),
        noise: map.noise.iter().map(|n| [n.kind.clone(), percent(n.sigma), n.pairs.to_string()]).collect(),
        map,
    })
}

/// Fractions of ceiling as a fragment of a page.
pub fn score_html(rows: &[ScoreRow]) -> String {
    let fraction = |fraction: Option<_>| fraction.map_or("–".to_owned(), percent_with_range);
    let rows = rows.iter().map(|row| {
        [
            row.workload.clone(),
            row.arm.clone(),
            row.time.to_string(),
            row.floor.to_string(),
            fraction(row.of_floor),
            fraction(row.of_unit),
            row.unit.clone(),
            row.bound.clone(),
        ]
    });
    rendered(&ScoreFragment { rows: rows.collect() })
}
