//! The probes, in the order in which they need each other.
//!
//! Each writes into the map what it found; a probe that failed is a line in `missing` and the rest goes on, unless the
//! device itself is gone.

mod alu;
mod atomics;
mod clock;
mod curves;
mod floors;
mod halves;
mod latency;
mod memory;
mod near;
mod soak;
mod survey;
mod tensor;

use crate::driver::Attribute;
use crate::error::CudaError;
use crate::rig::Session;
use crate::rounds;
use crate::summary::{Title, told};
use model::{Figure, Finding, Hertz, Interval, Map, Quantity};

/// What one group of probes does.
type Probe = fn(&mut Session, &mut Map) -> Result<(), CudaError>;

/// Every group of every round, with its name in `missing`.
const GROUPS: [(&str, Probe); 9] = [
    ("clocks", clock::measure),
    ("floors", floors::measure),
    ("latencies of operations", latency::measure),
    ("halves of the L2", halves::measure),
    ("memory", memory::measure),
    ("shared memory and L1", near::measure),
    ("arithmetic", alu::measure),
    ("atomics", atomics::measure),
    ("tensor cores", tensor::measure),
];

/// Runs all of them, round after round; curves and the soak once.
pub(crate) fn all(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let claims = claims(session);
    let mut rounds = Vec::new();
    for round in 0..session.plan.rounds {
        session.round = round;
        let of = format!("round {} of {}", round + 1, session.plan.rounds);
        for (name, probe) in GROUPS {
            run(session, map, (&format!("{name}, {of}"), name), probe)?;
        }
        if round == 0 {
            run(session, map, ("latency curves", "latency curves"), curves::measure)?;
        }
        rounds.push(numbers(session, std::mem::take(&mut map.figures)));
    }
    map.figures = claims;
    map.figures.extend(rounds::merge(&rounds));
    map.core_clock = map.figure("clock.core").map(|figure| Hertz(figure.value));
    session.findings.extend(rounds::agreement(&rounds));
    session.findings.extend(zero_fed(&map.figures));
    run(session, map, ("soak", "soak"), soak::measure)?;
    map.figures.extend(ridges(&map.figures));
    map.findings = rounds::doubts(std::mem::take(&mut session.findings));
    Ok(())
}

/// The figures that are numbers; of the others it is said that they are missing.
fn numbers(session: &mut Session, figures: Vec<Figure>) -> Vec<Figure> {
    let (good, bad): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(|figure| figure.value.is_finite() && (figure.value > 0.0 || figure.samples == 0));
    for figure in bad {
        session.lacks(format!("{}: what came out is {}", figure.name, figure.value));
    }
    good
}

/// What zeros gain over random data. The figure is the one on random data and stands however fast zeros are.
fn zero_fed(figures: &[Figure]) -> Vec<Finding> {
    let finding = |zeros: &Figure| {
        let name = zeros.name.strip_suffix(".zeros")?;
        let random = figures.iter().find(|figure| figure.name == name)?;
        let text =
            format!("on zeros {:.3} times as fast; the figure is the one on random data", zeros.value / random.value);
        Some(Finding { detector: "zero-fed".to_owned(), figure: name.to_owned(), sound: true, text })
    };
    figures.iter().filter_map(finding).collect()
}

/// One group, announced in words and noted under its name where it failed.
fn run(session: &mut Session, map: &mut Map, (words, name): (&str, &str), probe: Probe) -> Result<(), CudaError> {
    session.say(words);
    let result = probe(session, map);
    session.noted(name, result);
    // After a fault every further call fails: then there is nothing left to measure.
    session.context.synchronize()
}

/// What the driver says of the device.
fn claims(session: &Session) -> Vec<Figure> {
    let rows = [
        ("machine.multiprocessors", Quantity::Ratio, Attribute::Multiprocessors, 1.0),
        ("machine.threads", Quantity::Ratio, Attribute::ThreadsPerMultiprocessor, 1.0),
        ("machine.blocks", Quantity::Ratio, Attribute::BlocksPerMultiprocessor, 1.0),
        ("machine.block.threads", Quantity::Ratio, Attribute::ThreadsPerBlock, 1.0),
        ("machine.registers", Quantity::Ratio, Attribute::RegistersPerMultiprocessor, 1.0),
        ("machine.shared", Quantity::Bytes, Attribute::SharedPerMultiprocessor, 1.0),
        ("machine.block.shared", Quantity::Bytes, Attribute::SharedPerBlock, 1.0),
        ("machine.L2", Quantity::Bytes, Attribute::L2, 1.0),
        ("machine.clock", Quantity::Hertz, Attribute::Clock, 1e3),
        ("machine.memory.clock", Quantity::Hertz, Attribute::MemoryClock, 1e3),
        ("machine.memory.bits", Quantity::Ratio, Attribute::BusWidth, 1.0),
    ];
    let figure = |(name, quantity, attribute, scale): (&str, Quantity, Attribute, f64)| {
        let value = f64::from(session.device.attribute(attribute).ok().filter(|value| *value > 0)?) * scale;
        Some(told(Title { name, quantity }, value, "as the driver says"))
    };
    let memory = told(
        Title { name: "machine.memory", quantity: Quantity::Bytes },
        session.device.memory as f64,
        "as the driver says",
    );
    rows.into_iter().filter_map(figure).chain([memory]).collect()
}

/// The operations a byte from which a unit and not a level of memory is the limit, all multiprocessors together.
fn ridges(figures: &[Figure]) -> Vec<Figure> {
    let part = |figure: &Figure| {
        let unit = figure.name.strip_prefix("compute.")?.strip_suffix(".all")?;
        (!unit.contains('.')).then(|| unit.to_owned())
    };
    let mut points = Vec::new();
    for unit in figures.iter().filter(|figure| part(figure).is_some()) {
        for level in ["L1", "L2", "DRAM"] {
            let name = format!("memory.{level}.read.all");
            let Some(rate) = figures.iter().find(|figure| figure.name == name) else { continue };
            let title = format!("ridge.{}.all.{level}", part(unit).unwrap_or_default());
            let method = format!("{} over {name}", unit.name);
            let title = Title { name: &title, quantity: Quantity::OpsPerByte };
            // Both ends at their worst: the two figures are not paired.
            let interval =
                Interval { low: unit.interval.low / rate.interval.high, high: unit.interval.high / rate.interval.low };
            points.push(Figure { interval, ..told(title, unit.value / rate.value, method) });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_held_against_random_data() {
        let figure = |name: &str, value: f64| told(Title { name, quantity: Quantity::FlopPerSecond }, value, "");
        let found = zero_fed(&[figure("a", 800.0), figure("a.zeros", 900.0), figure("b.zeros", 1.0)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].figure == "a" && found[0].text.starts_with("on zeros 1.125 times"), "{found:?}");
    }

    #[test]
    fn ridges_pair_units_with_levels() {
        let figure = |name: &str, value: f64| told(Title { name, quantity: Quantity::FlopPerSecond }, value, "");
        let figures = [
            figure("compute.bf16-matrix.all", 800.0),
            figure("compute.bf16-matrix.all.burst", 900.0),
            figure("compute.f32.two-operands.all", 60.0),
            figure("compute.f32.one", 1.0),
            figure("memory.DRAM.read.all", 4.0),
        ];
        let points = ridges(&figures);
        let names: Vec<(&str, f64)> = points.iter().map(|point| (point.name.as_str(), point.value)).collect();
        assert_eq!(names, [("ridge.bf16-matrix.all.DRAM", 200.0)]);
    }
}
