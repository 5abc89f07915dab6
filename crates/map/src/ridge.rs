//! Ridge points: the operations a byte from which a unit and not a level of memory is the limit. Pure.

use crate::memory::read_rate;
use model::{Figure, Interval, Map, Quantity};

/// Every pair of a unit and a level, one core and all.
pub(crate) fn points(map: &Map) -> Vec<Figure> {
    let all = map.every_figure();
    let units = all.iter().filter(|figure| {
        let parts: Vec<&str> = figure.name.split('.').collect();
        matches!(parts[..], ["compute", unit, "one" | "all"] if unit != "exp" && !unit.ends_with("-resident"))
    });
    let mut points = Vec::new();
    for unit in units {
        let cores = unit.name.rsplit('.').next().unwrap_or_default();
        let name = unit.name.trim_start_matches("compute.");
        for level in ["L1", "L2", "LLC", "DRAM"] {
            if let Some((rate, interval)) = read_rate(&all, level, cores) {
                points.push(Figure {
                    name: format!("ridge.{name}.{level}"),
                    quantity: Quantity::OpsPerByte,
                    value: unit.value / rate,
                    // Both ends at their worst: the two figures are not paired.
                    interval: Interval {
                        low: unit.interval.low / interval.high,
                        high: unit.interval.high / interval.low,
                    },
                    samples: 0,
                    method: format!("{} over the read bandwidth of {level}", unit.name),
                    witness: None,
                });
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ridge_is_a_quotient_with_an_interval() {
        let figure = |name: &str, value: f64| Figure {
            name: name.to_owned(),
            value,
            interval: Interval { low: value * 0.9, high: value * 1.1 },
            ..Figure::default()
        };
        let map = Map {
            figures: vec![
                figure("compute.f32.one", 100.0),
                figure("compute.f32.one.burst", 120.0),
                figure("compute.f32.all", 200.0),
                figure("memory.DRAM.read.one", 10.0),
            ],
            ..Map::default()
        };
        let [point] = &points(&map)[..] else { panic!() };
        assert_eq!((point.name.as_str(), point.value), ("ridge.f32.one.DRAM", 10.0));
        assert!(point.interval.low < 8.2 && point.interval.high > 12.2, "{point:?}");
    }
}
