//! When to ask again, and how long to wait before.
//!
//! Only what a service didn't work on is asked for again: an overload, a refused connection. What it may charge for is
//! not.

use jiff::fmt::rfc2822;
use std::time::Duration;

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// Tries at most, the first included.
    pub tries: u32,
    /// Wait after the first, where the service names none; doubled after each.
    pub first: Duration,
    /// Longest wait of our own; the service may name a longer one.
    pub longest: Duration,
}

impl Default for Backoff {
    /// Six tries over about half a minute: rate limits are mostly by the minute, and their answers say so.
    fn default() -> Self {
        Self { tries: 6, first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The wait after the `failed`-th try, counted from 1; none when that was the last.
    pub fn wait(&self, failed: u32, named: Option<Duration>) -> Option<Duration> {
        let doubled = self.first.saturating_mul(1 << failed.saturating_sub(1).min(20));
        (failed < self.tries).then(|| named.unwrap_or(doubled.min(self.longest)))
    }
}

/// Whether a status says "later": overload, a limit of rate, a failure on the service's side.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
}

/// The wait that headers name: `retry-after-ms`, else `Retry-After` in seconds or as a date, which is read against the
/// answer's own `Date`, so that no two clocks are compared.
pub fn named<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(wait) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(wait / 1000.0).ok();
    }
    if let Some(wait) = number("retry-after") {
        return Duration::try_from_secs_f64(wait).ok();
    }
    let date = |name: &str| rfc2822::parse(header(name)?.trim()).ok().map(|date| date.timestamp().as_second());
    let wait = date("retry-after")? - date("date")?;
    Some(Duration::from_secs(wait.max(0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_waits() {
        let check = |headers: &[(&str, &'static str)], expected: Option<u64>| {
            let wait = named(|name| headers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value));
            assert_eq!(wait, expected.map(Duration::from_millis), "{headers:?}");
        };
        check(&[], None);
        check(&[("retry-after", "7")], Some(7000));
        check(&[("retry-after", " 0.5 ")], Some(500));
        check(&[("retry-after", "-1")], None);
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "1e400")], None);
        check(&[("retry-after-ms", "1500"), ("retry-after", "7")], Some(1500));
        let dates = [("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), ("date", "Wed, 21 Oct 2015 07:28:00 GMT")];
        check(&dates, Some(30_000));
        check(&dates[..1], None);
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let backoff = Backoff { tries: 4, first: Duration::from_secs(2), longest: Duration::from_secs(5) };
        let waits: Vec<Option<u64>> = (1..=4).map(|n| backoff.wait(n, None).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(2), Some(4), Some(5), None]);
        assert_eq!(backoff.wait(1, Some(Duration::from_secs(90))), Some(Duration::from_secs(90)));
        assert_eq!(backoff.wait(4, Some(Duration::ZERO)), None);
    }
}
