//! Bandwidth at each level of the memory ladder: every form on one core, and on all cores at once; and over sizes.
//!
//! A figure counts the bytes that the program names. Where an ordinary store reads the line first, the bytes that move
//! are given beside them, so that no reader has to guess which model a number follows.

use crate::arena::Arena;
use crate::level::Level;
use crate::order::{LEVELS, beaten};
use crate::plan::Checks;
use crate::rig::{Proportion, Rig, WINDOW};
use crate::stream::{Stream, unit_bytes};
use crate::summary::Summary;
use crate::team::{self, Load};
use crate::{MapError, Session, trust};
use model::{Bytes, BytesPerSecond, Curve, CurvePoint, Figure, Finding, Interval, MemoryCeiling, Quantity};

/// One form of moving data.
struct Form {
    name: &'static str,
    /// Bytes moved a byte named, where an ordinary store reads its line first.
    moved: f64,
    words: &'static str,
}

impl Form {
    /// The form without its way to store.
    fn stem(&self) -> &'static str {
        self.name.trim_end_matches("-stream").trim_end_matches("-string")
    }
}

const READ: Form = Form { name: "read", moved: 1.0, words: "loads alone" };
/// The forms, by how they store; `-stream` stores past the caches.
const FORMS: [Form; 11] = [
    READ,
    Form { name: "write", moved: 2.0, words: "ordinary stores of one value" },
    Form { name: "write-stream", moved: 1.0, words: "stores past the caches" },
    Form { name: "copy", moved: 1.5, words: "b = a, ordinary stores" },
    Form { name: "copy-stream", moved: 1.0, words: "b = a, stores past the caches" },
    Form { name: "copy-string", moved: 1.0, words: "b = a by one string move, as the C library copies" },
    Form { name: "scale", moved: 1.5, words: "b = 3 a, ordinary stores" },
    Form { name: "scale-stream", moved: 1.0, words: "b = 3 a, stores past the caches" },
    Form { name: "triad", moved: 4.0 / 3.0, words: "c = a + 3 b, ordinary stores" },
    Form { name: "triad-stream", moved: 1.0, words: "c = a + 3 b, stores past the caches" },
    Form {
        name: "random",
        moved: 1.0,
        words: "one word of each of random 64-byte lines, addresses independent of loads",
    },
];

/// Layouts that a figure of the first levels is measured at: shifts in bytes.
const LAYOUTS: [usize; 5] = [0, 64, 320, 1088, 2048 + 192];

/// What this file measures.
#[derive(Default)]
pub(crate) struct Bandwidths {
    /// The older list: read, copy and triad, the faster of both ways to store.
    pub(crate) ceilings: Vec<MemoryCeiling>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) curves: Vec<Curve>,
    pub(crate) findings: Vec<Finding>,
}

/// Memory for the largest working set, filled with numbers that differ from line to line.
pub(crate) fn arena(session: &mut Session, levels: &[Level]) -> Result<Arena, MapError> {
    /// Enough for the smallest levels, where there is no memory level.
    const SMALLEST: usize = 8 << 20;
    let largest = levels.iter().map(|level| level.working_set).max().unwrap_or(SMALLEST);
    (session.progress)(&format!("filling {} MiB", largest >> 20));
    // Room for the rounding and the shifts of two or three arrays.
    let bytes = Arena::needed(3, largest) + Arena::needed(2, 1) + 4 * 4096;
    let arena = Arena::new(bytes).ok_or(MapError::NoMemory(bytes))?;
    arena.fill_fast(session.random.bits());
    Ok(arena)
}

/// Measures every form at every level.
pub(crate) fn measure(session: &mut Session, levels: &[Level], arena: &Arena) -> Bandwidths {
    let mut found = Bandwidths::default();
    for level in levels {
        (session.progress)(&format!("bandwidth, {}", level.name));
        let mut summaries = Vec::new();
        for form in FORMS.iter().filter(|form| stores_suit(form, level)) {
            let result = one(session, level, form, arena);
            if let Some((summary, finding)) = session.noted(&format!("{} at {}", form.name, level.name), result) {
                found.figures.extend(figures(&summary, form, level, "one"));
                found.findings.extend(finding);
                summaries.push((form, summary));
            }
        }
        found.ceilings.extend(["read", "copy", "triad"].iter().filter_map(|name| ceiling(name, level, &summaries)));
        witness(session, level, arena, &mut found);
    }
    for (near, far) in LEVELS {
        again(session, (levels, arena), &mut found, [near, far]);
    }
    let result = together(session, levels, &mut found);
    session.noted("memory of all cores", result);
    let result = curves(session, arena);
    found.curves.extend(session.noted("bandwidth by size", result).unwrap_or_default());
    found
}

/// Reads a level once more that a farther one beats. What is beaten even then is broken, and said to be.
fn again(session: &mut Session, (levels, arena): (&[Level], &Arena), found: &mut Bandwidths, [near, far]: [&str; 2]) {
    let rate = |found: &Bandwidths, level: &str| read_rate(&found.figures, level, "one").map(|(rate, _)| rate);
    let beating = rate(found, far);
    if beaten(rate(found, near), beating).is_none() {
        return;
    }
    let Some(level) = levels.iter().find(|level| level.name == near) else { return };
    (session.progress)(&format!("reading at {near} again: {far} beats it"));
    let result = one(session, level, &READ, arena);
    let name = format!("memory.{near}.read.one");
    if let Some((summary, finding)) = session.noted(&format!("read at {near}"), result) {
        found.figures.retain(|figure| figure.name != name);
        found.figures.extend(figures(&summary, &READ, level, "one"));
        found.findings.retain(|finding| finding.figure != name);
        found.findings.extend(finding);
        found.ceilings.retain(|ceiling| ceiling.level != near || ceiling.kernel != "read");
        found.ceilings.extend(ceiling("read", level, &[(&READ, summary)]));
    }
    let ratio = beating.zip(rate(found, near)).map_or(f64::NAN, |(far, near)| far / near);
    found.findings.push(trust::order(&name, &format!("reading at {far}"), ratio));
}

/// Stores past the caches make no sense inside the first levels.
fn stores_suit(form: &Form, level: &Level) -> bool {
    !form.name.ends_with("-stream") || is_far(level)
}

fn is_far(level: &Level) -> bool {
    matches!(level.name, "LLC" | "DRAM")
}

/// One form on one core, at several layouts where the level is small enough for them to matter.
fn one(session: &mut Session, level: &Level, form: &Form, arena: &Arena) -> Result<(Summary, Option<Finding>), String> {
    let probe = format!("ceiling-{}", form.name);
    let streams = || LAYOUTS.iter().map(|&shift| Stream::shifted(&probe, level, arena, shift));
    let main_only = session.plan.checks == Checks::Main && form.name != "read";
    if is_far(level) || form.name == "random" || main_only {
        let stream = Stream::new(&probe, level, arena)?;
        return Ok((
            bytes_per_second(session, &[stream], if main_only { Proportion::Assumed } else { Proportion::Checked })?,
            None,
        ));
    }
    let streams = streams().collect::<Result<Vec<_>, _>>()?;
    let summary = bytes_per_second(session, &streams, Proportion::Checked)?;
    let mut loads: Vec<_> = streams
        .iter()
        .map(|stream| {
            let mut at = 0;
            move |units: u64| at = stream.run(units, at)
        })
        .collect();
    let mut arms: Vec<&mut dyn FnMut(u64)> = loads.iter_mut().map(|load| load as &mut dyn FnMut(u64)).collect();
    let name = format!("memory.{}.{}.one", level.name, form.name);
    let finding = trust::confirmed(|| {
        let rates = trust::race(session.clock, &mut arms, session.plan.rounds)?;
        Ok(trust::layout(&name, &rates))
    })?;
    Ok((summary, Some(finding)))
}

/// Bytes a second over one stream, or over several layouts of it in turn.
fn bytes_per_second(session: &mut Session, streams: &[Stream], check: Proportion) -> Result<Summary, String> {
    let mut at = vec![0; streams.len()];
    let mut turn = 0;
    let mut load = |units: u64| {
        let i = turn % streams.len();
        turn += 1;
        at[i] = streams[i].run(units, at[i]);
    };
    let unit = streams.first().ok_or("no layout")?.unit_bytes();
    let mut rig = Rig { clock: session.clock, load: &mut load };
    let units = rig.units(WINDOW)?;
    if check == Proportion::Checked {
        rig.check_proportional(units)?;
    }
    Ok(rig.soak(units, session.plan.stream)?.scaled(unit))
}

/// The figure by named bytes and, where they differ, by moved bytes.
fn figures(summary: &Summary, form: &Form, level: &Level, cores: &str) -> Vec<Figure> {
    let name = format!("memory.{}.{}.{cores}", level.name, form.name);
    let method = format!(
        "{}; bytes that the program names; {} windows of about {WINDOW}, interval of their median (95 %); {}; random data",
        form.words, summary.samples, level.reason
    );
    let mut figures = vec![summary.figure(&name, Quantity::BytesPerSecond, method)];
    if form.moved > 1.0 && is_far(level) {
        let moved = summary.scaled(form.moved);
        let method = format!("{} with the line that an ordinary store reads first: {:.2} x", name, form.moved);
        let name = format!("memory.{}.{}.moved.{cores}", level.name, form.name);
        figures.push(moved.figure(&name, Quantity::BytesPerSecond, method));
    }
    figures
}

/// The faster way to store, as the older list has it.
fn ceiling(kernel: &str, level: &Level, summaries: &[(&Form, Summary)]) -> Option<MemoryCeiling> {
    let forms = summaries.iter().filter(|(form, _)| form.stem() == kernel);
    let (form, summary) = forms.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let faster = if kernel == "read" { "" } else { ", the fastest of its forms" };
    Some(MemoryCeiling {
        level: level.name.to_owned(),
        kernel: kernel.to_owned(),
        working_set: Bytes(level.working_set as f64),
        best: BytesPerSecond(summary.best),
        sustained: BytesPerSecond(summary.median),
        spread: summary.quartiles,
        method: format!(
            "{}{faster}; {} windows of about {WINDOW}; {}; huge pages where granted; random data",
            form.words, summary.samples, level.reason
        ),
    })
}

/// The C library's `memcpy` over the same bytes as the copies, paired with the faster of them.
fn witness(session: &mut Session, level: &Level, arena: &Arena, found: &mut Bandwidths) {
    let Some(ceiling) = found.ceilings.iter().find(|c| c.level == level.name && c.kernel == "copy") else { return };
    let (rate, name) = (ceiling.sustained.0, format!("memory.{}.copy.one", level.name));
    let mut ratio = f64::NAN;
    let result = trust::confirmed(|| {
        ratio = memcpy_ratio(session, level, arena)?;
        Ok(trust::witness(&name, "memcpy", ratio))
    });
    let Some(finding) = session.noted(&format!("memcpy at {}", level.name), result) else { return };
    found.findings.push(finding);
    if let Some(figure) = found.figures.iter_mut().find(|figure| figure.name == name) {
        *figure = figure.clone().witnessed("memcpy", ratio * rate);
    }
}

/// Rate of `memcpy` over that of the fastest copy probe.
fn memcpy_ratio(session: &mut Session, level: &Level, arena: &Arena) -> Result<f64, String> {
    let forms = ["ceiling-copy", "ceiling-copy-stream", "ceiling-copy-string"];
    let streams = forms.map(|form| Stream::new(form, level, arena));
    let [ordinary, stream, string] = streams;
    let (ordinary, stream, string) = (ordinary?, stream?, string?);
    let (mut a, mut b, mut c, mut d) = (0, 0, 0, 0);
    let mut first = |units: u64| a = ordinary.run(units, a);
    let mut second = |units: u64| b = stream.run(units, b);
    let mut third = |units: u64| c = string.run(units, c);
    let mut library = |units: u64| d = ordinary.run_memcpy(units, d);
    let arms: &mut [&mut dyn FnMut(u64)] = &mut [&mut library, &mut first, &mut third, &mut second];
    let rates = trust::race(session.clock, arms, session.plan.rounds)?;
    let ours = if is_far(level) { &rates[1..] } else { &rates[1..3] };
    Ok(rates[0] / ours.iter().copied().fold(0.0, f64::max))
}

/// Every core with its own arrays. Levels that cores share are divided among them.
fn together(session: &mut Session, levels: &[Level], found: &mut Bandwidths) -> Result<(), String> {
    let cores = session.facts.team()?.to_vec();
    let shares: Vec<Level> = levels.iter().map(|level| share(level, cores.len())).collect();
    (session.progress)(&format!("filling the memory of {} cores", cores.len()));
    let arenas = arenas(&cores, &shares)?;
    let lent = team::Lent(&arenas);
    for (level, own) in levels.iter().zip(&shares) {
        (session.progress)(&format!("bandwidth of {} cores, {}", cores.len(), level.name));
        let checks = session.plan.checks;
        for form in FORMS.iter().filter(|form| stores_suit(form, level) && in_team(form, checks)) {
            let unit = unit_bytes(&format!("ceiling-{}", form.name), own);
            let result = team::rates(&cores, session.plan.team, |i| member(own, form, &lent.get()[i]));
            let result = result.map(|summary| summary.scaled(unit));
            if let Some(summary) = session.noted(&format!("{} at {} of all cores", form.name, level.name), result) {
                let mut all = figures(&summary, form, level, "all");
                all[0].method += "; every core at once on its own arrays, rates added";
                found.figures.extend(all);
            }
        }
    }
    let result = by_cores(session, &shares, (&cores, &lent), &found.figures);
    found.curves.extend(session.noted("bandwidth by cores", result));
    Ok(())
}

/// What one of so many cores works on: its part of a level that cores share, the whole of one that is its own.
fn share(level: &Level, cores: usize) -> Level {
    const SMALLEST: usize = 1 << 16;
    let bytes = if is_far(level) { (level.working_set / cores).max(SMALLEST) } else { level.working_set };
    Level { working_set: bytes, ..level.clone() }
}

/// An arena for each core, first touched by it, so that its memory is the core's own.
fn arenas(cores: &[usize], shares: &[Level]) -> Result<Vec<Arena>, String> {
    let largest = shares.iter().map(|level| level.working_set).max().ok_or("there is no level")?;
    let made = team::together(cores, |member| {
        let arena = Arena::new(Arena::needed(3, largest) + Arena::needed(2, 1)).ok_or("out of memory")?;
        arena.fill_fast(member as u64);
        Ok(arena)
    });
    made.into_iter().collect()
}

/// Whether all cores run a form.
fn in_team(form: &Form, checks: Checks) -> bool {
    match checks {
        Checks::All => form.name != "copy-string",
        Checks::Main => {
            matches!(form.name, "read" | "write" | "copy" | "copy-stream" | "triad" | "triad-stream")
        }
    }
}

/// A member's stream over its arena.
fn member<'a>(level: &Level, form: &Form, arena: &'a Arena) -> Result<Load<'a>, String> {
    let stream = Stream::new(&format!("ceiling-{}", form.name), level, arena)?;
    let mut at = 0;
    Ok(Box::new(move |units| {
        // The stream points into the arena.
        debug_assert!(arena.bytes() > 0);
        at = stream.run(units, at);
    }))
}

/// Reading memory on one core, two, four, ... and all; the first and the last are measured already.
fn by_cores(
    session: &mut Session,
    shares: &[Level],
    (cores, lent): (&[usize], &team::Lent<'_, Vec<Arena>>),
    figures: &[Figure],
) -> Result<Curve, String> {
    let own = shares.iter().find(|level| level.name == "DRAM").ok_or("there is no memory level")?;
    let known = |of: &str| read_rate(figures, "DRAM", of).ok_or("reading memory was not measured");
    let point = |n: usize, (y, interval): (f64, Interval)| CurvePoint { x: n as f64, y, interval };
    let mut points = vec![point(1, known("one")?)];
    let unit = unit_bytes("ceiling-read", own);
    for n in (1..usize::BITS).map(|i| 1 << i).take_while(|&n| n < cores.len()) {
        let rates = team::rates(&cores[..n], session.plan.team, |i| member(own, &READ, &lent.get()[i]))?;
        let summary = rates.scaled(unit);
        points.push(point(n, (summary.median, summary.middle)));
    }
    points.push(point(cores.len(), known("all")?));
    Ok(Curve {
        name: "bandwidth.cores".to_owned(),
        quantity: Quantity::BytesPerSecond,
        points,
        method: "reading memory, each core its own array; x is the number of cores".to_owned(),
    })
}

/// Bandwidth over sizes, on one core.
fn curves(session: &mut Session, arena: &Arena) -> Result<Vec<Curve>, String> {
    (session.progress)("bandwidth by size");
    let octave = f64::from(session.plan.bandwidth);
    let largest = (arena.bytes() - (1 << 20)) as f64 / 1.1;
    let sizes: Vec<f64> =
        (0_i32..256).map(|i| 8192.0 * 2_f64.powf(f64::from(i) / octave)).take_while(|&size| size <= largest).collect();
    let mut curves = Vec::new();
    let wanted: &[&str] = match session.plan.checks {
        Checks::All => &["read", "write", "copy", "triad", "copy-stream"],
        Checks::Main => &["read", "copy"],
    };
    for form in FORMS.iter().filter(|form| wanted.contains(&form.name)) {
        let mut points = Vec::new();
        for &size in &sizes {
            points.push(curve_point(session, form, size, arena)?);
        }
        curves.push(Curve {
            name: format!("bandwidth.{}", form.name),
            quantity: Quantity::BytesPerSecond,
            points,
            method: format!(
                "{}, one core; bytes that the program names; all arrays together make the size",
                form.words
            ),
        });
    }
    Ok(curves)
}

fn curve_point(session: &mut Session, form: &Form, size: f64, arena: &Arena) -> Result<CurvePoint, String> {
    let level = Level { name: "", working_set: size as usize, reason: String::new() };
    let stream = Stream::new(&format!("ceiling-{}", form.name), &level, arena)?;
    let mut at = 0;
    let mut load = |units: u64| at = stream.run(units, at);
    let mut rig = Rig { clock: session.clock, load: &mut load };
    let units = rig.units(WINDOW)?;
    let Summary { median, middle, .. } = rig.soak(units, session.plan.point)?.scaled(stream.unit_bytes());
    Ok(CurvePoint { x: size, y: median, interval: middle })
}

/// The bandwidth figure that a level's name and form give, if there is one; for ridge points.
pub(crate) fn read_rate(figures: &[Figure], level: &str, cores: &str) -> Option<(f64, Interval)> {
    let name = format!("memory.{level}.{}.{cores}", READ.name);
    figures.iter().find(|figure| figure.name == name).map(|figure| (figure.value, figure.interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cores_own_levels_are_not_shared_out() {
        let check = |name: &'static str, bytes: usize, cores: usize, expected: usize| {
            let level = Level { name, working_set: bytes, reason: String::new() };
            assert_eq!(share(&level, cores).working_set, expected, "{name}");
        };
        // Half of a first level of 32 KiB: a floor under it once made 64 KiB of it, and the figure the second level's.
        check("L1", 16 << 10, 2, 16 << 10);
        check("L2", 512 << 10, 64, 512 << 10);
        check("LLC", 16 << 20, 2, 8 << 20);
        check("LLC", 1 << 20, 64, 64 << 10);
        check("DRAM", 256 << 20, 4, 64 << 20);
    }
}
