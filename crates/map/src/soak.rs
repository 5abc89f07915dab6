//! The f32 ceiling held for seconds: burst against sustained, the core's clock on the way, and the clock's ramp from
//! rest; then what could make the figure untrue.

use crate::compute::{self, Ceilings};
use crate::plan::Checks;
use crate::repeated::{Operands, Repeated};
use crate::rig::{Rig, WINDOW};
use crate::summary::{Summary, median};
use crate::{Session, trust};
use model::{Figure, Interval, Quantity, Seconds, Trace};

/// Points that a trace keeps.
const TRACE: usize = 300;
/// How long the core rests before its clock is watched on the way up.
const REST: Seconds = Seconds(0.3);
/// The clock is up when it stays within this share of its last half.
const UP: f64 = 0.02;
/// Rows of the matrix product that serves as witness.
const ROWS: u64 = 64;

/// Measures the f32 ceiling with everything that belongs to it.
pub(crate) fn measure(session: &mut Session, found: &mut Ceilings) -> Result<(), String> {
    let result = ramp(session, found);
    session.noted("clock ramp", result);
    let budget = session.plan.soak;
    (session.progress)(&format!("f32 ceiling, {budget}"));
    let flop = kernels::flop("ceiling-f32", &[1]).ok_or("the probe is unknown")?;
    let load = Repeated::find(session, "ceiling-f32")?;
    load.draw(Operands::F32, &mut session.random);
    let zeros = compute::zeros_of_f32(session, &load)?;
    let mut attempt = soak(session, &load, budget)?;
    let mut gemm = witness(session, &load);
    if gemm.as_ref().is_ok_and(|ratio| !trust::witness("", "", *ratio).sound) {
        // Beaten: broken, and measured again.
        attempt = soak(session, &load, budget)?;
        gemm = witness(session, &load);
    }
    let summary = Summary::of(attempt.rates.iter().map(|[_, rate]| rate * flop).collect()).ok_or("no window")?;
    compute::publish_f32(&summary, budget, &zeros.text, found);
    let series: Vec<[f64; 2]> = attempt.rates.iter().map(|[at, rate]| [*at, rate * flop]).collect();
    found.figures.extend(sustained(&series));
    found.findings.push(zeros);
    found.findings.push(trust::burst("compute.f32.one", summary.median, &series));
    found.traces.push(trace("compute.f32.one", Quantity::FlopPerSecond, &series, "each window of the soak"));
    let method = "a chain of dependent additions between the windows of the f32 soak";
    found.traces.push(trace("clock", Quantity::Hertz, &attempt.clock, method));
    if let Some(ratio) = session.noted("gemm as witness of f32", gemm) {
        found.findings.push(trust::witness("compute.f32.one", "the gemm crate", ratio));
        let figure =
            summary.figure("compute.f32.one", Quantity::FlopPerSecond, "sustained, as in the list of ceilings");
        found.figures.push(figure.witnessed("gemm crate, 64x1024x3072, paired", ratio * summary.median));
    }
    let result = doubts(session, &load, found);
    session.noted("variants of the f32 probe", result);
    Ok(())
}

/// Windows of a soak, and the clock between them.
struct Soaked {
    rates: Vec<[f64; 2]>,
    clock: Vec<[f64; 2]>,
}

fn soak(session: &mut Session, load: &Repeated, budget: Seconds) -> Result<Soaked, String> {
    /// Share of the time that goes to watching the clock is 1 to 20.
    const SLICES: f64 = 100.0;
    let chain = Repeated::find(session, "chain-add")?;
    let cycles = kernels::cycles("chain-add", &[1]).ok_or("the probe is unknown")?;
    let mut rig = Rig { clock: session.clock, load: &mut |n| load.run(n) };
    let units = rig.units(WINDOW)?;
    rig.check_proportional(units)?;
    let chained = Rig { clock: session.clock, load: &mut |n| chain.run(n) }.units(WINDOW)?;
    let start = session.clock.now().0;
    let mut soaked = Soaked { rates: Vec::new(), clock: Vec::new() };
    loop {
        let at = session.clock.now().0 - start;
        if at >= budget.0 && !soaked.rates.is_empty() {
            return Ok(soaked);
        }
        let slice = Seconds((budget.0 / SLICES).clamp(1e-3, 0.1));
        let series = Rig { clock: session.clock, load: &mut |n| load.run(n) }.series(units, slice)?;
        soaked.rates.extend(series.into_iter().map(|[since, rate]| [at + since, rate]));
        let time = Rig { clock: session.clock, load: &mut |n| chain.run(n) }.time(chained).0;
        soaked.clock.push([at, chained as f64 * cycles / time]);
    }
}

/// What is kept up over the first 5 s and over 30 s, where the soak was as long, and the last against the best.
fn sustained(series: &[[f64; 2]]) -> Vec<Figure> {
    let length = series.last().map_or(0.0, |last| last[0]);
    let mut figures = Vec::new();
    for seconds in [5.0, 30.0].into_iter().filter(|seconds| length >= 0.95 * seconds) {
        let within = series.iter().filter(|[at, _]| *at <= seconds).map(|[_, rate]| *rate).collect();
        let name = format!("compute.f32.one.{seconds:.0}s");
        figures.extend(Summary::of(within).map(|summary| {
            summary.figure(&name, Quantity::FlopPerSecond, format!("median of the first {seconds:.0} s"))
        }));
    }
    let late = Summary::of(series.iter().filter(|[at, _]| *at >= length / 2.0).map(|[_, rate]| *rate).collect());
    let best = series.iter().map(|[_, rate]| *rate).fold(0.0, f64::max);
    let method = format!("second half of {length:.1} s over the best window");
    figures.extend(late.map(|late| late.scaled(1.0 / best).figure("compute.f32.one.kept", Quantity::Ratio, method)));
    figures
}

/// So few points of a series that a page can hold them, each the median of its neighbours.
fn trace(name: &str, quantity: Quantity, series: &[[f64; 2]], method: &str) -> Trace {
    let points = series
        .chunks(series.len().div_ceil(TRACE).max(1))
        .filter_map(|chunk| Some([chunk.first()?[0], median(chunk.iter().map(|[_, value]| *value).collect())?]))
        .collect();
    Trace { name: name.to_owned(), quantity, points, method: method.to_owned() }
}

/// How long the clock takes from rest to where it stays.
fn ramp(session: &mut Session, found: &mut Ceilings) -> Result<(), String> {
    (session.progress)("clock ramp");
    let chain = Repeated::find(session, "chain-add")?;
    let cycles = kernels::cycles("chain-add", &[1]).ok_or("the probe is unknown")?;
    let watch = session.plan.ramp;
    let units = Rig { clock: session.clock, load: &mut |n| chain.run(n) }.units(Seconds(WINDOW.0 / 4.0))?;
    std::thread::sleep(Seconds(REST.0.min(watch.0)).into());
    let series = Rig { clock: session.clock, load: &mut |n| chain.run(n) }.series(units, watch)?;
    let series: Vec<[f64; 2]> = series.into_iter().map(|[at, rate]| [at, rate * cycles]).collect();
    found.traces.push(trace("clock.ramp", Quantity::Hertz, &series, "a chain of additions from 0.3 s of rest on"));
    found.figures.push(ramp_of(&series));
    Ok(())
}

/// The first moment at which the median of ten windows is near that of the second half.
fn ramp_of(series: &[[f64; 2]]) -> Figure {
    let middle = |part: &[[f64; 2]]| median(part.iter().map(|[_, rate]| *rate).collect()).unwrap_or(f64::NAN);
    let last = middle(&series[series.len() / 2..]);
    let up = |part: &[[f64; 2]]| middle(part) >= (1.0 - UP) * last;
    let at = series.chunks(10).position(up).map_or(0, |chunk| chunk * 10);
    let value = series.get(at).map_or(0.0, |point| point[0]);
    let next = series.get(at + 10).map_or(value, |point| point[0]);
    Figure {
        name: "clock.ramp".to_owned(),
        quantity: Quantity::Seconds,
        value,
        interval: Interval { low: value, high: next },
        samples: series.len() as u32,
        method: "from 0.3 s of rest until the clock is within 2 % of where it stays".to_owned(),
        witness: None,
    }
}

/// Rate of the gemm crate's product over the probe's, paired.
fn witness(session: &mut Session, load: &Repeated) -> Result<f64, String> {
    if cfg!(debug_assertions) {
        return Err("this build is not optimised".to_owned());
    }
    let rows = [ROWS as i64];
    let product = Repeated::sized(session.find, "matmul-gemm", &rows)?;
    for array in 0..2 {
        product.draw_array(array, Operands::F32, &mut session.random);
    }
    let flop = [kernels::flop("ceiling-f32", &[1]), kernels::flop("matmul-gemm", &rows)];
    let [Some(probe), Some(flop)] = flop else { return Err("the probe is unknown".to_owned()) };
    // As much work as one product.
    let passes = (flop / probe).round() as u64;
    let mut first = |_: u64| load.run(passes);
    let mut second = |_: u64| product.run(ROWS);
    let rates = trust::race_at(session.clock, &mut [&mut first, &mut second], 1, session.plan.rounds)?;
    Ok(rates[1] / rates[0])
}

/// The probe's own variants: fewer accumulators, fewer operands.
fn doubts(session: &mut Session, load: &Repeated, found: &mut Ceilings) -> Result<(), String> {
    const SWEEP: [&str; 5] = ["1", "2", "4", "8", "12"];
    let mut names: Vec<String> = SWEEP.iter().map(|n| format!("sweep-accumulators-{n}")).collect();
    names.extend(["sweep-operands-1", "sweep-operands-2"].map(str::to_owned));
    let mut variants = Vec::new();
    for name in &names {
        let variant = Repeated::find(session, name)?;
        variant.draw(Operands::Small, &mut session.random);
        variants.push(variant);
    }
    let flop = |name: &str| kernels::flop(name, &[1]).unwrap_or(f64::NAN);
    let each = flop("ceiling-f32") / flop(&names[0]);
    let mut loads: Vec<_> =
        variants.iter().map(|variant| move |n: u64| variant.run((n as f64 * each).round() as u64)).collect();
    let mut first = |n: u64| load.run(n);
    let mut arms: Vec<&mut dyn FnMut(u64)> = vec![&mut first];
    arms.extend(loads.iter_mut().map(|load| load as &mut dyn FnMut(u64)));
    let name = "compute.f32.one";
    let mut rates = Vec::new();
    found.findings.push(trust::confirmed(|| {
        rates = trust::race(session.clock, &mut arms, session.plan.rounds)?;
        Ok(trust::plateau(name, rates[0], "1, 2, 4, 8, 12 accumulators", &rates[1..=SWEEP.len()]))
    })?);
    let [.., three, one, two] = rates[..] else { return Err("too few variants".to_owned()) };
    found.findings.push(trust::one_operand(name, rates[0], [one, two, three]));
    if session.plan.checks == Checks::All {
        for (i, (words, variant)) in OPERANDS.iter().zip([&variants[5], &variants[6], &variants[4]]).enumerate() {
            let mut rig = Rig { clock: session.clock, load: &mut |n| variant.run(n) };
            let summary = rig.rates(session.plan.unit)?.scaled(flop(&names[0]));
            let name = format!("{name}.operands-{}", i + 1);
            found.figures.push(summary.figure(&name, Quantity::FlopPerSecond, *words));
        }
    }
    Ok(())
}

/// What a multiply-add of one, two and three different operands computes.
const OPERANDS: [&str; 3] = [
    "x = x x + x, which some units run faster than any software can use",
    "x = x x + c, which some units run faster than any software can use",
    "x = y z + x with y and z in registers throughout",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_ends_where_the_clock_stays() {
        let series: Vec<[f64; 2]> = (0..400).map(|i| [f64::from(i) * 1e-3, if i < 120 { 1e9 } else { 2e9 }]).collect();
        let figure = ramp_of(&series);
        assert!((figure.value - 0.12).abs() < 1e-9, "{figure:?}");
        assert_eq!(ramp_of(&series[200..]).value, series[200][0]);
    }

    #[test]
    fn a_soak_has_the_figures_that_it_is_long_enough_for() {
        let names = |length: usize| {
            let series: Vec<[f64; 2]> = (0..length).map(|i| [i as f64 * 0.1, 1.0]).collect();
            sustained(&series).into_iter().map(|figure| figure.name).collect::<Vec<_>>()
        };
        assert_eq!(names(20), ["compute.f32.one.kept"]);
        assert_eq!(names(52), ["compute.f32.one.5s", "compute.f32.one.kept"]);
        assert_eq!(names(301).len(), 3);
    }

    #[test]
    fn a_trace_is_short() {
        let series: Vec<[f64; 2]> = (0..10_000).map(|i| [f64::from(i), 1.0]).collect();
        let trace = trace("x", Quantity::Hertz, &series, "");
        assert!((200..=TRACE).contains(&trace.points.len()), "{}", trace.points.len());
    }
}
