//! The recorded campaigns of `runs/`: the replies that were given then make the same proposals again, offline.

use ledger::Ledger;
use model::{Event, Proposal};
use propose::exchange::Exchange;
use propose::{Budget, Caps, Matching, Price, Progress, Replay, Spent, Templates};
use search::proposers::written::{Listener, Parts, Scene, Seat};
use search::{Campaign, Context, Proposer, Written};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

struct Deaf;

impl Listener for Deaf {
    fn progress(&mut self, _: &str, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn heard(&mut self, _: &str, _: &Exchange) {}
}

/// The events of the one campaign that a folder of `runs/` holds.
fn events(folder: &Path) -> Vec<Event> {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(place.path().join("ledger.db")).unwrap();
    let file = std::fs::File::open(folder.join("ledger.jsonl")).unwrap();
    ledger.import(&mut BufReader::new(file)).unwrap();
    let campaigns = ledger.campaigns().unwrap();
    assert_eq!(campaigns.len(), 1, "{}", folder.display());
    ledger.campaign_events(&campaigns[0].id).unwrap()
}

fn replay(folder: &Path, seed: u64, entry: &str) -> Written {
    let respondent = Replay::open(&folder.join("replies.jsonl"), Matching::Order).unwrap();
    let seat = Seat {
        respondent: Box::new(respondent),
        system: None,
        price: Price::default(),
        max_output: 1 << 14,
        limit: Duration::from_secs(1),
    };
    Written::new(Parts {
        seed,
        scene: Scene { entry: entry.to_owned(), ..Scene::default() },
        templates: Templates::shipped().unwrap(),
        seats: vec![seat],
        budget: Budget::new(Caps::default(), Spent::default()),
        record: None,
        listener: Box::new(Deaf),
    })
}

/// How many proposals the record holds, each of them made again from the replies and the history before it.
fn replayed(name: &str, entry: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs").join(name);
    let events = events(&folder);
    let Some(Event::Started { spec }) = events.first() else { panic!("{name} does not start") };
    let mut written = replay(&folder, spec.seed, entry);
    let mut campaign = Campaign::fold(&events[..1]);
    let mut count = 0;
    for event in &events[1..] {
        match event {
            Event::Proposed { proposal, .. } if proposal.proposer != "baseline" => {
                let context = Context { campaign: &campaign, hints: "", constants: &BTreeMap::new() };
                let again: Vec<Proposal> = written.propose(&context, 1);
                assert_eq!(again.as_slice(), std::slice::from_ref(proposal), "proposal {count} of {name}");
                count += 1;
            }
            Event::Judged { id, judgement, .. } => written.told(*id, judgement),
            _ => {}
        }
        campaign.apply(event);
    }
    count
}

#[test]
fn a_recorded_campaign_decides_the_same_again() {
    let count = replayed("2026-12-01-attention-bf16", "attention_prefill_bf16");
    assert!(count >= 40, "{count}");
}
