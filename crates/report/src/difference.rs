//! What differs between two maps: of machines, kernels or days. Pure.

use model::{Figure, Interval, Map, Quantity};
use serde::Serialize;

/// A difference below this is none, however narrow the intervals: a map's figures are good to a percent or two.
const LEAST: f64 = 0.02;

/// How a figure stands in B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// They differ, and neither is the better one.
    Different,
    /// Their intervals overlap, or they are within 2 %.
    Same,
    /// Only A has it.
    Gone,
    /// Only B has it.
    New,
}

impl Kind {
    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Different => "different",
            Self::Same => "same",
            Self::Gone => "only in A",
            Self::New => "only in B",
        }
    }
}

/// One figure in both maps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its dotted name.
    pub name: String,
    /// What it counts.
    pub quantity: Quantity,
    /// In A.
    pub a: Option<f64>,
    /// In B.
    pub b: Option<f64>,
    /// How they compare.
    pub kind: Kind,
}

impl Change {
    /// B over A.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.b? / self.a?).filter(|ratio| ratio.is_finite())
    }
}

/// Every figure of either map: the largest changes first, then what is the same, by name.
pub fn map_changes(a: &Map, b: &Map) -> Vec<Change> {
    let (of_a, of_b) = (a.every_figure(), b.every_figure());
    let in_b = |name: &str| of_b.iter().find(|figure| figure.name == name);
    let mut changes: Vec<Change> = of_a.iter().map(|figure| change(figure, in_b(&figure.name))).collect();
    let new = of_b.iter().filter(|figure| of_a.iter().all(|other| other.name != figure.name));
    changes.extend(new.map(|figure| Change {
        name: figure.name.clone(),
        quantity: figure.quantity,
        a: None,
        b: Some(figure.value),
        kind: Kind::New,
    }));
    let size = |change: &Change| change.ratio().map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    changes.sort_by(|x, y| {
        let same = (x.kind == Kind::Same).cmp(&(y.kind == Kind::Same));
        same.then(size(y).total_cmp(&size(x))).then(x.name.cmp(&y.name))
    });
    changes
}

fn change(a: &Figure, b: Option<&Figure>) -> Change {
    let kind = match b {
        None => Kind::Gone,
        Some(b) if agree(a, b) => Kind::Same,
        Some(b) => match a.quantity.more_is_better() {
            Some(more) if (b.value > a.value) == more => Kind::Better,
            Some(_) => Kind::Worse,
            None => Kind::Different,
        },
    };
    Change { name: a.name.clone(), quantity: a.quantity, a: Some(a.value), b: b.map(|b| b.value), kind }
}

fn agree(a: &Figure, b: &Figure) -> bool {
    let overlap = |x: Interval, y: Interval| x.low <= y.high && y.low <= x.high;
    let near = a.value == b.value || (b.value / a.value).ln().abs() < LEAST;
    near || overlap(a.interval, b.interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(figures: &[(&str, Quantity, f64)]) -> Map {
        let figure = |&(name, quantity, value): &(&str, Quantity, f64)| Figure {
            name: name.to_owned(),
            quantity,
            value,
            interval: Interval { low: value * 0.99, high: value * 1.01 },
            ..Figure::default()
        };
        let given = figures.iter().map(figure);
        // The clock's figures come from the map's own fields.
        let zero = ["clock.resolution", "clock.overhead"].map(|name| figure(&(name, Quantity::Seconds, 1e-9)));
        Map { figures: given.chain(zero).collect(), ..Map::default() }
    }

    #[test]
    fn changes_are_told_by_kind_and_size() {
        let a = map(&[
            ("latency.L1", Quantity::Seconds, 2.0),
            ("memory.L1.read.one", Quantity::BytesPerSecond, 100.0),
            ("capacity.L1", Quantity::Bytes, 48.0),
            ("gone", Quantity::Ratio, 1.0),
            ("same", Quantity::Ratio, 1.0),
        ]);
        let b = map(&[
            ("latency.L1", Quantity::Seconds, 1.0),
            ("memory.L1.read.one", Quantity::BytesPerSecond, 90.0),
            ("capacity.L1", Quantity::Bytes, 32.0),
            ("same", Quantity::Ratio, 1.015),
            ("new", Quantity::Ratio, 3.0),
        ]);
        let changes = map_changes(&a, &b);
        let kinds: Vec<(&str, Kind)> = changes.iter().map(|change| (change.name.as_str(), change.kind)).collect();
        assert_eq!(
            kinds[..5],
            [
                ("gone", Kind::Gone),
                ("new", Kind::New),
                ("latency.L1", Kind::Better),
                ("capacity.L1", Kind::Different),
                ("memory.L1.read.one", Kind::Worse),
            ]
        );
        assert!(kinds[5..].iter().all(|kind| kind.1 == Kind::Same) && kinds.len() == 8, "{kinds:?}");
        assert_eq!(changes[2].ratio(), Some(0.5));
    }
}
