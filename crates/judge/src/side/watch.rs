//! A look at a batch's outputs in the instant of "done": stopping a runner takes several microseconds, in which a
//! candidate that reported too early could still finish its work unseen.
//!
//! Must not wait for anything: every look is one load.

use super::{Batch, Side, Slot};
use model::{Rule, Verdict};
use problems::Role;
use rand::{Rng, RngExt};
use std::sync::atomic::{AtomicU32, Ordering};

/// Places of a batch's outputs that are looked at in the instant of "done". Each costs a cache line from the other
/// core, about 0.1 us; a hole of 1 % that closes within 3 us is met in one batch of five, so in every verdict.
const WATCHED: usize = 48;

/// Random places of a batch's outputs, drawn before it runs and looked at in the instant of "done".
pub struct Watch {
    places: Vec<*const AtomicU32>,
    poison: u32,
    missing: bool,
}

impl Watch {
    /// Places in the outputs of `batch`.
    pub fn new(side: &Side, batch: &Batch, coins: &mut impl Rng) -> Self {
        let outputs: Vec<&Slot> =
            side.slots.iter().filter(|slot| slot.role == Role::Output && slot.bytes >= 4).collect();
        let place = |_| {
            let slot = outputs[coins.random_range(0..outputs.len())];
            let call = coins.random_range(0..batch.calls);
            let word = slot.offset(call, batch.placement) + 4 * coins.random_range(0..slot.bytes / 4);
            slot.memory.part(word, 4).as_ptr().cast()
        };
        let places = if outputs.is_empty() { Vec::new() } else { (0..WATCHED).map(place).collect() };
        Self { places, poison: batch.poison, missing: false }
    }

    /// Looks. The runner may still run.
    pub fn look(&mut self) {
        // SAFETY: inside memory that the side keeps mapped, aligned to 4 bytes since all offsets are.
        self.missing = self.places.iter().any(|place| unsafe { (**place).load(Ordering::Relaxed) } == self.poison);
    }

    /// # Errors
    /// When something was still missing.
    pub fn verdict(&self) -> Result<(), Verdict> {
        if !self.missing {
            return Ok(());
        }
        let detail = "part of the output was not there yet when the batch was reported done".to_owned();
        Err(Verdict::Refused { rule: Rule::UnwrittenOutput, detail })
    }
}
