//! The tensor cores by format: `mma` and, where it exists, `wgmma`; exact on integers first, then timed on random data.

use super::survey::{Best, Check, Way, survey};
use crate::cublas;
use crate::driver::{Buffer, Launch};
use crate::error::CudaError;
use crate::nvml::{Monitor, Sample, throttling};
use crate::operands::Format;
use crate::oracle::product;
use crate::rig::{Load, Session};
use crate::source;
use crate::summary::{Title, best as best_of, figure};
use model::{Figure, Finding, Map, Quantity};
use stats::robust::median;
use std::time::{Duration, Instant};

/// Repeats of the check against the host.
const CHECKED: u64 = 3;
/// Where checked products lie in the output.
const PRODUCTS: usize = 4096;
/// Seconds that the device rests before a burst.
const REST: f64 = 0.3;
/// Bursts in a round.
const BURSTS: usize = 2;
/// Seconds of a window of the sustained figure.
const WINDOW: f64 = 20e-3;
/// A library that beats a ceiling by more says that it is none.
const BEATEN: f64 = 1.02;
/// Rows, columns and depth of the library's product.
const WITNESS: usize = 8192;

/// One kind of instruction, with what its kernel takes: as in `mma.cu` and `wgmma.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// A warp's, operands in registers.
    Warp,
    /// Four warps', operands in shared memory.
    Group,
}

impl Path {
    fn module(self) -> &'static str {
        match self {
            Self::Warp => "mma",
            Self::Group => "wgmma",
        }
    }

    /// Rows of A and of B in one set of operands, and the bytes of the set.
    fn rows(self) -> [usize; 2] {
        match self {
            Self::Warp => [32, 32],
            Self::Group => [512, 1024],
        }
    }

    fn set(self) -> usize {
        self.rows().iter().sum::<usize>() * 32
    }

    /// Sets of operands that are drawn: more than one, so that not all compute the same.
    fn sets(self) -> usize {
        match self {
            Self::Warp => 512,
            Self::Group => 16,
        }
    }

    /// Multiply-adds of a repeat, of one warp or one block of two groups, for each operand of depth.
    fn products(self) -> usize {
        match self {
            Self::Warp => 8 * 16 * 8,
            Self::Group => 2 * 4 * 64 * 256,
        }
    }

    /// Blocks of a multiprocessor, and their threads.
    fn shapes(self) -> &'static [[u32; 2]] {
        match self {
            Self::Warp => &[[1, 256], [1, 512], [2, 256], [2, 512]],
            Self::Group => &[[1, 256]],
        }
    }

    /// Whether the device has it for a format.
    pub(crate) fn exists(self, format: Format, capability: [u32; 2]) -> bool {
        let f8 = self == Self::Group || format != Format::F8 || source::has_f8(capability);
        f8 && source::has(self.module(), capability)
    }

    /// What a repeat of one set has to come to, from the integers of A and B.
    fn expected(self, a: &[i32], b: &[i32], depth: usize) -> Vec<i32> {
        match self {
            // Tiles [2][4] of 16 rows and 8 columns.
            Self::Warp => {
                let tiles = a.chunks(16 * depth).flat_map(|a| b.chunks(8 * depth).map(move |b| product(a, b, depth)));
                tiles.flatten().collect()
            }
            // [2] of 64 rows and 256 columns, each a sum over 4 slices.
            Self::Group => a
                .chunks(4 * 64 * depth)
                .flat_map(|a| {
                    let slices = a.chunks(64 * depth).zip(b.chunks(256 * depth)).map(|(a, b)| product(a, b, depth));
                    let add =
                        |x: Vec<i32>, y: Vec<i32>| -> Vec<i32> { x.into_iter().zip(y).map(|(x, y)| x + y).collect() };
                    slices.reduce(add).unwrap_or_default()
                })
                .collect(),
        }
    }
}

/// Every format on every path that the device has.
#[expect(clippy::unnecessary_wraps, reason = "every group of probes has one signature")]
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    for format in Format::ALL {
        let capability = session.device.capability;
        let paths: Vec<Path> =
            [Path::Group, Path::Warp].into_iter().filter(|path| path.exists(format, capability)).collect();
        if paths.is_empty() {
            session.lacks(format!("compute.{}-matrix: this device has no such unit", format.name()));
        }
        for (i, path) in paths.into_iter().enumerate() {
            // The first is the faster one and stands for the unit.
            let suffix = if i == 0 { "" } else { "-mma" };
            let unit = format!("{}-matrix{suffix}", format.name());
            session.say(&format!("compute.{unit}"));
            let result = unit_of(session, map, (format, path), &unit);
            session.noted(&format!("compute.{unit}"), result);
        }
    }
    if !source::has("wgmma", session.device.capability) && session.device.capability >= [9, 0] {
        let what =
            "the tensor cores' own instruction of this device has no probe yet: figures are of mma, not ceilings";
        session.lacks(what);
    }
    Ok(())
}

fn unit_of(session: &mut Session, map: &mut Map, which: (Format, Path), unit: &str) -> Result<(), CudaError> {
    let (format, path) = which;
    verify(session, format, path)?;
    let name = format!("compute.{unit}.all");
    let operands = session.buffer(path.sets() * path.set())?;
    session.fill(&operands, format.masks())?;
    let ways = ways(session, which, operands.address())?;
    let found = survey(session, &name, ways)?;
    session.check_proportion(&name, &found.way.load, found.way.repeats)?;
    let quantity = if format == Format::I8 { Quantity::OpsPerSecond } else { Quantity::FlopPerSecond };
    let title = Title { name: &name, quantity };
    let first = !unit.ends_with("-mma");
    let held = if first {
        bursts(session, map, &found, title)?;
        let [held, zeros] = random_and_zeros(session, &found, &operands)?;
        let zeros_name = format!("{name}.zeros");
        let method = "the same on zeros, held in turn with random data: no ceiling";
        map.figures.push(figure(Title { name: &zeros_name, quantity }, &zeros.rates, method));
        held
    } else {
        rest();
        sustained(session, &found.way, session.plan.unit)?
    };
    drop(operands);
    let method = format!("{}; windows of 20 ms over {} s", found.way.label, session.plan.unit);
    let mut ceiling = figure(title, &held.rates, method);
    let per_cycle = found.per_cycle(session.device.multiprocessors);
    let cycles_name = format!("compute.{unit}.per-cycle");
    let method = "operations a cycle of a multiprocessor";
    map.figures.push(figure(Title { name: &cycles_name, quantity: Quantity::Ratio }, &per_cycle, method));
    held.report(session, map, [unit, ""]);
    if first {
        ceiling = witnessed(session, format, unit, ceiling);
    }
    map.figures.push(ceiling);
    Ok(())
}

/// The figure with a library's product beside it, where there is one.
fn witnessed(session: &mut Session, format: Format, unit: &str, ceiling: Figure) -> Figure {
    let result = cublas::gemm(session, format, WITNESS);
    let Some(library) = session.noted(&format!("cuBLAS as witness of {unit}"), result) else { return ceiling };
    let share = library / ceiling.value;
    session.findings.push(Finding {
        detector: "witness".to_owned(),
        figure: ceiling.name.clone(),
        sound: share < BEATEN,
        text: format!("cuBLAS, {WITNESS} x {WITNESS} x {WITNESS}, reaches {share:.3} of it"),
    });
    ceiling.witnessed("cuBLAS", library)
}

/// A launch of so many blocks a multiprocessor.
fn load(session: &mut Session, (format, path): (Format, Path), [blocks, threads]: [u32; 2]) -> Result<Load, CudaError> {
    let grid = session.device.multiprocessors * blocks;
    let kernel = format!("{}_{}", path.module(), format.name());
    let mut load = session.load(path.module(), &kernel, [grid, threads])?;
    if path == Path::Group {
        load.function.allow_shared(path.set() as u32)?;
        load.launch.shared = path.set() as u32;
    }
    Ok(Load { n: path.sets() as u64, ..load })
}

fn ways(session: &mut Session, which: (Format, Path), operands: u64) -> Result<Vec<Way>, CudaError> {
    let (format, path) = which;
    let mut ways = Vec::new();
    for shape in path.shapes() {
        let load = Load { input: operands, ..load(session, which, *shape)? };
        if !session.at_once(&load)? {
            continue;
        }
        let Launch { blocks, threads, .. } = load.launch;
        let parts = if path == Path::Warp { blocks * threads / 32 } else { blocks };
        let work = 2.0 * f64::from(parts) * (path.products() * format.depth()) as f64;
        let label = format!("{}, {} blocks of {} on random data", path.module(), shape[0], shape[1]);
        ways.push(Way::filling(session, label, load, work, Check::Stable)?);
    }
    Ok(ways)
}

/// The first shape of a unit on random operands, which live as long as they are held.
pub(crate) fn way(session: &mut Session, format: Format, path: Path) -> Result<(Way, Buffer), CudaError> {
    let operands = session.buffer(path.sets() * path.set())?;
    session.fill(&operands, format.masks())?;
    let first = ways(session, (format, path), operands.address())?.into_iter().next();
    let way = first.ok_or_else(|| CudaError::Wrong("a unit without a shape".to_owned()))?;
    Ok((way, operands))
}

/// One block on integers, against the host, to the bit.
pub(crate) fn verify(session: &mut Session, format: Format, path: Path) -> Result<(), CudaError> {
    let [rows, columns] = path.rows();
    let mut drawn =
        |count: usize| (0..count * format.depth()).map(|_| session.random.small(format.reach())).collect::<Vec<_>>();
    let (a, b) = (drawn(rows), drawn(columns));
    let mut bytes = Vec::new();
    a.iter().chain(&b).for_each(|value| format.append(*value, &mut bytes));
    let operands = session.buffer(path.set())?;
    operands.upload(&bytes)?;
    let load = load(session, (format, path), [1, if path == Path::Warp { 32 } else { 256 }])?;
    let launch = Launch { blocks: 1, ..load.launch };
    session.shot(&Load { launch, input: operands.address(), n: 1, extra: 1, ..load }, CHECKED)?;
    let expected = path.expected(&a, &b, format.depth());
    let found = session.output.words(PRODUCTS, expected.len())?;
    let exact = |word: &u32, expected: &i32| {
        let expected = expected * CHECKED as i32;
        if format == Format::I8 { *word as i32 == expected } else { f32::from_bits(*word) == expected as f32 }
    };
    let wrong = found.iter().zip(&expected).filter(|(word, expected)| !exact(word, expected)).count();
    if wrong == 0 {
        return Ok(());
    }
    let what = format!("{} of {}: {wrong} of {} products are wrong", path.module(), format.name(), expected.len());
    Err(CudaError::Wrong(what))
}

/// The best windows of less than 5 ms, each from rest.
fn bursts(session: &mut Session, map: &mut Map, found: &Best, title: Title) -> Result<(), CudaError> {
    let mut rates = Vec::new();
    for _ in 0..BURSTS {
        rest();
        rates.push(found.way.work / session.shot(&found.way.load, found.way.repeats)?.event);
    }
    let name = format!("{}.burst", title.name);
    let method =
        format!("{}; best window of {:.0} ms after {REST} s of rest", found.way.label, session.plan.window * 1e3);
    map.figures.push(best_of(Title { name: &name, ..title }, &rates, method));
    Ok(())
}

/// A unit held at its limit.
#[derive(Default)]
pub(crate) struct Held {
    /// Of each window: work a second, cycles a second.
    pub(crate) rates: Vec<f64>,
    pub(crate) clock: Vec<f64>,
    /// What the device said meanwhile; empty where it can't be asked.
    pub(crate) samples: Vec<Sample>,
}

impl Held {
    /// Clock and power as figures, and what lowered the clock as a finding.
    pub(crate) fn report(&self, session: &mut Session, map: &mut Map, [unit, when]: [&str; 2]) {
        let told: Vec<f64> = self.samples.iter().filter_map(|sample| sample.clock).collect();
        let name = format!("clock.{unit}{when}");
        let title = Title { name: &name, quantity: Quantity::Hertz };
        let found = figure(title, &self.clock, "cycles of the slowest block over its time, while held");
        map.figures.push(if told.is_empty() { found } else { found.witnessed("NVML", median(&told)) });
        let power: Vec<f64> = self.samples.iter().filter_map(|sample| sample.power).collect();
        if power.is_empty() {
            return;
        }
        let name = format!("power.{unit}{when}");
        let title = Title { name: &name, quantity: Quantity::Watts };
        let found = figure(title, &power, "NVML's running average, under load");
        let limit = session.monitor.as_ref().and_then(Monitor::power_limit);
        map.figures.push(limit.map_or(found.clone(), |limit| found.witnessed("limit", limit)));
        let (text, sound) = throttling(&self.samples);
        session.findings.push(Finding {
            detector: format!("throttling{when}"),
            figure: format!("compute.{unit}.all"),
            sound,
            text,
        });
    }
}

/// Windows over so many seconds, one after the other, with the device asked during each.
pub(crate) fn sustained(session: &Session, way: &Way, seconds: f64) -> Result<Held, CudaError> {
    let longer = (WINDOW / session.plan.window).round().max(1.0);
    let repeats = way.repeats * longer as u64;
    let (start, mut held) = (Instant::now(), Held::default());
    while held.rates.len() < 3 || start.elapsed().as_secs_f64() < seconds {
        let sample = || held.samples.extend(session.monitor.as_ref().map(Monitor::sample));
        let shot = session.shot_while(&way.load, repeats, sample)?;
        held.rates.push(way.work * longer / shot.event);
        held.clock.push(shot.cycles / shot.event);
    }
    Ok(held)
}

/// The unit held on random data and on zeros, each from rest; by rounds the one or the other first. Much shorter turns
/// would show no difference: what limits the power follows it over tens of milliseconds.
fn random_and_zeros(session: &mut Session, found: &Best, operands: &Buffer) -> Result<[Held; 2], CudaError> {
    let empty = session.buffer(operands.bytes())?;
    empty.set(0, empty.bytes())?;
    let zeros = Way { load: Load { input: empty.address(), ..found.way.load.clone() }, ..found.way.clone() };
    let (ways, mut held) = ([&found.way, &zeros], [Held::default(), Held::default()]);
    for turn in 0..2 {
        let i = (turn + session.round) % 2;
        rest();
        held[i] = sustained(session, ways[i], session.plan.unit)?;
    }
    Ok(held)
}

/// Lets the device cool and its power budget fill.
fn rest() {
    std::thread::sleep(Duration::from_secs_f64(REST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_takes_its_operands_where_its_kernel_says() {
        let check = |path: Path, depth: usize| {
            let [rows, columns] = path.rows();
            let (a, b) = (vec![1; rows * depth], vec![2; columns * depth]);
            let expected = path.expected(&a, &b, depth);
            let (each, count) = if path == Path::Warp { (2 * depth, 8 * 16 * 8) } else { (8 * depth, 2 * 64 * 256) };
            assert_eq!(expected.len(), count);
            assert!(expected.iter().all(|value| *value == each as i32));
            // Multiply-adds that are counted are those that are done.
            let slices = if path == Path::Warp { 1 } else { 4 };
            assert_eq!(path.products(), count * slices);
        };
        for depth in [8, 16, 32] {
            check(Path::Warp, depth);
            check(Path::Group, depth);
        }
    }

    #[test]
    fn units_exist_where_the_device_has_them() {
        let check = |path: Path, format, capability, expected| {
            assert_eq!(path.exists(format, capability), expected, "{path:?} {format:?} {capability:?}");
        };
        check(Path::Group, Format::F8, [9, 0], true);
        check(Path::Group, Format::Bf16, [8, 0], false);
        check(Path::Warp, Format::F8, [8, 0], false);
        check(Path::Warp, Format::F8, [8, 9], true);
        check(Path::Warp, Format::I8, [8, 0], true);
        check(Path::Group, Format::I8, [10, 0], false);
    }

    #[test]
    fn sums_of_the_check_stay_exact() {
        // The largest sum that a check can come to, against the integers that f32, and for bytes i32, holds.
        for format in Format::ALL {
            let most = 4 * format.depth() as i64 * i64::from(format.reach()).pow(2) * CHECKED as i64;
            assert!(most < if format == Format::I8 { 1 << 31 } else { 1 << 24 }, "{format:?}: {most}");
        }
    }
}
