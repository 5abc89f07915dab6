//! Latencies of single operations, from chains in which each waits for the last.

use crate::error::CudaError;
use crate::oracle;
use crate::permutation::{Cycle, LINE};
use crate::rig::{Load, Session, Shot};
use crate::summary::{Title, figure};
use model::{Finding, Map, Quantity};

/// Steps of a window; a multiple of every unroll.
const STEPS: u64 = 128 * 200;
/// Two unrolls whose times a step must agree to this, or the loop is in the figure.
const AGREE: f64 = 0.10;
/// Words of shared memory that the cycle goes through.
const WORDS: u64 = 4096;
/// Lines of the cycle of offsets: 16 KiB, well inside any L1.
const NODES: u64 = 128;
/// Words that atomics are tried on, and the bytes between them.
const WORDS_TRIED: usize = 16;
const APART: u64 = 4096 + 128;
/// Where a kernel's result lies.
const RESULT: usize = 32;

/// The chains: kernel, figure, operations a step.
const CHAINS: [(&str, &str, f64); 6] = [
    ("f32", "instruction.fma-f32.latency", 1.0),
    ("f64", "instruction.fma-f64.latency", 1.0),
    ("i32_mad", "instruction.mad-i32.latency", 1.0),
    ("i32_logic", "instruction.logic-i32.latency", 2.0),
    ("exp2", "instruction.exp2-f32.latency", 1.0),
    ("shuffle", "latency.shuffle", 1.0),
];

/// All of them, in cycles; where memory is meant in seconds as well.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    for (kernel, name, operations) in CHAINS {
        let result = chain(session, map, [kernel, name], operations);
        session.noted(name, result);
    }
    shared(session, map)?;
    offsets(session, map)?;
    atomic(session, map)
}

fn chain(session: &mut Session, map: &mut Map, [kernel, name]: [&str; 2], operations: f64) -> Result<(), CudaError> {
    let short = session.load("latency", &format!("chain_{kernel}_u32"), [1, 32])?;
    let long = session.load("latency", &format!("chain_{kernel}_u128"), [1, 32])?;
    session.shot(&long, STEPS)?;
    let shots = session.windows(&long, STEPS, session.plan.windows)?;
    let found = u64::from_le_bytes(session.output.download(RESULT, 8)?.try_into().unwrap_or_default());
    if oracle::chain(kernel, long.seed, STEPS).is_some_and(|expected| expected != found) {
        return Err(CudaError::Wrong(format!("the chain of {kernel} ended at {found:#x}")));
    }
    if kernel == "exp2" && !oracle::settled(found) {
        return Err(CudaError::Wrong(format!("the chain of exp2 ended at {found:#x}, which is not where it settles")));
    }
    session.shot(&short, STEPS)?;
    let other = session.windows(&short, STEPS, 5)?;
    let each = |shots: &[Shot]| shots.iter().map(|shot| shot.cycles / STEPS as f64 / operations).collect::<Vec<_>>();
    let ratio = stats::robust::median(&each(&other)) / stats::robust::median(&each(&shots));
    session.findings.push(Finding {
        detector: "loop-overhead".to_owned(),
        figure: name.to_owned(),
        sound: (ratio - 1.0).abs() < AGREE,
        text: format!("{ratio:.3} times as long at a quarter of the unroll"),
    });
    let method = format!("a chain of {STEPS} in one warp, 128 a turn of the loop");
    if name.starts_with("latency.") {
        publish(map, name, &shots, &method);
    } else {
        map.figures.push(figure(Title { name, quantity: Quantity::Cycles }, &each(&shots), method));
    }
    Ok(())
}

/// A latency in seconds, and beside it in cycles.
fn publish(map: &mut Map, name: &str, shots: &[Shot], method: &str) {
    let seconds: Vec<f64> = shots.iter().map(|shot| shot.timer / STEPS as f64).collect();
    let cycles: Vec<f64> = shots.iter().map(|shot| shot.cycles / STEPS as f64).collect();
    map.figures.push(figure(Title { name, quantity: Quantity::Seconds }, &seconds, method));
    let name = format!("{name}.cycles");
    map.figures.push(figure(Title { name: &name, quantity: Quantity::Cycles }, &cycles, method));
}

fn shared(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    for (kernel, name, by) in [
        ("chase_shared", "latency.shared", "by address"),
        ("chase_shared_index", "latency.shared.indexed", "by index, so with a multiply-add a step"),
    ] {
        let mut load = session.load("latency", kernel, [1, 128])?;
        load.launch.shared = 4 * WORDS as u32;
        let load = Load { n: WORDS, ..load };
        session.shot(&load, STEPS)?;
        let shots = session.windows(&load, STEPS, session.plan.windows)?;
        let ended = session.output.words(RESULT, 1)?;
        let expected = crate::permutation::permute(STEPS % WORDS, WORDS, load.seed) as u32;
        if ended != [expected] {
            return Err(CudaError::Wrong(format!("{name}: the cycle ended at {ended:?}, not at {expected}")));
        }
        publish(map, name, &shots, &format!("a random cycle through 16 KiB of shared memory, one thread, {by}"));
    }
    Ok(())
}

/// A cycle in the L1 whose nodes hold offsets: what a program that walks an array by index sees.
fn offsets(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let lines = session.buffer((NODES * LINE) as usize)?;
    let cycle = Cycle { nodes: NODES, stride: LINE, seed: session.random.bits() };
    let build = session.load("latency", "build_cycle", [1, 256])?;
    session.shot(&Load { input: lines.address(), n: NODES, seed: cycle.seed, extra: LINE, ..build }, 0)?;
    let chase = session.load("latency", "chase_offset", [1, 32])?;
    chase.function.prefer_shared(0)?;
    let chase = Load { input: lines.address(), seed: cycle.after(0), extra: 2 * NODES, ..chase };
    session.shot(&chase, STEPS)?;
    let shots = session.windows(&chase, STEPS, session.plan.windows)?;
    let ended = u64::from_le_bytes(session.output.download(RESULT, 8)?.try_into().unwrap_or_default());
    let expected = cycle.after(2 * NODES + STEPS);
    if ended != expected {
        return Err(CudaError::Wrong(format!("a cycle of offsets ended at {ended:#x}, not at {expected:#x}")));
    }
    publish(
        map,
        "latency.L1.indexed",
        &shots,
        "a random cycle of 128 lines, one thread, by offset, so with an addition a step",
    );
    Ok(())
}

/// An atomic that returns, on the nearest of some words of the L2: where its half is another one, it takes longer.
fn atomic(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let words = session.buffer(WORDS_TRIED * APART as usize)?;
    words.set(0, words.bytes())?;
    let chain = session.load("latency", "chain_atomic", [1, 32])?;
    let expected = oracle::additions(chain.seed as u32, STEPS);
    let (mut nearest, mut least) = (None, f64::INFINITY);
    for i in 0..WORDS_TRIED as u64 {
        let load = Load { input: words.address() + i * APART, ..chain.clone() };
        session.shot(&load, STEPS)?;
        let found = session.output.words(RESULT, 1)?;
        if found != [expected] {
            return Err(CudaError::Wrong(format!("a chain of atomics ended at {found:?}, not at {expected}")));
        }
        let cycles = session.shot(&load, STEPS)?.cycles;
        if cycles < least {
            (nearest, least) = (Some(load), cycles);
        }
    }
    let load = nearest.ok_or_else(|| CudaError::Wrong("no chain of atomics took any time".to_owned()))?;
    let shots = session.windows(&load, STEPS, session.plan.windows)?;
    let method = format!("additions to the nearest of {WORDS_TRIED} words, each of what the last returned");
    publish(map, "latency.atomic", &shots, &method);
    Ok(())
}
