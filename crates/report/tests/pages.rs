//! The page: self-contained, safe against hostile text, honest in its first sentence.

#[path = "../examples/sample/view.rs"]
mod view;

use model::RungOutcome;
use model::Verdict::{self, Better, Equivalent, Undecided, Worse};
use report::{CampaignView, Tone, Yield, headline, html};
use view::{estimate, nothing_found, sample};

#[test]
fn nothing_is_fetched() {
    let page = html(&sample());
    for outside in ["http://", "https://", " src=", " href=", "url(", "@import", "<link", "<script", "<iframe"] {
        assert!(!page.contains(outside), "the page holds `{outside}`");
    }
    assert!(page.contains("default-src 'none'"), "and the browser is told so");
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\"'>--><svg onload=alert(1)>";
    let mut view = sample();
    let text = || hostile.to_owned();
    (view.spec.problem, view.spec.hypothesis, view.id, view.raw) = (text(), text(), text(), text());
    (view.candidates[3].note, view.candidates[3].edit) = (text(), text());
    (view.lineage[0].note, view.lineage[0].diff) = (text(), text());
    (view.ablations[0].hunk, view.ablations[0].diff) = (text(), text());
    (view.warnings[0], view.scores[0].unit) = (text(), text());
    view.candidates[4].verdict = Some(Verdict::Quarantined { why: text() });
    view.candidates[5].skipped = Some(text());
    for name in [&mut view.workloads[0].name, &mut view.scores[0].workload, &mut view.comparisons[0].workload] {
        hostile.clone_into(name);
    }
    let winner = view.winner.as_mut().unwrap();
    (winner.source.text, winner.diff, winner.base) = (text(), format!("+{hostile}\n"), text());
    winner.source.flags.push(text());
    let certificate = view.certificate.as_mut().unwrap();
    certificate.rungs[0].detail = text();
    let machine = view.machine.as_mut().unwrap();
    machine.fingerprint.cpu = text();
    machine.compute[0].name = text();
    machine.memory[0].level = text();

    let pages = [html(&view), report::certificate_page(view.certificate.as_ref().unwrap())];
    for page in &pages {
        for tag in ["<script", "<img", "<svg onload"] {
            assert!(!page.contains(tag), "`{tag}` reached the page");
        }
        assert_eq!(page.matches("</style>").count(), 1);
    }
    assert!(pages[0].matches("script&#62;").count() > 10, "the text is shown, not dropped");
    let markdown = report::markdown(&view);
    assert!(!markdown.contains("<script"), "{markdown}");
}

#[test]
fn the_first_sentence_is_honest() {
    let check = |change: &dyn Fn(&mut CampaignView), tone: Tone, parts: &[&str]| {
        let mut view = sample();
        change(&mut view);
        let found = headline(&view);
        let text = format!("{} {}", found.verdict, found.standing);
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(found.tone, tone, "{text}");
        // The page opens with it.
        assert!(html(&view).contains(found.verdict.split(':').next().unwrap()));
    };
    let gains = |gains: [(f64, Verdict); 4]| {
        move |view: &mut CampaignView| {
            for (row, (gain, verdict)) in view.comparisons.iter_mut().zip(&gains) {
                let versus = row.versus_stock.as_mut().unwrap();
                (versus.ln, versus.verdict) = (estimate(-gain.ln(), 0.01), verdict.clone());
            }
        }
    };
    check(&|_| (), Tone::Gain, &["1.20x as fast as the stock baseline", "least at len=1024: 1.08x", "holds: 9 rungs"]);
    check(&|view| *view = nothing_found(), Tone::Open, &["No candidate beat the stock baseline: of 208 candidates"]);
    check(
        &gains([(0.7, Worse), (0.8, Worse), (0.7, Worse), (1.0, Undecided)]),
        Tone::Open,
        &["No candidate beat the stock baseline", "0.79x as fast"],
    );
    check(
        &gains([(1.0, Equivalent), (1.01, Undecided), (1.0, Equivalent), (1.0, Equivalent)]),
        Tone::Open,
        &["No candidate beat the stock baseline", "does not differ from it beyond the noise", "it is 6.82x as fast"],
    );
    check(
        &gains([(1.5, Better), (1.2, Better), (0.8, Worse), (1.0, Undecided)]),
        Tone::Open,
        &[
            "beats the stock baseline at 2 of 4 shapes (most at len=128: 1.50x)",
            "slower at 1",
            "least at len=512: 0.80x",
        ],
    );
    check(
        &|view| view.certificate.as_mut().unwrap().rungs[6].outcome = RungOutcome::Failed,
        Tone::Fell,
        &["fell at rung 7 (held-out shapes and data), so this is not a result"],
    );
    check(&|view| view.certificate = None, Tone::Open, &["has not been verified"]);
    check(&|view| view.spec.unconfined = true, Tone::Open, &["without the sandbox"]);
    check(&|view| view.finished = None, Tone::Gain, &["has not finished"]);
    check(&|view| view.comparisons.truncate(1), Tone::Gain, &["1.31x as fast as the stock baseline (at len=128)"]);
    check(&|view| view.comparisons.clear(), Tone::Open, &["was not compared with any baseline"]);
    let empty = |view: &mut CampaignView| {
        *view = nothing_found();
        view.candidates.clear();
        view.outcomes = Yield::default();
    };
    check(&empty, Tone::Open, &["No candidate was judged."]);
}

#[test]
fn a_page_of_nothing_is_still_a_page() {
    let mut view = nothing_found();
    view.machine = None;
    view.workloads.clear();
    view.candidates.clear();
    view.comparisons.clear();
    view.scores.clear();
    view.warnings.clear();
    view.outcomes = Yield::default();
    let page = html(&view);
    assert!(page.contains("No candidate was judged") && !page.contains("<svg"), "{page}");
}

#[test]
fn plots_take_what_a_broken_run_gives() {
    let mut view = sample();
    view.candidates[2].cumulative = Some(f64::NAN);
    view.candidates[6].cumulative = Some(0.0);
    view.candidates[7].cumulative = Some(f64::INFINITY);
    view.scores[0].time = model::Seconds(0.0);
    view.workloads[1].work = model::Work::default();
    view.machine.as_mut().unwrap().latency[3].latency = model::Seconds(0.0);
    let page = html(&view);
    assert_eq!(page.matches("<svg").count(), 6, "three plots in two sizes");
    assert!(!page.contains("NaN") && !page.contains(&i32::MAX.to_string()) && !page.contains(&i32::MIN.to_string()));
    // Every colour was given a class: a stand-in would be invisible in one theme.
    assert!(!page.contains("#0102"));
}

#[test]
fn a_view_reads_back_from_json() {
    let view = sample();
    let back: CampaignView = serde_json::from_str(&report::json(&view)).unwrap();
    assert_eq!(back.outcomes, view.outcomes);
    assert_eq!(back.candidates.len(), view.candidates.len());
}
