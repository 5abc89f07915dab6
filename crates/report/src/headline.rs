//! The verdict in one sentence. It says what was found, whatever was hoped for.
//!
//! Must not do: call anything a result that the certificate does not carry.

use crate::certificate::certificate_summary;
use crate::figures::{counted, geometric_mean, times};
use crate::{CampaignView, Comparison, Versus};
use model::Verdict;

/// Whether the sentence is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A verified gain over the stock baseline.
    Gain,
    /// Neither: nothing found, mixed, or not verified.
    Open,
    /// A winner that did not survive.
    Fell,
}

/// The opening of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The verdict.
    pub verdict: String,
    /// What it stands on: certificate, sandbox, completeness.
    pub standing: String,
    /// Its tone.
    pub tone: Tone,
}

/// The verdict of a campaign.
pub fn headline(view: &CampaignView) -> Headline {
    let (verdict, gained) = match &view.winner {
        Some(_) => of_winner(view),
        None => (of_nothing(view), false),
    };
    let holds = view.certificate.as_ref().map(model::Certificate::holds);
    let tone = match holds {
        _ if view.winner.is_none() => Tone::Open,
        Some(false) => Tone::Fell,
        Some(true) if gained && !view.spec.unconfined => Tone::Gain,
        _ => Tone::Open,
    };
    Headline { verdict, standing: standing(view), tone }
}

fn of_nothing(view: &CampaignView) -> String {
    match view.outcomes.attempted {
        0 => "No candidate was judged.".to_owned(),
        n => format!(
            "No candidate beat the stock baseline: of {} judged, none was confirmed faster than the code that the \
             search started from.",
            counted(n as usize, "candidate")
        ),
    }
}

fn of_winner(view: &CampaignView) -> (String, bool) {
    let stock: Vec<(&Comparison, &Versus)> =
        view.comparisons.iter().filter_map(|row| Some((row, row.versus_stock.as_ref()?))).collect();
    let naive = geometric_mean(view.comparisons.iter().filter_map(|row| Some(gain(row.versus_naive.as_ref()?))));
    let beside = naive.map(|naive| format!(" and {} as fast as the naive one", times(naive))).unwrap_or_default();
    let Some(mean) = geometric_mean(stock.iter().map(|(_, versus)| gain(versus))) else {
        let found = naive.map_or("was not compared with any baseline".to_owned(), |naive| {
            format!("is {} as fast as the naive baseline; no stock baseline was measured", times(naive))
        });
        return (format!("The winner {found}."), false);
    };
    let count = |verdict: &Verdict| stock.iter().filter(|(_, versus)| versus.verdict == *verdict).count();
    let (n, better, worse) = (stock.len(), count(&Verdict::Better), count(&Verdict::Worse));
    let (mean, shapes) = (times(mean), counted(n, "shape"));
    let over = if n == 1 { format!("at {}", stock[0].0.workload) } else { format!("geometric mean of {shapes}") };
    let text = if better == n {
        let (least, at) = extreme(&stock, f64::lt);
        let worst = if n > 1 { format!(", least at {at}: {least}") } else { String::new() };
        format!("The winner is {mean} as fast as the stock baseline ({over}{worst}){beside}.")
    } else if better == 0 && worse == 0 {
        format!(
            "No candidate beat the stock baseline: the best one does not differ from it beyond the noise \
             ({mean}, {over}){beside_naive}.",
            beside_naive = beside.replace(" and ", "; it is ").replace("the naive one", "the naive baseline")
        )
    } else if better == 0 {
        format!("No candidate beat the stock baseline: the best one is {mean} as fast ({over}){beside}.")
    } else {
        let ((most, most_at), (least, least_at)) = (extreme(&stock, f64::gt), extreme(&stock, f64::lt));
        format!(
            "The winner beats the stock baseline at {better} of {shapes} (most at {most_at}: {most}), is slower at \
             {worse} and not told apart at {rest} (least at {least_at}: {least}).",
            rest = n - better - worse
        )
    };
    (text, better == n)
}

fn gain(versus: &Versus) -> f64 {
    (-versus.ln.value).exp()
}

/// The speed-up that comes first by `before`, and where.
fn extreme<'a>(rows: &[(&'a Comparison, &Versus)], before: impl Fn(&f64, &f64) -> bool) -> (String, &'a str) {
    let pick = rows.iter().map(|(row, versus)| (gain(versus), row.workload.as_str()));
    let (value, at) = pick.reduce(|a, b| if before(&b.0, &a.0) { b } else { a }).unwrap_or((1.0, ""));
    (times(value), at)
}

fn standing(view: &CampaignView) -> String {
    let mut parts = Vec::new();
    match &view.certificate {
        Some(certificate) => parts.push(certificate_summary(certificate)),
        None if view.winner.is_some() => parts.push("It has not been verified, so it is not yet a result.".to_owned()),
        None => {}
    }
    if view.spec.unconfined {
        parts.push("Judged without the sandbox (--unconfined): nothing is promised.".to_owned());
    }
    if view.finished.is_none() {
        parts.push("The campaign has not finished: rooflab run --resume goes on with it.".to_owned());
    }
    parts.join(" ")
}
