//! `rooflab ledger`: reads back what is kept.

use crate::args::{LedgerArgs, LedgerVerb};
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{Format, Place};
use crate::standing::Standing;
use crate::store::{self, proposals};
use crate::text::{align, line};
use ::ledger::{CampaignSummary, Ledger};
use model::{CandidateId, Event};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// Runs it.
///
/// # Errors
/// When there is no ledger, or nothing of that name in it.
pub fn run(args: &LedgerArgs) -> Outcome {
    let place = Place::of_store(&args.store);
    match &args.what {
        LedgerVerb::List { json } => list(&store::open_existing(&place)?, Format::from_flag(*json)),
        LedgerVerb::Show { id, json } => show(&store::open_existing(&place)?, id, Format::from_flag(*json)),
        LedgerVerb::Check => check(&store::open_existing(&place)?),
        LedgerVerb::Import { file } => import(&mut store::open(&place)?, file),
        LedgerVerb::Export { out } => export(&store::open_existing(&place)?, out.as_deref()),
    }
}

fn list(ledger: &Ledger, format: Format) -> Outcome {
    let campaigns = ledger.campaigns()?;
    if format == Format::Json {
        return super::print_json(&campaigns);
    }
    let heads = ["campaign", "started", "tried", "judged", "promoted", "state"].map(String::from);
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(campaigns.iter().map(row)).collect();
    println!("{}", align(&rows));
    Ok(Done::Complete)
}

fn row(campaign: &CampaignSummary) -> [String; 6] {
    let state = match (campaign.finished, campaign.verified) {
        (true, true) => "finished, verified",
        (true, false) => "finished",
        _ => "unfinished",
    };
    let unconfined = if campaign.unconfined { ", unconfined" } else { "" };
    [
        campaign.id.clone(),
        campaign.started.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        campaign.proposed.to_string(),
        campaign.judged.to_string(),
        campaign.promoted.to_string(),
        format!("{state}{unconfined}"),
    ]
}

/// A campaign, else a candidate, else an entry: in the order in which people meet their ids.
fn show(ledger: &Ledger, id: &str, format: Format) -> Outcome {
    match store::campaign(ledger, id) {
        Ok(summary) => return show_campaign(ledger, &summary, format),
        Err(Failure::Usage(_)) => {}
        Err(other) => return Err(other),
    }
    if let Some(found) = store::candidate(ledger, id)? {
        let events = ledger.campaign_events(&found.campaign)?;
        return show_candidate(&found, &events, format);
    }
    let entry = ledger.get(id)?;
    super::print_json(&entry)
}

fn show_campaign(ledger: &Ledger, summary: &CampaignSummary, format: Format) -> Outcome {
    let events = ledger.timed_events(&summary.id)?;
    if format == Format::Json {
        return super::print_json(&events);
    }
    let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
    println!("{}", line("campaign", &summary.id));
    println!("{}", line("problem", &format!("{} ({})", summary.problem, &summary.problem_digest[..12])));
    if let Some(Event::Started { spec }) = events.first() {
        println!("{}", line("seed", &spec.seed.to_string()));
        if !spec.hypothesis.is_empty() {
            println!("{}", line("hypothesis", &spec.hypothesis));
        }
    }
    let standing = Standing::of(&events);
    if let Some(champion) = standing.champion {
        println!("{}", line("winner", &format!("#{}, {} ({})", champion.0, standing.best(), standing.note)));
    }
    println!("\n{}", align(&candidates(&events)));
    Ok(Done::Complete)
}

/// One row a candidate, with the last word on it.
fn candidates(events: &[Event]) -> Vec<[String; 6]> {
    let mut words: BTreeMap<CandidateId, (String, String)> = BTreeMap::new();
    for event in events {
        let (id, word, speed) = match event {
            Event::Skipped { id, why } => (id, format!("skipped: {why}"), None),
            Event::Judged { id, judgement, .. } => (id, judgement.verdict.name().to_owned(), judgement.speedup()),
            Event::Promoted { id, judgement } => (id, "promoted".to_owned(), judgement.speedup()),
            Event::NotPromoted { id, judgement } => (id, "not confirmed".to_owned(), judgement.speedup()),
            _ => continue,
        };
        words.insert(*id, (word, speed.map_or_else(|| "-".to_owned(), |speed| format!("{speed:.3}x"))));
    }
    let heads = ["#", "source", "from", "verdict", "speed-up", "what was done"].map(String::from);
    let rows = proposals(events).map(|(id, proposal)| {
        let (word, speed) = words.get(&id).cloned().unwrap_or_else(|| ("-".into(), "-".into()));
        let parents: Vec<String> = proposal.parents.iter().map(|parent| parent.0.to_string()).collect();
        let source = proposal.source.digest().short();
        [id.0.to_string(), source, parents.join(","), word, speed, proposal.note.clone()]
    });
    std::iter::once(heads).chain(rows).collect()
}

fn show_candidate(found: &store::Found, events: &[Event], format: Format) -> Outcome {
    let of_it = |event: &&Event| match event {
        Event::Proposed { id, .. }
        | Event::Skipped { id, .. }
        | Event::Judged { id, .. }
        | Event::Promoted { id, .. }
        | Event::NotPromoted { id, .. }
        | Event::Verified { id, .. } => *id == found.id,
        _ => false,
    };
    let its: Vec<&Event> = events.iter().filter(of_it).collect();
    if format == Format::Json {
        return super::print_json(&its);
    }
    println!("{}", line("candidate", &format!("#{} of {}", found.id.0, found.campaign)));
    println!("{}", line("source", &found.proposal.source.digest().to_string()));
    println!("{}", line("done", &format!("{} ({})", found.proposal.note, found.proposal.proposer)));
    println!("{}", line("flags", &found.proposal.source.flags.join(" ")));
    for event in its {
        match event {
            Event::Skipped { why, .. } => println!("{}", line("skipped", why)),
            Event::Judged { judgement, against, .. } => {
                println!("{}", line("judged", &format!("against #{}: {}", against.0, judgement.verdict)));
                println!("{}", crate::text::judgement(judgement, &[]));
            }
            Event::Promoted { judgement, .. } => println!("promoted\n{}", crate::text::judgement(judgement, &[])),
            Event::NotPromoted { judgement, .. } => {
                println!("not confirmed\n{}", crate::text::judgement(judgement, &[]));
            }
            _ => {}
        }
    }
    println!("\n{}", found.proposal.source.text);
    Ok(Done::Complete)
}

fn check(ledger: &Ledger) -> Outcome {
    let integrity = ledger.integrity()?;
    println!("{} entries and {} blobs held against their digests", integrity.entries, integrity.blobs);
    if integrity.holds() {
        return Ok(Done::Complete);
    }
    Err(Failure::environment(
        format!("the ledger is damaged:\n{}", integrity.problems.join("\n")),
        "take a copy of the file first; an export of an earlier day can be imported into a new ledger",
    ))
}

fn import(ledger: &mut Ledger, file: &Path) -> Outcome {
    let input = File::open(file).map_err(|error| Failure::file(file, &error))?;
    let imported = ledger.import(&mut BufReader::new(input))?;
    println!("{} entries are new, {} were here already", imported.entries, imported.known);
    Ok(Done::Complete)
}

fn export(ledger: &Ledger, out: Option<&Path>) -> Outcome {
    match out {
        None => ledger.export(&mut std::io::stdout().lock())?,
        Some(path) => {
            let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
            let mut writer = BufWriter::new(file);
            ledger.export(&mut writer)?;
            writer.flush().map_err(|error| Failure::file(path, &error))?;
        }
    }
    Ok(Done::Complete)
}
