//! Endpoints against a service that does everything wrong, once each.

use super::server::{Answer, END, Server, json, stalled, stream};
use propose::ask::Counted;
use propose::endpoint::{Backoff, Endpoint, Key, KeySource, Protocol, Target};
use propose::{Ask, AskError, Asked, Ended, Progress, Prompt, Respondent, Usage};
use std::ops::ControlFlow;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const SECRET: &str = "sk-0123456789";

/// A key, by the only way in.
fn key() -> Key {
    KeySource::Command(format!("echo {SECRET}")).fetch().unwrap()
}

fn endpoint(server: &Server, protocol: Protocol) -> Endpoint {
    let target = Target { protocol, url: server.url.clone(), model: "m-1".to_owned(), temperature: Some(0.5) };
    let backoff = Backoff { tries: 3, first: Duration::from_millis(5), longest: Duration::from_millis(20) };
    Endpoint::new(target, key(), backoff).unwrap()
}

/// Asks, and gives the waits that were told.
fn ask(endpoint: &mut Endpoint, limit: Duration) -> (Asked, Vec<Duration>) {
    let mut waits = Vec::new();
    let mut listen = |progress: Progress| {
        waits.extend(progress.waiting);
        ControlFlow::Continue(())
    };
    let mut conditions = Ask { limit, max_output: 77, progress: &mut listen };
    let asked = endpoint.ask(&Prompt::new("system", "question"), &mut conditions);
    (asked, waits)
}

fn openai(answers: Vec<Answer>) -> (Result<(String, Ended, Usage), AskError>, Server) {
    asked(answers, Protocol::OpenAi, LONG)
}

fn asked(
    answers: Vec<Answer>,
    protocol: Protocol,
    limit: Duration,
) -> (Result<(String, Ended, Usage), AskError>, Server) {
    let server = Server::start(answers);
    let (asked, _) = ask(&mut endpoint(&server, protocol), limit);
    let told = |reply: propose::Reply| (String::from_utf8(reply.text.0).unwrap(), reply.ended, reply.usage);
    (asked.result.map(told), server)
}

fn delta(text: &str) -> String {
    format!(
        r#"data: {{"model":"m-1-x","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#
    )
}

const FINISH: &str = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const COUNTS: &str = r#"data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
const TOLD: Usage = Usage { input: 12, output: 3, counted: Counted::Told };

fn good() -> Answer {
    stream(&[&delta("a"), ": keep awake", &delta("b"), FINISH, COUNTS, "data: [DONE]"], END)
}

#[test]
fn a_stream_is_heard() {
    let (result, server) = openai(vec![good()]);
    assert_eq!(result.unwrap(), ("ab".to_owned(), Ended::Complete, TOLD));
    let request = &server.requests()[0];
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains(&format!("authorization: bearer {SECRET}")), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let expected = serde_json::json!({
        "model": "m-1", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 77, "temperature": 0.5,
        "messages": [{"role": "system", "content": "system"}, {"role": "user", "content": "question"}],
    });
    assert_eq!(body, expected);
}

#[test]
fn a_service_that_does_not_stream_is_heard() {
    let body = r#"{"model":"m","choices":[{"message":{"role":"assistant","content":"ab","reasoning_content":"hm"},"finish_reason":"length"}],
        "usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
    let (result, _) = openai(vec![json(200, "", body)]);
    assert_eq!(result.unwrap(), ("ab".to_owned(), Ended::Length, TOLD));
}

#[test]
fn without_counts_tokens_are_estimated() {
    let (result, _) = openai(vec![stream(&[&delta("abcdef"), FINISH, "data: [DONE]"], END)]);
    assert_eq!(result.unwrap().2, Usage { input: 5, output: 2, counted: Counted::Estimated });
}

#[test]
fn replies_that_end_early_are_replies_that_were_cut() {
    let check = |answer: Answer, expected: Result<(&str, Ended), &str>| {
        let (result, _) = asked(vec![answer], Protocol::OpenAi, Duration::from_secs(2));
        let found = result.map(|(text, ended, _)| (text, ended)).map_err(|error| error.to_string());
        match (found, expected) {
            (Ok((text, ended)), Ok(wanted)) => assert_eq!((text.as_str(), ended), wanted),
            (Err(error), Err(wanted)) => assert!(error.contains(wanted), "{error}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    };
    let a = delta("a");
    check(stream(&[&a], ""), Ok(("a", Ended::Cut)));
    check(stream(&[&a], "ff\r\ndata: {\"cho"), Ok(("a", Ended::Cut)));
    check(stream(&[&a], END), Ok(("a", Ended::Cut)));
    check(stream(&[&a, "data: {\"choices\": [}"], END), Ok(("a", Ended::Cut)));
    check(stalled(&[&a], Duration::from_secs(6)), Ok(("a", Ended::Cut)));
    check(stream(&[&a, r#"data: {"error":{"message":"overloaded"}}"#], END), Ok(("a", Ended::Cut)));
    // Nothing was said: no reply.
    check(stream(&[], ""), Err("can't be read"));
    check(stream(&[], END), Err("it ended before it said anything"));
    check(stream(&["data: {\"choices\": [}"], END), Err("can't be read"));
    check(stream(&[r#"data: {"error":{"message":"overloaded"}}"#], END), Err("overloaded"));
    check(json(200, "", "<html>no</html>"), Err("can't be read"));
    check(stalled(&[], Duration::from_secs(6)), Err("no reply within"));
    check(Answer::Slow(Vec::new(), Duration::from_secs(6)), Err("no reply within"));
    // An end without text is a reply: an empty one.
    check(stream(&[FINISH, "data: [DONE]"], END), Ok(("", Ended::Complete)));
}

#[test]
fn overloads_are_asked_again_after_the_wait_that_they_name() {
    let later = |header: &str| json(429, header, r#"{"error":{"message":"slow down"}}"#);
    let server = Server::start(vec![later("Retry-After: 1\r\n"), json(500, "", "oops"), good()]);
    let (asked, waits) = ask(&mut endpoint(&server, Protocol::OpenAi), LONG);
    assert!(asked.result.is_ok());
    assert_eq!(server.requests().len(), 3);
    // The first wait is the service's, the second our own.
    let first = waits.iter().position(Duration::is_zero).unwrap();
    assert!(waits[0] > Duration::from_millis(500) && waits[first + 1] <= Duration::from_millis(10), "{waits:?}");

    let (result, server) = openai(vec![Answer::Hangup, good()]);
    assert_eq!((result.unwrap().0.as_str(), server.requests().len()), ("ab", 1));
}

#[test]
fn the_tries_end() {
    let busy = || json(503, "retry-after-ms: 1\r\n", r#"{"error":{"message":"busy"}}"#);
    let (result, server) = openai(vec![busy(), busy(), busy(), good()]);
    let expected = AskError::Status {
        place: server.url[7..].trim_end_matches("/v1").to_owned(),
        code: 503,
        message: "busy".to_owned(),
    };
    assert_eq!(result.unwrap_err(), expected);
    assert_eq!(server.requests().len(), 3);
    // A wait beyond the limit is not begun.
    let (result, server) = asked(vec![json(429, "Retry-After: 3600\r\n", ""), good()], Protocol::OpenAi, LONG);
    assert!(matches!(result, Err(AskError::Status { code: 429, .. })));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn refusals_are_not_asked_again_and_give_no_key_away() {
    for status in [400, 401, 403, 404, 302] {
        let body = format!(r#"{{"error":{{"message":"bad key {SECRET}"}}}}"#);
        let (result, server) = openai(vec![json(status, "Location: http://127.0.0.1:1/\r\n", &body), good()]);
        let error = result.unwrap_err();
        assert!(error.to_string().contains("bad key [key]") && !error.to_string().contains(SECRET), "{error}");
        assert_eq!(error.is_lasting(), status >= 400);
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(format!("{:?}", key()), "Key(hidden)");
    let error = SECRET.parse::<KeySource>().unwrap_err().to_string();
    assert!(!error.contains(SECRET), "{error}");
}

#[test]
fn nobody_there_is_said_so() {
    let server = Server::start(Vec::new());
    let (asked, _) = ask(&mut endpoint(&server, Protocol::OpenAi), LONG);
    let error = asked.result.unwrap_err();
    assert!(matches!(error, AskError::Unreachable { .. }), "{error}");
}

#[test]
fn a_listener_can_stop_a_stream() {
    let server = Server::start(vec![good()]);
    let mut stop = |_: Progress| ControlFlow::Break(());
    let mut conditions = Ask { limit: LONG, max_output: 1, progress: &mut stop };
    let asked = endpoint(&server, Protocol::OpenAi).ask(&Prompt::new("", "q"), &mut conditions);
    assert_eq!(asked.result, Err(AskError::Stopped));
}

#[test]
fn messages_are_heard() {
    let events = [
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1-x\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
        "event: ping\ndata: {\"type\": \"ping\"}",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ab\"}}",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}",
    ];
    let (result, server) = asked(vec![stream(&events, END)], Protocol::Anthropic, LONG);
    assert_eq!(result.unwrap(), ("ab".to_owned(), Ended::Complete, TOLD));
    let request = server.requests()[0].to_lowercase();
    assert!(request.starts_with("post /v1/messages http/1.1"), "{request}");
    assert!(request.contains(&format!("x-api-key: {SECRET}")) && request.contains("anthropic-version: 2023-06-01"));
    let body: serde_json::Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let expected = serde_json::json!({
        "model": "m-1", "stream": true, "system": "system", "max_tokens": 77, "temperature": 0.5,
        "messages": [{"role": "user", "content": "question"}],
    });
    assert_eq!(body, expected);
}

#[test]
fn messages_that_go_wrong() {
    let start = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}";
    let text = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}";
    let stop =
        |reason: &str| format!("data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}");
    let failed = "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";
    let check = |events: &[&str], expected: Result<(&str, Ended), &str>| {
        let (result, _) = asked(vec![stream(events, END)], Protocol::Anthropic, LONG);
        match (result, expected) {
            (Ok((text, ended, _)), Ok(wanted)) => assert_eq!((text.as_str(), ended), wanted),
            (Err(error), Err(wanted)) => assert!(error.to_string().contains(wanted), "{error}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    };
    check(&[start, text, &stop("max_tokens")], Ok(("a", Ended::Length)));
    check(&[start, &stop("refusal")], Ok(("", Ended::Withheld)));
    check(&[start, text, failed], Ok(("a", Ended::Cut)));
    check(&[start, text], Ok(("a", Ended::Cut)));
    check(&[start, failed], Err("Overloaded"));
    let whole = r#"{"type":"message","model":"m","content":[{"type":"text","text":"ab"}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":3}}"#;
    let (result, _) = asked(vec![json(200, "", whole)], Protocol::Anthropic, LONG);
    assert_eq!(result.unwrap(), ("ab".to_owned(), Ended::Complete, TOLD));
    let (result, server) = asked(
        vec![
            json(529, "", r#"{"type":"error","error":{"message":"Overloaded"}}"#),
            stream(&[start, text, &stop("end_turn")], END),
        ],
        Protocol::Anthropic,
        LONG,
    );
    assert_eq!((result.unwrap().1, server.requests().len()), (Ended::Complete, 2));
}

#[test]
fn addresses_that_can_not_be_used() {
    for url in ["localhost:80", "ftp://h/v1", "http://", "http://user:secret@h/v1", "http:///v1"] {
        let target =
            Target { protocol: Protocol::OpenAi, url: url.to_owned(), model: "m".to_owned(), temperature: None };
        let error = Endpoint::new(target, key(), Backoff::default()).err().unwrap().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn keys_come_from_elsewhere() {
    let check = |source: &str, expected: Result<&str, &str>| {
        let key = source.parse::<KeySource>().and_then(|source| source.fetch());
        match (key, expected) {
            (Ok(key), Ok(wanted)) => assert_eq!(key.expose().unwrap_or_default(), wanted),
            (Err(error), Err(wanted)) => assert!(error.to_string().contains(wanted), "{error}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    };
    check("none", Ok(""));
    check("command:printf ' k \\n'", Ok("k"));
    check("command:echo k; exit 1", Err("failed"));
    check("command:echo a b", Err("gives no key"));
    check("command:true", Err("gives no key"));
    check("env:ROOFLAB_NO_SUCH_VARIABLE", Err("holds no key"));
    check("env:", Err("never by itself"));
}
