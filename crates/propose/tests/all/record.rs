//! Records: what is kept, what a kill leaves, what a replay gives.

use super::{calm, reply};
use model::Seconds;
use propose::budget::{Money, Spent};
use propose::{AskError, Asked, Ended, Matching, Prompt, Record, Replay, Respondent};
use std::path::Path;
use std::time::Duration;

fn spent(money: u64) -> Spent {
    Spent { money: Money(money), tokens: 10, calls: 1, time: Seconds(0.5) }
}

fn said(text: &[u8]) -> Asked {
    Asked { result: Ok(reply(text, Ended::Complete)), time: Seconds(0.5) }
}

/// Two replies, one of them no text, and one failure.
fn fill(path: &Path) -> Vec<Asked> {
    let failed = AskError::Status { place: "h".to_owned(), code: 500, message: "no".to_owned() };
    let all = vec![said(b"first\r\n"), said(b"\xff\xfe"), Asked { result: Err(failed), time: Seconds(0.5) }];
    let mut record = Record::open(path).unwrap();
    for (i, asked) in all.iter().enumerate() {
        let number = record.asked("openai:m@h", &Prompt::new("s", format!("q{i}")), spent(1000)).unwrap();
        record.answered(number, asked, spent(7)).unwrap();
    }
    all
}

fn ask(replay: &mut Replay, question: &str) -> Asked {
    calm(Duration::from_secs(1), |ask| replay.ask(&Prompt::new("s", question), ask))
}

#[test]
fn a_replay_gives_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let all = fill(&path);
    let mut replay = Replay::open(&path, Matching::Prompt).unwrap();
    // By the prompt, in whatever order.
    for i in [2, 0, 1] {
        assert_eq!(ask(&mut replay, &format!("q{i}")), all[i]);
        assert_eq!(replay.name(), "openai:m@h");
    }
    assert_eq!(replay.left(), 0);
    let missing = ask(&mut replay, "q0").result.unwrap_err();
    assert!(matches!(missing, AskError::NotRecorded { .. }) && missing.is_lasting());
}

#[test]
fn a_replay_in_order_keeps_second_tries_for_second_tries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let mut record = Record::open(&path).unwrap();
    let first = |i: usize| Prompt::new("s", format!("q{i}"));
    let prompts = [first(0), first(0).and("r", "no"), first(1), first(1).and("r", "no")];
    for (prompt, text) in prompts.iter().zip([b"a", b"b", b"c", b"d"]) {
        let number = record.asked("x", prompt, spent(1)).unwrap();
        record.answered(number, &said(text), spent(1)).unwrap();
    }
    let mut replay = Replay::open(&path, Matching::Order).unwrap();
    let mut next = |prompt: &Prompt| {
        let asked = calm(Duration::from_secs(1), |ask| replay.ask(prompt, ask));
        asked.result.ok().map(|reply| String::from_utf8(reply.text.0).unwrap())
    };
    let (other, again) = (Prompt::new("s", "other"), Prompt::new("s", "other").and("r", "why"));
    assert_eq!(next(&other).as_deref(), Some("a"));
    // The first reply could be used this time: its second try is passed over.
    assert_eq!(next(&other).as_deref(), Some("c"));
    assert_eq!(next(&again).as_deref(), Some("d"));
    assert_eq!(next(&again), None);
    assert_eq!(next(&other), None);
}

#[test]
fn a_prompt_that_was_asked_again_has_its_last_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let prompt = Prompt::new("s", "q");
    let mut record = Record::open(&path).unwrap();
    for asked in [Asked { result: Err(AskError::Stopped), time: Seconds(0.5) }, said(b"a")] {
        assert_eq!(record.reply_to(&prompt), None);
        let number = record.asked("x", &prompt, spent(1)).unwrap();
        record.answered(number, &asked, spent(1)).unwrap();
    }
    assert_eq!(record.reply_to(&prompt), Some(said(b"a")));
    let mut replay = Replay::open(&path, Matching::Prompt).unwrap();
    assert_eq!((replay.left(), ask(&mut replay, "q")), (1, said(b"a")));
}

#[test]
fn a_kill_at_any_byte_leaves_it_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    fill(&path);
    let bytes = std::fs::read(&path).unwrap();
    let whole = Record::open(&path).unwrap().lines().to_vec();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').flat_map(|(at, _)| [at, at + 1]);
    for cut in (0..bytes.len()).step_by(97).chain(ends) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let ends = bytes[..cut].split(|byte| *byte == b'\n').count() - 1;
        let mut record = Record::open(&path).unwrap();
        assert_eq!(record.lines(), &whole[..ends], "cut at {cut}");
        // It goes on behind the last whole line.
        let number = record.asked("x", &Prompt::new("", "again"), spent(1)).unwrap();
        record.answered(number, &said(b"a"), spent(1)).unwrap();
        assert_eq!(Record::open(&path).unwrap().lines().len(), ends + 2);
    }
}

#[test]
fn a_call_without_an_end_counts_as_the_worst() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    fill(&path);
    let mut record = Record::open(&path).unwrap();
    assert_eq!(record.spent().money, Money(21));
    assert_eq!(record.asked("x", &Prompt::new("", "q"), spent(1000)).unwrap(), 3);
    drop(record);
    assert_eq!(Record::open(&path).unwrap().spent().money, Money(1021));
}

#[test]
fn a_broken_line_in_the_middle_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    fill(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"line\"", "\"lime\"", 1)).unwrap();
    let error = Record::open(&path).err().unwrap().to_string();
    assert!(error.contains("line 1"), "{error}");
}
