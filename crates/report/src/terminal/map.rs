//! A machine map for a terminal: one line a level, one a unit, and what should not be believed.
//!
//! Must not decide what to believe: the map's findings say it.

use super::{Left, Right, table};
use crate::difference::{Change, Kind};
use crate::figures::{binary, one_line, percent};
use crate::{CheckedFigure, counted};
use model::{Bytes, Figure, Map};
use std::fmt::Write as _;

/// The map.
pub fn map(map: &Map) -> String {
    let of = &map.fingerprint;
    let mut text = format!("{}, {}, {}\n", one_line(&of.cpu), counted(of.cores as usize, "core"), of.platform);
    let _ = writeln!(text, "{}\n", clock(map));
    text += &units(map);
    for (title, cores) in [("memory, one core", "one"), ("memory, all cores", "all")] {
        text += &levels(map, title, cores);
    }
    text += &instructions(map);
    text += &floors(map);
    text += &noise(map);
    for knee in map.knees.iter().filter_map(|knee| Some((knee, knee.disagreement.as_ref()?))) {
        let (knee, words) = knee;
        let _ = writeln!(text, "disagreement: {}, {}: {words}", knee.level, knee.curve);
    }
    for finding in map.findings.iter().filter(|finding| !finding.sound) {
        let _ = writeln!(text, "doubt: {}, {}: {}", finding.figure, finding.detector, one_line(&finding.text));
    }
    for missing in &map.missing {
        let _ = writeln!(text, "not measured: {}", one_line(missing));
    }
    text
}

fn clock(map: &Map) -> String {
    let mut text = format!("clock: step {}, reading {}", map.clock_resolution, map.clock_overhead);
    if let Some(clock) = map.core_clock {
        let _ = write!(text, ", core clock {clock}");
    }
    if let Some(ramp) = map.figure("clock.ramp") {
        let time = if ramp.value > 0.0 { format!("in {}", ramp.show()) } else { "at once".to_owned() };
        let _ = write!(text, ", from rest {time}");
    }
    if let Some(kept) = map.figure("compute.f32.one.kept") {
        let _ = write!(text, ", under load {} of the best window kept", percent(kept.value));
    }
    text
}

/// `-` where there is no such figure.
fn shown(figure: Option<&Figure>) -> String {
    figure.map_or("-".to_owned(), Figure::show)
}

fn find<'a>(all: &'a [Figure], name: &str) -> Option<&'a Figure> {
    all.iter().find(|figure| figure.name == name)
}

/// One line a unit: one core, its burst, all cores.
fn units(map: &Map) -> String {
    let all = map.every_figure();
    let mut names: Vec<&str> =
        all.iter().filter_map(|figure| figure.name.strip_prefix("compute.")?.strip_suffix(".one")).collect();
    // The element types from wide use to narrow; within one the widest unit first, as its name is the shortest.
    let rank = |name: &str| ["f32", "f64", "f16", "bf16", "i8", "exp"].iter().position(|t| name.starts_with(t));
    names.sort_by_key(|name| (rank(name), name.len()));
    let rows: Vec<_> = names
        .into_iter()
        .map(|name| {
            let of = |part: &str| find(&all, &format!("compute.{name}.{part}"));
            let isa = map.compute(name).map_or_else(
                || of("one").and_then(|figure| figure.method.split_once(": ")).map_or("-", |(isa, _)| isa).to_owned(),
                |ceiling| ceiling.isa.clone(),
            );
            [name.to_owned(), isa, shown(of("one")), shown(of("one.burst")), shown(of("all"))]
        })
        .collect();
    let head = [("compute", Left), ("isa", Left), ("one core", Right), ("best window", Right), ("all cores", Right)];
    table(head, &rows) + "\n"
}

/// The columns of the table of levels.
const KERNELS: [&str; 7] = ["read", "write", "write-stream", "copy", "scale", "triad", "random"];

/// One line a level.
fn levels(map: &Map, title: &str, cores: &str) -> String {
    let all = map.every_figure();
    let rows: Vec<[String; 10]> = ["L1", "L2", "LLC", "DRAM"]
        .into_iter()
        .filter(|level| all.iter().any(|f| f.name.starts_with(&format!("memory.{level}.")) && f.name.ends_with(cores)))
        .map(|level| {
            let knee = map.knees.iter().find(|knee| knee.level == level).map(|knee| knee.at);
            let size = find(&all, &format!("capacity.{level}")).map(|figure| figure.value).or(knee);
            let size = size.map_or("-".to_owned(), |size| binary(Bytes(size)));
            let latency = find(&all, &format!("latency.{level}")).filter(|_| cores == "one");
            let mut row = std::array::from_fn(|_| String::new());
            (row[0], row[1], row[2]) = (level.to_owned(), size, shown(latency));
            for (cell, kernel) in row[3..].iter_mut().zip(KERNELS) {
                *cell = rate(find(&all, &format!("memory.{level}.{kernel}.{cores}")));
            }
            row
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        (title, Left),
        ("size", Right),
        ("latency", Right),
        ("read", Right),
        ("write", Right),
        ("past caches", Right),
        ("copy", Right),
        ("scale", Right),
        ("triad", Right),
        ("random", Right),
    ];
    table(head, &rows) + "\n"
}

/// A bandwidth in GB/s, without its unit's word.
fn rate(figure: Option<&Figure>) -> String {
    figure.map_or("-".to_owned(), |figure| figure.show().replace("B/s", ""))
}

/// One line an operation: cycles of latency and of throughput, by instruction set.
fn instructions(map: &Map) -> String {
    let cycles = |name: String| {
        map.figures.iter().find(|f| f.name == name).map_or("-".to_owned(), |f| format!("{:.2}", f.value))
    };
    let mut names: Vec<(&str, &str)> = Vec::new();
    for figure in &map.figures {
        let name = figure.name.strip_prefix("instruction.").and_then(|rest| rest.strip_suffix(".latency"));
        if let Some(pair) = name.and_then(|name| name.rsplit_once('-')) {
            names.push(pair);
        }
    }
    let mut operations: Vec<&str> = names.iter().map(|name| name.0).collect();
    operations.dedup();
    operations.sort_unstable();
    operations.dedup();
    let rows: Vec<[String; 5]> = operations
        .into_iter()
        .map(|operation| {
            let of = |isa: &str, form: &str| cycles(format!("instruction.{operation}-{isa}.{form}"));
            [
                operation.to_owned(),
                of("avx2", "latency"),
                of("avx2", "throughput"),
                of("avx512", "latency"),
                of("avx512", "throughput"),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        ("cycles an instruction", Left),
        ("avx2 latency", Right),
        ("throughput", Right),
        ("avx512 latency", Right),
        ("throughput", Right),
    ];
    table(head, &rows) + "\n"
}

fn floors(map: &Map) -> String {
    let floors = map.figures.iter().filter_map(|figure| Some((figure.name.strip_prefix("floor.")?, figure)));
    let mut rows: Vec<[String; 3]> =
        floors.map(|(name, figure)| [name.to_owned(), figure.show(), one_line(&figure.method)]).collect();
    if let Some(matrix) = &map.core_to_core {
        let between = matrix.seconds.iter().flatten().copied().filter(|&seconds| seconds > 0.0);
        let (least, most) = between.fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        let words = format!("a line from core to core; {} at most", model::Seconds(most));
        rows.push(["core to core".to_owned(), model::Seconds(least).to_string(), words]);
    }
    if rows.is_empty() { String::new() } else { table([("floor", Left), ("time", Right), ("of", Left)], &rows) + "\n" }
}

fn noise(map: &Map) -> String {
    let mut rows: Vec<_> = map.noise.iter().map(|n| [n.kind.clone(), percent(n.sigma), n.pairs.to_string()]).collect();
    let shares = [
        ("noise.interrupted", "interrupted"),
        ("noise.others", "given to other programs"),
        ("noise.stolen", "stolen by the hypervisor"),
    ];
    for (name, words) in shares {
        rows.extend(map.figure(name).map(|f| [words.to_owned(), percent(f.value), f.samples.to_string()]));
    }
    if rows.is_empty() {
        return String::new();
    }
    table([("noise, A against A", Left), ("sigma or share", Right), ("samples", Right)], &rows)
}

/// What differs between two maps, the largest change first; then a sentence.
pub fn map_diff(changes: &[Change]) -> String {
    let rows: Vec<[String; 5]> = changes
        .iter()
        .filter(|change| change.kind != Kind::Same)
        .map(|change| {
            let show = |value: Option<f64>| value.map_or("-".to_owned(), |value| change.quantity.show(value));
            let ratio = change.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}x"));
            [change.name.clone(), show(change.a), show(change.b), ratio, change.kind.words().to_owned()]
        })
        .collect();
    let same = changes.iter().filter(|change| change.kind == Kind::Same).count();
    let head = [("figure", Left), ("A", Right), ("B", Right), ("B / A", Right), ("", Left)];
    let rest = format!("{} the same within their intervals\n", counted(same, "figure"));
    if rows.is_empty() { rest } else { table(head, &rows) + &rest }
}

/// A stored map's figures beside what they are now.
pub fn map_check(rows: &[CheckedFigure]) -> String {
    let lines: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let ratio = row.now / row.stored;
            let word = if row.holds { "holds" } else { "no longer" };
            [
                row.name.clone(),
                row.quantity.show(row.stored),
                row.quantity.show(row.now),
                format!("{ratio:.3}x"),
                format!("{word} (to {})", percent(row.tolerance)),
            ]
        })
        .collect();
    table([("figure", Left), ("stored", Right), ("now", Right), ("now / stored", Right), ("", Left)], &lines)
}
