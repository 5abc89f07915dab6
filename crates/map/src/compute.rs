//! Compute ceilings of one core: burst and sustained, on random operands, by the probes of `kernels`.

use crate::arena::Arena;
use crate::rig::{Rig, WINDOW};
use crate::summary::{Summary, median};
use crate::{Random, Session};
use model::{ComputeCeiling, CountPerSecond, FlopPerSecond, Hertz, Interval, Seconds};

/// What this file measures.
pub(crate) struct Ceilings {
    pub(crate) core_clock: Option<Hertz>,
    pub(crate) compute: Vec<ComputeCeiling>,
    pub(crate) exp: Option<CountPerSecond>,
}

/// Element type of a probe's operands.
#[derive(Clone, Copy)]
enum Operands {
    F32,
    F64,
    Bf16,
}

/// One probe: name in the map, kernel, operands, and what its method says.
struct Probe {
    name: &'static str,
    kernel: &'static str,
    operands: Operands,
    remark: &'static str,
}

/// f32 first: its long soak ramps the clock up for the others.
const PROBES: [Probe; 4] = [
    Probe {
        name: "f32",
        kernel: "ceiling-f32",
        operands: Operands::F32,
        remark: "fused multiply-adds of three registers",
    },
    Probe {
        name: "f64",
        kernel: "ceiling-f64",
        operands: Operands::F64,
        remark: "fused multiply-adds of three registers",
    },
    Probe {
        name: "bf16-matrix",
        kernel: "ceiling-bf16-matrix",
        operands: Operands::Bf16,
        remark: "tile products, every operand loaded from the first-level cache",
    },
    Probe {
        name: "bf16-matrix-resident",
        kernel: "ceiling-bf16-matrix-resident",
        operands: Operands::Bf16,
        remark: "tile products on operands that never leave the tiles, which no software can do",
    },
];

/// Measures every ceiling that this machine has.
pub(crate) fn measure(session: &mut Session) -> Ceilings {
    let mut compute = Vec::new();
    for (i, probe) in PROBES.iter().enumerate() {
        let budget = if i == 0 { session.plan.soak } else { session.plan.soak_other };
        (session.progress)(&format!("{} ceiling, {:.0} s", probe.name, budget.0));
        let result = ceiling(session, probe, budget);
        compute.extend(session.noted(probe.name, result));
    }
    (session.progress)("exp ceiling and core clock");
    let result = exp(session);
    let exp = session.noted("exp", result);
    let result = core_clock(session);
    Ceilings { core_clock: session.noted("core clock", result), compute, exp }
}

/// A kernel with its buffers, run by its repeat count.
pub(crate) struct Repeated {
    kernel: kernels::Kernel,
    arena: Arena,
    /// Where the operands' arrays start.
    arrays: Vec<*mut u8>,
    /// Bytes of the first array.
    operands: usize,
}

impl Repeated {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let kernel = kernels::find(name).ok_or("this machine has no such unit, or the system does not permit it")?;
        let sizes = kernels::buffers(name, &[1]).ok_or("the probe is unknown")?;
        let longest = sizes.iter().copied().max().unwrap_or(0);
        let arena = Arena::new(Arena::needed(sizes.len(), longest * sizes.len())).ok_or("out of memory")?;
        let arrays = arena.arrays(sizes.len(), longest).ok_or("out of memory")?;
        (kernel.warm)();
        Ok(Self { kernel, arena, arrays, operands: sizes[0] })
    }

    /// Draws the operands.
    #[expect(clippy::cast_ptr_alignment, reason = "an array of an arena starts at a line")]
    fn draw(&self, operands: Operands, random: &mut Random) {
        let start = self.arrays[0];
        // SAFETY: inside the first array, which is aligned to 64 bytes.
        unsafe {
            match operands {
                Operands::F32 => (0..self.operands / 4).for_each(|i| start.cast::<f32>().add(i).write(random.normal())),
                Operands::F64 => {
                    (0..self.operands / 8).for_each(|i| start.cast::<f64>().add(i).write(random.normal().into()));
                }
                Operands::Bf16 => (0..self.operands / 2)
                    .for_each(|i| start.cast::<u16>().add(i).write((random.normal().to_bits() >> 16) as u16)),
            }
        }
    }

    /// Draws `f32` operands.
    pub(crate) fn draw_f32(&self, random: &mut Random) {
        self.draw(Operands::F32, random);
    }

    /// Draws nothing but zeros.
    fn clear(&self) {
        // SAFETY: inside the first array.
        unsafe { self.arrays[0].write_bytes(0, self.operands) };
    }

    /// Runs the probe `repeats` times in one call, and uses what it computed.
    pub(crate) fn run(&self, repeats: u64) {
        debug_assert!(self.arena.bytes() > 0);
        // SAFETY: the buffers are as many and as large as the table of kernels says.
        unsafe {
            (self.kernel.entry)(self.arrays.as_ptr(), [repeats as i64].as_ptr());
            let out = self.arrays[self.arrays.len() - 1];
            std::hint::black_box(out.read_volatile());
        }
    }
}

fn ceiling(session: &mut Session, probe: &Probe, budget: Seconds) -> Result<ComputeCeiling, String> {
    let flop = kernels::flop(probe.kernel, &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::new(probe.kernel)?;
    load.draw(probe.operands, &mut session.random);
    let summary = Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(budget)?;
    let zeros = zeros_against_random(session, probe, &load)?;
    let Summary { best, median, quartiles, samples } = summary;
    Ok(ComputeCeiling {
        name: probe.name.to_owned(),
        isa: isa_of(probe.operands).to_owned(),
        burst: FlopPerSecond(best * flop),
        sustained: FlopPerSecond(median * flop),
        spread: Interval { low: quartiles.low * flop, high: quartiles.high * flop },
        method: format!(
            "{}; random normal operands ({}); {samples} windows of about {WINDOW} in {:.0} s; burst is the best window",
            probe.remark, zeros, budget.0
        ),
    })
}

fn isa_of(operands: Operands) -> &'static str {
    match operands {
        Operands::F32 | Operands::F64 => kernels::isa().name(),
        Operands::Bf16 => "amx-bf16",
    }
}

/// In words, how much faster the probe is on zeros: what a ceiling from constant data would have claimed.
fn zeros_against_random(session: &mut Session, probe: &Probe, load: &Repeated) -> Result<String, String> {
    const PAIRS: usize = 41;
    let units = Rig { clock: session.clock, load: &mut |n| load.run(n) }.units(WINDOW)?;
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        load.clear();
        let zeros = Rig { clock: session.clock, load: &mut |n| load.run(n) }.time(units);
        load.draw(probe.operands, &mut session.random);
        let random = Rig { clock: session.clock, load: &mut |n| load.run(n) }.time(units);
        ratios.push(random / zeros);
    }
    let ratio = median(ratios).unwrap_or(f64::NAN);
    Ok(format!("zeros run {ratio:.3} times as fast"))
}

fn exp(session: &mut Session) -> Result<CountPerSecond, String> {
    if cfg!(debug_assertions) {
        return Err("this build is not optimised, and the probe is made by the compiler".to_owned());
    }
    let exps = kernels::exps("ceiling-exp", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::new("ceiling-exp")?;
    load.draw(Operands::F32, &mut session.random);
    let summary = Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(session.plan.soak_other)?;
    Ok(CountPerSecond(summary.median * exps))
}

fn core_clock(session: &mut Session) -> Result<Hertz, String> {
    let cycles = kernels::cycles("chain-add", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::new("chain-add")?;
    let summary = Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(Seconds(0.2))?;
    Ok(Hertz(summary.median * cycles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_runs_on_its_operands() {
        for probe in PROBES.iter().filter(|probe| kernels::find(probe.kernel).is_some()) {
            let load = Repeated::new(probe.kernel).unwrap();
            load.draw(probe.operands, &mut Random::from_seed(1));
            load.run(2);
            load.clear();
            load.run(1);
        }
        Repeated::new("ceiling-exp").unwrap().run(1);
        Repeated::new("chain-add").unwrap().run(1);
        assert!(Repeated::new("no such probe").is_err());
    }
}
