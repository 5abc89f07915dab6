//! `rooflab ledger`: reads back what is kept.

use crate::args::{LedgerArgs, LedgerVerb};
use crate::batch::{Answered, JUDGED, STARTED};
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{Format, Place};
use crate::progress::Progress;
use crate::store::{self, Found};
use crate::text::{align, line};
use ::ledger::{CampaignSummary, Filter, Ledger};
use model::{Event, Verdict};
use search::{Campaign, Candidate, Standing};
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
        return show_candidate(&found, format);
    }
    if let Some(answers) = batch(ledger, id)? {
        return show_batch(&answers, format);
    }
    let entry = ledger.get(id)?;
    super::print_json(&entry)
}

fn show_campaign(ledger: &Ledger, summary: &CampaignSummary, format: Format) -> Outcome {
    let events = ledger.timed_events(&summary.id)?;
    if format == Format::Json {
        return super::print_json(&events);
    }
    let campaign = Campaign::fold(events.iter().map(|(_, event)| event));
    println!("{}", line("campaign", &summary.id));
    println!("{}", line("problem", &format!("{} ({})", summary.problem, &summary.problem_digest[..12])));
    if let Some(spec) = &campaign.spec {
        println!("{}", line("seed", &spec.seed.to_string()));
        if !spec.hypothesis.is_empty() {
            println!("{}", line("hypothesis", &spec.hypothesis));
        }
    }
    for (_, event) in &events {
        if let Event::JudgeChecked { selftest, .. } = event {
            println!("{}", line("judge", &crate::terminal::selftest(selftest.as_ref())));
        }
    }
    let progress = Progress::of(&campaign);
    println!("{}", line("best", &progress.words()));
    println!("{}", line("tried", &report::terminal::yield_line(&progress.outcomes)));
    let heads = ["#", "source", "from", "verdict", "over #0", "what was done"].map(String::from);
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(campaign.archive.iter().map(candidate_row)).collect();
    println!("\n{}", align(&rows));
    Ok(Done::Complete)
}

fn candidate_row(candidate: &Candidate) -> [String; 6] {
    let parents: Vec<String> = candidate.proposal.parents.iter().map(|parent| parent.0.to_string()).collect();
    [
        candidate.id.0.to_string(),
        candidate.proposal.source.digest().short(),
        parents.join(","),
        word(candidate),
        candidate.speedup().map_or_else(|| "-".to_owned(), |gain| format!("{gain:.3}x")),
        candidate.proposal.note.clone(),
    ]
}

/// The last word on a candidate.
fn word(candidate: &Candidate) -> String {
    let verdict = candidate.verdict().map_or("-", Verdict::name);
    match &candidate.standing {
        Standing::Skipped(why) => format!("skipped: {why}"),
        Standing::Promoted if candidate.judgement.is_none() => "baseline".to_owned(),
        Standing::Promoted => "promoted".to_owned(),
        Standing::NotPromoted => format!("not confirmed ({verdict})"),
        Standing::Judged | Standing::Waiting => verdict.to_owned(),
    }
}

fn show_candidate(found: &Found, format: Format) -> Outcome {
    let candidate = &found.candidate;
    if format == Format::Json {
        return super::print_json(&serde_json::json!({
            "campaign": found.campaign, "id": candidate.id, "proposal": candidate.proposal,
            "judgement": candidate.judgement, "fresh": candidate.fresh, "against": candidate.against,
        }));
    }
    println!("{}", line("candidate", &format!("#{} of {}", candidate.id.0, found.campaign)));
    println!("{}", line("source", &candidate.proposal.source.digest().to_string()));
    println!("{}", line("done", &format!("{} ({})", candidate.proposal.note, candidate.proposal.proposer)));
    println!("{}", line("flags", &candidate.proposal.source.flags.join(" ")));
    println!("{}", line("verdict", &word(candidate)));
    for (title, judgement) in [("judged", &candidate.judgement), ("fresh test", &candidate.fresh)] {
        if let Some(judgement) = judgement {
            print!("\n{title}\n{}", report::terminal::judgement(judgement));
        }
    }
    println!("\n{}", candidate.proposal.source.text);
    Ok(Done::Complete)
}

/// The judgements of the batch with this id; none when there is no such batch.
fn batch(ledger: &Ledger, id: &str) -> Result<Option<Vec<Answered>>, Failure> {
    let headings = ledger.list(&Filter { campaign: Some(id.to_owned()), ..Filter::default() })?;
    if headings.is_empty() {
        return Ok(None);
    }
    let judged = headings.iter().filter(|heading| heading.kind == JUDGED);
    let answers = judged.map(|heading| {
        let body = ledger.get(&heading.id.to_string())?.body;
        serde_json::from_value(body).map_err(|error| {
            Failure::environment(
                format!("entry {} is no judgement: {error}", heading.id.short()),
                "`rooflab ledger check`",
            )
        })
    });
    answers.collect::<Result<_, Failure>>().map(Some)
}

fn show_batch(answers: &[Answered], format: Format) -> Outcome {
    if format == Format::Json {
        return super::print_json(&answers);
    }
    let heads = ["candidate", "source", "verdict", "speed-up"].map(String::from);
    let row = |answer: &Answered| {
        [
            answer.asked.file.clone(),
            answer.judgement.candidate.short(),
            answer.judgement.verdict.to_string().lines().next().unwrap_or_default().chars().take(80).collect(),
            answer.judgement.speedup().map_or_else(|| "-".to_owned(), |gain| format!("{gain:.3}x")),
        ]
    };
    let rows: Vec<[String; 4]> = std::iter::once(heads).chain(answers.iter().map(row)).collect();
    println!("{}", align(&rows));
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
    let batches = ledger.list(&Filter { kind: Some(STARTED.to_owned()), ..Filter::default() })?;
    if let Some(id) = batches.last().and_then(|heading| heading.campaign.as_deref()) {
        println!("the newest batch here is {id}: `rooflab ledger show {id}` lists it");
    }
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
