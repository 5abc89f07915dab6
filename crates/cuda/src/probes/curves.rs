//! Latency over working-set sizes, by random cycles, and what its knees say of capacities.

use crate::driver::{Attribute, Buffer};
use crate::error::CudaError;
use crate::permutation::{Cycle, LINE};
use crate::rig::{Load, Session};
use crate::summary::{Title, told};
use model::{Bytes, Curve, CurvePoint, Figure, Interval, Knee, LatencyPoint, Map, Quantity, Seconds};
use stats::KneeSearch;

/// Timed steps of a point.
const STEPS: u64 = 4096;
/// Bytes of a small page of the device's allocator; each gets one line in the curve over pages.
const PAGE: u64 = 2 << 20;
/// More than any L2 known to us: beyond, reading everything first warms nothing.
const WARM: u64 = 192 << 20;
/// Slopes in ln latency over ln size: below the first a piece is a plateau, above the second it has left one.
const FLAT: f64 = 0.08;
const RISING: f64 = 0.2;
/// A step between two pieces that counts as a rise.
const STEP: f64 = 0.15;
/// Where a kernel's result lies.
const RESULT: usize = 32;

/// The curve through the L1, the one past it, and the one over pages; knees, capacities and the levels' latencies.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let most = session.plan.largest.min(session.context.free_memory()? / 4);
    let buffer = session.buffer(most as usize)?;
    let cached = curve(session, "chase_ca", &buffer, [4 << 10, most])?;
    let past = curve(session, "chase_cg", &buffer, [64 << 10, most.min(256 << 20)])?;
    drop(buffer);
    let l2 = session.device.attribute(Attribute::L2).unwrap_or(0) as f64;
    let [seconds, cycles] =
        named("latency.cached", &cached, "a random cycle of lines of 128 bytes, one thread, through the L1");
    for (level, curve, at) in [("L1", &cached, 65_536.0), ("L2", &past, l2 / 8.0), ("DRAM", &cached, l2 * 8.0)] {
        map.figures.extend(at_level(level, curve, at));
    }
    map.latency = seconds.points.iter().map(|p| LatencyPoint { size: Bytes(p.x), latency: Seconds(p.y) }).collect();
    let knees = leaving(&cycles);
    let pool = session.device.attribute(Attribute::SharedPerMultiprocessor).map_or(0.0, f64::from);
    // Less than 28 of 228 KiB is shared memory that is never L1; what lies near of the L2 is half of it or all.
    for (level, range) in [("L1", [pool / 4.0, pool * 1.4]), ("L2.near", [l2 / 4.0, l2 * 1.2])] {
        match knees.iter().find(|knee| (range[0]..range[1]).contains(&knee.at)) {
            Some(knee) => {
                map.figures.push(capacity(level, knee));
                map.knees.push(Knee { level: level.to_owned(), ..knee.clone() });
            }
            None => session.lacks(format!("capacity.{level}: latency.cached shows no knee where it may end")),
        }
    }
    map.curves.extend([seconds, cycles]);
    map.curves.extend(named("latency.past-L1", &past, "the same, past the L1"));
    let result = pages(session, map);
    session.noted("reach of the TLB", result);
    Ok(())
}

/// A size, and what one step took there for each cycle drawn: cycles and seconds.
struct Point {
    bytes: u64,
    cycles: Vec<f64>,
    seconds: Vec<f64>,
}

fn curve(session: &mut Session, kernel: &str, buffer: &Buffer, range: [u64; 2]) -> Result<Vec<Point>, CudaError> {
    let mut chase = session.load("latency", kernel, [1, 1024])?;
    // All of the pool to the L1.
    chase.function.prefer_shared(0)?;
    chase.input = buffer.address();
    let claims = [Attribute::SharedPerMultiprocessor, Attribute::L2]
        .map(|attribute| session.device.attribute(attribute).map_or(0, u64::from));
    session
        .plan
        .sizes_around(range, LINE, &claims)
        .into_iter()
        .map(|bytes| point(session, &chase, bytes / LINE, LINE))
        .collect()
}

/// One size: as many cycles as the plan draws.
fn point(session: &mut Session, chase: &Load, nodes: u64, stride: u64) -> Result<Point, CudaError> {
    let build = session.load("latency", "build_cycle", [session.device.multiprocessors * 8, 256])?;
    let bytes = nodes * stride;
    let mut point = Point { bytes, cycles: Vec::new(), seconds: Vec::new() };
    // Read first what a cache can keep, then a stretch of the cycle itself.
    let warm = if stride == LINE { bytes.min(WARM) } else { 0 };
    let untimed = nodes.min(if stride == LINE { 2048 } else { 1 << 16 });
    for _ in 0..session.plan.seeds {
        let cycle = Cycle { nodes, stride, seed: session.random.bits() };
        session.shot(&Load { input: chase.input, n: nodes, seed: cycle.seed, extra: stride, ..build.clone() }, 1)?;
        let walk = Load { n: warm, seed: cycle.after(0), extra: untimed, ..chase.clone() };
        let shot = session.shot(&walk, STEPS)?;
        let ended = u64::from_le_bytes(session.output.download(RESULT, 8)?.try_into().unwrap_or_default());
        let expected = cycle.after(untimed + STEPS);
        if ended != expected {
            return Err(CudaError::Wrong(format!(
                "a cycle of {nodes} lines ended at {ended:#x}, not at {expected:#x}"
            )));
        }
        point.cycles.push(shot.cycles / STEPS as f64);
        point.seconds.push(shot.timer / STEPS as f64);
    }
    Ok(point)
}

/// The two curves of some points.
fn named(name: &str, points: &[Point], method: &str) -> [Curve; 2] {
    let of = |point: &Point, values: &[f64]| {
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
        CurvePoint { x: point.bytes as f64, y: stats::robust::median(values), interval: Interval { low, high } }
    };
    [
        Curve {
            name: name.to_owned(),
            quantity: Quantity::Seconds,
            points: points.iter().map(|point| of(point, &point.seconds)).collect(),
            method: format!("{method}; %globaltimer over {STEPS} steps"),
        },
        Curve {
            name: format!("{name}.cycles"),
            quantity: Quantity::Cycles,
            points: points.iter().map(|point| of(point, &point.cycles)).collect(),
            method: format!("{method}; %clock64 over {STEPS} steps"),
        },
    ]
}

/// The latency that stands for a level: of the points around `at`, in seconds and cycles.
fn at_level(level: &str, points: &[Point], at: f64) -> Vec<Figure> {
    let near = |point: &&Point| (point.bytes as f64 / at).ln().abs() < 0.3;
    let around: Vec<&Point> = points.iter().filter(near).collect();
    let (Some(first), Some(last)) = (around.first(), around.last()) else { return Vec::new() };
    let method = format!("random cycles of {} to {} KiB", first.bytes >> 10, last.bytes >> 10);
    let seconds: Vec<f64> = around.iter().flat_map(|point| point.seconds.iter().copied()).collect();
    let cycles: Vec<f64> = around.iter().flat_map(|point| point.cycles.iter().copied()).collect();
    let name = format!("latency.{level}");
    let in_cycles = format!("{name}.cycles");
    vec![
        crate::summary::figure(Title { name: &name, quantity: Quantity::Seconds }, &seconds, method.clone()),
        crate::summary::figure(Title { name: &in_cycles, quantity: Quantity::Cycles }, &cycles, method),
    ]
}

/// The knees at which a curve leaves a plateau upwards.
pub(crate) fn leaving(curve: &Curve) -> Vec<Knee> {
    let x: Vec<f64> = curve.points.iter().map(|point| point.x.ln()).collect();
    let y: Vec<f64> = curve.points.iter().map(|point| point.y.ln()).collect();
    let found = stats::knees(&x, &y, KneeSearch { seed: 1, ..KneeSearch::default() });
    let leaves = |knee: &&stats::Knee| {
        knee.slope_before.abs() < FLAT && (knee.slope_after > RISING && knee.step > -STEP || knee.step > STEP)
    };
    let as_knee = |knee: &stats::Knee| Knee {
        curve: curve.name.clone(),
        at: knee.x.exp(),
        interval: Interval { low: knee.low.exp(), high: knee.high.exp() },
        ..Knee::default()
    };
    found.iter().filter(leaves).map(as_knee).collect()
}

/// A knee as a figure.
pub(crate) fn capacity(level: &str, knee: &Knee) -> Figure {
    let name = format!("capacity.{level}");
    let method = format!("knee of {}, segmented regression, 95 %", knee.curve);
    Figure { interval: knee.interval, ..told(Title { name: &name, quantity: Quantity::Bytes }, knee.at, method) }
}

/// One line a page, over ever more pages: nothing but the translation of addresses grows.
fn pages(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    session.say("reach of the TLB");
    let free = session.context.free_memory()?;
    let most = free - free / 16;
    let buffer = session.buffer((most / PAGE * PAGE) as usize)?;
    let mut chase = session.load("latency", "chase_cg", [1, 32])?;
    chase.input = buffer.address();
    let sizes = session.plan.sizes([4 * PAGE, most / PAGE * PAGE], PAGE);
    let points: Result<Vec<Point>, CudaError> =
        sizes.into_iter().map(|bytes| point(session, &chase, bytes / PAGE, PAGE)).collect();
    let method = "one line in each 2 MiB, which line is drawn, past the L1; x is the pages' bytes";
    let [seconds, cycles] = named("latency.page", &points?, method);
    let knee = leaving(&cycles).pop();
    match knee {
        Some(knee) => {
            map.figures.push(capacity("TLB", &knee));
            map.knees.push(Knee { level: "TLB".to_owned(), ..knee });
        }
        None => session.lacks(format!("capacity.TLB: no knee below {}", Bytes(most as f64))),
    }
    map.curves.extend([seconds, cycles]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an H200 gave: the L1 ends at 240 KiB, what a multiprocessor sees near of the L2 at 28 MiB.
    #[test]
    fn plateaus_end_where_they_do() {
        let latency = |kib: f64| {
            let far = (kib / 28_672.0).max(1.0).ln().min(2.0) * 0.45;
            let l1 = (kib / 240.0).max(1.0);
            let missed = 1.0 - l1.powf(-3.0);
            (32.0 + (275.0 - 32.0) * missed) * far.exp()
        };
        let sizes: Vec<f64> = (0..160).map(|i| 4.0 * 1.085_f64.powi(i)).collect();
        let points = sizes.iter().enumerate().map(|(i, kib)| CurvePoint {
            x: kib * 1024.0,
            y: latency(*kib) * (1.0 + 0.002 * ((i * 7919 % 13) as f64 / 6.0 - 1.0)),
            ..CurvePoint::default()
        });
        let curve = Curve { name: "c".to_owned(), points: points.collect(), ..Curve::default() };
        let knees: Vec<f64> = leaving(&curve).iter().map(|knee| knee.at / 1024.0).collect();
        assert_eq!(knees.len(), 2, "{knees:?}");
        assert!((knees[0] / 240.0).ln().abs() < 0.1 && (knees[1] / 28_672.0).ln().abs() < 0.1, "{knees:?}");
    }
}
