//! `rooflab mine`: a campaign's lineage, what each jump changed and gained, and what each hunk of the end is worth.

use super::print_json;
use crate::args::MineArgs;
use crate::artefacts;
use crate::outcome::{Done, Outcome};
use crate::plan::Place;
use crate::text::{align, line};
use crate::{session, store};
use model::{Estimate, Verdict};
use report::{AblationView, CampaignView, JumpView};
use std::fmt::Write as _;
use std::path::Path;

/// Runs it.
///
/// # Errors
/// When there is no such campaign.
pub fn run(args: &MineArgs) -> Outcome {
    let ledger = store::open_existing(&Place::new(&args.place))?;
    let campaign = store::campaign(&ledger, &args.campaign)?;
    let problem = session::unchanged(Path::new(&campaign.problem), &campaign.problem_digest);
    let view = artefacts::read(&ledger, &campaign.id, problem.as_ref())?;
    if args.html {
        println!("{}", report::html(&view));
    } else if args.json {
        return print_json(&serde_json::json!({
            "campaign": view.id, "lineage": view.lineage, "ablations": view.ablations, "outcomes": view.outcomes,
        }));
    } else {
        print!("{}", show(&view));
    }
    Ok(Done::Complete)
}

fn show(view: &CampaignView) -> String {
    let mut text = line("campaign", &view.id) + "\n" + &line("", &report::terminal::yield_line(&view.outcomes)) + "\n";
    let Some(winner) = &view.winner else {
        return text + "Nothing beat the starting point, so there is no lineage to mine.\n";
    };
    let heads = ["jump", "to", "speed-up", "interval", "so far", "what changed"].map(String::from);
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(view.lineage.iter().enumerate().map(jump)).collect();
    let _ = writeln!(text, "\nfrom {} to candidate #{}\n{}", winner.base, winner.id, align(&rows));
    if !view.ablations.is_empty() {
        let heads = ["without", "slower by", "interval", "it"].map(String::from);
        let rows: Vec<[String; 4]> = std::iter::once(heads).chain(view.ablations.iter().map(ablation)).collect();
        let _ = writeln!(text, "\nthe winner without each of its changes\n{}", align(&rows));
    }
    text
}

fn jump((i, jump): (usize, &JumpView)) -> [String; 6] {
    let (speed, interval) = times(jump.ln, |ln| (-ln).exp());
    let so_far = jump.cumulative.map_or_else(|| "-".into(), |gain| format!("{gain:.2}x"));
    [(i + 1).to_string(), format!("#{}", jump.id), speed, interval, so_far, jump.note.clone()]
}

fn ablation(ablation: &AblationView) -> [String; 4] {
    let (cost, interval) = times(ablation.ln, f64::exp);
    let says = match &ablation.verdict {
        Verdict::Worse => "pays".to_owned(),
        Verdict::Better => "costs".to_owned(),
        Verdict::Equivalent | Verdict::Undecided => "makes no difference that was seen".to_owned(),
        other => format!("is needed: {}", other.to_string().lines().next().unwrap_or_default()),
    };
    [ablation.hunk.clone(), cost, interval, says]
}

fn times(ln: Option<Estimate>, f: fn(f64) -> f64) -> (String, String) {
    let absent = || ("-".to_owned(), "-".to_owned());
    ln.map_or_else(absent, |ln| {
        let of = ln.map(f);
        (format!("{:.3}x", of.value), format!("{:.3}..{:.3}", of.interval.low, of.interval.high))
    })
}
