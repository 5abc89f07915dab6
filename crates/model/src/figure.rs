//! One measured figure of a machine map, and the shapes that figures come in: curves, knees, matrices, histograms.
//!
//! Every figure carries how it was taken, an interval, and a witness where an independent measurement exists, so that a
//! reader needs no other source to judge it. docs/map-schema.md is the description for other tools.

use crate::{
    Bytes, BytesPerSecond, ComputeCeiling, CountPerSecond, FlopPerSecond, Hertz, Interval, Map, MemoryCeiling, Seconds,
};
use serde::{Deserialize, Serialize};

/// What a figure counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Seconds; less is better.
    #[default]
    Seconds,
    /// Cycles of the core's clock; less is better.
    Cycles,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Floating-point operations a second, a multiply-add as two.
    FlopPerSecond,
    /// Integer operations or evaluations a second.
    OpsPerSecond,
    /// Cycles a second.
    Hertz,
    /// FLOP or integer operations a byte.
    OpsPerByte,
    /// A number without a unit.
    Ratio,
    /// Joules a second.
    Watts,
    /// Degrees.
    Celsius,
}

impl Quantity {
    /// The value for people, with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => Seconds(value).to_string(),
            Self::Cycles => format!("{} cycles", plain(value)),
            Self::Bytes => Bytes(value).to_string(),
            Self::BytesPerSecond => BytesPerSecond(value).to_string(),
            Self::FlopPerSecond => FlopPerSecond(value).to_string(),
            Self::OpsPerSecond => CountPerSecond(value).to_string().replace("/s", "OP/s"),
            Self::Hertz => Hertz(value).to_string(),
            Self::OpsPerByte => format!("{} OP/B", plain(value)),
            Self::Ratio => plain(value),
            Self::Watts => format!("{} W", plain(value)),
            Self::Celsius => format!("{} °C", plain(value)),
        }
    }

    /// Whether a larger value is the better one; none where neither is.
    pub fn more_is_better(self) -> Option<bool> {
        match self {
            Self::Seconds | Self::Cycles => Some(false),
            Self::BytesPerSecond | Self::FlopPerSecond | Self::OpsPerSecond | Self::Hertz => Some(true),
            Self::Bytes | Self::OpsPerByte | Self::Ratio | Self::Watts | Self::Celsius => None,
        }
    }
}

/// Three digits without a unit.
fn plain(value: f64) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { usize::from(value.abs() < 10.0) + 1 };
    format!("{value:.digits$}")
}

/// An independent measurement of the same quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// Who says so: a library, the operating system, another method.
    pub name: String,
    /// What it says, in the figure's unit.
    pub value: f64,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Dotted path from the general to the special, e.g. `memory.DRAM.read.all`.
    pub name: String,
    /// What it counts.
    pub quantity: Quantity,
    /// The point, in the quantity's base unit.
    pub value: f64,
    /// Where the middle of such measurements lies, as the method says; both ends finite.
    pub interval: Interval,
    /// Windows, or other independent readings.
    pub samples: u32,
    /// How it was measured.
    pub method: String,
    /// Who else measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl Figure {
    /// The value for people.
    pub fn show(&self) -> String {
        self.quantity.show(self.value)
    }

    /// The same figure with a witness.
    #[must_use]
    pub fn witnessed(mut self, name: &str, value: f64) -> Self {
        self.witness = Some(Witness { name: name.to_owned(), value });
        self
    }
}

/// A figure over working-set sizes, or over another number of bytes that the name says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// E.g. `latency.huge`, `latency.4k`, `bandwidth.read`.
    pub name: String,
    /// What its points count.
    pub quantity: Quantity,
    /// Ascending.
    pub points: Vec<CurvePoint>,
    /// How they were measured.
    pub method: String,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Bytes.
    pub x: f64,
    /// In the curve's quantity.
    pub y: f64,
    /// Of `y`.
    pub interval: Interval,
}

/// Where a curve leaves a plateau.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The curve.
    pub curve: String,
    /// What ends there: `L1`, `L2`, `LLC`, `dTLB`, `sTLB`, or empty where nothing claims it.
    pub level: String,
    /// Where, in the curve's `x`.
    pub at: f64,
    /// 95 % interval of `at`, from the regression.
    pub interval: Interval,
    /// What the operating system or the processor claims, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<f64>,
    /// In words where the claim lies outside the interval by more than a tenth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<String>,
}

/// One-way latency between cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreToCore {
    /// The cores' numbers, as the operating system counts.
    pub cores: Vec<u32>,
    /// A row a core, in seconds; 0 on the diagonal.
    pub seconds: Vec<Vec<f64>>,
    /// How it was measured.
    pub method: String,
}

/// A figure over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// E.g. `clock`, `compute.f32`.
    pub name: String,
    /// What its points count.
    pub quantity: Quantity,
    /// Seconds since the start, and the value.
    pub points: Vec<[f64; 2]>,
    /// How it was measured.
    pub method: String,
}

/// Counts by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// E.g. `jitter`.
    pub name: String,
    /// What the bounds count.
    pub quantity: Quantity,
    /// Upper bound of each bin, ascending, and how many fell into it.
    pub bins: Vec<(f64, u64)>,
    /// How it was measured.
    pub method: String,
}

/// What a detector of untrustworthy figures said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// E.g. `zero-fed`, `one-operand`, `plateau`, `loop-overhead`, `burst`, `layout`, `witness`.
    pub detector: String,
    /// Of which figure.
    pub figure: String,
    /// Whether the figure stands.
    pub sound: bool,
    /// What was seen, with its numbers.
    pub text: String,
}

impl Map {
    /// Every figure under its dotted name: those of [`Map::figures`], and those that the older lists hold.
    pub fn every_figure(&self) -> Vec<Figure> {
        let clocks = [
            ("clock.resolution", Quantity::Seconds, Some(self.clock_resolution.0)),
            ("clock.overhead", Quantity::Seconds, Some(self.clock_overhead.0)),
            ("clock.core", Quantity::Hertz, self.core_clock.map(|clock| clock.0)),
            ("compute.exp.one", Quantity::OpsPerSecond, self.exp.map(|rate| rate.0)),
        ];
        let known = |name: &str| self.figures.iter().any(|figure| figure.name == name);
        let clocks = clocks.into_iter().filter(|(name, ..)| !known(name));
        let mut all: Vec<Figure> =
            clocks.filter_map(|(name, quantity, value)| Some(bare(name, quantity, value?))).collect();
        all.extend(self.compute.iter().flat_map(of_compute).filter(|figure| !known(&figure.name)));
        all.extend(self.memory.iter().map(of_memory).filter(|figure| !known(&figure.name)));
        let noise = self.noise.iter().map(|noise| Figure {
            samples: noise.pairs,
            method: "1.4826 x the median absolute deviation of ln(t_B / t_A) over identical arms".to_owned(),
            ..bare(&format!("noise.{}", noise.kind), Quantity::Ratio, noise.sigma)
        });
        all.extend(noise.filter(|figure| !known(&figure.name)));
        all.extend(self.figures.iter().cloned());
        all
    }

    /// The figure of this dotted name.
    pub fn figure(&self, name: &str) -> Option<Figure> {
        self.every_figure().into_iter().find(|figure| figure.name == name)
    }

    /// The curve of this name.
    pub fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.name == name)
    }
}

/// A figure without an interval of its own.
fn bare(name: &str, quantity: Quantity, value: f64) -> Figure {
    let interval = Interval { low: value, high: value };
    Figure { name: name.to_owned(), quantity, value, interval, ..Figure::default() }
}

fn of_compute(ceiling: &ComputeCeiling) -> [Figure; 2] {
    let name = format!("compute.{}.one", ceiling.name);
    let burst = bare(&format!("{name}.burst"), Quantity::FlopPerSecond, ceiling.burst.0);
    let sustained = bare(&name, Quantity::FlopPerSecond, ceiling.sustained.0);
    let of = |figure: Figure| Figure { method: ceiling.method.clone(), ..figure };
    [of(Figure { interval: ceiling.spread, ..sustained }), of(burst)]
}

fn of_memory(ceiling: &MemoryCeiling) -> Figure {
    Figure {
        interval: ceiling.spread,
        method: ceiling.method.clone(),
        ..bare(
            &format!("memory.{}.{}.one", ceiling.level, ceiling.kernel),
            Quantity::BytesPerSecond,
            ceiling.sustained.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_the_first_schema_still_reads() {
        // As probes of version 1 wrote it.
        let text = r#"{
            "fingerprint": {"cpu": "x", "cores": 2, "features": ["avx2"], "kernel": "6.1", "platform": "linux-x86_64", "probes": 1},
            "clock_resolution": 1e-9, "clock_overhead": 2e-8, "core_clock": 2.1e9,
            "compute": [{"name": "f32", "isa": "avx2", "burst": 1.2e11, "sustained": 1e11, "spread": {"low": 9e10, "high": 1.1e11}, "method": "m"}],
            "exp": null,
            "memory": [{"level": "DRAM", "kernel": "read", "working_set": 1e9, "best": 1.1e10, "sustained": 1e10, "spread": {"low": 9e9, "high": 1.1e10}, "method": "m"}],
            "latency": [{"size": 4096.0, "latency": 1e-9}],
            "noise": [{"kind": "compute", "sigma": 0.01, "pairs": 100}],
            "missing": []
        }"#;
        let map: Map = serde_json::from_str(text).unwrap();
        assert_eq!((map.schema, map.figures.len()), (0, 0));
        let check =
            |name: &str, value: f64| assert_eq!(map.figure(name).map(|figure| figure.value), Some(value), "{name}");
        check("compute.f32.one", 1e11);
        check("compute.f32.one.burst", 1.2e11);
        check("memory.DRAM.read.one", 1e10);
        check("clock.core", 2.1e9);
        check("noise.compute", 0.01);
        assert_eq!(map.figure("compute.exp.one"), None);
        assert_eq!(serde_json::from_str::<Map>(&serde_json::to_string(&map).unwrap()).unwrap(), map);
    }

    #[test]
    fn a_figure_of_the_new_list_stands_for_the_older_one() {
        let map = Map {
            core_clock: Some(Hertz(2e9)),
            figures: vec![bare("clock.core", Quantity::Hertz, 3e9)],
            ..Map::default()
        };
        let clocks: Vec<f64> =
            map.every_figure().iter().filter(|figure| figure.name == "clock.core").map(|figure| figure.value).collect();
        assert_eq!(clocks, [3e9]);
    }

    /// Every name in an object and in what it holds.
    fn names(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, inner) in fields {
                    found.push(name.clone());
                    names(inner, found);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }

    /// A map in which every list holds something and every field is there.
    fn full() -> Map {
        let rate = FlopPerSecond(1.0);
        Map {
            compute: vec![ComputeCeiling {
                name: "x".into(),
                isa: "x".into(),
                burst: rate,
                sustained: rate,
                spread: Interval::default(),
                method: "x".into(),
            }],
            memory: vec![MemoryCeiling {
                level: "x".into(),
                kernel: "x".into(),
                working_set: Bytes(1.0),
                best: BytesPerSecond(1.0),
                sustained: BytesPerSecond(1.0),
                spread: Interval::default(),
                method: "x".into(),
            }],
            latency: vec![crate::LatencyPoint { size: Bytes(1.0), latency: Seconds(1.0) }],
            noise: vec![crate::Noise { kind: "x".into(), sigma: 1.0, pairs: 1 }],
            figures: vec![Figure::default().witnessed("x", 1.0)],
            curves: vec![Curve { points: vec![CurvePoint::default()], ..Curve::default() }],
            knees: vec![Knee { claim: Some(1.0), disagreement: Some("x".into()), ..Knee::default() }],
            core_to_core: Some(CoreToCore::default()),
            traces: vec![Trace::default()],
            histograms: vec![Histogram::default()],
            findings: vec![Finding::default()],
            ..Map::default()
        }
    }

    #[test]
    fn the_schema_is_documented() {
        const PAGE: &str = include_str!("../../../docs/map-schema.md");
        let mut found = Vec::new();
        names(&serde_json::to_value(full()).unwrap(), &mut found);
        let quantities = [
            Quantity::Seconds,
            Quantity::Cycles,
            Quantity::Bytes,
            Quantity::BytesPerSecond,
            Quantity::FlopPerSecond,
            Quantity::OpsPerSecond,
            Quantity::Hertz,
            Quantity::OpsPerByte,
            Quantity::Ratio,
        ];
        found.extend(quantities.iter().map(|q| serde_json::to_value(q).unwrap().as_str().unwrap().to_owned()));
        let unknown: Vec<&String> = found.iter().filter(|name| !PAGE.contains(&format!("`{name}`"))).collect();
        assert!(found.len() > 60 && unknown.is_empty(), "docs/map-schema.md lacks {unknown:?}");
        assert!(PAGE.contains(&format!("`schema` is {}", crate::MAP_SCHEMA)));
    }

    #[test]
    fn quantities_read_well() {
        let check = |quantity: Quantity, value: f64, expected: &str| assert_eq!(quantity.show(value), expected);
        check(Quantity::Cycles, 4.0, "4.00 cycles");
        check(Quantity::OpsPerSecond, 1.5e12, "1.50 TOP/s");
        check(Quantity::Ratio, 0.012, "0.01");
        check(Quantity::OpsPerByte, 188.0, "188 OP/B");
        check(Quantity::Seconds, 1e-9, "1.00 ns");
    }
}
