//! A problem, its bounds and what the ledger has seen, in the words of a prompt.

use crate::ceilings::Bounds;
use crate::text;
use model::{Event, Map, Outcome};
use problems::{Argument, Problem, Role, ToleranceRule};
use propose::prompt::{Figure, ProblemFacts};
use search::Campaign;
use search::proposers::written::{Floor, Scene};

/// Findings of the ledger that are told.
const FINDINGS: usize = 8;

/// What a prompt says beside the campaign. `earlier` are campaigns of the same problem, oldest first.
pub fn scene(problem: &Problem, known: Option<(&Map, &Bounds)>, earlier: &[Vec<Event>]) -> Scene {
    // Names stand at the left of a rate or a share, whatever the width of the column.
    let figure = |text: String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let rate = words.iter().position(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(words.len());
        Figure { name: words[..rate].join(" "), value: words[rate..].join(" ") }
    };
    let floor = |bounds: &Bounds, workload: &str| {
        let bound = bounds.of(workload)?;
        Some((workload.to_owned(), Floor { time: bound.floor, bound: bound.term.clone() }))
    };
    Scene {
        problem: ProblemFacts {
            title: problem.title.clone(),
            prototype: problem.prototype(&problem.entry),
            facts: facts(problem),
        },
        entry: problem.entry.clone(),
        machine: known.map_or_else(Vec::new, |(map, _)| {
            let processor = format!("{}, {}", map.fingerprint.cpu, map.fingerprint.features.join(" "));
            let processor = Figure { name: "processor".to_owned(), value: processor };
            std::iter::once(processor).chain(text::ceilings(map).into_iter().map(figure)).collect()
        }),
        floors: known.map_or_else(Default::default, |(_, bounds)| {
            problem.workloads.iter().filter_map(|workload| floor(bounds, &workload.name)).collect()
        }),
        ledger: findings(earlier),
    }
}

fn facts(problem: &Problem) -> Vec<String> {
    let constants: Vec<String> =
        problem.constants.iter().map(|(name, value)| format!("{} = {value}", name.to_uppercase())).collect();
    let names: Vec<&str> = problem.workloads.iter().map(|workload| workload.name.as_str()).collect();
    let edges: Vec<&str> = problem.edges().iter().map(|workload| workload.name.as_str()).collect();
    let mut facts = vec![format!("constants, as macros of problem.h: {}", constants.join(", "))];
    facts.extend(problem.arguments.iter().map(argument));
    facts.push(format!("timed at {}; right at {} too, and between", names.join(", "), edges.join(", ")));
    let measure = match problem.rule {
        ToleranceRule::OracleF32 => "those of the plain code in f32",
        ToleranceRule::OracleBf16 => "what one more rounding of the inputs to bf16 does",
    };
    facts.push(format!("errors up to {} times {measure} are accepted", problem.factor));
    facts
}

fn argument(argument: &Argument) -> String {
    let shape: String = argument.shape.iter().flat_map(|size| ["[", size.text(), "]"]).collect();
    let role = match argument.role {
        Role::Activation => "input, fresh in every call",
        Role::Weight => "input, the same in every call",
        Role::Packed => "packed from the weights by an optional function of the same name with _prepare, untimed",
        Role::Scratch => "scratch, content undefined",
        Role::Output => "output, every element to be written",
    };
    format!("{}{shape}, {}: {role}", argument.name, argument.dtype.c())
}

/// What paid in earlier campaigns and what never did, by kind of edit; the winners' notes.
fn findings(earlier: &[Vec<Event>]) -> Vec<String> {
    let mut found = Vec::new();
    for events in earlier.iter().rev() {
        let campaign = Campaign::fold(events);
        if let Some(best) = campaign.best().filter(|best| best.proposal.proposer != "baseline") {
            let speedup =
                best.speedup().map_or_else(String::new, |speedup| format!("{speedup:.2} times the start's speed: "));
            found.push(format!("{speedup}{}", best.proposal.note));
        }
        for (edit, fared) in search::mining::by_edit(&campaign) {
            if fared.judged >= 5 && fared.better == 0 {
                found.push(format!("{edit}: tried {} times, never faster", fared.judged));
            }
        }
        let outcome = |events: &Vec<Event>| {
            events.iter().filter(|event| matches!(event, Event::Judged { judgement, .. } if judgement.verdict.outcome() == Outcome::Cheated)).count()
        };
        if outcome(events) > 0 {
            found.push(format!("{} candidates broke a rule and were refused", outcome(events)));
        }
    }
    found.truncate(FINDINGS);
    found
}
