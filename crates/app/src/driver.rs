//! The rim of a campaign: asks the judge, appends to the ledger, tells the listener. The only writer of events.
//!
//! Must not choose what to try (the campaign does) nor what an answer means (the judge does).

use crate::evaluator::{Climb, Evaluator};
use crate::notice::{Expected, Notice, Phase, Spent, Voice};
use crate::outcome::Failure;
use crate::progress::Progress;
use judge::client::JudgeError;
use model::{Certificate, Event, Job, Judgement, Seconds};
use search::Campaign;
use std::cell::Cell;

/// Where events go.
pub trait Journal {
    /// Appends one event; it is on disk when this returns.
    ///
    /// # Errors
    /// When the ledger can't be written.
    fn append(&mut self, event: &Event) -> Result<(), Failure>;

    /// Writes down one more look at the problem's held-out shapes, and says how many there were before it.
    ///
    /// # Errors
    /// When the ledger can't be written.
    fn look(&mut self) -> Result<u32, Failure>;
}

/// What the driver works with.
pub struct Parts<'a> {
    /// The judge.
    pub evaluator: &'a mut dyn Evaluator,
    /// The ledger.
    pub journal: &'a mut dyn Journal,
    /// Who is told.
    pub voice: Voice,
    /// Time since some fixed moment; passed in so that tests own it.
    pub clock: &'a dyn Fn() -> Seconds,
    /// Whether someone asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// What to say then: how to go on.
    pub farewell: String,
}

/// A campaign under way.
pub struct Driver<'a> {
    parts: Parts<'a>,
    events: Vec<Event>,
    campaign: Campaign,
    spent: Spent,
    phase: Cell<Option<Phase>>,
}

impl<'a> Driver<'a> {
    /// Takes up a campaign after the events that the ledger already holds.
    pub fn new(parts: Parts<'a>, events: Vec<Event>, spent: Spent) -> Self {
        let campaign = Campaign::fold(&events);
        Self { parts, events, campaign, spent, phase: Cell::new(None) }
    }

    /// Every event so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Their fold.
    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// The clock.
    pub fn now(&self) -> Seconds {
        (self.parts.clock)()
    }

    /// Says that a phase begins, unless it is the present one.
    pub fn enter(&self, phase: Phase, expected: Option<Expected>) {
        if self.phase.replace(Some(phase)) != Some(phase) {
            self.parts.voice.say(&Notice::Phase { phase, expected });
        }
    }

    /// What the search has used up.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Notes how long the search has taken, over all sittings.
    pub fn spend(&mut self, time: Seconds) {
        self.spent.time = time;
        self.spent.candidates = self.campaign.tally().attempted + self.campaign.tally().skipped;
    }

    /// Appends to the ledger, then to the state, then tells: in this order, so that nothing is ever told that a
    /// killed process would have lost.
    ///
    /// # Errors
    /// When the ledger can't be written.
    pub fn record(&mut self, event: Event) -> Result<(), Failure> {
        self.parts.journal.append(&event)?;
        self.campaign.apply(&event);
        let progress = Progress::of(&self.campaign);
        self.parts.voice.say(&Notice::Recorded { event: &event, progress: &progress, spent: self.spent });
        self.events.push(event);
        Ok(())
    }

    /// Ends the run when someone asked to.
    ///
    /// # Errors
    /// [`Failure::Interrupted`].
    pub fn pause(&self) -> Result<(), Failure> {
        if (self.parts.stop)() { Err(self.interrupted()) } else { Ok(()) }
    }

    /// Asks the judge.
    ///
    /// # Errors
    /// When the environment fails, or someone asked to stop.
    pub fn judge(&mut self, job: &Job) -> Result<Judgement, Failure> {
        self.pause()?;
        let answer = self.parts.evaluator.judge(job);
        self.heard(answer)
    }

    /// Climbs the ladder; the look at held-out shapes is in the ledger before it happens.
    ///
    /// # Errors
    /// As [`Self::judge`].
    pub fn climb(&mut self, mut climb: Climb) -> Result<Certificate, Failure> {
        self.pause()?;
        climb.looks = self.parts.journal.look()?;
        let answer = self.parts.evaluator.climb(&climb);
        self.heard(answer)
    }

    /// Ctrl-C reaches the judge as well as us, so its death then is no failure of the environment.
    fn heard<T>(&self, answer: Result<T, JudgeError>) -> Result<T, Failure> {
        answer.map_err(|error| if (self.parts.stop)() { self.interrupted() } else { error.into() })
    }

    fn interrupted(&self) -> Failure {
        Failure::Interrupted(self.parts.farewell.clone())
    }
}
