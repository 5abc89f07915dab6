//! Figures of a few windows. Pure.

use model::{Figure, Interval, Quantity};
use stats::robust::{median, quantile};

/// What a figure is called and counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Title<'a> {
    pub(crate) name: &'a str,
    pub(crate) quantity: Quantity,
}

/// The median of some windows, with the interval in which the true one lies, 95 %, whatever the distribution.
pub(crate) fn figure(title: Title, values: &[f64], method: impl Into<String>) -> Figure {
    Figure {
        name: title.name.to_owned(),
        quantity: title.quantity,
        value: median(values),
        interval: middle(values),
        samples: values.len() as u32,
        method: method.into(),
        witness: None,
    }
}

/// The best of some windows, between the upper quartile and itself.
pub(crate) fn best(title: Title, values: &[f64], method: impl Into<String>) -> Figure {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let interval = Interval { low: quantile(values, 0.75), high: most };
    Figure { value: most, interval, ..figure(title, values, method) }
}

/// A figure that is derived, or the driver's word.
pub(crate) fn told(title: Title, value: f64, method: impl Into<String>) -> Figure {
    let interval = Interval { low: value, high: value };
    Figure { samples: 0, value, interval, ..figure(title, &[value], method) }
}

/// Ranks around the middle whose count below the true median is binomial with one half (Hahn, Meeker 1991); the whole
/// range of fewer than six values.
pub(crate) fn middle(values: &[f64]) -> Interval {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let half = 0.98 * (n as f64).sqrt();
    let low = (n as f64 / 2.0 - half).floor().max(0.0) as usize;
    let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n.saturating_sub(1));
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    Interval { low: at(low), high: at(high) }
}

/// The point that parts values into two heaps, where there are two: the middle of the widest gap that at most one in a
/// thousand values lies in, with at least a fiftieth of the values on each side of it, if it is at least so wide.
pub(crate) fn split(values: &[f64], least: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (edge, strays) = (sorted.len() / 50, sorted.len() / 1000);
    let inner = sorted.get(edge..sorted.len().checked_sub(edge)?)?;
    let ends = |gap: &[f64]| [gap[0], gap[gap.len() - 1]];
    let [low, high] = inner.windows(strays + 2).map(ends).max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0])))?;
    (high - low >= least).then(|| f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: Title<'static> = Title { name: "x", quantity: Quantity::Seconds };

    #[test]
    fn a_figure_is_a_median_with_its_interval() {
        let values: Vec<f64> = (0..=1000).map(f64::from).collect();
        let found = figure(TITLE, &values, "m");
        assert_eq!((found.value, found.interval.low, found.interval.high, found.samples), (500.0, 469.0, 532.0, 1001));
        let few = figure(TITLE, &[3.0, 1.0, 2.0], "m");
        assert_eq!((few.value, few.interval.low, few.interval.high), (2.0, 1.0, 3.0));
        assert_eq!(best(TITLE, &values, "m").value, 1000.0);
        assert_eq!(told(TITLE, 4.0, "m").samples, 0);
    }

    #[test]
    fn two_heaps_are_told_from_one() {
        let heaps: Vec<f64> = (0..100).map(|i| f64::from(i % 10) + if i < 40 { 260.0 } else { 440.0 }).collect();
        assert_eq!(split(&heaps, 40.0), Some(354.5), "{heaps:?}");
        let one: Vec<f64> = (0..100).map(|i| 260.0 + f64::from(i)).collect();
        assert_eq!(split(&one, 40.0), None);
        // A few stragglers are no heap.
        let stragglers: Vec<f64> = (0..100).map(|i| if i < 2 { 900.0 } else { 260.0 }).collect();
        assert_eq!(split(&stragglers, 40.0), None);
        assert_eq!(split(&[], 1.0), None);
        // Nor do a few in the gap close it.
        let strays = heaps.iter().copied().cycle().take(5000).chain((0..5).map(|i| 300.0 + f64::from(i) * 25.0));
        assert!(split(&strays.collect::<Vec<f64>>(), 40.0).is_some());
    }
}
