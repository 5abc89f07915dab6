//! The ledger through its public API: round trips, append-only, prefixes, exchange, damage, two writers.

use jiff::Timestamp;
use ledger::{Draft, Error, Filter, Ledger, campaign_id};
use model::{
    CampaignSpec, CandidateId, Digest, Estimate, Event, Fingerprint, Interval, Judgement, Map, Overhead, Proposal,
    Seconds, Selftest, ShapeJudgement, Source, Trust, Verdict, Workload,
};
use serde_json::json;
use std::path::Path;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_056_920 + second).unwrap()
}

fn new() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("out/ledger.db")).unwrap();
    (folder, ledger)
}

fn started(problem: &str) -> Event {
    Event::Started {
        spec: CampaignSpec {
            problem: problem.to_owned(),
            problem_digest: Digest::of(problem),
            seed: 7,
            budget_seconds: Some(90.0),
            max_candidates: None,
            hypothesis: "fusing the softmax pays".to_owned(),
            baselines: Vec::new(),
            unconfined: true,
            version: "0.1.0".to_owned(),
        },
    }
}

fn proposed(id: u32, text: &str) -> Event {
    let proposal = Proposal {
        source: Source::c(text),
        parents: vec![CandidateId(0)],
        proposer: "embedded".to_owned(),
        note: "unroll by 4".to_owned(),
        edit: "unroll".to_owned(),
    };
    Event::Proposed { id: CandidateId(id), proposal }
}

fn judged(id: u32, ln: f64, interval: Interval) -> Event {
    let shape = ShapeJudgement {
        workload: Workload { name: "len=128".to_owned(), axes: [("len".to_owned(), 128)].into() },
        verdict: Verdict::Better,
        ln: Some(Estimate { value: ln, interval }),
        e: Some(812.5),
        p: None,
        units: vec![ln, ln * 1.000_000_1, 0.1 + 0.2],
        pairs: 40,
        candidate: Some(Seconds(1.234_567_890_123_456_7e-3)),
        against: Some(Seconds(2e-3)),
        checks: 128,
        worst_error: f64::INFINITY,
    };
    let judgement = Judgement {
        candidate: Digest::of("b"),
        against: Digest::of("a"),
        verdict: Verdict::Better,
        shapes: vec![shape],
        trust: Trust::Sealed,
        artefact: None,
        log: "warning: unused\n".repeat(200),
        remarks: Vec::new(),
        overhead: Overhead::default(),
    };
    Event::Judged { id: CandidateId(id), against: CandidateId(0), judgement }
}

#[test]
fn events_read_back_as_they_were_written() {
    let (_folder, mut ledger) = new();
    let events = [
        started("attention"),
        proposed(1, &"x".repeat(5000)),
        judged(1, -0.1 / 3.0, Interval { low: -0.04, high: -0.02 }),
        // The first process pairs of an anytime test bound nothing.
        judged(1, 1e-300, Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }),
        Event::Finished,
    ];
    for event in &events {
        ledger.append_event(at(0), "c1", event).unwrap();
    }
    assert_eq!(ledger.campaign_events("c1").unwrap(), events);
    assert!(ledger.campaign_events("c2").unwrap().is_empty());
}

#[test]
fn a_long_text_is_kept_once() {
    let (_folder, mut ledger) = new();
    ledger.append_event(at(0), "c1", &started("p")).unwrap();
    let text = "int a;\n".repeat(300);
    for id in 1..=3 {
        ledger.append_event(at(id), "c1", &proposed(id as u32, &text)).unwrap();
    }
    assert_eq!(ledger.integrity().unwrap().blobs, 1);
    assert_eq!(ledger.blob(&Digest::of(&text)).unwrap(), Some(text.into_bytes()));
}

#[test]
fn campaigns_and_the_unfinished_one() {
    let (_folder, mut ledger) = new();
    let problem = Digest::of("p");
    assert_eq!(ledger.unfinished(&problem).unwrap(), None);
    for (campaign, events) in [
        ("c1", vec![started("p"), Event::Finished]),
        ("c2", vec![started("p"), proposed(0, "a"), judged(0, 0.1, Interval { low: 0.0, high: 0.2 })]),
        ("c3", vec![started("q")]),
    ] {
        for event in events {
            ledger.append_event(at(3), campaign, &event).unwrap();
        }
    }
    assert_eq!(ledger.unfinished(&problem).unwrap().as_deref(), Some("c2"));
    let all = ledger.campaigns().unwrap();
    let seen: Vec<_> = all.iter().map(|c| (c.id.as_str(), c.proposed, c.judged, c.finished, c.unconfined)).collect();
    assert_eq!(seen, [("c1", 0, 0, true, true), ("c2", 1, 1, false, true), ("c3", 0, 0, false, true)]);
    ledger.append_event(at(4), "c2", &Event::Finished).unwrap();
    assert_eq!(ledger.unfinished(&problem).unwrap(), None);
}

#[test]
fn a_campaign_starts_once_and_first() {
    let (_folder, mut ledger) = new();
    assert!(matches!(ledger.append_event(at(0), "c", &Event::Finished), Err(Error::Campaign { .. })));
    ledger.append_event(at(0), "c", &started("p")).unwrap();
    assert!(matches!(ledger.append_event(at(0), "c", &started("p")), Err(Error::Campaign { .. })));
}

#[test]
fn ids_sort_by_time_and_differ_by_salt() {
    let id = campaign_id("attention-prefill", "2026-11-30T16:42:59Z".parse().unwrap(), 1);
    assert!(id.starts_with("attention-prefill-20261130-1642-") && id.len() == 36, "{id}");
    assert_ne!(id, campaign_id("attention-prefill", "2026-11-30T16:42:59Z".parse().unwrap(), 2));
    assert!(id < campaign_id("attention-prefill", "2026-11-30T16:43:00Z".parse().unwrap(), 1));
}

#[test]
fn maps_are_found_by_machine() {
    let (_folder, mut ledger) = new();
    let map = |cpu: &str, overhead: f64| Map {
        fingerprint: Fingerprint {
            cpu: cpu.to_owned(),
            cores: 2,
            features: vec!["avx2".to_owned()],
            kernel: "6.1".to_owned(),
            platform: "linux-x86_64".to_owned(),
            probes: 1,
        },
        clock_resolution: Seconds(1e-9),
        clock_overhead: Seconds(overhead),
        core_clock: None,
        compute: Vec::new(),
        exp: None,
        memory: Vec::new(),
        latency: Vec::new(),
        ..Map::default()
    };
    for (cpu, overhead) in [("a", 1e-8), ("a", 2e-8), ("b", 3e-8)] {
        ledger.put_map(at(0), &map(cpu, overhead)).unwrap();
    }
    let check = |cpu: &str, expected: Option<f64>| {
        let found = ledger.latest_map(&map(cpu, 0.0).fingerprint).unwrap();
        assert_eq!(found.map(|map| map.clock_overhead.0), expected, "{cpu}");
    };
    check("a", Some(2e-8));
    check("b", Some(3e-8));
    check("c", None);
}

#[test]
fn looks_are_counted_by_problem() {
    let (_folder, mut ledger) = new();
    let (p, q) = (Digest::of("p"), Digest::of("q"));
    assert_eq!(ledger.held_out_looks(&p).unwrap(), 0);
    assert_eq!(ledger.count_look(at(0), None, &p).unwrap(), 1);
    assert_eq!(ledger.count_look(at(1), Some("c"), &p).unwrap(), 2);
    assert_eq!(ledger.count_look(at(1), None, &q).unwrap(), 1);
    assert_eq!(ledger.held_out_looks(&p).unwrap(), 2);
}

#[test]
fn nothing_is_updated_deleted_or_replaced() {
    let (folder, mut ledger) = new();
    ledger.append_event(at(0), "c", &started("p")).unwrap();
    ledger.put_blob(b"bytes").unwrap();
    let before = export(&ledger);
    let raw = rusqlite::Connection::open(folder.path().join("out/ledger.db")).unwrap();
    for sql in [
        "UPDATE entries SET at = 'now'",
        "DELETE FROM entries",
        "UPDATE blobs SET bytes = x'00'",
        "DELETE FROM blobs",
        "INSERT OR REPLACE INTO blobs SELECT digest, x'00' FROM blobs",
        "INSERT OR REPLACE INTO entries SELECT seq, id, n, 'now', kind, campaign, supersedes, body FROM entries",
        "REPLACE INTO entries SELECT NULL, id, n, 'now', kind, campaign, supersedes, body FROM entries",
        "REPLACE INTO entries SELECT NULL, hex(randomblob(32)), n, 'now', kind, campaign, supersedes, body FROM entries",
    ] {
        let refused = raw.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{sql}: {refused}");
    }
    assert_eq!(export(&ledger), before);
}

#[test]
fn prefixes_find_one_entry_or_say_which() {
    let (_folder, mut ledger) = new();
    let ids: Vec<_> =
        (0..1500).map(|i| ledger.append(&Draft::new(at(i), "note"), &json!({ "i": i })).unwrap()).collect();
    let found = ledger.get(&ids[3].to_string()[..20]).unwrap();
    assert_eq!((found.heading.id, found.body), (ids[3], json!({ "i": 3 })));
    let mut prefixes: Vec<String> = ids.iter().map(|id| id.to_string()[..4].to_owned()).collect();
    prefixes.sort();
    // 1,500 ids in 65,536 bins: about 17 pairs share four digits.
    let shared = prefixes.windows(2).find(|pair| pair[0] == pair[1]).unwrap()[0].clone();
    let error = ledger.get(&shared).unwrap_err();
    assert!(matches!(&error, Error::Ambiguous { matches, .. } if matches.len() >= 2));
    assert!(error.to_string().lines().count() >= 3, "{error}");
    let check = |prefix: &str, expected: &str| {
        assert!(ledger.get(prefix).unwrap_err().to_string().contains(expected), "{prefix}");
    };
    check("abc", "four or more");
    check("%%%%", "four or more");
    check(&"0".repeat(64), "no entry");
}

#[test]
fn a_correction_supersedes() {
    let (_folder, mut ledger) = new();
    let old = ledger.append(&Draft::new(at(0), "note"), &"wrong").unwrap();
    let draft = Draft { supersedes: Some(old), ..Draft::new(at(1), "note") };
    let new = ledger.append(&draft, &"right").unwrap();
    assert_eq!(ledger.get(&old.to_string()).unwrap().superseded_by, [new]);
    let lost = Draft { supersedes: Some(ledger::EntryId(Digest::of("?"))), ..draft };
    assert!(matches!(ledger.append(&lost, &"x"), Err(Error::NothingToSupersede(_))));
    assert!(matches!(ledger.append(&draft, &json!({ "$blob": "x" })), Err(Error::ReservedKey)));
}

#[test]
fn lists_filter() {
    let (_folder, mut ledger) = new();
    ledger.append_event(at(0), "c", &started("p")).unwrap();
    ledger.append_event(at(1), "c", &Event::Finished).unwrap();
    ledger.append(&Draft::new(at(2), "note"), &1).unwrap();
    let check = |kind: Option<&str>, campaign: Option<&str>, limit: Option<u32>, expected: &[&str]| {
        let filter = Filter { kind: kind.map(str::to_owned), campaign: campaign.map(str::to_owned), limit };
        let kinds: Vec<_> = ledger.list(&filter).unwrap().into_iter().map(|heading| heading.kind).collect();
        assert_eq!(kinds, expected);
    };
    check(None, None, None, &["event.started", "event.finished", "note"]);
    check(None, None, Some(2), &["event.finished", "note"]);
    check(Some("finished"), None, None, &["event.finished"]);
    check(None, Some("c"), None, &["event.started", "event.finished"]);
    check(Some("note"), Some("c"), None, &[]);
}

fn export(ledger: &Ledger) -> String {
    let mut out = Vec::new();
    ledger.export(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_line_made_without_a_ledger_is_an_entry_like_any_other() {
    let (_folder, mut ledger) = new();
    let draft = Draft { campaign: Some("b"), ..Draft::new(at(1), "batch.judged") };
    let body = serde_json::json!({ "text": "long ".repeat(400), "number": 0.1 });
    let line = ledger::entry_line(&draft, 0, &body).unwrap();
    let read = ledger::read_entry_line(&line).unwrap();
    assert_eq!((read.kind.as_str(), read.campaign.as_deref(), read.n), ("batch.judged", Some("b"), 0));
    assert_eq!(read.body, body);
    assert_eq!(ledger::read_entry_line(&line.replace("0.1", "0.2")), None, "it is not what its id says");
    assert_eq!(ledger::read_entry_line(&line[..line.len() - 1]), None);
    let imported = ledger.import(&mut line.as_bytes()).unwrap();
    assert_eq!((imported.entries, imported.known), (1, 0));
    assert_eq!(ledger.import(&mut line.as_bytes()).unwrap().known, 1);
    assert!(ledger.integrity().unwrap().holds());
    let gap = ledger::entry_line(&draft, 2, &body).unwrap();
    assert!(ledger.import(&mut gap.as_bytes()).is_err(), "numbers within a campaign have no gap");
}

#[test]
fn a_selftest_counts_for_its_machine_and_version() {
    let (_folder, mut ledger) = new();
    let machine = |cores| Fingerprint {
        cpu: "x".to_owned(),
        cores,
        features: Vec::new(),
        kernel: String::new(),
        platform: String::new(),
        probes: 1,
    };
    let selftest = |rows, cores| Selftest {
        zoo: Digest::of("zoo"),
        rows,
        whole: false,
        machine: machine(cores),
        version: "1".to_owned(),
    };
    assert_eq!(ledger.latest_selftest(&machine(2), "1").unwrap(), None);
    ledger.put_selftest(at(1), &selftest(20, 2)).unwrap();
    ledger.put_selftest(at(2), &selftest(62, 2)).unwrap();
    ledger.put_selftest(at(3), &selftest(20, 4)).unwrap();
    assert_eq!(ledger.latest_selftest(&machine(2), "1").unwrap(), Some(selftest(62, 2)));
    assert_eq!(ledger.latest_selftest(&machine(8), "1").unwrap(), None);
    assert_eq!(ledger.latest_selftest(&machine(2), "2").unwrap(), None);
}

#[test]
fn an_export_imports_and_a_forged_one_does_not() {
    let (_folder, mut ledger) = new();
    ledger.append_event(at(0), "c", &started("p")).unwrap();
    ledger.append_event(at(0), "c", &proposed(1, &"y".repeat(2000))).unwrap();
    ledger.put_blob(&[0xff, 0x00]).unwrap();
    let text = export(&ledger);

    let (_folder, mut other) = new();
    let imported = other.import(&mut text.as_bytes()).unwrap();
    assert_eq!((imported.entries, imported.known), (2, 0));
    assert_eq!(other.import(&mut text.as_bytes()).unwrap().known, 2);
    assert_eq!(export(&other), text);
    assert!(other.integrity().unwrap().holds());
    assert_eq!(other.campaign_events("c").unwrap(), ledger.campaign_events("c").unwrap());

    let check = |forged: String, expected: &str| {
        let (_folder, mut fresh) = new();
        let error = fresh.import(&mut forged.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(fresh.integrity().unwrap().entries, 0, "an import is whole or nothing");
    };
    check(text.replace("unroll by 4", "unroll by 8"), "another digest");
    check(text.replace("yyyy", "zzzz"), "another digest");
    check(text.lines().filter(|line| !line.contains("yyyy")).fold(String::new(), |t, l| t + l + "\n"), "not here");
    check(format!("{text}{{}}\n"), "neither an entry nor a blob");
}

#[test]
fn a_campaign_with_another_content_is_not_merged() {
    let (_folder, mut here) = new();
    let (_folder2, mut there) = new();
    here.append_event(at(0), "c", &started("p")).unwrap();
    there.append_event(at(9), "c", &started("p")).unwrap();
    let error = here.import(&mut export(&there).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("another content"), "{error}");
}

#[test]
fn what_is_no_ledger_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, make: &dyn Fn(&Path), expected: &[&str]| {
        let path = folder.path().join(name);
        make(&path);
        let error = Ledger::open(&path).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    check("text", &|path| std::fs::write(path, "hello, world\n".repeat(1000)).unwrap(), &["not a ledger", "--ledger"]);
    let sql = |sql: &'static str| {
        move |path: &Path| {
            drop(Ledger::open(path).unwrap());
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        }
    };
    check("newer", &sql("PRAGMA user_version = 99"), &["schema 99", "update rooflab"]);
    check(
        "other",
        &|path| {
            rusqlite::Connection::open(path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        },
        &["another program"],
    );
    check("folder", &|path| std::fs::create_dir(path).unwrap(), &["cannot open"]);
    let missing = Ledger::open_existing(folder.path().join("none.db")).unwrap_err().to_string();
    assert!(missing.contains("no ledger at"), "{missing}");
}

#[test]
fn damage_is_found() {
    let (folder, mut ledger) = new();
    ledger.append_event(at(0), "c", &started("p")).unwrap();
    ledger.append_event(at(0), "c", &proposed(1, &"y".repeat(2000))).unwrap();
    assert!(ledger.integrity().unwrap().holds());
    drop(ledger);
    let path = folder.path().join("out/ledger.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "DROP TRIGGER entries_no_update; UPDATE entries SET at = '2020-01-01T00:00:00Z' WHERE n = 0;
         DROP TRIGGER blobs_no_delete; DELETE FROM blobs;",
    )
    .unwrap();
    drop(raw);
    let found = Ledger::open(&path).unwrap().integrity().unwrap();
    assert_eq!(found.problems.len(), 2, "{found:?}");

    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..2000].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = Ledger::open(&path).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let path = path.clone();
            std::thread::spawn(move || {
                // Opening races too: one of them makes the schema.
                let mut ledger = Ledger::open(path).unwrap();
                let campaign = format!("c{writer}");
                ledger.append_event(at(0), &campaign, &started("p")).unwrap();
                for i in 0..25 {
                    ledger.append_event(at(i), &campaign, &Event::Resumed).unwrap();
                    ledger.count_look(at(i), None, &Digest::of("p")).unwrap();
                    let draft = Draft { campaign: Some("shared"), ..Draft::new(at(i), "note") };
                    ledger.append(&draft, &json!({ "writer": writer, "i": i })).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let ledger = Ledger::open(&path).unwrap();
    let integrity = ledger.integrity().unwrap();
    assert!(integrity.holds(), "{integrity:?}");
    assert_eq!(integrity.entries, 4 * (1 + 25 * 3));
    assert_eq!(ledger.held_out_looks(&Digest::of("p")).unwrap(), 100);
}
