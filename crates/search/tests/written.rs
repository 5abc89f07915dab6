//! Proposals that are written: what is offered, when it is silent, and that a record makes the same campaign again.

use model::{
    BaselineSpec, CampaignSpec, Digest, Estimate, Event, Interval, Judgement, Overhead, Proposal, Seconds,
    ShapeJudgement, Source, Trust, Verdict, Workload,
};
use propose::exchange::Exchange;
use propose::{
    Ask, AskError, Asked, Budget, Caps, Ended, Matching, Price, Progress, Prompt, Record, Replay, Reply, Respondent,
    Templates, Usage, Verbatim,
};
use search::proposers::written::{Listener, Parts, Scene, Seat};
use search::{Campaign, Context, Proposer, Silence, Written};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

const START: &str = "void entry(float *x) {\n    x[0] = 1;\n}\n";

/// Answers by a function of the number of the call.
struct Scribe {
    name: &'static str,
    calls: usize,
    says: fn(usize) -> Result<String, AskError>,
}

impl Respondent for Scribe {
    fn ask(&mut self, _: &Prompt, _: &mut Ask<'_>) -> Asked {
        self.calls += 1;
        let reply = |text: String| Reply {
            text: Verbatim::from(text),
            ended: Ended::Complete,
            usage: Usage::estimated(100, 100),
            model: "m".to_owned(),
        };
        Asked { result: (self.says)(self.calls).map(reply), time: Seconds(1.0) }
    }

    fn name(&self) -> &str {
        self.name
    }
}

struct Deaf;

impl Listener for Deaf {
    fn progress(&mut self, _: &str, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn heard(&mut self, _: &str, _: &Exchange) {}
}

fn whole(value: usize) -> String {
    format!("IDEA: store {value}\n```c\nvoid entry(float *x) {{\n    x[0] = {value};\n}}\n```\n")
}

fn scribe(name: &'static str, says: fn(usize) -> Result<String, AskError>) -> Box<dyn Respondent> {
    Box::new(Scribe { name, calls: 0, says })
}

fn written(respondents: Vec<Box<dyn Respondent>>, caps: Caps, record: Option<&Path>) -> Written {
    let seat = |respondent: Box<dyn Respondent>| Seat {
        respondent,
        system: None,
        price: Price { input: 1.0, output: 1.0 },
        max_output: 1000,
        limit: Duration::from_secs(60),
    };
    let record = record.map(|path| Record::open(path).unwrap());
    Written::new(Parts {
        seed: 3,
        scene: Scene { entry: "entry".to_owned(), ..Scene::default() },
        templates: Templates::shipped().unwrap(),
        seats: respondents.into_iter().map(seat).collect(),
        budget: Budget::new(caps, record.as_ref().map(Record::spent).unwrap_or_default()),
        record,
        listener: Box::new(Deaf),
    })
}

fn started() -> Campaign {
    let baseline =
        BaselineSpec { name: "naive".to_owned(), strength: "naive".to_owned(), source: Some(Source::c(START)) };
    let spec = CampaignSpec {
        problem: "p".to_owned(),
        problem_digest: Digest::of("p"),
        seed: 3,
        budget_seconds: None,
        max_candidates: None,
        hypothesis: String::new(),
        baselines: vec![baseline],
        unconfined: false,
        version: "0".to_owned(),
    };
    Campaign::fold([&Event::Started { spec }])
}

fn offer(written: &mut Written, campaign: &Campaign, n: usize) -> Vec<Proposal> {
    written.propose(&Context { campaign, hints: "", constants: &BTreeMap::new() }, n)
}

/// Better or not by the digest.
fn judged(source: &Source) -> Judgement {
    let better = source.digest().to_string().as_bytes()[0].is_multiple_of(2);
    let (verdict, value) = if better { (Verdict::Better, -0.1) } else { (Verdict::Worse, 0.1) };
    let shape = ShapeJudgement {
        workload: Workload { name: "n=1".to_owned(), axes: BTreeMap::new() },
        verdict: verdict.clone(),
        ln: Some(Estimate { value, interval: Interval { low: value - 0.01, high: value + 0.01 } }),
        e: None,
        p: None,
        units: vec![value],
        pairs: 1,
        candidate: Some(Seconds(1e-3)),
        against: Some(Seconds(1e-3)),
        checks: 1,
        worst_error: 0.1,
    };
    Judgement {
        candidate: source.digest(),
        against: Digest::of("a"),
        shapes: vec![shape],
        verdict,
        trust: Trust::Sealed,
        artefact: None,
        log: String::new(),
        remarks: Vec::new(),
        overhead: Overhead::default(),
    }
}

/// Up to `n` proposals, one after the other, each judged and the better ones promoted.
fn play(written: &mut Written, campaign: &mut Campaign, n: usize) -> Vec<Proposal> {
    let mut found = Vec::new();
    for _ in 0..n {
        let Some(proposal) = offer(written, campaign, 1).pop() else { break };
        let id = campaign.archive.next_id();
        let judgement = judged(&proposal.source);
        campaign.apply(&Event::Proposed { id, proposal: proposal.clone() });
        campaign.apply(&Event::Judged { id, against: campaign.champion(), judgement: judgement.clone() });
        if judgement.verdict == Verdict::Better {
            campaign.apply(&Event::Promoted { id, judgement });
        }
        found.push(proposal);
    }
    found
}

#[test]
fn a_reply_is_a_proposal() {
    let mut written = written(vec![scribe("a", |n| Ok(whole(n + 1)))], Caps::default(), None);
    let proposals = offer(&mut written, &started(), 2);
    let short = |p: &Proposal| (p.proposer.clone(), p.note.clone(), p.edit.clone(), p.parents[0].0);
    let expected = |note: &str| ("a".to_owned(), note.to_owned(), "written".to_owned(), 0);
    assert_eq!(proposals.iter().map(short).collect::<Vec<_>>(), [expected("store 2"), expected("store 3")]);
    assert_eq!(proposals[0].source.text, START.replace('1', "2"));
}

#[test]
fn what_was_there_before_is_not_offered() {
    // The start itself, its twin in another layout, then twice the same in one batch, then something new.
    let says = |n: usize| -> Result<String, AskError> {
        Ok(match n {
            1 => whole(1),
            2 => whole(1).replace("x[0] = 1;", "/* new */ x[0]=1;"),
            3 | 4 => whole(2),
            _ => whole(3),
        })
    };
    let mut written = written(vec![scribe("a", says)], Caps::default(), None);
    let notes: Vec<String> = offer(&mut written, &started(), 2).into_iter().map(|p| p.note).collect();
    assert_eq!(notes, ["store 2", "store 3"]);
}

#[test]
fn silence_has_a_reason() {
    let check = |says: fn(usize) -> Result<String, AskError>, caps: Caps, expected: &str| {
        let mut written = written(vec![scribe("a", says)], caps, None);
        assert!(play(&mut written, &mut started(), 9).len() < 9);
        let said = match written.silence() {
            Silence::Done => "done".to_owned(),
            Silence::Spent(why) => format!("spent: {why}"),
            Silence::Trouble(why) => format!("trouble: {why}"),
        };
        assert!(said.contains(expected), "{said}");
    };
    check(|_| Ok("no code".to_owned()), Caps::default(), "trouble: 6 replies in a row");
    check(|n| Ok(whole(n + 1)), Caps { calls: Some(3), ..Caps::default() }, "spent: the cap on calls");
    let refused = |_: usize| -> Result<String, AskError> {
        Err(AskError::Status { place: "h".to_owned(), code: 401, message: "key".to_owned() })
    };
    check(refused, Caps::default(), "trouble: h answered 401");
    // What passes is asked again.
    let busy = |n: usize| -> Result<String, AskError> {
        if n == 2 { Err(AskError::TimedOut { limit: Seconds(1.0) }) } else { Ok(whole(n + 1)) }
    };
    check(busy, Caps { calls: Some(4), ..Caps::default() }, "spent: the cap on calls");
}

#[test]
fn a_record_makes_the_same_campaign_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.jsonl");
    // Every third reply can't be used, and every seventh neither at the second try.
    let says = |n: usize| -> Result<String, AskError> {
        Ok(if n.is_multiple_of(3) || n.is_multiple_of(7) { "no code".to_owned() } else { whole(n + 1) })
    };
    let first = play(&mut written(vec![scribe("a", says)], Caps::default(), Some(&path)), &mut started(), 12);
    assert_eq!(first.len(), 12);
    for matching in [Matching::Prompt, Matching::Order] {
        let replay = Replay::open(&path, matching).unwrap();
        let mut again = written(vec![Box::new(replay)], Caps::default(), None);
        assert_eq!(play(&mut again, &mut started(), 12), first, "{matching:?}");
        assert_eq!(play(&mut again, &mut started(), 1), []);
        assert!(matches!(again.silence(), Silence::Spent(_)));
    }
    // Killed after any number of proposals, and begun anew: whoever is asked is asked for the rest alone.
    for kept in 0..first.len() {
        let mut campaign = started();
        let cut = folder.path().join(format!("{kept}.jsonl"));
        std::fs::copy(&path, &cut).unwrap();
        let mut nobody = written(vec![scribe("a", |_| Err(AskError::Stopped))], Caps::default(), Some(&cut));
        let before = play(&mut nobody, &mut campaign, kept);
        let after = play(&mut nobody, &mut campaign, first.len() - kept);
        assert_eq!([before, after].concat(), first);
    }
}

#[test]
fn who_gains_is_asked_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.jsonl");
    let useless = |_: usize| -> Result<String, AskError> { Ok("no code".to_owned()) };
    let both = vec![scribe("good", |n| Ok(whole(n + 1))), scribe("useless", useless)];
    let mut written = written(both, Caps::default(), Some(&path));
    let mut campaign = started();
    let found = play(&mut written, &mut campaign, 40);
    assert_eq!(found.len(), 40);
    assert!(found.iter().all(|proposal| proposal.proposer == "good"));
    let record = Record::open(&path).unwrap();
    let asked = |name: &str| {
        let to = |line: &&propose::record::Line| matches!(line, propose::record::Line::Asked { respondent, .. } if respondent == name);
        record.lines().iter().filter(to).count()
    };
    assert_eq!(asked("good"), 40);
    assert!((1..20).contains(&asked("useless")), "{}", asked("useless"));
}
