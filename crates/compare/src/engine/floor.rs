//! The noise floor: identical arms, before anything is counted. They fix the clip and how often a unit repeats.
//!
//! No verdict depends on what they find: a sigma that is off only plans badly.

use super::{CONTROL_RUNS, Engine, Inside};
use crate::outcome::{Levels, SigmaOf};
use crate::{CompareError, Event, markdown};
use stats::{Noise, Pilot, robust};

/// Units of identical arms, when the budget allows: sigma is then known to about 16 %.
const NOISE_UNITS: usize = 20;
/// Fewer do not give a scale. With the day's noise they only time a unit and see whether that noise still fits.
pub(super) const LEAST_NOISE_UNITS: usize = 5;
/// Share of the budget for identical arms, beyond the least.
const NOISE_SHARE: f64 = 0.2;
/// The day's sigma is not believed when the first units show one that is so many times larger or smaller: five units
/// of the same noise do that once in some twenty sessions, which then measure their own.
const FITS_WITHIN: f64 = 4.0;
/// Repeats inside a process that lives on, until the pilot knows better.
const PILOT_REPEATS: usize = 5;
/// More repeats inside a unit only delay the next unit.
const MOST_REPEATS: usize = 200;
/// Repeats are cut where fewer units than this would fit: 8 are the least that decide, and an effect that is not large
/// beside the noise takes many more.
const ENOUGH_UNITS: f64 = 40.0;

/// What the identical arms left for the allocation.
#[derive(Default)]
struct Floor {
    /// ln(t_A' / t_A), repeat by repeat.
    pairs: Vec<f64>,
    /// Of all runs.
    seconds: f64,
}

impl Engine<'_> {
    /// The noise floor, the clip and the repeats, all fixed before the first counted unit.
    pub(super) fn identical_arms(&mut self) -> Result<(), CompareError> {
        let lives_on = matches!(self.rig.inside(), Inside::LivesOn(_));
        self.repeats = if lives_on { PILOT_REPEATS } else { 1 };
        let mut floor = Floor::default();
        let begun = self.rig.now();
        if self.settings.noise.is_some() {
            self.same_arm(LEAST_NOISE_UNITS, begun, &mut floor)?;
        }
        if !self.days_noise_fits() {
            self.same_arm(NOISE_UNITS, begun, &mut floor)?;
            self.sigma = Noise::of(&self.noise);
            self.sigma_of = Some(SigmaOf::Session { pairs: self.noise.len() });
        }
        let n = self.noise.len() as f64;
        self.unit_seconds = (self.rig.now() - begun) / n;
        if let Inside::LivesOn(what) = self.rig.inside() {
            let pair_seconds = floor.seconds / (n * self.repeats as f64);
            self.allocate(what, &floor.pairs, pair_seconds);
        }
        self.design();
        Ok(())
    }

    /// Takes the day's noise when the first units do not contradict it.
    fn days_noise_fits(&mut self) -> bool {
        let (Some(days), Some(now)) = (self.settings.noise, Noise::of(&self.noise)) else { return false };
        let ratio = now.sigma / days.noise.sigma;
        if (1.0 / FITS_WITHIN..=FITS_WITHIN).contains(&ratio) {
            self.sigma = Some(days.noise);
            self.sigma_of = Some(SigmaOf::Day { pairs: days.noise.n, age: days.age });
            return true;
        }
        let sigmas = [days.noise.sigma, now.sigma].map(markdown::percent);
        self.notes.push(format!(
            "the noise of {} ago ({}) does not fit the first {} pairs ({}), so it was measured afresh",
            markdown::age(days.age),
            sigmas[0],
            now.n,
            sigmas[1]
        ));
        false
    }

    /// Units of the first arm against itself, until there are `units` of them or their share of the budget is spent.
    fn same_arm(&mut self, units: usize, begun: f64, floor: &mut Floor) -> Result<(), CompareError> {
        let first = self.first_arm();
        (self.on)(&Event::NoiseStarted { units });
        while self.noise.len() < units {
            let spent = self.rig.now() - begun;
            if self.noise.len() >= LEAST_NOISE_UNITS && spent > NOISE_SHARE * self.settings.budget {
                break;
            }
            let logarithms = self.unit(&[first, first], false)?;
            floor.seconds += logarithms.iter().flatten().map(|ln| ln.exp()).sum::<f64>();
            let differences: Vec<f64> = logarithms[1].iter().zip(&logarithms[0]).map(|(b, a)| b - a).collect();
            self.before.extend(logarithms.iter().flatten().map(|ln| ln.exp()));
            self.noise.push(robust::median(&differences));
            floor.pairs.extend(differences);
        }
        Ok(())
    }

    /// Repeats inside a unit: Kalibera and Jones' allocation with the identical arms as the pilot, as far as the budget
    /// still holds enough units.
    fn allocate(&mut self, what: &str, pilot: &[f64], pair_seconds: f64) {
        let counts = [self.noise.len(), self.repeats];
        let opening = (self.unit_seconds - pair_seconds * self.repeats as f64).max(pair_seconds);
        let wanted = if self.settings.margin > 0.0 { self.settings.margin } else { 0.005 };
        let pilot = Pilot { values: pilot, counts: &counts, costs: &[opening, pair_seconds] };
        let Ok(found) = pilot.allocate(wanted) else { return };
        // Of all groups, in units of the first arm against itself.
        let groups = self.round_seconds() / self.unit_seconds;
        let control = pair_seconds / 2.0 * CONTROL_RUNS as f64;
        let each = (self.settings.budget - self.elapsed() - control) / (ENOUGH_UNITS * groups);
        let fit = ((each - opening) / pair_seconds).max(1.0) as usize;
        self.repeats = found.repeats[1].clamp(1, MOST_REPEATS).min(fit);
        self.unit_seconds = opening + pair_seconds * self.repeats as f64;
        self.levels = Some(Levels {
            names: vec![what.to_owned(), "run".to_owned()],
            repeats: found.repeats,
            variances: found.variances,
            used: self.repeats,
            wanted,
        });
    }
}
