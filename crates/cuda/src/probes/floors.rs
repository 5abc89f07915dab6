//! What a launch costs: alone, in a row, in a graph; what waiting and the smallest copies cost.

use crate::driver::{Function, Graph, Launch};
use crate::error::CudaError;
use crate::rig::Session;
use crate::summary::{Title, figure};
use model::{Map, Quantity, Seconds};
use std::time::Instant;

/// Launches of a row, and nodes of a graph.
const ROW: usize = 1000;
/// A launch of nothing.
const NOTHING: Launch = Launch { blocks: 1, threads: 32, shared: 0 };

/// Every floor, in seconds by the host's clock.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let empty = session.function("floors", "empty")?;
    let windows = session.plan.windows;
    for (name, times, method) in [
        (
            "floor.launch.wait",
            launch_and_wait(session, &empty, windows * 20)?,
            "an empty kernel, from its launch to its known end",
        ),
        ("floor.launch", row(session, &empty, windows)?, "one of 1000 empty kernels in a stream"),
        (
            "floor.graph.wait",
            graph(session, &empty, [1, windows * 20])?,
            "a graph of one empty kernel, until its known end",
        ),
        (
            "floor.graph.node",
            graph(session, &empty, [ROW, windows])?,
            "one of 1000 empty kernels, each after the last, in a graph",
        ),
        ("floor.wait", wait(session, windows * 20)?, "waiting for an idle stream"),
        ("floor.copy.up", copies(session, windows * 20, Way::Up)?, "4 bytes from the host, and waiting"),
        ("floor.copy.down", copies(session, windows * 20, Way::Down)?, "4 bytes to the host, and waiting"),
        ("floor.event", events(session, &empty, windows * 4)?, "what two events around an empty kernel say"),
    ] {
        map.figures.push(figure(Title { name, quantity: Quantity::Seconds }, &times, method));
    }
    map.clock_overhead = Seconds(map.figure("floor.event").map_or(0.0, |figure| figure.value));
    Ok(())
}

/// Seconds of each of several rounds of `work`, divided by `parts`; a first round is not counted.
fn rounds(count: usize, parts: usize, mut work: impl FnMut() -> Result<(), CudaError>) -> Result<Vec<f64>, CudaError> {
    work()?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() / parts as f64);
    }
    Ok(times)
}

fn launch_and_wait(session: &Session, empty: &Function, count: usize) -> Result<Vec<f64>, CudaError> {
    rounds(count, 1, || {
        empty.launch(&session.stream, NOTHING, &[0; 6])?;
        session.stream.synchronize()
    })
}

fn row(session: &Session, empty: &Function, count: usize) -> Result<Vec<f64>, CudaError> {
    rounds(count, ROW, || {
        for _ in 0..ROW {
            empty.launch(&session.stream, NOTHING, &[0; 6])?;
        }
        session.stream.synchronize()
    })
}

fn graph(session: &Session, empty: &Function, [nodes, count]: [usize; 2]) -> Result<Vec<f64>, CudaError> {
    let graph = Graph::record(&session.stream, || {
        (0..nodes).try_for_each(|_| empty.launch(&session.stream, NOTHING, &[0; 6]))
    })?;
    rounds(count, nodes, || {
        graph.launch()?;
        session.stream.synchronize()
    })
}

fn wait(session: &Session, count: usize) -> Result<Vec<f64>, CudaError> {
    rounds(count, 1, || session.stream.synchronize())
}

/// Direction of a copy.
#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

fn copies(session: &Session, count: usize, way: Way) -> Result<Vec<f64>, CudaError> {
    rounds(count, 1, || match way {
        Way::Up => session.output.upload(&[0; 4]),
        Way::Down => session.output.download(0, 4).map(|_| ()),
    })
}

fn events(session: &mut Session, empty: &Function, count: usize) -> Result<Vec<f64>, CudaError> {
    let load = session.load("floors", "empty", [NOTHING.blocks, NOTHING.threads])?;
    debug_assert_eq!(load.function.name, empty.name);
    Ok(session.windows(&load, 1, count)?.iter().map(|shot| shot.event).collect())
}
