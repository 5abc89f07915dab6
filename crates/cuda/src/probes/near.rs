//! Bandwidths inside a multiprocessor: shared memory and L1, the same bytes again and again.

use super::survey::{Best, Check, Way, survey};
use crate::driver::Attribute;
use crate::error::CudaError;
use crate::oracle::drawn;
use crate::rig::{Load, Session};
use crate::summary::{Title, figure, told};
use model::{Finding, Map, Quantity};

/// Width of an access, threads, accesses at once: as in `memory.cu`.
const TIGHT: [[u32; 3]; 8] = [
    [4, 1024, 8],
    [4, 1024, 16],
    [8, 1024, 8],
    [8, 1024, 16],
    [16, 1024, 8],
    [16, 512, 8],
    [16, 512, 16],
    [16, 256, 16],
];
/// More than all of these read.
const SOURCE: usize = 1 << 20;
/// Bytes a cycle that a multiprocessor's port moves, on every device since compute capability 7.0. An assembler that moves
/// loads out of the loop shows as more, and as nothing else: the additions that stay still take time in proportion.
const PORT: f64 = 128.0;
/// Of the pool's claim to the L1: some of it is never L1.
const L1_SHARE: f64 = 0.8;

/// Reads of both, one multiprocessor and all.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    session.prove_sums()?;
    let source = session.buffer(SOURCE)?;
    session.fill(&source, [u64::MAX, 0])?;
    let multiprocessors = session.device.multiprocessors;
    for (level, kernel) in [("shared", "shared"), ("L1", "near")] {
        for (cores, grid) in [("all", multiprocessors), ("one", 1)] {
            let name = format!("memory.{level}.read.{cores}");
            let ways = ways(session, kernel, grid, source.address())?;
            let best = survey(session, &name, ways)?;
            session.check_proportion(&name, &best.way.load, best.way.repeats)?;
            let title = Title { name: &name, quantity: Quantity::BytesPerSecond };
            map.figures.push(figure(title, &best.rates, best.method.clone()));
            if cores == "all" {
                let cycles = per_cycle(map, &name, &best, multiprocessors);
                session.findings.push(Finding {
                    detector: "physics".to_owned(),
                    figure: name.clone(),
                    sound: cycles <= 1.01 * PORT,
                    text: format!("{cycles:.1} bytes a cycle of a multiprocessor, of {PORT} that its port moves"),
                });
            }
        }
    }
    let result = largest_block(session);
    map.figures.extend(session.noted("capacity.shared", result));
    Ok(())
}

/// Bytes a cycle of one multiprocessor, noted and returned.
fn per_cycle(map: &mut Map, name: &str, best: &Best, multiprocessors: u32) -> f64 {
    let name = name.replace(".all", ".per-cycle");
    let method = format!("bytes a cycle of a multiprocessor: {}", best.way.label);
    let title = Title { name: &name, quantity: Quantity::Ratio };
    let found = figure(title, &best.per_cycle(multiprocessors), method);
    let value = found.value;
    map.figures.push(found);
    value
}

fn ways(session: &mut Session, kernel: &str, grid: u32, source: u64) -> Result<Vec<Way>, CudaError> {
    let most = session.device.attribute(Attribute::SharedPerBlock)?;
    let mut ways = Vec::new();
    for [width, threads, unroll] in TIGHT {
        let bytes = width * threads * unroll;
        if f64::from(bytes) > f64::from(most) * L1_SHARE {
            continue;
        }
        let mut load = session.load("memory", &format!("{kernel}_w{width}_t{threads}_u{unroll}"), [grid, threads])?;
        let expected = if kernel == "shared" {
            load.function.allow_shared(bytes)?;
            load.launch.shared = bytes;
            drawn(load.seed, u64::from(bytes) / 8, [u64::MAX, 0])
        } else {
            load.function.prefer_shared(0)?;
            session.sum(source, u64::from(bytes))?
        };
        let load = Load { input: source, n: u64::from(bytes), ..load };
        let label = format!("{width} bytes, {unroll} at once, {threads} threads, {} KiB", bytes >> 10);
        let check = Check::Records(expected.wrapping_mul(grid));
        ways.push(Way::filling(session, label, load, f64::from(bytes) * f64::from(grid), check)?);
    }
    Ok(ways)
}

/// The most dynamic shared memory with which a block starts: tried, not asked.
fn largest_block(session: &mut Session) -> Result<model::Figure, CudaError> {
    const GRAIN: u32 = 128;
    let claim = session.device.attribute(Attribute::SharedPerBlock)?;
    let load = session.load("floors", "empty", [1, 32])?;
    let starts = |bytes: u32| {
        let mut load = load.clone();
        load.launch.shared = bytes;
        load.function.allow_shared(bytes).is_ok() && session.shot(&load, 1).is_ok()
    };
    // Invariant: `fits` starts, `fails` does not. 1 MiB is more than any multiprocessor has.
    let (mut fits, mut fails) = (0, (1 << 20) / GRAIN);
    while fails - fits > 1 {
        let middle = u32::midpoint(fits, fails);
        if starts(middle * GRAIN) { fits = middle } else { fails = middle }
    }
    let title = Title { name: "capacity.shared", quantity: Quantity::Bytes };
    let found = told(title, f64::from(fits * GRAIN), "the most that a block starts with, by bisection");
    Ok(found.witnessed("the driver", f64::from(claim)))
}
