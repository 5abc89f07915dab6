//! Times a load in short windows, and refuses a load whose time does not follow its work.

use crate::clock::Clock;
use crate::summary::Summary;
use model::Seconds;

/// Aim of a window. Below 5 ms it shows burst clocks; far above the clock's reading it costs nothing.
pub(crate) const WINDOW: Seconds = Seconds(1e-3);
/// What no work takes must be below this share of what one window's work takes.
const START_UP: f64 = 0.1;
/// Least R^2 of the line of time over work.
const LEAST_R2: f64 = 0.999;
/// Attempts before a load counts as out of proportion: a clock change in the middle spoils one.
const ATTEMPTS: usize = 6;
/// The multiples of a window's work that are timed, each once a round.
const MULTIPLES: [u64; 4] = [1, 2, 3, 4];
/// Rounds of an attempt; the best time of each multiple counts, as a busy machine interrupts most long windows.
const ROUNDS: usize = 5;
/// More units than any load needs for a window: time that stands still is a broken clock or deleted work.
const MOST_UNITS: u64 = 1 << 40;

/// Whether a figure makes sure that time follows work, or a neighbour of the same kind did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proportion {
    Checked,
    Assumed,
}

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

    /// Whether time follows work: a line through the best times of 1 to 4 times the work has R^2 > 0.999 and starts
    /// near nothing. Deleted work has no slope; a start-up cost or a cache that fills has an intercept.
    pub(crate) fn check_proportional(&mut self, units: u64) -> Result<(), String> {
        let mut seen = String::new();
        for _ in 0..ATTEMPTS {
            let mut best = MULTIPLES.map(|_| f64::INFINITY);
            for round in 0..ROUNDS {
                for step in 0..MULTIPLES.len() {
                    // To and fro, so that a drifting clock cancels.
                    let i = if round.is_multiple_of(2) { step } else { MULTIPLES.len() - 1 - step };
                    best[i] = best[i].min(self.time(MULTIPLES[i] * units).0);
                }
            }
            let line = Line::through(MULTIPLES.map(|m| m as f64), best);
            if line.r2 > LEAST_R2 && line.start.abs() <= START_UP * line.slope {
                return Ok(());
            }
            let times = best.map(|time| format!("{:.2}", time / best[0])).join(", ");
            seen = format!("1, 2, 3, 4 times the work took {times} times as long (R^2 {:.4})", line.r2);
        }
        Err(format!("time does not follow work: {seen}, after {ATTEMPTS} attempts"))
    }

    /// Units a second over windows of `units`, for as long as `budget`.
    pub(crate) fn soak(&mut self, units: u64, budget: Seconds) -> Result<Summary, String> {
        let rates = self.series(units, budget)?.into_iter().map(|[_, rate]| rate).collect();
        Summary::of(rates).ok_or_else(|| "no window was measured".to_owned())
    }

    /// The same with the time at which each window began, from 0: `[seconds, units a second]`.
    pub(crate) fn series(&mut self, units: u64, budget: Seconds) -> Result<Vec<[f64; 2]>, String> {
        let start = self.clock.now().0;
        let (mut rates, mut now) = (Vec::new(), start);
        while now - start < budget.0 || rates.is_empty() {
            let time = self.time(units);
            if time.0 <= 0.0 {
                return Err("a window took no time".to_owned());
            }
            rates.push([now - start, units as f64 / time.0]);
            now = self.clock.now().0;
        }
        Ok(rates)
    }

    /// Finds the window, checks that time follows work, and soaks.
    pub(crate) fn rates(&mut self, budget: Seconds) -> Result<Summary, String> {
        let units = self.units(WINDOW)?;
        self.check_proportional(units)?;
        self.soak(units, budget)
    }
}

/// The least-squares line through four points.
struct Line {
    start: f64,
    slope: f64,
    /// Share of the variance that the line explains; 0 where there is none.
    r2: f64,
}

impl Line {
    fn through(x: [f64; 4], y: [f64; 4]) -> Self {
        let mean = |v: [f64; 4]| v.iter().sum::<f64>() / 4.0;
        let (mx, my) = (mean(x), mean(y));
        let sum = |f: fn(f64, f64) -> f64| x.iter().zip(&y).map(|(x, y)| f(x - mx, y - my)).sum::<f64>();
        let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
        let slope = xy / xx;
        let r2 = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
        Self { start: my - slope * mx, slope, r2 }
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
        check(|_| 1e-3, "took 1.00, 1.00, 1.00, 1.00 times"); // the work was deleted
        check(|units| 5e-4 + units as f64 * 1e-6, "R^2 1.0000"); // a start-up cost of half a window
        check(|units| (units as f64 * 1e-5).sqrt() * 0.01, "does not follow"); // the more, the cheaper
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
