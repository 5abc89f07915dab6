//! Units as types. A quantity is divided into a rate by a duration and back; nothing else mixes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Div, Mul};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $symbol:literal, $scale:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                Self(items.map(|x| x.0).sum())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $scale(f, self.0, $symbol)
            }
        }
    };
}

macro_rules! rate {
    ($rate:ident = $amount:ident / Seconds) => {
        impl Div<Seconds> for $amount {
            type Output = $rate;
            fn div(self, time: Seconds) -> $rate {
                $rate(self.0 / time.0)
            }
        }

        impl Div<$rate> for $amount {
            type Output = Seconds;
            fn div(self, rate: $rate) -> Seconds {
                Seconds(self.0 / rate.0)
            }
        }

        impl Mul<Seconds> for $rate {
            type Output = $amount;
            fn mul(self, time: Seconds) -> $amount {
                $amount(self.0 * time.0)
            }
        }
    };
}

unit!(
    /// A duration.
    Seconds, "s", small
);
unit!(
    /// An amount of data; 1 KiB is 1,024 of them, 1 GB is 10^9.
    Bytes, "B", large
);
unit!(
    /// Floating-point operations; a fused multiply-add counts two.
    Flop, "FLOP", large
);
unit!(
    /// Evaluations of a special function (exp, log, ...), or any other counted events.
    Count, "", large
);
unit!(
    /// Data moved per second.
    BytesPerSecond, "B/s", large
);
unit!(
    /// Floating-point operations per second.
    FlopPerSecond, "FLOP/s", large
);
unit!(
    /// Events per second.
    CountPerSecond, "/s", large
);
unit!(
    /// Cycles per second.
    Hertz, "Hz", large
);

rate!(BytesPerSecond = Bytes / Seconds);
rate!(FlopPerSecond = Flop / Seconds);
rate!(CountPerSecond = Count / Seconds);

impl Seconds {
    /// The larger of two durations.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl From<std::time::Duration> for Seconds {
    fn from(duration: std::time::Duration) -> Self {
        Self(duration.as_secs_f64())
    }
}

impl From<Seconds> for std::time::Duration {
    fn from(seconds: Seconds) -> Self {
        Self::try_from_secs_f64(seconds.0.max(0.0)).unwrap_or(Self::MAX)
    }
}

fn large(f: &mut fmt::Formatter<'_>, value: f64, symbol: &str) -> fmt::Result {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (scale, prefix) = steps.into_iter().find(|(scale, _)| value.abs() >= *scale).unwrap_or((1.0, ""));
    three_digits(f, value / scale, &format!("{prefix}{symbol}"))
}

fn small(f: &mut fmt::Formatter<'_>, value: f64, symbol: &str) -> fmt::Result {
    let steps = [(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    let (scale, prefix) = steps.into_iter().find(|(scale, _)| value.abs() >= *scale).unwrap_or((1e-9, "n"));
    three_digits(f, value / scale, &format!("{prefix}{symbol}"))
}

fn three_digits(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let digits = if value.abs() >= 100.0 { 0 } else { usize::from(value.abs() < 10.0) + 1 };
    f.pad(format!("{value:.digits$} {unit}").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_invert() {
        let rate = Bytes(8e9) / Seconds(2.0);
        assert_eq!(rate, BytesPerSecond(4e9));
        assert_eq!(Bytes(8e9) / rate, Seconds(2.0));
    }

    #[test]
    fn people_read_three_digits() {
        let check = |shown: String, expected: &str| assert_eq!(shown, expected);
        check(Seconds(0.001_234).to_string(), "1.23 ms");
        check(Seconds(0.0).to_string(), "0.00 ns");
        check(Bytes(48_000.0).to_string(), "48.0 kB");
        check(FlopPerSecond(1.5e11).to_string(), "150 GFLOP/s");
        check(Count(12.0).to_string(), "12.0");
    }
}
