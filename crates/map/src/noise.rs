//! The noise floor: what identical arms differ by, in pairs whose order a coin decides.

use crate::Session;
use crate::arena::Arena;
use crate::compute::Repeated;
use crate::memory::{Level, Stream};
use crate::random::Random;
use crate::rig::{Rig, WINDOW};
use crate::summary::robust_sigma;
use model::Noise;

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
    let load = Repeated::new("ceiling-f32")?;
    load.draw_f32(&mut session.random);
    pairs(session, "compute", &mut |units| load.run(units))
}

fn memory(session: &mut Session, arena: &Arena) -> Result<Noise, String> {
    let working_set = MEMORY.min(arena.bytes() / 2);
    let level = Level { name: "DRAM", working_set, reason: String::new() };
    let stream = Stream::new("ceiling-triad", &level, 3, arena)?;
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
}
