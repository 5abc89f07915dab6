//! Between cores: the latency of a line that goes from one to another, and a load's latency while the others stream.

use crate::arena::Arena;
use crate::clock::Wall;
use crate::latency::{Chase, GRAIN, LINE, Order};
use crate::level::Level;
use crate::rig::{Rig, WINDOW};
use crate::stream::Stream;
use crate::summary::Summary;
use crate::{Session, team};
use model::{CoreToCore, Curve, CurvePoint, Quantity, Seconds};
use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Cores that the matrix takes at most: a pair takes milliseconds, and pairs grow with the square.
const MOST: usize = 24;
/// Rounds of a pair's unit.
const ROUNDS: u64 = 64;
/// Pauses of the streaming cores between pieces, in spins: from none to nearly idle.
const PAUSES: [Option<u64>; 5] = [None, Some(200_000), Some(50_000), Some(10_000), Some(0)];
/// Working set of each streaming core, and of the core that is watched.
const LOADED_SET: usize = 128 << 20;

/// The matrix of one-way latencies.
pub(crate) fn matrix(session: &mut Session) -> Result<CoreToCore, String> {
    let cores = chosen(session.facts.team()?);
    (session.progress)(&format!("latency between {} cores", cores.len()));
    let n = cores.len();
    let mut seconds = vec![vec![0.0; n]; n];
    for (a, b) in (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))) {
        let latency = pair([cores[a], cores[b]], session.plan.floor)?;
        (seconds[a][b], seconds[b][a]) = (latency, latency);
    }
    let cores = cores.into_iter().map(|core| core as u32).collect();
    let method =
        "half a round trip of a line that two threads, each on its core, write in turn; best quarter of windows";
    Ok(CoreToCore { cores, seconds, method: method.to_owned() })
}

/// All cores, or so many evenly among them.
fn chosen(cores: &[usize]) -> Vec<usize> {
    let n = cores.len().min(MOST);
    (0..n).map(|i| cores[i * cores.len() / n]).collect()
}

/// Half a round trip; spinning, so the quartile of the fast windows: the slow ones lost a core for a while.
fn pair(cores: [usize; 2], budget: Seconds) -> Result<f64, String> {
    let ball = Line(AtomicU64::new(0));
    let over = AtomicBool::new(false);
    let mut answers = team::together(&cores, |member| {
        if member == 1 {
            let mut expected = 1;
            while !over.load(Ordering::Relaxed) {
                if ball.0.load(Ordering::Acquire) == expected {
                    ball.0.store(expected + 1, Ordering::Release);
                    expected += 2;
                }
                spin_loop();
            }
            return None;
        }
        let mut next = 1;
        let mut load = |units: u64| {
            for _ in 0..units * ROUNDS {
                ball.0.store(next, Ordering::Release);
                next += 2;
                while ball.0.load(Ordering::Acquire) != next - 1 {
                    spin_loop();
                }
            }
        };
        let mut clock = Wall::start();
        let mut rig = Rig { clock: &mut clock, load: &mut load };
        let result = rig.units(Seconds(WINDOW.0 / 5.0)).and_then(|units| rig.soak(units, budget));
        over.store(true, Ordering::Relaxed);
        Some(result)
    });
    let summary = answers.swap_remove(0).ok_or("the first member answers")??;
    Ok(0.5 / (summary.quartiles.high * ROUNDS as f64))
}

/// A line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// Latency of a random cycle in memory on one core against the bandwidth that the other cores take.
pub(crate) fn loaded(session: &mut Session) -> Result<Curve, String> {
    let cores = session.facts.team()?.to_vec();
    (session.progress)("latency under load");
    let free = session.facts.memory.unwrap_or(usize::MAX) / 4 / cores.len();
    let set = LOADED_SET.min(free);
    if set < 16 << 20 {
        return Err(format!("only {} MiB a core could be taken", set >> 20));
    }
    let arena = Arena::new(set).ok_or("out of memory")?;
    Chase::new(&arena, set / LINE, Order::Random, &mut session.random)?;
    let mut points = Vec::new();
    for pause in PAUSES {
        points.push(under(&cores, (&arena, set), pause, session.plan.team)?);
    }
    points.sort_by(|a: &CurvePoint, b| a.x.total_cmp(&b.x));
    Ok(Curve {
        name: "latency.loaded".to_owned(),
        quantity: Quantity::Seconds,
        points,
        method: format!(
            "random cycle through {} MiB on one core while {} others read as much each; x is their bytes a second",
            set >> 20,
            cores.len() - 1
        ),
    })
}

/// One load: the latency that the first core sees, and the bytes a second that the others moved meanwhile.
fn under(
    cores: &[usize],
    (arena, set): (&Arena, usize),
    pause: Option<u64>,
    budget: Seconds,
) -> Result<CurvePoint, String> {
    let shared = team::Lent(arena);
    let (start, over, moved) = (Barrier::new(cores.len()), AtomicBool::new(false), AtomicU64::new(0));
    let mut answers = team::together(cores, |member| {
        if member > 0 {
            let stream = stream_of(set, member as u64);
            start.wait();
            if let (Ok((own, stream)), Some(pause)) = (&stream, pause) {
                debug_assert!(own.bytes() >= set);
                press(stream, pause, (&over, &moved));
            }
            return stream.map(|_| None);
        }
        start.wait();
        let result = watch(shared.get(), &moved, budget);
        over.store(true, Ordering::Relaxed);
        result.map(Some)
    });
    let first = answers.swap_remove(0)?;
    answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    first.ok_or_else(|| "the first member answers".to_owned())
}

fn stream_of(set: usize, seed: u64) -> Result<(Arena, Stream), String> {
    let level = Level { name: "DRAM", working_set: set, reason: String::new() };
    let arena = Arena::new(Arena::needed(1, set) + 8192).ok_or("out of memory")?;
    arena.fill_fast(seed);
    let stream = Stream::new("ceiling-read", &level, &arena)?;
    Ok((arena, stream))
}

/// Streams until it is over, with pauses, and counts the bytes.
fn press(stream: &Stream, pause: u64, (over, moved): (&AtomicBool, &AtomicU64)) {
    let unit = stream.unit_bytes() as u64;
    let mut at = 0;
    while !over.load(Ordering::Relaxed) {
        at = stream.run(1, at);
        moved.fetch_add(unit, Ordering::Relaxed);
        (0..pause).for_each(|_| spin_loop());
    }
}

fn watch(arena: &Arena, moved: &AtomicU64, budget: Seconds) -> Result<CurvePoint, String> {
    let mut chase = Chase::linked(arena)?;
    let mut walk = |steps: u64| chase.walk(steps);
    let mut clock = Wall::start();
    let mut rig = Rig { clock: &mut clock, load: &mut walk };
    let units = rig.units(WINDOW)?;
    let before = moved.load(Ordering::Relaxed);
    let series = rig.series(units, budget)?;
    let bytes = moved.load(Ordering::Relaxed) - before;
    let length: f64 = series.iter().map(|[_, rate]| units as f64 / rate).sum();
    let rates = series.into_iter().map(|[_, rate]| rate).collect();
    let Summary { median, middle, .. } = Summary::of(rates).ok_or("no window")?.scaled(GRAIN as f64).per_unit();
    Ok(CurvePoint { x: bytes as f64 / length, y: median, interval: middle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;

    #[test]
    fn cores_are_chosen_evenly() {
        assert_eq!(chosen(&[0, 1, 4]), [0, 1, 4]);
        let many: Vec<usize> = (0..96).collect();
        let some = chosen(&many);
        assert_eq!((some.len(), some[0], some[1], some[23]), (24, 0, 4, 92));
    }

    #[test]
    fn two_cores_have_a_latency() {
        // On one core the threads would take turns by the scheduler: correct, but slow.
        if let Ok(cores) = Facts::read().team() {
            assert!(pair([cores[0], cores[1]], Seconds(1e-3)).unwrap() > 0.0);
        }
    }
}
