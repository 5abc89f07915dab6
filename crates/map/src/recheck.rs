//! Whether a stored map still holds: a few of its figures measured again, in about three seconds.

use crate::arena::Arena;
use crate::compute::core_clock;
use crate::latency::{Chase, GRAIN, LINE, Order};
use crate::level::Level;
use crate::plan::{Depth, Effort};
use crate::repeated::{Operands, Repeated};
use crate::rig::{Rig, WINDOW};
use crate::stream::Stream;
use crate::{MapError, Session, fingerprint, with_session};
use model::{Map, Quantity, Seconds};

/// Windows of each figure.
const BRIEF: Seconds = Seconds(0.4);
/// What a figure may differ by beside its interval: days apart, a shared machine's plateaus differ by about as much.
const DRIFT: f64 = 0.1;
/// Sigmas of the map's own noise that are added to it.
const SIGMAS: f64 = 3.0;

/// One figure, then and now.
#[derive(Clone, Debug, PartialEq)]
pub struct Recheck {
    /// Its dotted name.
    pub name: String,
    /// What it counts.
    pub quantity: Quantity,
    /// As the map has it.
    pub stored: f64,
    /// As measured again.
    pub now: f64,
    /// Share that the two may differ by.
    pub tolerance: f64,
}

impl Recheck {
    /// Whether the stored figure still holds.
    pub fn holds(&self) -> bool {
        (self.now / self.stored).ln().abs() <= (1.0 + self.tolerance).ln()
    }
}

/// Measures what is quick to measure again: the core's clock, f32, reading from the first level and from memory, and
/// the latency of memory. Figures that the map lacks are left out.
///
/// # Errors
/// When the clock allows no measurement at all.
pub fn recheck(map: &Map, progress: &mut dyn FnMut(&str)) -> Result<Vec<Recheck>, MapError> {
    with_session(Effort::from(Depth::Quick), progress, |session, _| {
        type Again = fn(&mut Session, &Map) -> Result<f64, String>;
        let again: [(&str, Again); 5] = [
            ("clock.core", |session, _| core_clock(session).map(|summary| summary.median)),
            ("compute.f32.one", |session, _| f32_rate(session)),
            ("memory.L1.read.one", |session, map| read_again(session, map, "L1")),
            ("memory.DRAM.read.one", |session, map| read_again(session, map, "DRAM")),
            ("latency.DRAM", |session, map| chase_again(session, map)),
        ];
        let noise = map.noise.iter().map(|noise| noise.sigma).fold(0.0, f64::max);
        let mut rows = Vec::new();
        for (name, measure) in again {
            let Some(figure) = map.figure(name) else { continue };
            let result = measure(session, map);
            if let Some(now) = session.noted(name, result) {
                let spread = (figure.interval.high - figure.interval.low) / 2.0 / figure.value;
                let tolerance = DRIFT + SIGMAS * noise + spread.max(0.0);
                rows.push(Recheck {
                    name: figure.name,
                    quantity: figure.quantity,
                    stored: figure.value,
                    now,
                    tolerance,
                });
            }
        }
        Ok(rows)
    })
}

/// Whether `map` was measured on this machine as it is now, by these probes.
pub fn check(map: &Map) -> bool {
    map.fingerprint == fingerprint()
}

fn f32_rate(session: &mut Session) -> Result<f64, String> {
    let flop = kernels::flop("ceiling-f32", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::find(session, "ceiling-f32")?;
    load.draw(Operands::F32, &mut session.random);
    Ok(Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(BRIEF)?.median * flop)
}

/// The largest set that three seconds have time for.
const MOST: usize = 512 << 20;

fn read_again(session: &mut Session, map: &Map, level: &str) -> Result<f64, String> {
    let ceiling = map.memory(level, "read").ok_or("the map has no such ceiling")?;
    let level = Level { name: "", working_set: (ceiling.working_set.0 as usize).min(MOST), reason: String::new() };
    let arena = Arena::new(Arena::needed(1, level.working_set) + 8192).ok_or("out of memory")?;
    arena.fill_fast(1);
    let stream = Stream::new("ceiling-read", &level, &arena)?;
    let mut at = 0;
    let mut load = |units: u64| at = stream.run(units, at);
    let mut rig = Rig { clock: session.clock, load: &mut load };
    let units = rig.units(WINDOW)?;
    Ok(rig.soak(units, BRIEF)?.median * stream.unit_bytes())
}

fn chase_again(session: &mut Session, map: &Map) -> Result<f64, String> {
    let size = largest_size(map).ok_or("the map has no latency curve")?;
    let arena = Arena::new(size + LINE).ok_or("out of memory")?;
    let mut chase = Chase::new(&arena, size / LINE, Order::Random, &mut session.random)?;
    let mut walk = |steps: u64| chase.walk(steps);
    let mut rig = Rig { clock: session.clock, load: &mut walk };
    let units = rig.units(WINDOW)?;
    Ok(1.0 / (rig.soak(units, Seconds(BRIEF.0 / 2.0))?.median * GRAIN as f64))
}

/// The size whose latency stands for memory in a map: its largest up to 128 MiB, which is quick to link.
pub(crate) fn largest_size(map: &Map) -> Option<usize> {
    let sizes = map.latency.iter().map(|point| point.size.0 as usize).filter(|&size| size <= 128 << 20);
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_holds_within_its_tolerance() {
        let holds = |now: f64| {
            let quantity = Quantity::Seconds;
            Recheck { name: String::new(), quantity, stored: 100.0, now, tolerance: 0.1 }.holds()
        };
        assert!(holds(109.0) && holds(91.5) && !holds(111.0) && !holds(90.0));
    }

    #[test]
    fn a_map_of_another_machine_is_refused() {
        let mut fingerprint = fingerprint();
        fingerprint.kernel.push_str("-other");
        assert!(!check(&Map { fingerprint, ..Map::default() }));
    }

    #[test]
    fn an_empty_map_has_nothing_to_check() {
        assert_eq!(recheck(&Map::default(), &mut |_| {}).unwrap(), []);
    }
}
