//! The clock, behind a trait so that the logic of the measurements is tested with a simulated one.

use model::Seconds;
use std::time::Instant;

/// A monotonic clock.
pub(crate) trait Clock {
    /// Time since some fixed moment.
    fn now(&mut self) -> Seconds;
}

/// The operating system's monotonic clock.
pub(crate) struct Wall(Instant);

impl Wall {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Wall {
    fn now(&mut self) -> Seconds {
        self.0.elapsed().into()
    }
}

/// What a clock can tell apart, and what it costs.
pub(crate) struct Granularity {
    /// Smallest step seen.
    pub(crate) resolution: Seconds,
    /// Mean time of one reading.
    pub(crate) overhead: Seconds,
}

/// Reads the clock many times in a row.
pub(crate) fn granularity(clock: &mut dyn Clock) -> Granularity {
    const READINGS: usize = 20_000;
    let first = clock.now();
    let (mut last, mut least) = (first, f64::INFINITY);
    for _ in 0..READINGS {
        let now = clock.now();
        let step = now.0 - last.0;
        if step > 0.0 {
            least = least.min(step);
        }
        last = now;
    }
    Granularity { resolution: Seconds(least), overhead: Seconds((last.0 - first.0) / READINGS as f64) }
}

#[cfg(test)]
pub(crate) mod simulated {
    use super::{Clock, Seconds};
    use std::cell::Cell;
    use std::rc::Rc;

    /// A clock that stands still until somebody moves it.
    #[derive(Clone, Default)]
    pub(crate) struct Simulated {
        now: Rc<Cell<f64>>,
        /// What one reading takes.
        pub(crate) reading: f64,
        /// Step of the value shown; 0 for exact.
        pub(crate) step: f64,
    }

    impl Simulated {
        pub(crate) fn advance(&self, seconds: f64) {
            self.now.set(self.now.get() + seconds);
        }
    }

    impl Clock for Simulated {
        fn now(&mut self) -> Seconds {
            self.advance(self.reading);
            let now = self.now.get();
            Seconds(if self.step > 0.0 { (now / self.step).floor() * self.step } else { now })
        }
    }

    #[test]
    fn granularity_of_a_coarse_clock() {
        let mut clock = Simulated { reading: 1e-8, step: 1e-6, ..Simulated::default() };
        let grain = super::granularity(&mut clock);
        assert!((grain.resolution.0 - 1e-6).abs() < 1e-12);
        assert!((grain.overhead.0 - 1e-8).abs() < 1e-10);
    }

    #[test]
    fn a_clock_that_stands_still_has_no_resolution() {
        assert!(super::granularity(&mut Simulated::default()).resolution.0.is_infinite());
    }
}
