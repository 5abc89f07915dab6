//! Atomic additions: on one word, on many, in shared memory; counted afterwards.

use super::survey::{Check, Way, survey};
use crate::error::CudaError;
use crate::rig::{Load, Session};
use crate::summary::{Title, figure};
use model::{Figure, Map, Quantity};

/// Additions of a turn of the loop.
const UNROLL: f64 = 8.0;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Bytes over which additions are spread: well inside the L2.
const SPREAD: u64 = 16 << 20;

/// Additions a second.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let words = session.buffer(SPREAD as usize)?;
    let multiprocessors = session.device.multiprocessors;
    for (name, kernel, unroll) in [
        ("atomic.same.all", "atomic_same", UNROLL),
        ("atomic.spread.all", "atomic_spread", 1.0),
        ("atomic.spread-f32.all", "atomic_spread_f32", 1.0),
    ] {
        let load = session.load("floors", kernel, [multiprocessors * 2, THREADS])?;
        let load = Load { input: words.address(), n: SPREAD, ..load };
        if !kernel.ends_with("f32") {
            count(session, &load, &words, unroll)?;
        }
        let found = rate(session, name, load, unroll)?;
        map.figures.push(found);
    }
    for (name, extra, words) in [("atomic.shared.all", 0, THREADS), ("atomic.shared-same.all", 1, 1)] {
        let mut load = session.load("floors", "atomic_shared", [multiprocessors, THREADS])?;
        load.launch.shared = 4 * THREADS;
        let load = Load { n: u64::from(4 * THREADS), extra, ..load };
        let expected = (multiprocessors * THREADS).wrapping_mul(UNROLL as u32);
        let found = session.shot(&load, 1)?.sum;
        // Every thread of a block sums a share of the block's words.
        if found != expected {
            return Err(CudaError::Wrong(format!(
                "{name}: {found} additions arrived in {words} words, not {expected}"
            )));
        }
        let found = rate(session, name, load, UNROLL)?;
        map.figures.push(found);
    }
    Ok(())
}

/// Whether every addition arrived.
fn count(session: &mut Session, load: &Load, words: &crate::driver::Buffer, unroll: f64) -> Result<(), CudaError> {
    const REPEATS: u64 = 5;
    words.set(0, words.bytes())?;
    session.shot(load, REPEATS)?;
    let threads = u64::from(load.launch.blocks * load.launch.threads);
    let (found, expected) = (session.sum(words.address(), SPREAD)?, (threads * REPEATS * unroll as u64) as u32);
    if found == expected {
        return Ok(());
    }
    Err(CudaError::Wrong(format!("{}: {found} additions arrived, not {expected}", load.function.name)))
}

fn rate(session: &mut Session, name: &str, load: Load, unroll: f64) -> Result<Figure, CudaError> {
    let work = f64::from(load.launch.blocks) * f64::from(load.launch.threads) * unroll;
    let way = Way::filling(session, "additions that return nothing".to_owned(), load, work, Check::Elsewhere)?;
    let best = survey(session, name, vec![way])?;
    Ok(figure(Title { name, quantity: Quantity::OpsPerSecond }, &best.rates, best.method.clone()))
}
