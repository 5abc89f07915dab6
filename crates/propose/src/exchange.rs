//! One exchange: ask, read the reply, apply it; when it can't be used, send the reason back once.
//!
//! Must not choose whom to ask or what about. A prompt that the record has a reply to is not asked again: no two
//! questions of a campaign are the same, so it was asked before a kill.

use crate::ask::{Ask, AskError, Asked, Progress, Prompt, Respondent, Usage, tokens};
use crate::budget::{Budget, Exhausted, Price, Size, Spent};
use crate::fault::Fault;
use crate::patch::{self, Files, Known, Level};
use crate::prompt::Templates;
use crate::record::Record;
use crate::reply::{self, Expected, Form};
use model::Seconds;
use std::ops::ControlFlow;
use std::time::Duration;

/// No tokeniser needs fewer than this part of the tokens that we would estimate.
const GENEROUS: u64 = 4;

/// Whom to ask, and within which limits.
pub struct Desk<'a> {
    /// Whom.
    pub respondent: &'a mut dyn Respondent,
    /// The caps.
    pub budget: &'a mut Budget,
    /// Where everything is written down; none for a replay.
    pub record: Option<&'a mut Record>,
    /// What its tokens cost.
    pub price: Price,
    /// Tokens of one reply at most.
    pub max_output: u64,
    /// Wall-clock limit of one call.
    pub limit: Duration,
    /// Told how far a call is; `Break` stops it.
    pub progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// What to ask, and about which code.
pub struct Question<'a> {
    /// The prompt.
    pub prompt: &'a Prompt,
    /// The code that a reply changes.
    pub files: &'a Files,
    /// The function that it has to define.
    pub entry: &'a str,
    /// What was there before.
    pub known: &'a dyn Known,
    /// For the reason that is sent back.
    pub templates: &'a Templates,
}

/// A candidate's code, out of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its files.
    pub files: Files,
    /// What the reply says that it does.
    pub note: String,
    /// In which form it came.
    pub form: Form,
    /// How closely each edit was matched.
    pub levels: Vec<Level>,
}

/// What came of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Code.
    Candidate(Candidate),
    /// A reply that can't be used, even after it was sent back where that can help.
    Fault(Fault),
    /// No reply.
    Failed(AskError),
    /// No call: a cap could have been passed.
    Exhausted(Exhausted),
}

/// An exchange that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// What came of it.
    pub outcome: Outcome,
    /// The fault that was sent back, if one was.
    pub repaired: Option<Fault>,
    /// What its calls came to.
    pub spent: Spent,
}

/// Asks, and asks once more where the reply can be repaired.
pub fn exchange(desk: &mut Desk<'_>, question: &Question<'_>) -> Exchange {
    let mut spent = Spent::default();
    let (outcome, said) = turn(desk, question, question.prompt, &mut spent);
    let Outcome::Fault(fault) = &outcome else { return Exchange { outcome, repaired: None, spent } };
    if !fault.is_repairable() {
        return Exchange { outcome, repaired: None, spent };
    }
    let repaired = Some(fault.clone());
    let again = match question.templates.repair(fault) {
        Ok(words) => question.prompt.and(said, words),
        Err(error) => return Exchange { outcome: Outcome::Failed(error), repaired: None, spent },
    };
    let (second, _) = turn(desk, question, &again, &mut spent);
    // No second try, for want of money or in a record: what is known is what was wrong with the first.
    let no_second = matches!(second, Outcome::Exhausted(_) | Outcome::Failed(AskError::NotRecorded { .. }));
    let outcome = if no_second { outcome } else { second };
    Exchange { outcome, repaired, spent }
}

/// One call; what came of it, and what was replied.
fn turn(desk: &mut Desk<'_>, question: &Question<'_>, prompt: &Prompt, spent: &mut Spent) -> (Outcome, String) {
    let asked = match call(desk, prompt, spent) {
        Ok(asked) => asked,
        Err(outcome) => return (outcome, String::new()),
    };
    let reply = match asked.result {
        Ok(reply) => reply,
        Err(error) => return (Outcome::Failed(error), String::new()),
    };
    let outcome = candidate(&reply, question).map_or_else(Outcome::Fault, Outcome::Candidate);
    (outcome, String::from_utf8_lossy(&reply.text.0).into_owned())
}

/// Reads a reply and applies it.
///
/// # Errors
/// [`Fault`]: why it gives no candidate.
pub fn candidate(reply: &crate::ask::Reply, question: &Question<'_>) -> Result<Candidate, Fault> {
    let expected = Expected { files: question.files, entry: question.entry };
    let answer = reply::parse(reply, &expected)?;
    let patched = patch::apply(question.files, &answer)?;
    patch::admit(question.files, &patched.files, question.known)?;
    Ok(Candidate { files: patched.files, note: answer.note, form: answer.form, levels: patched.levels })
}

fn call(desk: &mut Desk<'_>, prompt: &Prompt, spent: &mut Spent) -> Result<Asked, Outcome> {
    // Paid for before a kill, and in the budget already.
    if let Some(asked) = desk.record.as_ref().and_then(|record| record.reply_to(prompt)) {
        return Ok(asked);
    }
    let size = Size { prompt: prompt.bytes(), code: 0, max_output: desk.max_output };
    let worst = size.worst_call(&desk.price, Seconds(desk.limit.as_secs_f64()));
    let reservation = desk.budget.reserve(worst).map_err(Outcome::Exhausted)?;
    let granted = reservation.worst();
    let name = desk.respondent.name().to_owned();
    let number = match desk.record.as_mut().map(|record| record.asked(&name, prompt, granted)).transpose() {
        Ok(number) => number,
        Err(error) => {
            desk.budget.settle(reservation, Spent::default());
            return Err(Outcome::Failed(error));
        }
    };
    let limit = Duration::try_from_secs_f64(granted.time.0).unwrap_or(desk.limit);
    let mut ask = Ask { limit, max_output: desk.max_output, progress: desk.progress };
    let asked = desk.respondent.ask(prompt, &mut ask);
    let actual = actual(&asked, granted, desk.price);
    desk.budget.settle(reservation, actual);
    *spent = *spent + actual;
    if let (Some(record), Some(number)) = (desk.record.as_mut(), number) {
        record.answered(number, &asked, actual).map_err(Outcome::Failed)?;
    }
    Ok(asked)
}

/// What a call came to. Where nobody says, the worst.
fn actual(asked: &Asked, worst: Spent, price: Price) -> Spent {
    match &asked.result {
        Ok(reply) => {
            // A service that forgets to count is not free.
            let output = reply.usage.output.max(tokens(reply.text.0.len()) / GENEROUS);
            Spent::call(&Usage { output, ..reply.usage }, &price, asked.time)
        }
        Err(error) if error.may_be_billed() => Spent { time: asked.time, ..worst },
        Err(_) => Spent { calls: 1, time: asked.time, ..Spent::default() },
    }
}
