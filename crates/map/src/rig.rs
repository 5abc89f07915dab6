//! Times a load in short windows, and refuses a load whose time does not follow its work.

use crate::clock::Clock;
use crate::summary::{Summary, median};
use model::Seconds;

/// Aim of a window. Below 5 ms it shows burst clocks; far above the clock's reading it costs nothing.
pub(crate) const WINDOW: Seconds = Seconds(1e-3);
/// Twice the work must take twice the time, to this share.
const TOLERANCE: f64 = 0.1;
/// Attempts before a load counts as out of proportion: a clock change in the middle spoils one.
const ATTEMPTS: usize = 6;
/// Pairs of single and double work in an attempt.
const PAIRS: usize = 9;
/// More units than any load needs for a window: time that stands still is a broken clock or deleted work.
const MOST_UNITS: u64 = 1 << 40;

/// A load under a clock; the load does the number of units of work that it is told.
pub(crate) struct Rig<'a> {
    pub(crate) clock: &'a mut dyn Clock,
    pub(crate) load: &'a mut dyn FnMut(u64),
}

impl Rig<'_> {
    /// Time of `units` of work.
    pub(crate) fn time(&mut self, units: u64) -> Seconds {
        let start = self.clock.now();
        (self.load)(units);
        Seconds(self.clock.now().0 - start.0)
    }

    /// Units of work that take about `window`.
    pub(crate) fn units(&mut self, window: Seconds) -> Result<u64, String> {
        let mut units = 1;
        while units < MOST_UNITS {
            let time = self.time(units);
            if time.0 >= window.0 / 8.0 {
                // Again: the first time included page faults and cold caches.
                let time = self.time(units).0.max(window.0 / 64.0);
                return Ok(((units as f64 * window.0 / time).round() as u64).max(1));
            }
            units *= 2;
        }
        Err("time stands still while work is done".to_owned())
    }

    /// Whether twice the work takes twice the time, by the middle of the pairs or by the best of both: a busy machine
    /// interrupts most long windows, but not all.
    pub(crate) fn check_proportional(&mut self, units: u64) -> Result<(), String> {
        let mut ratio = f64::NAN;
        for _ in 0..ATTEMPTS {
            let pairs: Vec<[f64; 2]> = (0..PAIRS).map(|i| self.once_and_twice(units, i)).collect();
            let least = |which: usize| pairs.iter().map(|pair| pair[which]).fold(f64::INFINITY, f64::min);
            ratio = median(pairs.iter().map(|[once, twice]| twice / once).collect()).unwrap_or(f64::NAN);
            if [ratio, least(1) / least(0)].iter().any(|ratio| (ratio - 2.0).abs() <= 2.0 * TOLERANCE) {
                return Ok(());
            }
        }
        Err(format!("twice the work took {ratio:.2} times as long, after {ATTEMPTS} attempts"))
    }

    /// Times of the work and of twice the work, in an order that alternates so that a drifting clock cancels.
    fn once_and_twice(&mut self, units: u64, pair: usize) -> [f64; 2] {
        if pair.is_multiple_of(2) {
            let once = self.time(units).0;
            [once, self.time(2 * units).0]
        } else {
            let twice = self.time(2 * units).0;
            [self.time(units).0, twice]
        }
    }

    /// Units a second over windows of `units`, for as long as `budget`.
    pub(crate) fn soak(&mut self, units: u64, budget: Seconds) -> Result<Summary, String> {
        let end = self.clock.now().0 + budget.0;
        let mut rates = Vec::new();
        while self.clock.now().0 < end || rates.is_empty() {
            let time = self.time(units);
            if time.0 <= 0.0 {
                return Err("a window took no time".to_owned());
            }
            rates.push(units as f64 / time.0);
        }
        Summary::of(rates).ok_or_else(|| "no window was measured".to_owned())
    }

    /// Finds the window, checks that time follows work, and soaks.
    pub(crate) fn rates(&mut self, budget: Seconds) -> Result<Summary, String> {
        let units = self.units(WINDOW)?;
        self.check_proportional(units)?;
        self.soak(units, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::simulated::Simulated;

    /// A load that takes `seconds(units)` of simulated time.
    fn rates(seconds: impl Fn(u64) -> f64) -> Result<Summary, String> {
        let mut clock = Simulated::default();
        let other = clock.clone();
        let mut load = |units| other.advance(seconds(units));
        Rig { clock: &mut clock, load: &mut load }.rates(Seconds(0.5))
    }

    #[test]
    fn a_proportional_load_has_its_rate() {
        let summary = rates(|units| units as f64 * 1e-6).unwrap();
        assert!((summary.median / 1e6 - 1.0).abs() < 1e-6, "{summary:?}");
        assert!((450..=550).contains(&summary.samples), "{summary:?}");
    }

    #[test]
    fn loads_out_of_proportion_are_refused() {
        let check = |seconds: fn(u64) -> f64, expected: &str| {
            let why = rates(seconds).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check(|_| 1e-3, "1.00 times as long"); // the work was deleted
        check(|units| 5e-4 + units as f64 * 1e-6, "times as long"); // a start-up cost of half a window
        check(|_| 0.0, "stands still");
    }

    #[test]
    fn interruptions_are_forgiven() {
        // Two of three windows lose 6 ms to another process.
        let windows = std::cell::Cell::new(0);
        let interrupted = |units: u64| {
            windows.set(windows.get() + 1);
            units as f64 * 1e-6 + if windows.get() % 3 == 0 { 0.0 } else { 6e-3 }
        };
        let mut clock = Simulated::default();
        let other = clock.clone();
        let mut load = |units| other.advance(interrupted(units));
        assert_eq!(Rig { clock: &mut clock, load: &mut load }.check_proportional(1000), Ok(()));
    }

    #[test]
    fn one_slow_moment_is_forgiven() {
        let windows = std::cell::Cell::new(0);
        let slow = |units: u64| {
            windows.set(windows.get() + 1);
            units as f64 * if (12..22).contains(&windows.get()) { 3e-6 } else { 1e-6 }
        };
        assert!(rates(slow).is_ok());
    }
}
