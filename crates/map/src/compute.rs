//! Compute ceilings: every unit of one core on random operands, and the main ones on all cores.

use crate::library::{Element, Library};
use crate::order::{UNITS, beaten};
use crate::plan::Checks;
use crate::repeated::{Operands, Repeated};
use crate::rig::{Rig, WINDOW};
use crate::soak;
use crate::summary::Summary;
use crate::team::{self, Load};
use crate::{Session, trust};
use model::{ComputeCeiling, CountPerSecond, Figure, Finding, FlopPerSecond, Hertz, Quantity, Seconds, Trace};

/// What this file measures.
#[derive(Default)]
pub(crate) struct Ceilings {
    pub(crate) core_clock: Option<Hertz>,
    /// The older list.
    pub(crate) compute: Vec<ComputeCeiling>,
    pub(crate) exp: Option<CountPerSecond>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) traces: Vec<Trace>,
    pub(crate) findings: Vec<Finding>,
}

impl Ceilings {
    /// What a unit sustains on one core, or on all (`one`, `all`).
    fn rate(&self, unit: &str, cores: &str) -> Option<f64> {
        let name = format!("compute.{unit}.{cores}");
        let figure = self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value);
        let listed = || self.compute.iter().find(|ceiling| ceiling.name == unit).map(|ceiling| ceiling.sustained.0);
        figure.or_else(|| if cores == "one" { listed() } else { None })
    }

    /// Puts what was measured again of a unit in the place of what was there.
    fn replace(&mut self, unit: &str, fresh: Self) {
        let name = format!("compute.{unit}.one");
        let is_old =
            |other: &str| other.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.figures.retain(|figure| !is_old(&figure.name) && fresh.figures.iter().all(|new| new.name != figure.name));
        self.compute.retain(|ceiling| ceiling.name != unit);
        self.findings.retain(|finding| !is_old(&finding.figure));
        self.traces.retain(|trace| fresh.traces.iter().all(|new| new.name != trace.name));
        self.figures.extend(fresh.figures);
        self.compute.extend(fresh.compute);
        self.findings.extend(fresh.findings);
        self.traces.extend(fresh.traces);
    }
}

/// One probe: name in the map, operands, and what its method says. The kernel is `ceiling-` and the name.
struct Probe {
    name: &'static str,
    operands: Operands,
    isa: &'static str,
    remark: &'static str,
    /// Whether the all-cores figures include it.
    team: Team,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Team {
    Included,
    Alone,
}
use Team::{Alone, Included};

const FED: &str = "tile products, every operand loaded from the first-level cache";
const FED_L2: &str = "tile products, every operand loaded from the second-level cache";
const THREE: &str = "fused multiply-adds of three registers";
const TWO: &str = "products and sums in two instructions";
const DOTPROD: &str = "neon+dotprod";
const ALONE: &str = "multiply-adds of one element";

/// f32 first: its long soak ramps the clock up for the others. An empty instruction set is the widest there is.
const PROBES: [Probe; 18] = [
    Probe { name: "f32", operands: Operands::F32, isa: "", remark: THREE, team: Included },
    Probe { name: "f64", operands: Operands::F64, isa: "", remark: THREE, team: Included },
    Probe { name: "bf16-matrix", operands: Operands::Bf16, isa: "amx-bf16", remark: FED, team: Included },
    Probe {
        name: "bf16-matrix-resident",
        operands: Operands::Bf16,
        isa: "amx-bf16",
        remark: "tile products on operands that never leave the tiles, which no software can do",
        team: Alone,
    },
    Probe { name: "f32-scalar", operands: Operands::F32, isa: "scalar", remark: ALONE, team: Alone },
    Probe { name: "f64-scalar", operands: Operands::F64, isa: "scalar", remark: ALONE, team: Alone },
    Probe { name: "f32-sse2", operands: Operands::F32, isa: "sse2", remark: TWO, team: Alone },
    Probe { name: "f64-sse2", operands: Operands::F64, isa: "sse2", remark: TWO, team: Alone },
    Probe { name: "f32-avx2", operands: Operands::F32, isa: "avx2+fma", remark: THREE, team: Alone },
    Probe { name: "f64-avx2", operands: Operands::F64, isa: "avx2+fma", remark: THREE, team: Alone },
    Probe {
        name: "i8-avx-vnni",
        operands: Operands::Bits,
        isa: "avx-vnni",
        remark: "sums of four byte products, 256-bit registers",
        team: Alone,
    },
    Probe {
        name: "i8-vnni",
        operands: Operands::Bits,
        isa: "avx512-vnni",
        remark: "sums of four byte products, 512-bit registers",
        team: Included,
    },
    Probe {
        name: "i8-dot",
        operands: Operands::Bits,
        isa: DOTPROD,
        remark: "sums of four byte products, 128-bit registers",
        team: Included,
    },
    Probe {
        name: "bf16-dot",
        operands: Operands::Bf16,
        isa: "avx512-bf16",
        remark: "sums of two bf16 products",
        team: Included,
    },
    Probe { name: "f16", operands: Operands::F16, isa: "avx512-fp16", remark: THREE, team: Alone },
    Probe { name: "bf16-matrix-l2", operands: Operands::Bf16, isa: "amx-bf16", remark: FED_L2, team: Included },
    Probe { name: "i8-matrix", operands: Operands::Bits, isa: "amx-int8", remark: FED, team: Included },
    Probe { name: "i8-matrix-l2", operands: Operands::Bits, isa: "amx-int8", remark: FED_L2, team: Included },
];

impl Probe {
    fn kernel(&self) -> String {
        format!("ceiling-{}", self.name)
    }

    fn isa(&self) -> &'static str {
        if self.isa.is_empty() { kernels::isa().name() } else { self.isa }
    }

    fn quantity(&self) -> Quantity {
        if self.operands == Operands::Bits { Quantity::OpsPerSecond } else { Quantity::FlopPerSecond }
    }

    /// Whether another probe is the same code on this machine, or no machine of this architecture has the unit.
    fn is_needless(&self) -> bool {
        self.isa == kernels::isa().name() || (self.isa == DOTPROD && !cfg!(target_arch = "aarch64"))
    }

    /// The list of ceilings that floors are made of.
    fn is_listed(&self) -> bool {
        matches!(self.name, "f32" | "f64" | "bf16-dot" | "bf16-matrix" | "bf16-matrix-resident")
    }
}

/// Measures every ceiling that this machine has.
pub(crate) fn measure(session: &mut Session) -> Ceilings {
    let mut found = Ceilings::default();
    let result = soak::measure(session, &mut found);
    session.noted("f32", result);
    for probe in PROBES[1..].iter().filter(|probe| !probe.is_needless()) {
        (session.progress)(&format!("{} ceiling", probe.name));
        let result = one(session, probe, &mut found);
        session.noted(probe.name, result);
    }
    (session.progress)("exp ceiling and core clock");
    let result = exp(session, &mut found);
    session.noted("exp", result);
    let result = core_clock(session);
    if let Some(summary) = session.noted("core clock", result) {
        found.core_clock = Some(Hertz(summary.median));
        let method = "a chain of dependent additions, one cycle each";
        found.figures.push(summary.figure("clock.core", Quantity::Hertz, method));
    }
    together(session, &mut found);
    for (unit, other) in UNITS {
        let rate = found.rate(other, "one");
        again(session, &mut found, unit, (other, rate));
    }
    for probe in PROBES.iter().filter(|probe| probe.team == Included) {
        let share = found.rate(probe.name, "all").map(|all| all / session.facts.cores.len() as f64);
        again(session, &mut found, probe.name, ("a core's share of all cores", share));
    }
    found
}

/// Measures a ceiling once more that another figure beats. What is beaten even then is broken, and said to be.
fn again(session: &mut Session, found: &mut Ceilings, unit: &str, (other, rate): (&str, Option<f64>)) {
    if beaten(found.rate(unit, "one"), rate).is_none() {
        return;
    }
    let Some(probe) = PROBES.iter().find(|probe| probe.name == unit) else { return };
    (session.progress)(&format!("{unit} ceiling again: {other} beats it"));
    let mut fresh = Ceilings::default();
    let result = match unit {
        "f32" => soak::measure(session, &mut fresh),
        _ => one(session, probe, &mut fresh),
    };
    if session.noted(unit, result).is_some() {
        found.replace(unit, fresh);
    }
    let ratio = rate.zip(found.rate(unit, "one")).map_or(f64::NAN, |(other, own)| other / own);
    found.findings.push(trust::order(&format!("compute.{unit}.one"), other, ratio));
}

fn one(session: &mut Session, probe: &Probe, found: &mut Ceilings) -> Result<(), String> {
    let flop = kernels::flop(&probe.kernel(), &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::find(session, &probe.kernel())?;
    load.draw(probe.operands, &mut session.random);
    let summary = Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(session.plan.unit)?.scaled(flop);
    if session.plan.checks == Checks::Main && !probe.is_listed() {
        publish(probe, &summary, (session.plan.unit, "zeros not tried"), found);
        return Ok(());
    }
    let finding = zeros_against_random(session, probe, &load)?;
    publish(probe, &summary, (session.plan.unit, &finding.text), found);
    found.findings.push(finding);
    if session.plan.checks == Checks::All {
        witnesses(session, probe, (&load, &summary), found);
    }
    Ok(())
}

/// Products of libraries beside a unit that they use.
fn witnesses(session: &mut Session, probe: &Probe, (load, summary): (&Repeated, &Summary), found: &mut Ceilings) {
    const ONE_DNN: &str = "oneDNN, 768x768x768, paired";
    let flop = kernels::flop(&probe.kernel(), &[1]).unwrap_or(f64::NAN);
    let element = match probe.name {
        "bf16-matrix" => Element::Bf16,
        "i8-matrix" => Element::Byte,
        _ => return,
    };
    let result = library_against(session, load, flop, element);
    let Some(ratio) = session.noted(&format!("oneDNN as witness of {}", probe.name), result) else { return };
    let name = format!("compute.{}.one", probe.name);
    found.findings.push(trust::witness(&name, "oneDNN", ratio));
    let known = found.figures.iter().position(|figure| figure.name == name).map(|at| found.figures.remove(at));
    let listed = || {
        let method = format!("{}: as in the list of ceilings", probe.isa());
        summary.figure(&name, probe.quantity(), method)
    };
    found.figures.push(known.unwrap_or_else(listed).witnessed(ONE_DNN, ratio * summary.median));
}

/// Rate of oneDNN's product over the probe's, paired, on a core of its own: the library takes as many threads as the
/// thread that loads it has cores.
fn library_against(session: &mut Session, load: &Repeated, flop: f64, element: Element) -> Result<f64, String> {
    let (seed, rounds, core) = (session.random.bits(), session.plan.rounds, session.facts.cores[0]);
    let passes = (Library::flop() / flop).round() as u64;
    let shared = team::Lent(load);
    let mut answers = team::together(&[core], |_| {
        let load = shared.get();
        let mut library = Library::find(element, &mut crate::Random::seeded(seed))?;
        let mut refused = Ok(());
        let mut first = |_: u64| load.run(passes);
        let mut second = |_: u64| refused = library.run();
        let mut clock = crate::clock::Wall::start();
        let rates = trust::race_at(&mut clock, &mut [&mut first, &mut second], 1, rounds)?;
        refused.map(|()| rates[1] / rates[0])
    });
    answers.pop().unwrap_or_else(|| Err("no thread ran".to_owned()))
}

/// Puts a summary of FLOP/s where it belongs.
fn publish(probe: &Probe, summary: &Summary, (budget, zeros): (Seconds, &str), found: &mut Ceilings) {
    let Summary { best, median, quartiles, samples, .. } = *summary;
    let method = format!(
        "{}; random operands ({zeros}); {samples} windows of about {WINDOW} in {budget}; burst is the best window",
        probe.remark
    );
    if probe.is_listed() {
        return found.compute.push(ComputeCeiling {
            name: probe.name.to_owned(),
            isa: probe.isa().to_owned(),
            burst: FlopPerSecond(best),
            sustained: FlopPerSecond(median),
            spread: quartiles,
            method,
        });
    }
    let name = format!("compute.{}.one", probe.name);
    found.figures.push(summary.figure(&name, probe.quantity(), format!("{}: {method}", probe.isa())));
    let burst = Figure { value: best, ..summary.figure(&format!("{name}.burst"), probe.quantity(), "best window") };
    found.figures.push(Figure { interval: model::Interval { low: best, high: best }, ..burst });
}

/// The f32 ceiling from its soak; `soak` has measured it.
pub(crate) fn publish_f32(summary: &Summary, budget: Seconds, zeros: &str, found: &mut Ceilings) {
    publish(&PROBES[0], summary, (budget, zeros), found);
}

/// The probe as it publishes, the probe on fresh random operands, and the probe on zeros, in turn.
pub(crate) fn zeros_of_f32(session: &mut Session, load: &Repeated) -> Result<Finding, String> {
    zeros_against_random(session, &PROBES[0], load)
}

fn zeros_against_random(session: &mut Session, probe: &Probe, load: &Repeated) -> Result<Finding, String> {
    let fresh = Repeated::find(session, &probe.kernel())?;
    fresh.draw(probe.operands, &mut session.random);
    let zeros = Repeated::find(session, &probe.kernel())?;
    zeros.clear();
    let (mut a, mut b, mut c) = (|n| load.run(n), |n| fresh.run(n), |n| zeros.run(n));
    trust::confirmed(|| {
        let rates = trust::race(session.clock, &mut [&mut a, &mut b, &mut c], session.plan.rounds)?;
        Ok(trust::zero_fed(&format!("compute.{}.one", probe.name), rates[0], rates[1], rates[2]))
    })
}

/// The main units on all cores at once.
fn together(session: &mut Session, found: &mut Ceilings) {
    let cores = match session.facts.team() {
        Ok(cores) => cores.to_vec(),
        Err(why) => return session.missing.push(format!("compute of all cores: {why}")),
    };
    for probe in PROBES.iter().filter(|probe| probe.team == Included && !probe.is_needless()) {
        (session.progress)(&format!("{} ceiling of {} cores", probe.name, cores.len()));
        let (find, kernel) = (session.find, probe.kernel());
        let flop = kernels::flop(&kernel, &[1]).unwrap_or(f64::NAN);
        let seed = session.random.bits();
        let result = team::rates(&cores, session.plan.team, |i| -> Result<Load<'static>, String> {
            let load = Repeated::by(find, &kernel)?;
            load.draw(probe.operands, &mut crate::Random::seeded(seed ^ i as u64));
            Ok(Box::new(move |n| load.run(n)))
        });
        if let Some(summary) = session.noted(&format!("{} of all cores", probe.name), result) {
            let method = format!(
                "{}: {}; random operands; {} cores at once, rates added",
                probe.isa(),
                probe.remark,
                cores.len()
            );
            let name = format!("compute.{}.all", probe.name);
            found.figures.push(summary.scaled(flop).figure(&name, probe.quantity(), method));
        }
    }
    let result = siblings(session);
    found.figures.extend(session.noted("f32 on the threads of one core", result).flatten());
}

/// f32 on all threads of the first core at once; none where it has one.
fn siblings(session: &mut Session) -> Result<Option<Figure>, String> {
    let threads = session.facts.siblings.clone();
    if threads.len() < 2 {
        return Ok(None);
    }
    let flop = kernels::flop("ceiling-f32", &[1]).ok_or("the probe is unknown")?;
    let (find, seed) = (session.find, session.random.bits());
    let summary = team::rates(&threads, session.plan.team, |i| -> Result<Load<'static>, String> {
        let load = Repeated::by(find, "ceiling-f32")?;
        load.draw(Operands::F32, &mut crate::Random::seeded(seed ^ i as u64));
        Ok(Box::new(move |n| load.run(n)))
    })?;
    let method = format!("{} threads of one core at once, rates added", threads.len());
    Ok(Some(summary.scaled(flop).figure("compute.f32.core", Quantity::FlopPerSecond, method)))
}

fn exp(session: &mut Session, found: &mut Ceilings) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("this build is not optimised, and the probe is made by the compiler".to_owned());
    }
    let exps = kernels::exps("ceiling-exp", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::find(session, "ceiling-exp")?;
    load.draw(Operands::F32, &mut session.random);
    let rates = Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(session.plan.unit)?.scaled(exps);
    found.exp = Some(CountPerSecond(rates.median));
    let method = format!("{}: a polynomial after a reduction of the range, within 2 ulp", kernels::isa().name());
    found.figures.push(rates.figure("compute.exp.one", Quantity::OpsPerSecond, method));
    Ok(())
}

/// Cycles a second, from a chain of dependent additions.
pub(crate) fn core_clock(session: &mut Session) -> Result<Summary, String> {
    let cycles = kernels::cycles("chain-add", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::find(session, "chain-add")?;
    Ok(Rig { clock: session.clock, load: &mut |n| load.run(n) }.rates(Seconds(0.2))?.scaled(cycles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn what_is_measured_again_stands_for_what_was_there() {
        let figure = |name: &str, value: f64| Figure { name: name.to_owned(), value, ..Figure::default() };
        let finding = |figure: &str| Finding { figure: figure.to_owned(), ..Finding::default() };
        let mut found = Ceilings {
            figures: vec![
                figure("compute.f64.one", 1.0),
                figure("compute.f64.one.burst", 1.0),
                figure("compute.f64-avx2.one", 5.0),
            ],
            findings: vec![finding("compute.f64.one"), finding("compute.f64-avx2.one")],
            ..Ceilings::default()
        };
        let fresh = Ceilings { figures: vec![figure("compute.f64.one", 2.0)], ..Ceilings::default() };
        found.replace("f64", fresh);
        let names: Vec<&str> = found.figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["compute.f64-avx2.one", "compute.f64.one"]);
        assert_eq!((found.rate("f64", "one"), found.rate("f64", "all")), (Some(2.0), None));
        assert_eq!(found.findings, [finding("compute.f64-avx2.one")]);
    }

    #[test]
    fn every_unit_in_the_order_is_a_probe() {
        let known = |name: &str| PROBES.iter().any(|probe| probe.name == name);
        assert!(UNITS.iter().all(|(faster, slower)| known(faster) && known(slower)));
    }

    #[test]
    fn every_probe_runs_on_its_operands() {
        for probe in PROBES.iter().filter(|probe| kernels::find(&probe.kernel()).is_some()) {
            let load = Repeated::by(kernels::find, &probe.kernel()).unwrap();
            load.draw(probe.operands, &mut Random::from_seed(1));
            load.run(2);
            load.clear();
            load.run(1);
        }
        Repeated::by(kernels::find, "ceiling-exp").unwrap().run(1);
        Repeated::by(kernels::find, "chain-add").unwrap().run(1);
        assert!(Repeated::by(kernels::find, "no such probe").is_err());
    }
}
