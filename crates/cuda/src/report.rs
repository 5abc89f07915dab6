//! A device's map for a terminal: units, levels, latencies, floors, and what should not be believed. Strings alone.

use model::{Figure, Map};
use std::fmt::Write as _;

/// The groups of figures: a title, and what the names of its figures begin with.
const GROUPS: [(&str, &[&str]); 7] = [
    ("clocks and power", &["clock.", "power."]),
    ("compute", &["compute."]),
    ("bandwidth", &["memory."]),
    ("latency", &["latency.", "instruction."]),
    ("capacity", &["capacity."]),
    ("atomics", &["atomic."]),
    ("floors", &["floor."]),
];

/// The map.
pub fn text(map: &Map) -> String {
    let of = &map.fingerprint;
    let mut text = format!("{}, {} multiprocessors, {}, {}\n", of.cpu, of.cores, of.features.join(" "), of.kernel);
    for (title, prefixes) in GROUPS {
        let chosen: Vec<&Figure> =
            map.figures.iter().filter(|figure| prefixes.iter().any(|prefix| figure.name.starts_with(prefix))).collect();
        text += &group(title, &chosen);
    }
    text += &ridges(map);
    for finding in map.findings.iter().filter(|finding| !finding.sound) {
        let _ = writeln!(text, "doubt: {}, {}: {}", finding.figure, finding.detector, finding.text);
    }
    for missing in &map.missing {
        let _ = writeln!(text, "not measured: {}", missing.lines().next().unwrap_or_default());
    }
    text
}

/// One line a figure: name, value, interval, witness.
fn group(title: &str, figures: &[&Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let rows: Vec<[String; 4]> = figures
        .iter()
        .map(|figure| {
            let show = |value: f64| figure.quantity.show(value);
            let interval = format!("[{}, {}]", show(figure.interval.low), show(figure.interval.high));
            let witness = figure.witness.as_ref().map(|witness| format!("{}: {}", witness.name, show(witness.value)));
            [figure.name.clone(), figure.show(), interval, witness.unwrap_or_default()]
        })
        .collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let [name, value, interval] = [width(0), width(1), width(2)];
    let mut text = format!("\n{title}\n");
    for row in &rows {
        let line = format!("  {:<name$}  {:>value$}  {:<interval$}  {}", row[0], row[1], row[2], row[3]);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Ridge points against memory alone, in one line.
fn ridges(map: &Map) -> String {
    let point = |figure: &Figure| {
        let unit = figure.name.strip_prefix("ridge.")?.strip_suffix(".all.DRAM")?;
        Some(format!("{unit} {:.0}", figure.value))
    };
    let points: Vec<String> = map.figures.iter().filter_map(point).collect();
    if points.is_empty() {
        String::new()
    } else {
        format!("\nridge points, operations a byte of memory: {}\n", points.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Finding, Fingerprint, Interval, Quantity};

    #[test]
    fn a_map_reads_as_a_few_tables() {
        let figure = |name: &str, quantity, value: f64| Figure {
            name: name.to_owned(),
            quantity,
            value,
            interval: Interval { low: value * 0.99, high: value * 1.01 },
            ..Figure::default()
        };
        let map = Map {
            fingerprint: Fingerprint {
                cpu: "NVIDIA H200".to_owned(),
                cores: 132,
                features: vec!["sm_90a".to_owned()],
                kernel: "CUDA driver 13.0".to_owned(),
                ..Fingerprint::default()
            },
            figures: vec![
                figure("compute.bf16-matrix.all", Quantity::FlopPerSecond, 8e14).witnessed("cuBLAS", 7.9e14),
                figure("memory.DRAM.read.all", Quantity::BytesPerSecond, 4.5e12),
                figure("ridge.bf16-matrix.all.DRAM", Quantity::OpsPerByte, 178.0),
                figure("ridge.bf16-matrix.all.L2", Quantity::OpsPerByte, 100.0),
            ],
            findings: vec![Finding {
                detector: "burst".to_owned(),
                figure: "compute.bf16-matrix.all".to_owned(),
                sound: false,
                text: "lost".to_owned(),
            }],
            missing: vec!["capacity.TLB: no knee".to_owned()],
            ..Map::default()
        };
        let text = text(&map);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "NVIDIA H200, 132 multiprocessors, sm_90a, CUDA driver 13.0");
        assert!(lines[3].contains("800 TFLOP/s") && lines[3].ends_with("cuBLAS: 790 TFLOP/s"), "{text}");
        assert!(text.contains("ridge points, operations a byte of memory: bf16-matrix 178\n"), "{text}");
        assert!(text.contains("doubt: compute.bf16-matrix.all, burst: lost"), "{text}");
        assert!(text.ends_with("not measured: capacity.TLB: no knee\n"), "{text}");
    }
}
