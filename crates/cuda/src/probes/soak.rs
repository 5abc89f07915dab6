//! The tensor cores held at their limit: what is kept up when the device is warm.

use super::tensor::{Path, sustained, verify, way};
use crate::error::CudaError;
use crate::nvml::Sample;
use crate::operands::Format;
use crate::rig::Session;
use crate::summary::{Title, figure, told};
use model::{Finding, Map, Quantity, Trace};
use stats::robust::median;

/// Points that a trace keeps.
const POINTS: usize = 300;
/// A second half that loses more against the first windows says that those were a burst.
const KEPT: f64 = 0.97;

/// A trace of rate and clock, the medians of its parts, and how much of the best window is kept.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let path = if Path::Group.exists(Format::Bf16, session.device.capability) { Path::Group } else { Path::Warp };
    session.say(&format!("bf16-matrix, {} s", session.plan.soak));
    verify(session, Format::Bf16, path)?;
    let (way, operands) = way(session, Format::Bf16, path)?;
    let held = sustained(session, &way, session.plan.soak)?;
    drop(operands);
    let rates = &held.rates;
    let window = session.plan.soak / rates.len() as f64;
    let method = format!("windows of 20 ms over {} s, random data", session.plan.soak);
    let sampled = |of: fn(&Sample) -> Option<f64>| held.samples.iter().filter_map(of).collect::<Vec<f64>>();
    for (name, quantity, values) in [
        ("compute.bf16-matrix.all", Quantity::FlopPerSecond, rates.clone()),
        ("clock", Quantity::Hertz, held.clock.clone()),
        ("clock.told", Quantity::Hertz, sampled(|sample| sample.clock)),
        ("power", Quantity::Watts, sampled(|sample| sample.power)),
        ("temperature", Quantity::Celsius, sampled(|sample| sample.temperature)),
    ] {
        if values.is_empty() {
            continue;
        }
        let each = values.len().div_ceil(POINTS).max(1);
        let points = values.chunks(each).enumerate().map(|(i, part)| [(i * each) as f64 * window, median(part)]);
        map.traces.push(Trace { name: name.to_owned(), quantity, points: points.collect(), method: method.clone() });
    }
    held.report(session, map, ["bf16-matrix", ".soak"]);
    let (half, first) = (&rates[rates.len() / 2..], &rates[..rates.len().min(5)]);
    for seconds in [5.0, 30.0] {
        if session.plan.soak >= seconds {
            let count = ((seconds / window) as usize).clamp(1, rates.len());
            let name = format!("compute.bf16-matrix.all.{seconds:.0}s");
            let title = Title { name: &name, quantity: Quantity::FlopPerSecond };
            map.figures.push(figure(title, &rates[..count], format!("median of the first {seconds:.0} s")));
        }
    }
    let most = rates.iter().copied().fold(0.0, f64::max);
    let title = Title { name: "compute.bf16-matrix.all.kept", quantity: Quantity::Ratio };
    map.figures.push(told(title, median(half) / most, "second half of the soak over its best window"));
    let kept = median(half) / median(first);
    session.findings.push(Finding {
        detector: "burst".to_owned(),
        figure: "compute.bf16-matrix.all".to_owned(),
        sound: kept > KEPT,
        text: format!("the second half of {} s is {kept:.3} of the first windows", session.plan.soak),
    });
    Ok(())
}
