//! Memory of other nodes: what a core of the first node sees of memory that a core of another node has touched first.
//! Nothing on a machine with one node.

use crate::arena::Arena;
use crate::clock::Wall;
use crate::latency::{Chase, GRAIN, LINE, Order};
use crate::level::Level;
use crate::random::Random;
use crate::rig::{Rig, WINDOW};
use crate::stream::Stream;
use crate::summary::Summary;
use crate::{Session, team};
use model::{Figure, Quantity, Seconds};

/// Working set of both measurements, beyond any last level known to us.
const SET: usize = 512 << 20;
/// Other nodes that are looked at: their distances hardly differ beyond.
const MOST: usize = 3;

/// The figures of every other node.
pub(crate) fn measure(session: &mut Session) -> Vec<Figure> {
    let nodes = session.facts.nodes.clone();
    let Some(home) = nodes.first().and_then(|node| node.first()).copied() else { return Vec::new() };
    let others = nodes.iter().enumerate().skip(1).take(MOST);
    let others: Vec<(usize, usize)> = others.filter_map(|(i, node)| Some((i, *node.first()?))).collect();
    let mut figures = Vec::new();
    for (node, core) in others {
        (session.progress)(&format!("memory of node {node}"));
        let result = of_node(session, [home, core]);
        if let Some([latency, read]) = session.noted(&format!("memory of node {node}"), result) {
            let method = format!("random cycle through {} MiB that a core of node {node} touched first", SET >> 20);
            figures.push(latency.figure(&format!("latency.node-{node}"), Quantity::Seconds, method));
            let method = format!("loads alone, {} MiB that a core of node {node} touched first", SET >> 20);
            figures.push(read.figure(&format!("memory.node-{node}.read.one"), Quantity::BytesPerSecond, method));
        }
    }
    figures
}

/// Latency and reading bandwidth on the first core, in memory of the second.
fn of_node(session: &mut Session, [home, other]: [usize; 2]) -> Result<[Summary; 2], String> {
    let bytes = SET.min(session.facts.memory.unwrap_or(SET) / 4);
    let (seed, budget) = (session.random.bits(), session.plan.team);
    let made = team::together(&[other], |_| {
        let arena = Arena::new(Arena::needed(1, bytes) + 8192)?;
        arena.fill_fast(seed);
        Some(arena)
    });
    let arena = made.into_iter().next().flatten().ok_or("out of memory")?;
    let lent = team::Lent(&arena);
    let mut seen = team::together(&[home], |_| Ok([read(lent.get(), bytes, budget)?, walk(lent.get(), bytes, seed)?]));
    let result: Result<[Summary; 2], String> = seen.pop().ok_or("no thread ran")?;
    let [read, latency] = result?;
    Ok([latency, read])
}

fn read(arena: &Arena, bytes: usize, budget: Seconds) -> Result<Summary, String> {
    let level = Level { name: "DRAM", working_set: bytes, reason: String::new() };
    let stream = Stream::new("ceiling-read", &level, arena)?;
    let mut at = 0;
    let mut load = |units: u64| at = stream.run(units, at);
    let (mut clock, unit) = (Wall::start(), stream.unit_bytes());
    let mut rig = Rig { clock: &mut clock, load: &mut load };
    let units = rig.units(WINDOW)?;
    Ok(rig.soak(units, budget)?.scaled(unit))
}

fn walk(arena: &Arena, bytes: usize, seed: u64) -> Result<Summary, String> {
    let mut chase = Chase::new(arena, bytes / LINE, Order::Random, &mut Random::seeded(seed))?;
    let mut walk = |steps: u64| chase.walk(steps);
    let mut clock = Wall::start();
    let mut rig = Rig { clock: &mut clock, load: &mut walk };
    let units = rig.units(WINDOW)?;
    Ok(rig.soak(units, Seconds(0.05))?.scaled(GRAIN as f64).per_unit())
}
