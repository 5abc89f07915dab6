//! The whole way, against a service that answers wrongly in every way that we know of: asked over HTTP, read, applied or
//! sent back, and written down. The record then gives the same again without the service.

use super::server::{Answer, END, Server, json, stream};
use super::{base, files};
use model::Digest;
use propose::budget::{Budget, Caps, Price};
use propose::endpoint::{Backoff, Endpoint, KeySource, Protocol, Target};
use propose::exchange::{Desk, Exchange, Outcome, Question, exchange};
use propose::record::Line;
use propose::{Fault, Files, Known, Matching, Progress, Prompt, Record, Replay, Respondent, Templates};
use serde_json::json;
use std::ops::ControlFlow;
use std::time::Duration;

const BLOCK: &str = "<<<<<<< SEARCH\n    float sum = 0;\n=======\n    float sum = 0.5f;\n>>>>>>> REPLACE\n";

/// Knows candidates by their text without white space; the one with 0.25 was there before.
struct Earlier;

impl Known for Earlier {
    fn identity(&self, files: &Files) -> Digest {
        Digest::of(files.values().flat_map(|text| text.split_whitespace()).collect::<String>())
    }

    fn seen(&self, identity: &Digest) -> Option<String> {
        let earlier = base().into_iter().map(|(name, text)| (name, text.replace("sum = 0;", "sum = 0.25f;"))).collect();
        (*identity == self.identity(&earlier)).then(|| "candidate 3".to_owned())
    }
}

/// A stream that says a text in pieces, as tokens come, and how it ended.
fn ended(text: &str, reason: &str) -> Answer {
    let events = pieces(text).chain([event(&json!({"delta": {}, "finish_reason": reason})), "data: [DONE]".to_owned()]);
    let events: Vec<String> = events.collect();
    stream(&events.iter().map(String::as_str).collect::<Vec<_>>(), END)
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let said = |piece: &[char]| event(&json!({"delta": {"content": piece.iter().collect::<String>()}}));
    chars.chunks(7).map(said).collect::<Vec<_>>().into_iter()
}

fn event(choice: &serde_json::Value) -> String {
    format!("data: {}", json!({"model": "m-1", "choices": [choice]}))
}

fn said(text: &str) -> Answer {
    ended(text, "stop")
}

/// A stream that breaks off after a text.
fn cut(text: &str) -> Answer {
    let events: Vec<String> = pieces(text).collect();
    stream(&events.iter().map(String::as_str).collect::<Vec<_>>(), "ff\r\ndata: {\"cho")
}

fn ask(respondent: &mut dyn Respondent, files: &Files, record: Option<&mut Record>) -> Exchange {
    let mut budget = Budget::new(Caps::default(), propose::Spent::default());
    let mut deaf = |_: Progress| ControlFlow::Continue(());
    let mut desk = Desk {
        respondent,
        budget: &mut budget,
        record,
        price: Price { input: 1.0, output: 2.0 },
        max_output: 100,
        limit: Duration::from_secs(20),
        progress: &mut deaf,
    };
    let templates = Templates::shipped().unwrap();
    let prompt = Prompt::new("system", "question");
    let question = Question { prompt: &prompt, files, entry: "entry", known: &Earlier, templates: &templates };
    exchange(&mut desk, &question)
}

/// What came of it, in words: form and levels of a candidate, the fault, or the error.
fn words(exchange: &Exchange) -> String {
    match &exchange.outcome {
        Outcome::Candidate(candidate) => {
            assert!(candidate.files.values().any(|text| text.contains("0.5f")), "{candidate:?}");
            format!("{:?} {:?}", candidate.form, candidate.levels)
        }
        Outcome::Fault(fault) => fault.kind().to_owned(),
        Outcome::Failed(error) => format!("failed: {error}"),
        Outcome::Exhausted(exhausted) => exhausted.to_string(),
    }
}

/// Against a part of the outcome's words, what was sent back, and the requests that the service had.
fn check_files(files: &Files, answers: Vec<Answer>, expected: (&str, Option<&str>, usize)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.jsonl");
    let server = Server::start(answers);
    let target =
        Target { protocol: Protocol::OpenAi, url: server.url.clone(), model: "m-1".to_owned(), temperature: None };
    let backoff = Backoff { tries: 3, first: Duration::from_millis(1), longest: Duration::from_millis(5) };
    let mut endpoint = Endpoint::new(target, KeySource::None.fetch().unwrap(), backoff).unwrap();
    let mut record = Record::open(&path).unwrap();
    let found = ask(&mut endpoint, files, Some(&mut record));
    let said = words(&found);
    assert!(said.contains(expected.0), "{said} is not {}", expected.0);
    assert_eq!(found.repaired.as_ref().map(Fault::kind), expected.1, "{said}");
    assert_eq!(server.requests().len(), expected.2, "{said}");
    // Every call is in the record with its end, and the record alone decides the same.
    let calls = 1 + usize::from(expected.1.is_some());
    let asked = record.lines().iter().filter(|line| matches!(line, Line::Asked { .. })).count();
    assert_eq!((asked, record.lines().len()), (calls, 2 * calls), "{said}");
    assert_eq!(record.spent().calls as usize, calls);
    let again = ask(&mut Replay::open(&path, Matching::Prompt).unwrap(), files, None);
    assert_eq!((again.outcome, again.repaired), (found.outcome, found.repaired), "the replay of {said}");
}

fn check(answers: Vec<Answer>, expected: (&str, Option<&str>, usize)) {
    check_files(&base(), answers, expected);
}

/// One reply that is understood.
fn read(text: &str, expected: &str) {
    check(vec![said(text)], (expected, None, 1));
}

/// One reply that is sent back, and then a good one.
fn sent_back(answer: Answer, fault: &str) {
    check(vec![answer, said(BLOCK)], ("Blocks [Exact]", Some(fault), 2));
}

/// One reply that is not wanted, and not sent back.
fn unwanted(answer: Answer, fault: &str) {
    check(vec![answer], (fault, None, 1));
}

#[test]
fn what_lies_around_code_is_forgiven() {
    let exact = "Blocks [Exact]";
    read(&format!("Sure! Here is a faster one.\n\n```c\n{BLOCK}```\n\nLet me know how it goes."), exact);
    read(&BLOCK.replace('\n', "\r\n"), exact);
    read(&format!("\u{feff}{BLOCK}"), exact);
    read(&format!("caf\u{e9} \u{fffd}\n{BLOCK}"), exact);
    read(&format!("<think>\nMaybe {}\n</think>\n{BLOCK}", BLOCK.replace("0.5f", "7")), exact);
    read(&format!("Maybe {}\n</think>\n{BLOCK}", BLOCK.replace("0.5f", "7")), exact);
    read(&format!("\u{1b}[32m{BLOCK}\u{1b}[0m<|im_end|>"), exact);
    let apart = event(&json!({"delta": {"reasoning_content": "hm", "content": null}}));
    let done = event(&json!({"delta": {"content": BLOCK}, "finish_reason": "stop"}));
    check(vec![stream(&[&apart, &done, "data: [DONE]"], END)], (exact, None, 1));
}

#[test]
fn every_form_is_read() {
    let diff = "--- a/candidate.c\n+++ b/candidate.c\n@@ -4,9 +4,1 @@\n-    float sum = 0;\n+    float sum = 0.5f;\n";
    read(diff, "Diff [Exact]");
    read(&format!("```diff\n{diff}```"), "Diff [Exact]");
    let whole = base()["candidate.c"].replace("sum = 0;", "sum = 0.5f;");
    read(&format!("```c\n{whole}```"), "Whole [Whole]");
    read(&whole, "Whole [Whole]");
    read("<<<<<<< SEARCH\nfloat  sum = 0;\n=======\nfloat sum = 0.5f;\n>>>>>>> REPLACE", "Blocks [Whitespace]");
    let almost = "    float sum = 0;\n    for (int i = 0; i < n; i++) {\n        sum += a[i] * b[i];\n\
                  /* done */\n    }\n    return sum;";
    let anchored = format!("<<<<<<< SEARCH\n{almost}\n=======\n    return 0.5f;\n>>>>>>> REPLACE");
    read(&anchored, "Blocks [Anchored]");
    let two = files(&[("a.c", "void entry(void) {\n    float sum = 0;\n}\n"), ("b.h", "#define N 1\n")]);
    let header = "b.h\n<<<<<<< SEARCH\n#define N 1\n=======\n#define N 2\n>>>>>>> REPLACE\n";
    check_files(&two, vec![said(&format!("a.c\n{BLOCK}\n{header}"))], ("Blocks [Exact, Exact]", None, 1));
}

#[test]
fn what_can_be_mended_is_sent_back_once() {
    sent_back(said(""), "empty");
    sent_back(said("<think>hm</think>"), "only-thinking");
    sent_back(said("I would unroll the loop."), "no-code");
    sent_back(said("```c\nint other(void) { return 0; }\n```"), "no-entry");
    sent_back(said(&BLOCK.replace("0.5f", "0.5f /* caf\u{fffd} */")), "not-text");
    sent_back(said(&BLOCK.replace("=======\n", "")), "malformed");
    sent_back(said(&BLOCK.replace("float sum = 0;", "float total = 0;")), "not-found");
    let twice = "<<<<<<< SEARCH\n    for (int i = 0; i < n; i++) {\n=======\n    while (1) {\n>>>>>>> REPLACE\n";
    sent_back(said(twice), "ambiguous");
    check(vec![said(twice), said(twice)], ("ambiguous", Some("ambiguous"), 2));
    let whole = |n: u32| format!("```c\nvoid entry(void) {{ x = {n}; }}\n```\n");
    sent_back(said(&(whole(1) + &whole(2))), "several-wholes");
    sent_back(said("```c\n// ... rest unchanged\nvoid entry(void) {}\n```"), "elided");
    sent_back(said(&BLOCK.replace("    float sum = 0;", "")), "empty-search");
}

#[test]
fn replies_that_end_early_are_sent_back() {
    sent_back(ended(BLOCK, "length"), "truncated");
    sent_back(ended(&BLOCK[..40], "length"), "truncated");
    sent_back(cut(BLOCK), "truncated");
    sent_back(cut("```c\nvoid entry(void) {"), "truncated");
    sent_back(ended("", "length"), "empty");
    // The second one, too: that was the only second try.
    check(vec![cut(BLOCK), cut(BLOCK)], ("truncated", Some("truncated"), 2));
}

#[test]
fn what_is_not_wanted_is_not_sent_back() {
    unwanted(said(&BLOCK.replace("float sum = 0.5f;", "float  sum  =  0;")), "no-change");
    unwanted(said(&BLOCK.replace("0.5f", "0.25f")), "duplicate");
    unwanted(ended("I can't help with that.", "content_filter"), "withheld");
}

#[test]
fn only_regions_may_be_changed() {
    let text = "// EVOLVE-BLOCK-START\n    float sum = 0;\n// EVOLVE-BLOCK-END\nvoid entry(void) {}\n";
    let one = files(&[("candidate.c", text)]);
    let outside = "<<<<<<< SEARCH\nvoid entry(void) {}\n=======\nvoid entry(void) { }\n>>>>>>> REPLACE\n";
    check_files(&one, vec![said(outside), said(BLOCK)], ("Blocks [Exact]", Some("outside"), 2));
}

#[test]
fn services_that_fail_are_asked_again_or_given_up() {
    let exact = "Blocks [Exact]";
    check(vec![json(429, "Retry-After: 0\r\n", "{}"), json(500, "", "oops"), said(BLOCK)], (exact, None, 3));
    check(vec![Answer::Hangup, said(BLOCK)], (exact, None, 1));
    check(vec![json(401, "", r#"{"error":{"message":"no key"}}"#)], ("failed: 127.0.0.1", None, 1));
    check(vec![json(200, "", "<html>sign in</html>")], ("can't be read", None, 1));
    check(vec![json(200, "", r#"{"choices":[]}"#)], ("ended before it said anything", None, 1));
    check(vec![json(200, "", r#"{"choices":[{"message":{"content":5}}]}"#)], ("can't be read", None, 1));
    check(vec![stream(&[r#"data: {"error":{"message":"overloaded"}}"#], END)], ("overloaded", None, 1));
    check(vec![stream(&["data: {\"choices\": [}"], END)], ("can't be read", None, 1));
    check(vec![Answer::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"cho".to_vec())], ("failed", None, 1));
    check(vec![Answer::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()); 3], ("failed: can't reach", None, 3));
}

#[test]
fn services_that_speak_a_little_differently_are_understood() {
    let exact = "Blocks [Exact]";
    let message = |content: serde_json::Value| json!({"choices": [{"message": {"content": content}}]}).to_string();
    check(vec![json(200, "", &message(json!(BLOCK)))], (exact, None, 1));
    let parts = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": BLOCK}]);
    check(vec![json(200, "", &message(parts))], (exact, None, 1));
    // A stream that calls itself JSON, and one with bytes that are no UTF-8.
    let whole = event(&json!({"delta": {"content": BLOCK}, "finish_reason": "stop"})) + "\n\ndata: [DONE]\n\n";
    check(vec![json(200, "", &whole)], (exact, None, 1));
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_vec();
    bytes.extend(whole.replace("0.5f", "0.5f /* ? */").bytes().map(|byte| if byte == b'?' { 0xff } else { byte }));
    sent_back(Answer::Raw(bytes), "not-text");
}
