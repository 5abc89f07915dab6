//! Durations as people write them: `90s`, `5m`, `1h30m`, `250ms`.
//!
//! Must not guess a unit: a bare number is refused with the two likely spellings.

use model::Seconds;

const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];

/// Reads a duration.
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse(text: &str) -> Result<Seconds, String> {
    let text = text.trim();
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let value: f64 = number.parse().map_err(|_| format!("`{text}` is not a duration: write 90s, 5m or 1h30m"))?;
        let Some((unit, scale)) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit)) else {
            return Err(if tail.is_empty() {
                format!("`{text}` has no unit: write {number}s or {number}m")
            } else {
                format!("`{text}` is not a duration: units are ms, s, m and h")
            });
        };
        total += value * scale;
        rest = &tail[unit.len()..];
    }
    if total > 0.0 { Ok(Seconds(total)) } else { Err(format!("`{text}` is no time at all: write 90s, 5m or 1h30m")) }
}

/// Writes a duration for people: `45 s`, `4 min 05 s`, `1 h 02 min`.
pub fn show(time: Seconds) -> String {
    if time.0 < 10.0 {
        return format!("{:.1} s", time.0.max(0.0));
    }
    let seconds = time.0.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read() {
        let check = |text: &str, expected: f64| assert_eq!(parse(text), Ok(Seconds(expected)), "{text}");
        check("90s", 90.0);
        check("5m", 300.0);
        check("1h30m", 5400.0);
        check("2m30s", 150.0);
        check("250ms", 0.25);
        check("1.5m", 90.0);
        check(" 10s ", 10.0);
    }

    #[test]
    fn refuse() {
        let check = |text: &str, part: &str| {
            let message = parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("90", "write 90s or 90m");
        check("", "no time at all");
        check("0s", "no time at all");
        check("-5s", "not a duration");
        check("5 minutes", "units are");
        check("5x", "units are");
        check("s", "not a duration");
        check("1.2.3s", "not a duration");
    }

    #[test]
    fn shown() {
        let check = |seconds: f64, expected: &str| assert_eq!(show(Seconds(seconds)), expected);
        check(0.24, "0.2 s");
        check(45.0, "45 s");
        check(60.0, "1 min");
        check(245.0, "4 min 05 s");
        check(3720.0, "1 h 02 min");
    }
}
