//! The campaign as a fold, and proposals as a function of seed and history. The judge is a function of the digest.

mod sources;

use model::{
    BaselineSpec, CampaignSpec, CandidateId, Digest, Estimate, Event, Interval, Judgement, Overhead, Proposal, Rule,
    Seconds, ShapeJudgement, Source, Stage, Trust, Verdict, Workload,
};
use proptest::prelude::*;
use search::campaign::promotion_alpha;
use search::{Action, Campaign, Context, Embedded, Policy, Proposer, Standing, Task, ablation, mining};
use sources::{ATTENTION, constants};

fn spec(seed: u64, max: u32) -> CampaignSpec {
    let baseline = |name: &str, strength: &str, source: Option<Source>| BaselineSpec {
        name: name.to_owned(),
        strength: strength.to_owned(),
        source,
    };
    CampaignSpec {
        problem: "attention".to_owned(),
        problem_digest: Digest::of("attention"),
        seed,
        budget_seconds: None,
        max_candidates: Some(max),
        hypothesis: String::new(),
        baselines: vec![baseline("naive", "naive", Some(Source::c(ATTENTION))), baseline("stock", "stock", None)],
        unconfined: false,
        version: "0".to_owned(),
    }
}

fn judgement(verdict: Verdict, ln: Option<f64>) -> Judgement {
    let shape = |value: f64| ShapeJudgement {
        workload: Workload { name: "len=128".to_owned(), axes: std::collections::BTreeMap::new() },
        verdict: verdict.clone(),
        ln: Some(Estimate { value, interval: Interval { low: value - 0.01, high: value + 0.01 } }),
        e: None,
        p: None,
        units: vec![value],
        pairs: 1,
        candidate: None,
        against: None,
        checks: 1,
        worst_error: 0.1,
    };
    Judgement {
        candidate: Digest::of("b"),
        against: Digest::of("a"),
        shapes: ln.map(shape).into_iter().collect(),
        verdict,
        trust: Trust::Sealed,
        artefact: None,
        log: String::new(),
        remarks: Vec::new(),
        overhead: Overhead::default(),
    }
}

/// A made-up judge: what it says follows from the source alone.
fn judged(source: &Source, salt: &str) -> Judgement {
    let text = Digest::of(format!("{}{salt}", source.digest())).to_string();
    match text.as_bytes()[0] {
        b'0'..=b'5' => judgement(Verdict::Better, Some(-0.1)),
        b'6'..=b'8' => judgement(Verdict::Worse, Some(0.2)),
        b'9' | b'a' => judgement(Verdict::Equivalent, Some(0.001)),
        b'b' | b'c' => judgement(Verdict::Undecided, Some(-0.01)),
        b'd' => judgement(Verdict::Refused { rule: Rule::SystemCall, detail: "write".to_owned() }, None),
        _ => judgement(Verdict::Failed { stage: Stage::Invalid, cause: "out[3]".to_owned() }, None),
    }
}

/// Plays the app from the state `campaign` on; the events that it emits.
fn play(campaign: &mut Campaign, seed: u64, max: u32) -> Vec<Event> {
    let (policy, constants) = (Policy::default(), constants());
    let mut proposer = Embedded::new(seed);
    let mut events = Vec::new();
    loop {
        let source = |id: CandidateId| campaign.archive.get(id).unwrap().proposal.source.clone();
        let event = match campaign.next(Seconds(0.0), &policy) {
            Action::Start => Event::Started { spec: spec(seed, max) },
            Action::MeasureNoise { .. } => {
                Event::NoiseMeasured { judgement: judgement(Verdict::Equivalent, Some(0.0)) }
            }
            Action::Judge { id, against, .. } => Event::Judged { id, against, judgement: judged(&source(id), "") },
            Action::Promote { id, .. } => {
                let judgement = judged(&source(id), "fresh");
                if judgement.verdict == Verdict::Better {
                    Event::Promoted { id, judgement }
                } else {
                    Event::NotPromoted { id, judgement }
                }
            }
            Action::Propose { n } => {
                let context = Context { campaign, hints: "", constants: &constants };
                let proposal = proposer.propose(&context, n).into_iter().next().expect("a proposal");
                assert_eq!(campaign.refusal(&proposal), None, "the proposer skips what it has seen");
                Event::Proposed { id: campaign.archive.next_id(), proposal }
            }
            Action::EndSearch { why } => Event::SearchEnded { why },
            Action::After(Task::Compare { name, .. }) => {
                Event::Compared { name, judgement: judgement(Verdict::Better, Some(-1.0)) }
            }
            Action::After(Task::Ablate { part, winner }) => {
                let source = ablation::source(campaign, &constants, &part);
                assert_ne!(source.as_ref(), Some(&winner), "{} changes nothing", part.words);
                let judgement = source.map_or_else(|| ablation::needed(&winner), |source| judged(&source, ""));
                Event::Ablated { hunk: part.words, judgement }
            }
            Action::After(Task::Verify { id }) => Event::Verified { id, certificate: Box::new(certificate()) },
            Action::Finish => Event::Finished,
            Action::Done => return events,
        };
        campaign.apply(&event);
        events.push(event);
    }
}

fn certificate() -> model::Certificate {
    model::Certificate {
        problem: "attention".to_owned(),
        problem_digest: Digest::of("attention"),
        candidate: Digest::of("b"),
        machine: model::Fingerprint {
            cpu: "none".to_owned(),
            cores: 1,
            features: Vec::new(),
            kernel: "none".to_owned(),
            platform: "none".to_owned(),
            probes: 1,
        },
        trust: Trust::Sealed,
        version: "0".to_owned(),
        held_out_looks: 1,
        rungs: Vec::new(),
    }
}

#[test]
fn a_campaign_runs_to_its_end() {
    let mut campaign = Campaign::default();
    let events = play(&mut campaign, 7, 12);
    assert!(campaign.finished && matches!(events.last(), Some(Event::Finished)));
    let tally = campaign.tally();
    assert_eq!(tally.attempted, 12);
    assert_eq!(tally.attempted, tally.invalid + tally.cheated + tally.noise + tally.loss + tally.win);
    assert_eq!(campaign.comparisons.keys().collect::<Vec<_>>(), ["winner/naive", "winner/stock"]);
    assert!(campaign.certificate.is_some() && !campaign.ablations.is_empty() && campaign.champion() != CandidateId(0));
    let jumps = mining::lineage(&campaign, campaign.champion());
    assert_eq!(jumps.first().map(|jump| jump.parent), Some(CandidateId(0)));
    assert!(jumps.iter().all(|jump| !jump.diff.is_empty()));
    let counts = mining::by_edit(&campaign);
    assert_eq!(counts.values().map(|fared| fared.judged).sum::<u32>(), 12);
}

#[test]
fn the_same_seed_makes_the_same_events() {
    let run = |seed| play(&mut Campaign::default(), seed, 8);
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn an_interrupted_campaign_goes_on_as_if_it_had_not_been() {
    let whole = play(&mut Campaign::default(), 5, 8);
    for cut in [0, 2, 4, 7, whole.len() - 1] {
        let mut campaign = Campaign::fold(&whole[..cut]);
        let rest = play(&mut campaign, 5, 8);
        assert_eq!(whole[cut..], rest[..], "cut at {cut}");
    }
}

fn proposed(text: &str, parent: u32) -> Proposal {
    Proposal {
        source: Source::c(text),
        parents: vec![CandidateId(parent)],
        proposer: "test".to_owned(),
        note: "x".to_owned(),
        edit: "x".to_owned(),
    }
}

/// A campaign whose champion was made by one proposal from ATTENTION.
fn won(edit: &str, note: &str, source: Source) -> Campaign {
    let mut campaign = Campaign::default();
    campaign.apply(&Event::Started { spec: spec(1, 5) });
    let proposal = Proposal { edit: edit.to_owned(), note: note.to_owned(), source, ..proposed("", 0) };
    campaign.apply(&Event::Proposed { id: CandidateId(1), proposal });
    let judgement = judgement(Verdict::Better, Some(-1.0));
    campaign.apply(&Event::Promoted { id: CandidateId(1), judgement });
    campaign
}

#[test]
fn a_winner_without_one_edit_each() {
    let note = "row-block i by 16; register-tile s 8j x 16ir; fast-exp degree 7, degree 6; flag -O2";
    let source = Source { flags: vec!["-O2".to_owned(), "-fipa-pta".to_owned()], ..Source::c("float exp_poly6") };
    let campaign = won("restructure", note, source);
    let parts = ablation::parts(&campaign);
    let without = |part: &ablation::Part| ablation::source(&campaign, &constants(), part);
    let has = |source: Option<Source>| {
        let marks = ["i_at", "lanes", "exp_poly", "-O2", "-fipa-pta"];
        let found =
            |s: Source| marks.into_iter().filter(|m| s.text.contains(m) || s.flags.iter().any(|f| f == m)).collect();
        source.map(found)
    };
    let found: Vec<(&str, Option<Vec<&str>>)> =
        parts.iter().map(|part| (part.words.as_str(), has(without(part)))).collect();
    let expected: [(&str, Option<&[&str]>); 5] = [
        ("row-block i by 16", None),
        ("register-tile s 8j x 16ir", Some(&["i_at", "exp_poly", "-O2"])),
        ("fast-exp degree 6", Some(&["i_at", "lanes", "-O2"])),
        ("flag -O2", Some(&["i_at", "lanes", "exp_poly"])),
        ("flag -fipa-pta", Some(&["exp_poly", "-O2"])),
    ];
    assert_eq!(found, expected.map(|(words, marks)| (words, marks.map(<[&str]>::to_vec))));
}

#[test]
fn a_winner_without_one_hunk_each() {
    let text = ATTENTION.replace("j <= i", "j < i + 1").replace("float sum = 0.0f;", "float sum = 0;\n");
    let campaign = won("rewritten", "by hand", Source::c(text));
    let words: Vec<String> = ablation::parts(&campaign).into_iter().map(|part| part.words).collect();
    assert!(words.len() > 1 && words.iter().all(|words| words.contains("in place of base's")), "{words:?}");
}

#[test]
fn a_start_that_nothing_beat_is_not_compared_with_itself() {
    let mut campaign = Campaign::default();
    campaign.apply(&Event::Started { spec: spec(1, 5) });
    campaign.apply(&Event::SearchEnded { why: "budget spent".to_owned() });
    assert_eq!(campaign.next(Seconds(0.0), &Policy::default()), Action::Finish);
}

#[test]
fn equal_but_for_comments_and_layout() {
    let mut campaign = Campaign::default();
    campaign.apply(&Event::Started { spec: spec(1, 5) });
    let check = |text: String, flags: &[&str], refused: bool| {
        let mut proposal = proposed(&text, 0);
        proposal.source.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        assert_eq!(campaign.refusal(&proposal).is_some(), refused, "{text}");
    };
    check(ATTENTION.to_owned(), &[], true);
    check(ATTENTION.replace("float sum", "float /* so far */   sum"), &[], true);
    check(ATTENTION.replace("    ", "\t"), &[], true);
    check(ATTENTION.to_owned(), &["-funroll-loops"], false);
    check(ATTENTION.replace("j <= i", "j < i"), &[], false);
}

#[test]
fn a_champion_needs_a_fresh_test() {
    let mut campaign = Campaign::default();
    let (policy, now) = (Policy::default(), Seconds(0.0));
    let better = judgement(Verdict::Better, Some(-0.5));
    campaign.apply(&Event::Started { spec: spec(1, 5) });
    campaign.apply(&Event::NoiseMeasured { judgement: judgement(Verdict::Equivalent, None) });
    for (k, text) in [(1, "int a;"), (2, "int b;")] {
        let id = campaign.archive.next_id();
        let against = campaign.champion();
        campaign.apply(&Event::Proposed { id, proposal: proposed(text, against.0) });
        assert_eq!(campaign.next(now, &policy), Action::Judge { id, against, alpha: policy.alpha });
        campaign.apply(&Event::Judged { id, against, judgement: better.clone() });
        let alpha = promotion_alpha(policy.promotion_alpha, k);
        assert_eq!(campaign.next(now, &policy), Action::Promote { id, against, alpha });
        campaign.apply(&Event::Promoted { id, judgement: judgement(Verdict::Better, Some(-0.4)) });
        assert_eq!(campaign.champion(), id);
    }
    // ln along the chain comes from the fresh tests.
    let ln = campaign.best().and_then(search::Candidate::search_ln).unwrap();
    assert!((ln + 0.8).abs() < 1e-12, "{ln}");
    assert_eq!(campaign.archive.get(CandidateId(1)).unwrap().standing, Standing::Promoted);
    assert_eq!(campaign.archive.ancestors(CandidateId(2)), [0, 1, 2].map(CandidateId));
}

#[test]
fn shares_of_alpha_sum_to_alpha() {
    let sum: f64 = (1..100_000).map(|k| promotion_alpha(0.05, k)).sum();
    assert!((sum - 0.05).abs() < 1e-5, "{sum}");
}

#[test]
fn the_budget_ends_the_search() {
    let mut campaign = Campaign::default();
    let mut limited = spec(1, 5);
    limited.budget_seconds = Some(60.0);
    campaign.apply(&Event::Started { spec: limited });
    campaign.apply(&Event::NoiseMeasured { judgement: judgement(Verdict::Equivalent, None) });
    let check = |elapsed: f64, ends: bool| {
        let action = campaign.next(Seconds(elapsed), &Policy::default());
        assert_eq!(matches!(action, Action::EndSearch { .. }), ends, "{action:?}");
    };
    check(59.0, false);
    check(60.0, true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn a_fold_is_the_incremental_state(seed in 0_u64..1000, part in 0.0..1.0_f64) {
        let mut campaign = Campaign::default();
        let events = play(&mut campaign, seed, 6);
        let cut = (events.len() as f64 * part) as usize;
        let mut incremental = Campaign::default();
        events[..cut].iter().for_each(|event| incremental.apply(event));
        prop_assert_eq!(&Campaign::fold(&events[..cut]), &incremental);
        prop_assert_eq!(&Campaign::fold(&events), &campaign);
    }

    #[test]
    fn a_hunk_taken_back_and_all_taken_back(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
        let (base, winner) = (Source::c(old), Source { flags: vec!["-O2".to_owned()], ..Source::c(new) });
        let hunks = mining::hunks(&base, &winner);
        prop_assert!(hunks.iter().all(|hunk| mining::without(&winner, &base, hunk) != winner));
        // From the end on, so that the ranges of those before stay true.
        let back = hunks.iter().rev().fold(winner, |source, hunk| mining::without(&source, &base, hunk));
        prop_assert_eq!(back, base);
    }
}
