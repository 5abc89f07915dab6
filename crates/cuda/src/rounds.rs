//! Figures that were measured in several rounds, as one. Pure.
//!
//! Windows that follow each other share a clock, a temperature and a layout in memory: their spread says little of what
//! another run would find. Rounds are seconds to a minute apart and each begins with its buffers and its choice of a way.

use model::{Figure, Finding, Interval};
use stats::robust::median;

/// How far the rounds of a figure may be apart.
const APART: f64 = 0.02;
/// The same of floors, which the host's own noise is in.
const FLOOR_APART: f64 = 0.2;

/// All rounds' figures as one list, in the order in which they came first.
pub(crate) fn merge(rounds: &[Vec<Figure>]) -> Vec<Figure> {
    names(rounds.iter().flatten().map(|figure| &figure.name))
        .into_iter()
        .filter_map(|name| {
            let same: Vec<&Figure> = rounds.iter().flatten().filter(|figure| figure.name == name).collect();
            one(&same)
        })
        .collect()
}

/// Whether the rounds of each measured figure agree.
pub(crate) fn agreement(rounds: &[Vec<Figure>]) -> Vec<Finding> {
    // Power is averaged over a second and more, so that a round begins with what came before it.
    let counts = |figure: &&Figure| figure.samples > 0 && !figure.name.starts_with("power.");
    let measured = rounds.iter().flatten().filter(counts).map(|figure| &figure.name);
    let finding = |name: String| {
        let same = rounds.iter().flatten().filter(|figure| figure.name == name);
        let values: Vec<f64> = same.map(|figure| figure.value).collect();
        let (low, high) = ends(values.iter().copied());
        let apart = (high / low).ln().abs();
        let most = if name.starts_with("floor.") { FLOOR_APART } else { APART };
        (values.len() > 1).then(|| Finding {
            detector: "rounds".to_owned(),
            figure: name,
            sound: apart < most,
            text: format!("{} rounds are {:.1} % apart", values.len(), 100.0 * apart),
        })
    };
    names(measured).into_iter().filter_map(finding).collect()
}

/// Findings of several rounds: of those with the same detector and figure the first that doubts, else the first.
pub(crate) fn doubts(all: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in all {
        match kept.iter_mut().find(|seen| seen.detector == finding.detector && seen.figure == finding.figure) {
            Some(seen) if seen.sound && !finding.sound => *seen = finding,
            Some(_) => {}
            None => kept.push(finding),
        }
    }
    kept
}

/// The median of the rounds, the hull of their intervals; of a burst, which is a best window, the best.
fn one(rounds: &[&Figure]) -> Option<Figure> {
    let first = *rounds.first()?;
    if rounds.len() == 1 || first.samples == 0 {
        return Some(first.clone());
    }
    let values: Vec<f64> = rounds.iter().map(|figure| figure.value).collect();
    let value = if is_best(&first.name) { ends(values.iter().copied()).1 } else { median(&values) };
    let interval = Interval {
        low: ends(rounds.iter().map(|figure| figure.interval.low)).0,
        high: ends(rounds.iter().map(|figure| figure.interval.high)).1,
    };
    let witnesses: Vec<f64> = rounds.iter().filter_map(|figure| Some(figure.witness.as_ref()?.value)).collect();
    let merged = Figure {
        value,
        interval,
        samples: rounds.iter().map(|figure| figure.samples).sum(),
        method: format!("{}; {} rounds", first.method, rounds.len()),
        witness: None,
        ..first.clone()
    };
    let name = rounds.iter().find_map(|figure| Some(figure.witness.as_ref()?.name.clone()));
    Some(match name {
        Some(name) => merged.witnessed(&name, median(&witnesses)),
        None => merged,
    })
}

/// Whether a figure is a best window and not a median.
fn is_best(name: &str) -> bool {
    name.rsplit('.').next() == Some("burst")
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// Each name once.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Quantity;

    fn figure(name: &str, value: f64, samples: u32) -> Figure {
        Figure {
            name: name.to_owned(),
            quantity: Quantity::BytesPerSecond,
            value,
            interval: Interval { low: value * 0.99, high: value * 1.01 },
            samples,
            method: "m".to_owned(),
            witness: None,
        }
    }

    #[test]
    fn rounds_become_their_median_and_the_hull_of_their_intervals() {
        let rounds = [
            vec![figure("a", 100.0, 5), figure("a.burst", 7.0, 3), figure("told", 9.0, 0)],
            vec![figure("a", 90.0, 5), figure("a.burst", 8.0, 3), figure("late", 1.0, 5)],
            vec![figure("a", 101.0, 5).witnessed("w", 3.0), figure("told", 10.0, 0)],
        ];
        let merged = merge(&rounds);
        let row = |i: usize| (merged[i].name.as_str(), merged[i].value, merged[i].samples);
        assert_eq!(
            [row(0), row(1), row(2), row(3)],
            [("a", 100.0, 15), ("a.burst", 8.0, 6), ("told", 9.0, 0), ("late", 1.0, 5),]
        );
        assert!((merged[0].interval.low - 89.1).abs() < 1e-9 && (merged[0].interval.high - 102.01).abs() < 1e-9);
        assert_eq!(merged[0].method, "m; 3 rounds");
        assert_eq!(merged[0].witness.as_ref().map(|witness| witness.value), Some(3.0));
        let agreed = agreement(&rounds);
        assert_eq!(agreed.len(), 2);
        assert_eq!((agreed[0].figure.as_str(), agreed[0].sound), ("a", false));
        assert_eq!(agreed[0].text, "3 rounds are 11.5 % apart");
    }

    #[test]
    fn one_doubt_outweighs_other_rounds() {
        let finding = |figure: &str, sound: bool, text: &str| Finding {
            detector: "d".to_owned(),
            figure: figure.to_owned(),
            sound,
            text: text.to_owned(),
        };
        let kept = doubts(vec![
            finding("a", true, "1"),
            finding("b", true, "2"),
            finding("a", false, "3"),
            finding("a", false, "4"),
            finding("b", true, "5"),
        ]);
        assert_eq!(kept, [finding("a", false, "3"), finding("b", true, "2")]);
    }
}
