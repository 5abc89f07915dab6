//! Lines and figures for people, used by every command that prints.
//!
//! Pure: values in, strings out.

use model::{Arm, Certificate, Fingerprint, Map, Rung, RungOutcome, ShapeJudgement};

/// Width of the left column.
const LABEL: usize = 12;

/// A line with its label at the left.
pub fn line(label: &str, text: &str) -> String {
    format!("{label:<LABEL$}{text}").trim_end().to_owned()
}

/// A share as a percentage with two digits that mean something.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let digits = if value.abs() >= 10.0 { 0 } else { usize::from(value.abs() < 1.0) + 1 };
    format!("{value:.digits$} %")
}

/// `len=128 1.83x [1.79, 1.88]`, or none when nothing was timed.
pub fn effect(shape: &ShapeJudgement) -> Option<String> {
    let speed = shape.ln?.map(|ln| (-ln).exp());
    Some(format!("{} {:.2}x [{:.2}, {:.2}]", shape.workload.name, speed.value, speed.interval.low, speed.interval.high))
}

/// `len=128 41 % [40, 42]` of a comparison with a ceiling, or none when nothing was timed.
pub fn fraction(shape: &ShapeJudgement) -> Option<String> {
    let of = shape.ln?.map(|ln| (-ln).exp());
    let percents = (of.interval.low * 100.0, of.interval.high * 100.0);
    let digits = usize::from(of.value < 0.1);
    let (low, high) = percents;
    Some(format!("{} {} [{low:.digits$}, {high:.digits$}]", shape.workload.name, percent(of.value)))
}

/// The machine in one line.
pub fn machine(fingerprint: &Fingerprint) -> String {
    let cores = if fingerprint.cores == 1 { "1 core".into() } else { format!("{} cores", fingerprint.cores) };
    format!("{}, {cores}, {}", fingerprint.cpu, fingerprint.features.join(" "))
}

/// The ceilings, one a line.
pub fn ceilings(map: &Map) -> Vec<String> {
    let compute = map.compute.iter().map(|ceiling| {
        let name = format!("{} {}", ceiling.name, ceiling.isa);
        format!("{name:<20} {:>12} sustained, {} burst", ceiling.sustained.to_string(), ceiling.burst)
    });
    let memory = map.memory.iter().map(|ceiling| {
        let name = format!("{} {}", ceiling.level, ceiling.kernel);
        format!("{name:<20} {:>12} sustained, {} best", ceiling.sustained.to_string(), ceiling.best)
    });
    let noise = map.noise.iter().map(|noise| {
        let name = format!("noise, {}", noise.kind);
        format!("{name:<20} {:>12} sigma of {} pairs", percent(noise.sigma), noise.pairs)
    });
    compute.chain(memory).chain(noise).collect()
}

/// What one side of a comparison is called.
pub fn arm(arm: &Arm) -> String {
    match arm {
        Arm::Source(source) => format!("candidate {}", source.digest().short()),
        Arm::Baseline(name) => format!("baseline {name}"),
        Arm::Ceiling(name) => format!("ceiling {name}"),
        Arm::Library(library) => format!("library {}", library.digest.short()),
    }
}

/// A certificate: one line a rung, and a sentence.
pub fn certificate(certificate: &Certificate) -> String {
    let mut lines: Vec<String> = certificate.rungs.iter().map(rung).collect();
    lines.push(String::new());
    lines.push(match certificate.fell_at() {
        Some(rung) => format!("No certificate: it fell at rung {}, {}.", rung.number, rung.name),
        None if certificate.holds() => {
            let looks = certificate.held_out_looks;
            format!(
                "Certified on this machine. The held-out shapes have been looked at {looks} times, this one included."
            )
        }
        None => "No certificate: no rung was climbed.".to_owned(),
    });
    lines.join("\n")
}

/// One rung.
pub fn rung(rung: &Rung) -> String {
    let outcome = match rung.outcome {
        RungOutcome::Passed => "passed",
        RungOutcome::Failed => "FAILED",
        RungOutcome::NotRun => "not run",
    };
    format!("{outcome:<8} {:>2}  {}: {}", rung.number, rung.name, rung.detail)
}

/// Columns of equal width, two spaces between them.
pub fn align<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        let check = |share: f64, expected: &str| assert_eq!(percent(share), expected);
        check(0.4137, "41 %");
        check(0.031, "3.1 %");
        check(0.0041, "0.41 %");
        check(-0.02, "-2.0 %");
    }
}
