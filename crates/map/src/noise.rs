//! The noise floor: what identical arms differ by, in pairs whose order a coin decides; how long interruptions last; and
//! how much time a hypervisor took.

use crate::arena::Arena;
use crate::level::Level;
use crate::random::Random;
use crate::repeated::{Operands, Repeated};
use crate::rig::{Rig, WINDOW};
use crate::stream::Stream;
use crate::summary::robust_sigma;
use crate::{Session, system};
use model::{Figure, Histogram, Interval, Noise, Quantity};

/// Working set of the memory pairs, if the arena has it.
const MEMORY: usize = 256 << 20;

/// Measures both kinds.
pub(crate) fn measure(session: &mut Session, arena: &Arena) -> Vec<Noise> {
    (session.progress)("noise floor");
    let compute = compute(session);
    let memory = memory(session, arena);
    let kinds = [("compute", compute), ("memory", memory)];
    kinds.into_iter().filter_map(|(kind, result)| session.noted(&format!("{kind} noise"), result)).collect()
}

fn compute(session: &mut Session) -> Result<Noise, String> {
    let load = Repeated::find(session, "ceiling-f32")?;
    load.draw(Operands::F32, &mut session.random);
    pairs(session, "compute", &mut |units| load.run(units))
}

fn memory(session: &mut Session, arena: &Arena) -> Result<Noise, String> {
    let working_set = MEMORY.min(arena.bytes() / 2);
    let level = Level { name: "DRAM", working_set, reason: String::new() };
    let stream = Stream::new("ceiling-triad", &level, arena)?;
    let mut at = 0;
    pairs(session, "memory", &mut |units| at = stream.run(units, at))
}

fn pairs(session: &mut Session, kind: &str, load: &mut dyn FnMut(u64)) -> Result<Noise, String> {
    let pairs = session.plan.pairs;
    let mut rig = Rig { clock: session.clock, load };
    let units = rig.units(WINDOW)?;
    let ratios: Vec<f64> = (0..pairs).map(|_| pair(&mut rig, units, &mut session.random)).collect();
    let sigma = robust_sigma(&ratios).filter(|sigma| sigma.is_finite()).ok_or("a window took no time")?;
    Ok(Noise { kind: kind.to_owned(), sigma, pairs })
}

/// ln(t_B / t_A) of one pair of identical arms.
fn pair(rig: &mut Rig, units: u64, random: &mut Random) -> f64 {
    let (first, second) = (rig.time(units), rig.time(units));
    let ln = (second / first).ln();
    if random.coin() { ln } else { -ln }
}

/// A gap between two readings of the clock that is longer than this is an interruption: readings take tens of
/// nanoseconds, the shortest interrupts about a microsecond.
const GAP: f64 = 1e-6;
/// Upper bounds of the histogram's bins: doubling from 2 us to 67 ms, and beyond.
const BINS: i32 = 16;

/// Interruptions of a loop that only reads the clock: their lengths, and the share of time that they took.
pub(crate) fn jitter(session: &mut Session) -> (Histogram, Figure) {
    (session.progress)("interruptions");
    let (start, mut last) = (session.clock.now().0, session.clock.now().0);
    let mut gaps = Vec::new();
    while last - start < session.plan.jitter.0 {
        let now = session.clock.now().0;
        if now - last > GAP {
            gaps.push(now - last);
        }
        last = now;
    }
    let method = format!("gaps of more than 1 us between readings of the clock in {}", session.plan.jitter);
    (histogram(&gaps, &method), lost(&gaps, last - start, &method))
}

fn histogram(gaps: &[f64], method: &str) -> Histogram {
    let bound = |i: i32| 2e-6 * 2_f64.powi(i);
    let bins = (0..=BINS)
        .map(|i| {
            let below = if i == 0 { 0.0 } else { bound(i - 1) };
            let above = if i == BINS { f64::INFINITY } else { bound(i) };
            (bound(i), gaps.iter().filter(|gap| (below..above).contains(*gap)).count() as u64)
        })
        .collect();
    Histogram { name: "jitter".to_owned(), quantity: Quantity::Seconds, bins, method: method.to_owned() }
}

fn lost(gaps: &[f64], length: f64, method: &str) -> Figure {
    let value = gaps.iter().sum::<f64>() / length;
    Figure {
        name: "noise.interrupted".to_owned(),
        quantity: Quantity::Ratio,
        value,
        interval: Interval { low: value, high: value },
        samples: gaps.len() as u32,
        method: format!("share of the time in {method}"),
        witness: None,
    }
}

/// The share of the cores' time that a hypervisor gave to others between two readings.
pub(crate) fn stolen(before: Option<system::Ticks>, after: Option<system::Ticks>) -> Option<Figure> {
    let (before, after) = (before?, after?);
    let all = after.all.checked_sub(before.all).filter(|&ticks| ticks > 0)?;
    let value = after.stolen.saturating_sub(before.stolen) as f64 / all as f64;
    Some(Figure {
        name: "noise.stolen".to_owned(),
        quantity: Quantity::Ratio,
        value,
        interval: Interval { low: value, high: value },
        samples: 1,
        method: "steal of all time in /proc/stat, over the whole measurement".to_owned(),
        witness: None,
    })
}

/// The share of the cores' time that went to other programs between two readings.
pub(crate) fn others(before: Option<system::Ticks>, after: Option<system::Ticks>) -> Option<Figure> {
    let (before, after) = (before?, after?);
    let all = after.all.checked_sub(before.all).filter(|&ticks| ticks > 0)?;
    let busy = after.busy.saturating_sub(before.busy);
    let value = busy.saturating_sub(after.own.saturating_sub(before.own)) as f64 / all as f64;
    Some(Figure {
        name: "noise.others".to_owned(),
        quantity: Quantity::Ratio,
        value,
        interval: Interval { low: value, high: value },
        samples: 1,
        method: "busy of all time in /proc/stat, less this process's own, over the whole measurement".to_owned(),
        witness: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::simulated::Simulated;

    #[test]
    fn a_drift_inside_pairs_is_symmetric() {
        let mut clock = Simulated::default();
        let other = clock.clone();
        let mut slow = false;
        let mut load = |units: u64| {
            slow = !slow;
            other.advance(units as f64 * if slow { 1e-6 } else { 1.1e-6 });
        };
        let mut rig = Rig { clock: &mut clock, load: &mut load };
        let mut random = Random::from_seed(1);
        let ratios: Vec<f64> = (0..1000).map(|_| pair(&mut rig, 1000, &mut random)).collect();
        assert!(ratios.iter().all(|ln| (ln.abs() - 1.1_f64.ln()).abs() < 1e-6));
        assert!((ratios.iter().filter(|ln| **ln > 0.0).count() as i32 - 500).abs() < 80);
    }

    #[test]
    fn gaps_fall_into_bins() {
        let histogram = histogram(&[1.5e-6, 3e-6, 3e-6, 5e-3, 1.0], "");
        let counts: Vec<u64> = histogram.bins.iter().map(|bin| bin.1).collect();
        assert_eq!((counts[0], counts[1], counts[12], *counts.last().unwrap()), (1, 2, 1, 1));
        assert_eq!(counts.iter().sum::<u64>(), 5);
        assert!((lost(&[0.1, 0.2], 3.0, "").value - 0.1).abs() < 1e-12);
    }

    #[test]
    fn steal_is_a_share() {
        let ticks = |stolen, all| Some(system::Ticks { stolen, all, ..system::Ticks::default() });
        assert_eq!(stolen(ticks(10, 1000), ticks(30, 1200)).map(|figure| figure.value), Some(0.1));
        assert_eq!(stolen(ticks(10, 1000), ticks(10, 1000)), None);
        assert_eq!(stolen(None, ticks(1, 2)), None);
    }

    #[test]
    fn other_programs_are_what_is_busy_and_not_ours() {
        let ticks = |busy, own, all| Some(system::Ticks { busy, own, all, stolen: 0 });
        let share = |after| others(ticks(100, 10, 1000), after).map(|figure| figure.value);
        assert_eq!(share(ticks(180, 50, 1200)), Some(0.2));
        assert_eq!(share(ticks(140, 50, 1200)), Some(0.0));
        assert_eq!(share(ticks(100, 10, 1000)), None);
    }
}
