//! A look at a batch's outputs in the instant of "done": stopping a runner takes several microseconds, in which a
//! candidate that reported too early could still finish its work unseen.
//!
//! Must not wait for anything: every look is one load.

use super::{Placement, Side, Slot};
use model::{Rule, Verdict};
use problems::Role;
use rand::{Rng, RngExt};
use std::sync::atomic::{AtomicU32, Ordering};

/// Places of a batch's outputs that are looked at in the instant of "done". Each costs a cache line from the other
/// core, about 0.1 us; a hole of 1 % that closes within 3 us is met in one batch of five, so in every verdict.
const WATCHED: usize = 48;
const _: () = assert!(WATCHED <= u64::BITS as usize, "a bit each");

/// Random places of a batch's outputs, drawn before it runs and looked at in the instant of "done".
pub struct Watch {
    /// Each with the poison that lies there.
    places: Vec<(*const AtomicU32, u32)>,
    /// Those where it still lay at "done": a bit each.
    missing: u64,
}

impl Watch {
    /// Places in the outputs of a batch of `calls`, whose word number i is poisoned with `poison(i)`.
    pub fn new(
        side: &Side,
        (calls, placement): (usize, Placement),
        poison: impl Fn(usize) -> u32,
        coins: &mut impl Rng,
    ) -> Self {
        let outputs: Vec<&Slot> =
            side.slots.iter().filter(|slot| slot.role == Role::Output && slot.bytes >= 4).collect();
        let place = |_| {
            let slot = outputs[coins.random_range(0..outputs.len())];
            let call = coins.random_range(0..calls);
            let word = coins.random_range(0..slot.bytes / 4);
            let at = slot.memory.part(slot.offset(call, placement) + 4 * word, 4).as_ptr();
            (at.cast(), poison(word))
        };
        let places = if outputs.is_empty() { Vec::new() } else { (0..WATCHED).map(place).collect() };
        Self { places, missing: 0 }
    }

    /// Looks. The runner may still run.
    pub fn look(&mut self) {
        let bits = self.places.iter().enumerate().map(|(i, place)| u64::from(is_poison(*place)) << i);
        self.missing = bits.fold(0, |all, bit| all | bit);
    }

    /// What has been written since, on the stopped runner. What is missing still is for the whole check to name: an
    /// answer of whole numbers may happen to be the poison.
    ///
    /// # Errors
    /// When something came late.
    pub fn verdict(&self) -> Result<(), Verdict> {
        let came_late = |(i, place): (usize, &_)| (self.missing >> i) & 1 == 1 && !is_poison(*place);
        if !self.places.iter().enumerate().any(came_late) {
            return Ok(());
        }
        let detail = "part of the output was not there yet when the batch was reported done".to_owned();
        Err(Verdict::Refused { rule: Rule::UnwrittenOutput, detail })
    }
}

fn is_poison((place, poison): (*const AtomicU32, u32)) -> bool {
    // SAFETY: inside memory that the side keeps mapped, aligned to 4 bytes since all offsets are.
    unsafe { (*place).load(Ordering::Relaxed) == poison }
}
