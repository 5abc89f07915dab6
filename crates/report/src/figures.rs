//! How numbers and foreign text are written, in one place, so that every report writes them alike.

use model::{Bytes, Estimate, Interval, Verdict};

/// `1.42x`. Three decimals near 1, where the second would hide the effect.
pub(crate) fn times(speedup: f64) -> String {
    format!("{speedup:.0$}x", decimals(speedup))
}

/// `1.38 to 1.46`.
pub(crate) fn range(interval: Interval) -> String {
    if !(interval.low.is_finite() && interval.high.is_finite()) {
        return "unbounded".to_owned();
    }
    let digits = decimals(interval.low).max(decimals(interval.high)).min(3);
    format!("{:.digits$} to {:.digits$}", interval.low, interval.high)
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        x if (0.95..1.05).contains(&x) => 3,
        x if x < 10.0 => 2,
        x if x < 100.0 => 1,
        _ => 0,
    }
}

/// The speed-up of an effect ln(t_candidate / t_against).
pub(crate) fn speedup(ln: Estimate) -> Estimate {
    ln.map(|ln| (-ln).exp())
}

/// `1.42x (1.38 to 1.46)`.
pub(crate) fn speedup_with_range(ln: Estimate) -> String {
    let speedup = speedup(ln);
    format!("{} ({})", times(speedup.value), range(speedup.interval))
}

/// `63 %`; a decimal below 10.
pub(crate) fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// `63 % (61 to 65)`.
pub(crate) fn percent_with_range(fraction: Estimate) -> String {
    let Interval { low, high } = fraction.interval;
    let digits = usize::from(fraction.value < 0.0995);
    format!("{} ({:.digits$} to {:.digits$})", percent(fraction.value), low * 100.0, high * 100.0)
}

/// `1 shape`, `4 shapes`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `32 KiB`, `1.5 MiB`: sizes of working sets follow caches, which come in powers of two.
pub(crate) fn binary(size: Bytes) -> String {
    let steps = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (scale, unit) = steps.into_iter().find(|(scale, _)| size.0 >= *scale as f64).unwrap_or((1, "B"));
    let value = size.0 / scale as f64;
    let digits = usize::from(value < 10.0 && (value - value.round()).abs() >= 0.05);
    format!("{value:.digits$} {unit}")
}

/// Geometric mean; none of nothing.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The direction that a verdict states, in words that need no colour.
pub(crate) fn direction(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "faster",
        Verdict::Worse => "slower",
        Verdict::Equivalent => "equal",
        Verdict::Undecided => "undecided",
        other => other.name(),
    }
}

/// Foreign text for a terminal, on one line: a compiler's log or a note may hold escape sequences.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(printable).collect();
    words.join(" ")
}

/// Foreign text for a terminal: control characters but line ends and tabs are shown, not obeyed.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Interval { low, high } }
    }

    #[test]
    fn figures_read_well() {
        let check = |shown: String, expected: &str| assert_eq!(shown, expected);
        check(times(1.4217), "1.42x");
        check(times(1.004), "1.004x");
        check(times(12.34), "12.3x");
        check(times(0.5), "0.50x");
        check(speedup_with_range(estimate(-(2f64.ln()), -(2.1f64.ln()), -(1.9f64.ln()))), "2.00x (1.90 to 2.10)");
        check(speedup_with_range(estimate(0.0, f64::NEG_INFINITY, f64::INFINITY)), "1.000x (unbounded)");
        check(percent_with_range(estimate(0.63, 0.61, 0.65)), "63 % (61 to 65)");
        check(percent_with_range(estimate(0.053, 0.051, 0.0549)), "5.3 % (5.1 to 5.5)");
        check(binary(Bytes(32768.0)), "32 KiB");
        check(binary(Bytes(1.5 * 1_048_576.0)), "1.5 MiB");
        check(binary(Bytes(100.0)), "100 B");
        check(one_line("a\n b\u{1b}[31m"), "a b\u{fffd}[31m");
    }
}
