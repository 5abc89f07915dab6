//! Exchanges with a respondent that says what it is told to.

use super::{Nothing, base, reply};
use model::Seconds;
use propose::budget::{Budget, Caps, Money, Price};
use propose::exchange::{Desk, Exchange, Outcome, Question, exchange};
use propose::{Ask, AskError, Asked, Ended, Fault, Matching, Progress, Prompt, Record, Replay, Respondent, Templates};
use std::ops::ControlFlow;
use std::time::Duration;

const GOOD: &str = "IDEA: halve\n<<<<<<< SEARCH\n    float sum = 0;\n=======\n    float sum = 0.5f;\n>>>>>>> REPLACE\n";
const WRONG: &str = "<<<<<<< SEARCH\nno such line\n=======\nx\n>>>>>>> REPLACE\n";
const SAME: &str = "<<<<<<< SEARCH\n    float sum = 0;\n=======\n    float  sum = 0;\n>>>>>>> REPLACE\n";

/// Says its lines one after the other.
struct Parrot {
    lines: Vec<Result<&'static str, AskError>>,
    heard: Vec<Prompt>,
}

impl Respondent for Parrot {
    fn ask(&mut self, prompt: &Prompt, _: &mut Ask<'_>) -> Asked {
        self.heard.push(prompt.clone());
        let result = self.lines.remove(0).map(|line| reply(line.as_bytes(), Ended::Complete));
        Asked { result, time: Seconds(2.0) }
    }

    fn name(&self) -> &'static str {
        "parrot"
    }
}

fn run(respondent: &mut dyn Respondent, caps: Caps, record: Option<&mut Record>) -> (Exchange, Budget) {
    let mut budget = Budget::new(caps, record.as_ref().map(|record| record.spent()).unwrap_or_default());
    let mut deaf = |_: Progress| ControlFlow::Continue(());
    let mut desk = Desk {
        respondent,
        budget: &mut budget,
        record,
        price: Price { input: 1.0, output: 2.0 },
        max_output: 100,
        limit: Duration::from_secs(60),
        progress: &mut deaf,
    };
    let (files, templates) = (base(), Templates::shipped().unwrap());
    let prompt = Prompt::new("system", "question");
    let question = Question { prompt: &prompt, files: &files, entry: "entry", known: &Nothing, templates: &templates };
    let exchange = exchange(&mut desk, &question);
    (exchange, budget)
}

fn parrot(lines: &[Result<&'static str, AskError>]) -> Parrot {
    Parrot { lines: lines.to_vec(), heard: Vec::new() }
}

/// The outcome in a word, what was sent back, and how often was asked.
fn check(lines: &[Result<&'static str, AskError>], caps: Caps, expected: (&str, Option<&str>, usize)) {
    let mut parrot = parrot(lines);
    let (exchange, budget) = run(&mut parrot, caps, None);
    let outcome = match &exchange.outcome {
        Outcome::Candidate(candidate) => candidate.note.clone(),
        Outcome::Fault(fault) => fault.kind().to_owned(),
        Outcome::Failed(error) => error.to_string(),
        Outcome::Exhausted(exhausted) => exhausted.cap.clone(),
    };
    let repaired = exchange.repaired.as_ref().map(Fault::kind);
    assert_eq!((outcome.as_str(), repaired, parrot.heard.len()), expected);
    assert_eq!(budget.spent(), exchange.spent);
    assert_eq!(exchange.spent.calls as usize, parrot.heard.len());
}

#[test]
fn a_fault_is_sent_back_once() {
    let free = Caps::default();
    check(&[Ok(GOOD)], free, ("halve", None, 1));
    check(&[Ok(WRONG), Ok(GOOD)], free, ("halve", Some("not-found"), 2));
    check(&[Ok(WRONG), Ok("")], free, ("empty", Some("not-found"), 2));
    check(&[Ok(SAME)], free, ("no-change", None, 1));
    check(&[Err(AskError::Stopped)], free, ("stopped", None, 1));
    check(&[Ok(WRONG), Err(AskError::Stopped)], free, ("stopped", Some("not-found"), 2));
    let mut parrot = parrot(&[Ok(WRONG), Ok(GOOD)]);
    run(&mut parrot, free, None);
    assert_eq!(parrot.heard[1].turns.len(), 3);
    assert_eq!(parrot.heard[1].turns[1].text, WRONG);
    assert!(parrot.heard[1].turns[2].text.contains("not found in candidate.c:\nno such line"));
}

#[test]
fn caps_hold_before_the_call() {
    check(&[], Caps { calls: Some(0), ..Caps::default() }, ("calls", None, 0));
    // 100 tokens of a reply at 2 are 200 millionths: refused, though the reply would have been shorter.
    check(&[], Caps { money: Some(Money(199)), ..Caps::default() }, ("money", None, 0));
    check(&[Ok(GOOD)], Caps { money: Some(Money(300)), ..Caps::default() }, ("halve", None, 1));
    // Nothing left for the second try: the fault stands.
    check(&[Ok(WRONG)], Caps { calls: Some(1), ..Caps::default() }, ("not-found", Some("not-found"), 1));
}

#[test]
fn a_replay_decides_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let caps = Caps { money: Some(Money(5000)), ..Caps::default() };
    let mut record = Record::open(&path).unwrap();
    let (first, _) = run(&mut parrot(&[Ok(WRONG), Ok(GOOD)]), caps, Some(&mut record));
    assert_eq!(record.spent(), first.spent);
    let (again, _) = run(&mut Replay::open(&path, Matching::Prompt).unwrap(), caps, None);
    assert_eq!(again, first);
    // Taken up after a kill: what is paid for isn't asked again.
    let (resumed, budget) = run(&mut parrot(&[]), caps, Some(&mut record));
    assert_eq!((resumed.outcome, resumed.spent), (first.outcome, propose::Spent::default()));
    assert_eq!(budget.spent(), first.spent);
}

#[test]
fn what_may_be_charged_for_is_counted_at_the_worst() {
    let spent = |error: AskError| run(&mut parrot(&[Err(error)]), Caps::default(), None).0.spent;
    let worst = spent(AskError::TimedOut { limit: Seconds(60.0) });
    assert!(worst.money >= Money(200) && worst.time == Seconds(2.0));
    let free = spent(AskError::Unreachable { place: "h".to_owned(), cause: String::new() });
    assert_eq!((free.money, free.calls), (Money(0), 1));
}
