//! Bandwidths of memory and of the L2: reads, writes, copies and triads by width, unroll, grid and engine.

use super::curves::{capacity, leaving};
use super::survey::{Best, Check, Way, survey};
use crate::driver::{Attribute, Buffer};
use crate::error::CudaError;
use crate::rig::{Load, Session};
use crate::summary::{Title, figure};
use model::{Curve, CurvePoint, Figure, Interval, Knee, Map, Quantity};

/// Bytes of each array in memory: many times any L2.
const ARRAY: u64 = 4 << 30;
/// The shared memory that the bulk engine's ring takes, and its threads where it copies.
const RING: u32 = 12 * 16_384 + 128;
/// Normal f32 from 1/8 to 2, of either sign.
const FLOATS: [u64; 2] = [0x81FF_FFFF_81FF_FFFF, 0x3E00_0000_3E00_0000];
/// Floats of a triad that are computed here as well.
const SAMPLE: usize = 4096;
/// Least work of a point of the bandwidth curve, in bytes.
const POINT: u64 = 8 << 30;
/// Blocks of a multiprocessor, and their threads.
const SHAPES: [[u32; 2]; 3] = [[8, 256], [4, 512], [2, 1024]];

/// Two arrays, and what the first one sums to.
struct Arrays {
    from: Buffer,
    to: Buffer,
    bytes: u64,
    sum: u32,
}

/// Everything past the L1.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    session.prove_sums()?;
    let bytes = ARRAY.min(session.context.free_memory()? / 4) >> 26 << 26;
    let (from, to) = (session.buffer(bytes as usize)?, session.buffer(bytes as usize)?);
    session.fill(&from, FLOATS)?;
    let sum = session.sum(from.address(), bytes)?;
    let arrays = Arrays { from, to, bytes, sum };
    for (kernel, ways) in
        [("read", reads(session, &arrays)?), ("write", writes(session, &arrays)?), ("copy", copies(session, &arrays)?)]
    {
        let name = format!("memory.DRAM.{kernel}.all");
        let best = survey(session, &name, ways)?;
        let mut found = rate(&name, &best);
        if kernel == "copy" {
            let witness = driver_copy(session, &arrays)?;
            found = found.witnessed("cuMemcpyDtoD", witness);
        }
        map.figures.push(found);
        if kernel == "read" {
            let title = Title { name: "clock.memory.read", quantity: Quantity::Hertz };
            map.figures.push(figure(
                title,
                &best.clock(),
                "cycles of the slowest block over its time, while memory is read",
            ));
        }
    }
    one(session, &arrays, map)?;
    l2(session, &arrays, map)?;
    if session.round == 0 {
        curve(session, &arrays, map)?;
    }
    let best = triad(session, &arrays)?;
    map.figures.push(rate("memory.DRAM.triad.all", &best));
    Ok(())
}

fn rate(name: &str, best: &Best) -> Figure {
    figure(Title { name, quantity: Quantity::BytesPerSecond }, &best.rates, best.method.clone())
}

/// A way that goes once over the arrays.
fn once(label: String, load: Load, work: u64, check: Check) -> Way {
    Way { label, load, repeats: 1, work: work as f64, check }
}

fn reads(session: &mut Session, arrays: &Arrays) -> Result<Vec<Way>, CudaError> {
    let multiprocessors = session.device.multiprocessors;
    let mut ways = Vec::new();
    let mut add = |label: String, mut load: Load| {
        (load.input, load.n) = (arrays.from.address(), arrays.bytes);
        ways.push(once(label, load, arrays.bytes, Check::Records(arrays.sum)));
    };
    for width in [4, 8, 16] {
        for unroll in [1, 2, 4, 8] {
            for [blocks, threads] in SHAPES {
                let kernel = format!("read_cg_w{width}_u{unroll}");
                let load = session.load("memory", &kernel, [multiprocessors * blocks, threads])?;
                add(format!("{width} bytes, {unroll} at once, {blocks} blocks of {threads}"), load);
            }
        }
    }
    if crate::source::has("bulk", session.device.capability) {
        for threads in [256, 512] {
            let load = bulk(session, "read_bulk", threads)?;
            add(format!("bulk engine, {threads} threads adding"), load);
        }
    }
    Ok(ways)
}

fn bulk(session: &mut Session, kernel: &str, threads: u32) -> Result<Load, CudaError> {
    let mut load = session.load("bulk", kernel, [session.device.multiprocessors, threads])?;
    load.function.allow_shared(RING)?;
    load.launch.shared = RING;
    Ok(load)
}

/// Kernels that store so many bytes, walking over everything and going over it once; the second of each pair is the unroll.
fn storing(
    session: &mut Session,
    (arrays, bytes): (&Arrays, u64),
    kernel: &str,
    unrolls: &[u32],
) -> Result<Vec<(String, Load)>, CudaError> {
    let multiprocessors = session.device.multiprocessors;
    let mut loads = Vec::new();
    for unroll in [1, 4] {
        for [blocks, threads] in SHAPES {
            let load =
                session.load("memory", &format!("{kernel}_w16_u{unroll}"), [multiprocessors * blocks, threads])?;
            loads.push((format!("walking, {unroll} at once, {blocks} blocks of {threads}"), load));
        }
    }
    for tag in ["once", "stream"] {
        for &unroll in unrolls.iter().filter(|unroll| tag == "stream" || **unroll < 8) {
            for threads in [128, 256, 512, 1024] {
                let blocks = (bytes / u64::from(16 * threads * unroll)) as u32;
                let load = session.load("memory", &format!("{kernel}_{tag}_u{unroll}"), [blocks, threads])?;
                let hint = if tag == "stream" { ", streaming" } else { "" };
                loads.push((format!("once, {unroll} each, blocks of {threads}{hint}"), load));
            }
        }
    }
    for (_, load) in &mut loads {
        (load.input, load.n, load.extra) = (arrays.from.address(), bytes, arrays.to.address());
    }
    Ok(loads)
}

fn writes(session: &mut Session, arrays: &Arrays) -> Result<Vec<Way>, CudaError> {
    let loads = storing(session, (arrays, arrays.bytes), "write", &[1])?;
    let (address, bytes) = (arrays.to.address(), arrays.bytes);
    let way = |(label, load): (String, Load)| {
        let expected = written(bytes / 4, load.seed as u32);
        once(label, load, bytes, Check::Memory { expected, address, bytes })
    };
    Ok(loads.into_iter().map(way).collect())
}

/// The sum of so many words that are their own number plus the seed, modulo 2^32.
fn written(words: u64, seed: u32) -> u32 {
    // Words are an even number: n (n - 1) / 2 without overflow.
    let triangle = (words / 2).wrapping_mul(words.wrapping_sub(1));
    (triangle as u32).wrapping_add((words as u32).wrapping_mul(seed))
}

fn copies(session: &mut Session, arrays: &Arrays) -> Result<Vec<Way>, CudaError> {
    let mut loads = storing(session, (arrays, arrays.bytes), "copy", &[1, 2, 8])?;
    if crate::source::has("bulk", session.device.capability) {
        let load = bulk(session, "copy_bulk", 32)?;
        let (input, extra) = (arrays.from.address(), arrays.to.address());
        loads.push(("bulk engine both ways".to_owned(), Load { input, n: arrays.bytes, extra, ..load }));
    }
    let check = Check::Memory { expected: arrays.sum, address: arrays.to.address(), bytes: arrays.bytes };
    Ok(loads.into_iter().map(|(label, load)| once(label, load, 2 * arrays.bytes, check)).collect())
}

/// The driver's own copy, bytes a second, read and written.
fn driver_copy(session: &Session, arrays: &Arrays) -> Result<f64, CudaError> {
    let mut rates = Vec::new();
    for _ in 0..session.plan.windows {
        let took = session.timed(|stream| arrays.from.copy_to(&arrays.to, arrays.bytes as usize, stream))?;
        rates.push(2.0 * arrays.bytes as f64 / took);
    }
    Ok(stats::robust::median(&rates))
}

/// What one multiprocessor reads from memory.
fn one(session: &mut Session, arrays: &Arrays, map: &mut Map) -> Result<(), CudaError> {
    let n = (arrays.bytes / 16) >> 22 << 22;
    let expected = session.sum(arrays.from.address(), n)?;
    let mut ways = Vec::new();
    for (unroll, threads) in [(4, 512), (8, 512), (2, 1024), (4, 768), (4, 896), (4, 1024), (8, 1024)] {
        let load = session.load("memory", &format!("read_cg_w16_u{unroll}"), [1, threads])?;
        let load = Load { input: arrays.from.address(), n, ..load };
        ways.push(once(format!("one block of {threads}, {unroll} at once"), load, n, Check::Records(expected)));
    }
    let best = survey(session, "memory.DRAM.read.one", ways)?;
    map.figures.push(rate("memory.DRAM.read.one", &best));
    Ok(())
}

/// Reads of a working set that every multiprocessor's half of the L2 holds.
fn l2(session: &mut Session, arrays: &Arrays, map: &mut Map) -> Result<(), CudaError> {
    let claim = u64::from(session.device.attribute(Attribute::L2)?);
    let n = (claim / 3) >> 21 << 21;
    let expected = session.sum(arrays.from.address(), n)?;
    let multiprocessors = session.device.multiprocessors;
    for (cores, shapes) in [("all", &SHAPES[..]), ("one", &[[1, 512], [1, 896], [1, 1024]][..])] {
        let mut ways = Vec::new();
        for unroll in [2, 4, 8] {
            for &[blocks, threads] in shapes {
                let grid = if cores == "all" { multiprocessors * blocks } else { 1 };
                let load = session.load("memory", &format!("read_cg_w16_u{unroll}"), [grid, threads])?;
                let load = Load { input: arrays.from.address(), n, ..load };
                let label = format!("{unroll} at once, {blocks} blocks of {threads}, {} MiB", n >> 20);
                ways.push(Way::filling(session, label, load, n as f64, Check::Records(expected))?);
            }
        }
        let name = format!("memory.L2.read.{cores}");
        let best = survey(session, &name, ways)?;
        session.check_proportion(&name, &best.way.load, best.way.repeats)?;
        map.figures.push(rate(&name, &best));
    }
    Ok(())
}

/// Reading by all over ever larger working sets: where it falls, the L2 ends.
fn curve(session: &mut Session, arrays: &Arrays, map: &mut Map) -> Result<(), CudaError> {
    session.say("bandwidth over sizes");
    let load = session.load("memory", "read_cg_w16_u4", [session.device.multiprocessors * 8, 256])?;
    let mut points = Vec::new();
    let claim = session.device.attribute(Attribute::L2).map_or(0, u64::from);
    // Much less than the claim is too little to keep every thread busy, and falls short for that.
    let range = [(claim * 2 / 5).max(2 << 20), arrays.bytes.min(1 << 30)];
    for n in session.plan.sizes_around(range, 1 << 16, &[claim]) {
        let repeats = (POINT / n).max(1);
        let load = Load { input: arrays.from.address(), n, ..load.clone() };
        session.shot(&load, 1)?;
        let shots = session.windows(&load, repeats, 3)?;
        let rates: Vec<f64> = shots.iter().map(|shot| (n * repeats) as f64 / shot.event).collect();
        let (low, high) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
        points.push(CurvePoint { x: n as f64, y: stats::robust::median(&rates), interval: Interval { low, high } });
    }
    let name = "bandwidth.read".to_owned();
    let method = "all multiprocessors share the bytes out, 16 bytes a load, past the L1, again and again".to_owned();
    let curve = Curve { name: name.clone(), quantity: Quantity::BytesPerSecond, points, method };
    // A fall of the rate is a rise of its inverse.
    let inverse = |point: &CurvePoint| CurvePoint { y: 1.0 / point.y, ..*point };
    let inverse = Curve { points: curve.points.iter().map(inverse).collect(), ..curve.clone() };
    match leaving(&inverse).into_iter().next() {
        Some(knee) => {
            map.figures.push(capacity("L2", &knee).witnessed("the driver", claim as f64));
            map.knees.push(Knee { level: "L2".to_owned(), claim: Some(claim as f64), ..knee });
        }
        None => session.lacks(format!("capacity.L2: {name} shows no knee")),
    }
    map.curves.push(curve);
    Ok(())
}

/// a + s b of floats, three arrays in motion: two halves of the first buffer, and the second.
fn triad(session: &mut Session, arrays: &Arrays) -> Result<Best, CudaError> {
    let halved = arrays.bytes / 2;
    let loads = storing(session, (arrays, halved), "triad", &[1])?;
    let (address, seed) = (arrays.to.address(), session.random.bits() & 0xFF);
    let check = Check::Same { address, bytes: halved };
    let ways = loads.into_iter().map(|(label, load)| once(label, Load { seed, ..load }, 3 * halved, check)).collect();
    let best = survey(session, "memory.DRAM.triad.all", ways)?;
    let floats = |buffer: &Buffer, offset: u64| -> Result<Vec<f32>, CudaError> {
        Ok(buffer.words(offset as usize, SAMPLE)?.into_iter().map(f32::from_bits).collect())
    };
    let (a, b, found) = (floats(&arrays.from, 0)?, floats(&arrays.from, halved)?, floats(&arrays.to, 0)?);
    let s = 1.0 + seed as f32 / 256.0;
    let right = a.iter().zip(&b).zip(&found).all(|((a, b), found)| s.mul_add(*b, *a) == *found);
    if right { Ok(best) } else { Err(CudaError::Wrong("a triad computed something else".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_words_sum_to_their_closed_form() {
        for (words, seed) in [(2, 0), (8, 5), (1000, u32::MAX), (1 << 20, 12345)] {
            let sum = (0..words).fold(0_u32, |sum, i| sum.wrapping_add(i as u32).wrapping_add(seed));
            assert_eq!(written(words, seed), sum, "{words} {seed}");
        }
    }
}
