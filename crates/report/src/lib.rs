//! Reports: what the ledger holds, as HTML, SVG, JSON, Markdown and aligned text.
//!
//! Must not do: I/O of any kind, or decisions. It opens no socket, reads no file, and judges nothing: it says what it
//! is given. The application fills a [`CampaignView`] and writes the strings that come back.

mod certificate;
mod diff;
mod difference;
mod figures;
mod headline;
mod html;
mod markdown;
mod plot;
pub mod terminal;
mod view;

pub use certificate::{certificate_markdown, certificate_summary};
pub use diff::unified_diff;
pub use difference::{Change, Kind, map_changes};
pub use headline::{Headline, Tone, headline};
pub use html::{certificate_html, certificate_page, html, map_html, map_page, score_html};
pub use markdown::{markdown, score_markdown};
pub use plot::{Panel, compare_plot, history_plot};
pub use view::{
    AblationView, CampaignView, CandidateView, CheckedFigure, Comparison, Effect, JumpView, LedgerRow, ScoreRow,
    Versus, WinnerView, WorkloadView, Yield,
};

use figures::counted;

/// The view as JSON, for programs.
///
/// # Panics
/// Never: every part of a view is a JSON value.
pub fn json(view: &CampaignView) -> String {
    serde_json::to_string_pretty(view).expect("a view holds maps with text keys only")
}
