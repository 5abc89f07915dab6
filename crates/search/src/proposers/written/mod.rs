//! Proposals that someone writes: language models, programs, people. Builds the brief from the campaign, asks through
//! `propose`, and gives what comes back as proposals.
//!
//! Must not open or start anything: respondents, records and budgets are given. Which parent is shown and who is asked
//! follow from the seed, the campaign and the record; so a replay of the record makes the same campaign again.

mod brief;

use crate::campaign::Campaign;
use crate::proposers::embedded::identity;
use crate::proposers::{Context, Proposer, Silence};
use crate::selection;
use model::{CandidateId, Digest, Proposal, Source, Verdict};
use propose::ask::AskError;
use propose::exchange::{Candidate, Desk, Exchange, Outcome, Question, exchange};
use propose::record::Line;
use propose::{Bandit, Budget, Files, Known, Price, Progress, Prompt, Record, Respondent, Spent, Templates, Trial};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

pub use brief::{FILE, Floor, Scene};

/// Exchanges for one proposal before the proposer says that nobody gives it anything.
const TRIES: u32 = 6;
/// What an hour of waiting costs, in units of money, so that what is slow isn't free: about what a core rents for, with
/// the campaign that waits for it.
const HOUR: f64 = 0.1;
/// Tokens of a reply that a model is expected to cost before it was asked.
const EXPECTED_OUTPUT: u64 = 2000;

/// Someone to ask, with what the asking needs.
pub struct Seat {
    /// Whom.
    pub respondent: Box<dyn Respondent>,
    /// A template in place of `system.txt`.
    pub system: Option<String>,
    /// What tokens cost.
    pub price: Price,
    /// Tokens of a reply at most.
    pub max_output: u64,
    /// Wall-clock limit of a call.
    pub limit: Duration,
}

/// Who listens while someone is asked.
pub trait Listener {
    /// Hears how far a call to `respondent` is; `Break` stops it.
    fn progress(&mut self, respondent: &str, progress: Progress) -> ControlFlow<()>;

    /// Hears what came of an exchange.
    fn heard(&mut self, respondent: &str, exchange: &Exchange);
}

/// What a campaign of this proposer is run with.
pub struct Parts {
    /// Of every choice.
    pub seed: u64,
    /// What is known beside the campaign.
    pub scene: Scene,
    /// The prompts' templates.
    pub templates: Templates,
    /// Whom to ask; at least one.
    pub seats: Vec<Seat>,
    /// Caps, and what was used up of them.
    pub budget: Budget,
    /// Where everything is written down; none for a replay.
    pub record: Option<Record>,
    /// Who listens.
    pub listener: Box<dyn Listener>,
}

/// The proposer.
pub struct Written {
    parts: Parts,
    silence: Option<Silence>,
}

impl Written {
    /// With all that it needs.
    pub fn new(parts: Parts) -> Self {
        Self { parts, silence: None }
    }

    fn seat(&self, campaign: &Campaign, attempt: u32) -> usize {
        if self.parts.seats.len() == 1 {
            return 0;
        }
        let expected = |seat: &Seat| {
            let usage = propose::Usage { output: EXPECTED_OUTPUT, ..propose::Usage::estimated(0, 0) };
            seat.price.cost(&usage).units() + HOUR / 60.0
        };
        let bandit = Bandit::new(self.parts.seed, self.parts.seats.iter().map(expected).collect());
        bandit.choose(&self.trials(campaign), counter(campaign, attempt))
    }

    /// One trial for each proposal that was judged, and one for what a seat's other calls cost.
    fn trials(&self, campaign: &Campaign) -> Vec<Trial> {
        let lines = self.parts.record.as_ref().map_or(&[][..], Record::lines);
        let mut spent: BTreeMap<&str, Spent> = BTreeMap::new();
        for line in lines {
            if let Line::Answered { respondent, spent: cost, .. } = line {
                let sum = spent.entry(respondent).or_default();
                *sum = *sum + *cost;
            }
        }
        let mut trials = Vec::new();
        for (arm, seat) in self.parts.seats.iter().enumerate() {
            let name = seat.respondent.name();
            let gains: Vec<f64> = campaign.archive.iter().filter(|c| c.proposal.proposer == name).map(gain).collect();
            let all = spent.get(name).copied().unwrap_or_default();
            let calls = f64::from(all.calls).max(gains.len() as f64);
            let cost = (all.money.units() + all.time.0 / 3600.0 * HOUR) / calls.max(1.0);
            let fruitless = (calls as usize).saturating_sub(gains.len());
            let gains = gains.into_iter().chain(std::iter::repeat_n(0.0, fruitless));
            trials.extend(gains.map(|gain| Trial { arm, gain, cost }));
        }
        trials
    }

    /// One proposal; none when there is a reason to be silent.
    fn one(&mut self, context: &Context<'_>, taken: &[Digest]) -> Option<Proposal> {
        for attempt in 0..TRIES {
            let parent = parent(self.parts.seed, context.campaign, attempt)?;
            let (exchange, name) = match self.ask(context, parent, attempt, taken) {
                Ok(asked) => asked,
                Err(error) => {
                    self.silence = Some(Silence::Trouble(error.to_string()));
                    return None;
                }
            };
            self.parts.listener.heard(&name, &exchange);
            match exchange.outcome {
                Outcome::Candidate(candidate) => return Some(proposal(parent, candidate, name)),
                Outcome::Failed(error @ AskError::NotRecorded { .. }) => {
                    self.silence = Some(Silence::Spent(error.to_string()));
                    return None;
                }
                Outcome::Failed(error) if error.is_lasting() => {
                    self.silence = Some(Silence::Trouble(error.to_string()));
                    return None;
                }
                Outcome::Exhausted(exhausted) => {
                    self.silence = Some(Silence::Spent(exhausted.to_string()));
                    return None;
                }
                Outcome::Fault(_) | Outcome::Failed(_) => {}
            }
        }
        self.silence = Some(Silence::Trouble(format!("{TRIES} replies in a row gave no candidate")));
        None
    }

    fn ask(
        &mut self,
        context: &Context<'_>,
        parent: &crate::Candidate,
        attempt: u32,
        taken: &[Digest],
    ) -> Result<(Exchange, String), AskError> {
        let at = self.seat(context.campaign, attempt);
        let brief = brief::brief(&self.parts.scene, context, parent, &number(context.campaign, attempt));
        let parts = &mut self.parts;
        let seat = &mut parts.seats[at];
        let prompt = parts.templates.prompt(&brief, seat.system.as_deref())?;
        let name = seat.respondent.name().to_owned();
        let listener = &mut parts.listener;
        let mut progress = |progress: Progress| listener.progress(&name, progress);
        let mut desk = Desk {
            respondent: seat.respondent.as_mut(),
            budget: &mut parts.budget,
            record: parts.record.as_mut(),
            price: seat.price,
            max_output: seat.max_output,
            limit: seat.limit,
            progress: &mut progress,
        };
        let known = Offered { campaign: context.campaign, parent: &parent.proposal.source, taken };
        let question = Question {
            prompt: &prompt,
            files: &brief.files,
            entry: &parts.scene.entry,
            known: &known,
            templates: &parts.templates,
        };
        let exchange = exchange(&mut desk, &question);
        // A replay goes by the name of whoever gave the reply.
        Ok((exchange, desk.respondent.name().to_owned()))
    }
}

impl Proposer for Written {
    fn propose(&mut self, context: &Context<'_>, n: usize) -> Vec<Proposal> {
        let mut found: Vec<Proposal> = Vec::new();
        for _ in 0..n {
            let taken: Vec<Digest> = found.iter().map(|proposal| identity(&proposal.source)).collect();
            let Some(proposal) = self.one(context, &taken) else { break };
            found.push(proposal);
        }
        found
    }

    fn silence(&self) -> Silence {
        self.silence.clone().unwrap_or_default()
    }
}

/// The prompt that a campaign would ask next, and the code that it is about. `system` stands in for the template of that
/// name.
///
/// # Errors
/// When a template can't be filled in, or there is nothing to start from.
pub fn next_prompt(
    scene: &Scene,
    templates: &Templates,
    context: &Context<'_>,
    seed: u64,
    system: Option<&str>,
) -> Result<(Prompt, Files), AskError> {
    let Some(parent) = parent(seed, context.campaign, 0) else {
        return Err(AskError::Unusable { what: "the campaign has no source to start from".to_owned() });
    };
    let brief = brief::brief(scene, context, parent, &number(context.campaign, 0));
    Ok((templates.prompt(&brief, system)?, brief.files))
}

/// Whose code is to be changed.
fn parent(seed: u64, campaign: &Campaign, attempt: u32) -> Option<&crate::Candidate> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(counter(campaign, attempt));
    selection::parent(campaign, &mut rng)
}

/// Which draw this is: every attempt at every proposal has its own.
fn counter(campaign: &Campaign, attempt: u32) -> u64 {
    u64::from(campaign.archive.next_id().0) * u64::from(TRIES) + u64::from(attempt)
}

/// The same for readers.
fn number(campaign: &Campaign, attempt: u32) -> String {
    format!("{}.{}", campaign.archive.next_id().0, attempt + 1)
}

/// What a candidate took away of its opponent's time, in ln; nothing unless it was found better.
fn gain(candidate: &crate::Candidate) -> f64 {
    let judgement = candidate.judgement.as_ref().filter(|judgement| judgement.verdict == Verdict::Better);
    judgement.and_then(|judgement| judgement.shapes.first()?.ln).map_or(0.0, |ln| -ln.value)
}

fn proposal(parent: &crate::Candidate, candidate: Candidate, proposer: String) -> Proposal {
    let text = candidate.files.into_values().next().unwrap_or_default();
    let source = Source { text, ..parent.proposal.source.clone() };
    let note = if candidate.note.is_empty() { "written without a word".to_owned() } else { candidate.note };
    Proposal { source, parents: vec![parent.id], proposer, note, edit: "written".to_owned() }
}

/// What was offered already, in the campaign or in this batch.
struct Offered<'a> {
    campaign: &'a Campaign,
    parent: &'a Source,
    taken: &'a [Digest],
}

impl Known for Offered<'_> {
    fn identity(&self, files: &Files) -> Digest {
        let text = files.values().next().cloned().unwrap_or_default();
        identity(&Source { text, ..self.parent.clone() })
    }

    fn seen(&self, wanted: &Digest) -> Option<String> {
        if self.taken.contains(wanted) {
            return Some("another of this batch".to_owned());
        }
        let id: CandidateId = self.campaign.archive.find(wanted)?;
        Some(format!("candidate {}", id.0))
    }
}
