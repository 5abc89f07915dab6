//! Measures a machine map: what this machine sustains, one core and all, in this process, by this crate's own clock.
//!
//! Must not load candidates or write files; threads that it starts have ended when a function here returns. A figure
//! that cannot be trusted is not in the map, or stands beside a finding that says why; what could not be measured is in
//! [`Map::missing`] with its reason.

mod arena;
mod clock;
mod coherence;
mod compute;
mod crowd;
mod facts;
mod fingerprint;
mod floors;
mod group;
mod instruction;
mod knee;
mod latency;
mod level;
mod library;
mod memory;
mod node;
mod noise;
mod order;
mod plan;
mod random;
mod recheck;
mod repeated;
mod ridge;
mod rig;
mod soak;
mod stream;
mod summary;
mod system;
mod team;
mod translation;
mod trust;

pub use fingerprint::fingerprint;
pub use plan::{Depth, Effort, Soak};
pub use recheck::{Recheck, check, recheck};

use clock::{Clock, Granularity, Wall, granularity};
use facts::Facts;
use knee::{Joint, joints};
use level::Level;
use model::{Bytes, Curve, Figure, Interval, Knee, LatencyPoint, MAP_SCHEMA, Map, Quantity, Seconds};
use plan::Plan;
use random::Random;
use repeated::Find;
use std::fmt::Write as _;

/// Version of the probes: a stored map of another version is measured again.
pub const PROBES: u32 = 3;

/// Why there is no map at all. Exit code of the environment's failures.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The clock cannot resolve a window.
    #[error("the clock steps by {0}: windows of a millisecond cannot be timed with it")]
    CoarseClock(Seconds),
    /// Not even the smallest working sets fit.
    #[error("no memory for a working set of {0} bytes")]
    NoMemory(usize),
    /// Large pages were asked for, and small ones came. Never leaves [`measure`]: the figure is missing.
    #[error("the system granted no large pages")]
    NoLargePages,
}

/// What every part of the measurement shares.
struct Session<'a> {
    clock: &'a mut dyn Clock,
    random: Random,
    plan: Plan,
    facts: Facts,
    find: Find,
    missing: Vec<String>,
    progress: &'a mut dyn FnMut(&str),
}

impl Session<'_> {
    /// The value, or none and a line in `missing`.
    fn noted<T>(&mut self, what: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|why| self.missing.push(format!("{what}: {why}"))).ok()
    }
}

/// Measures this machine, one core on whichever the process happens to run on. `progress` hears what comes next, never
/// while a window is timed.
///
/// # Errors
/// When the clock or the memory of this machine allow no measurement at all.
pub fn measure(effort: impl Into<Effort>, progress: &mut dyn FnMut(&str)) -> Result<Map, MapError> {
    let effort = effort.into();
    with_session(effort, progress, |session, grain| Ok(Map { depth: effort.name(), ..whole(session, &grain)? }))
}

/// Runs `work` under the system's clock with what the system has.
fn with_session<T>(
    effort: Effort,
    progress: &mut dyn FnMut(&str),
    work: impl FnOnce(&mut Session, Granularity) -> Result<T, MapError>,
) -> Result<T, MapError> {
    let mut wall = Wall::start();
    let grain = granularity(&mut wall);
    if grain.resolution > Seconds(50e-6) {
        return Err(MapError::CoarseClock(grain.resolution));
    }
    let mut session = Session {
        clock: &mut wall,
        random: Random::from_entropy(),
        plan: effort.plan(),
        facts: Facts::read(),
        find: kernels::find,
        missing: Vec::new(),
        progress,
    };
    work(&mut session, grain)
}

/// Everything, in the order in which parts need each other: knees choose the levels, levels the working sets.
fn whole(session: &mut Session, grain: &Granularity) -> Result<Map, MapError> {
    let (ticks, source) = (system::ticks(), system::clock_source());
    let ceilings = compute::measure(session);
    let mut map = Map {
        schema: MAP_SCHEMA,
        fingerprint: fingerprint(),
        clock_resolution: grain.resolution,
        clock_overhead: grain.overhead,
        core_clock: ceilings.core_clock,
        compute: ceilings.compute,
        exp: ceilings.exp,
        figures: ceilings.figures,
        traces: ceilings.traces,
        findings: ceilings.findings,
        ..Map::default()
    };
    let (figures, findings) = instruction::measure(session);
    map.figures.extend(figures);
    map.findings.extend(findings);
    let levels = ladder(session, &mut map)?;
    let arena = memory::arena(session, &levels)?;
    let bandwidths = memory::measure(session, &levels, &arena);
    map.memory = bandwidths.ceilings;
    map.figures.extend(bandwidths.figures);
    map.curves.extend(bandwidths.curves);
    map.findings.extend(bandwidths.findings);
    map.noise = noise::measure(session, &arena);
    drop(arena);
    rest(session, &mut map);
    surroundings(&mut map, ticks, source);
    map.figures.extend(arrangement(&session.facts));
    map.figures.extend(ridge::points(&map));
    map.missing = std::mem::take(&mut session.missing);
    Ok(map)
}

/// What went on beside the measurement: other programs, the hypervisor, the clock that everything was read from.
fn surroundings(map: &mut Map, ticks: Option<system::Ticks>, source: Option<String>) {
    let now = system::ticks();
    map.figures.extend(noise::stolen(ticks, now));
    let others = noise::others(ticks, now);
    map.findings.extend(others.as_ref().map(|figure| trust::company(figure.value)));
    map.figures.extend(others);
    let sources = source.zip(system::clock_source());
    map.findings.extend(sources.map(|(before, after)| trust::clock_source(&before, &after)));
}

/// What the system shows of the cores' arrangement; a claim, not a measurement.
fn arrangement(facts: &Facts) -> impl Iterator<Item = Figure> + use<> {
    let threads = system::siblings(facts.cores[0]).map(|threads| threads.len());
    let shown = [("machine.nodes", system::nodes().map(|nodes| nodes.len())), ("machine.threads", threads)];
    shown.into_iter().filter_map(|(name, count)| {
        let value = count? as f64;
        Some(Figure {
            name: name.to_owned(),
            quantity: Quantity::Ratio,
            value,
            interval: Interval { low: value, high: value },
            samples: 0,
            method: "as the system shows it".to_owned(),
            witness: None,
        })
    })
}

/// The latency curves, their knees, and the levels that follow.
fn ladder(session: &mut Session, map: &mut Map) -> Result<Vec<Level>, MapError> {
    let curves = latency::measure(session)?;
    let Some(first) = curves.first() else { return Err(MapError::NoMemory(0)) };
    let knees = joints(&first.points);
    let claims = session.facts.claims;
    let claims = [("L1", claims.l1), ("L2", claims.l2), ("LLC", claims.last)];
    capacities(first, &claims, "", map);
    session.missing.extend(level::unanswered(&map.knees, &claims, &first.points));
    if let Some(small) = curves.iter().skip(1).find(|curve| curve.name == "latency.4k") {
        capacities(small, &claims, ".4k", map);
    }
    let point = |point: &model::CurvePoint| LatencyPoint { size: Bytes(point.x), latency: Seconds(point.y) };
    map.latency = first.points.iter().map(point).collect();
    let levels = level::levels(&knees, &session.facts, session.plan.least_dram, &mut session.missing);
    map.figures.extend(levels.iter().filter_map(|level| level_latency(first, level, &knees)));
    map.curves.extend(curves);
    Ok(levels)
}

/// The knees of a curve, and what the levels hold as figures whose names end in `suffix`.
fn capacities(curve: &Curve, claims: &[(&str, Option<usize>)], suffix: &str, map: &mut Map) {
    let joints = joints(&curve.points);
    let mut knees = level::named(&curve.name, &joints, claims);
    for (i, knee) in knees.iter_mut().enumerate().filter(|(_, knee)| !knee.level.is_empty()) {
        let name = format!("capacity.{}{suffix}", knee.level);
        let method = format!("knee of {}, segmented regression, 95 %", curve.name);
        let figure = bytes(&name, &joints[i], method);
        map.figures.push(knee.claim.map_or(figure.clone(), |claim| figure.witnessed("the system's claim", claim)));
        let half = knee::half_way(&curve.points, &joints[i], joints.get(i + 1).map(|next| next.at));
        let Some(half) = half.filter(|half| half.at > joints[i].at) else { continue };
        let method = format!("{} is half of the way to the next level: half of the loads miss", curve.name);
        map.figures.push(bytes(&format!("{name}.half"), &half, method));
        if let Some(text) = &mut knee.disagreement {
            let _ = write!(text, "; half of the loads miss at {:.0} KiB", half.at / 1024.0);
        }
    }
    map.knees.extend(knees);
}

/// A place on a curve as a figure.
fn bytes(name: &str, joint: &Joint, method: String) -> Figure {
    Figure {
        name: name.to_owned(),
        quantity: Quantity::Bytes,
        value: joint.at,
        interval: joint.interval,
        samples: 0,
        method,
        witness: None,
    }
}

/// The latency that stands for a level: the curve's point nearest to the level's working set, in memory the largest.
fn level_latency(curve: &Curve, level: &Level, knees: &[Joint]) -> Option<Figure> {
    let point = if level.name == "DRAM" {
        let quick = curve.points.iter().rfind(|point| point.x <= f64::from(128 << 20));
        quick.filter(|point| knees.last().is_none_or(|last| point.x >= 2.0 * last.at)).or(curve.points.last())?
    } else {
        // Not above the working set: beyond it the next level begins to answer.
        let inside = |point: &&model::CurvePoint| point.x <= 1.05 * level.working_set as f64;
        curve.points.iter().rfind(inside).or(curve.points.first())?
    };
    Some(Figure {
        name: format!("latency.{}", level.name),
        quantity: Quantity::Seconds,
        value: point.y,
        interval: point.interval,
        samples: 0,
        method: format!("{} at {} KiB", curve.name, point.x as usize >> 10),
        witness: None,
    })
}

/// The ways of the second level, and what it holds whichever pages there are. Where the ways can't be seen, why explains
/// a knee that contradicts the claim.
fn second_level(session: &mut Session, map: &mut Map) {
    let of = |name: &str| map.figure(name).map(|figure| figure.value);
    let knee = of("capacity.L2");
    let ways = match (of("latency.L2"), of("latency.LLC")) {
        (Some(second), Some(beyond)) => translation::second_ways(session, [second, beyond]),
        _ => Err("there is no level beyond the second to tell it by".to_owned()),
    };
    if let Err(why) = &ways {
        let second = map.knees.iter_mut().filter(|knee| knee.level == "L2");
        for text in second.filter_map(|knee| knee.disagreement.as_mut()) {
            let _ = write!(text, "; {why}");
        }
    }
    let held = crowd::measure(session, knee);
    let even = ways.is_ok();
    map.figures.extend(session.noted("memory.L2.ways", ways));
    let held = session.noted("capacity.L2 by picked lines", held);
    second_capacity(map, held, even);
}

/// Puts what the second level holds into the place of its knee, which becomes a figure of its own. Without it the knee
/// stays; on pages that may be scattered its interval reaches to where half of the loads miss, and it is doubtful.
fn second_capacity(map: &mut Map, held: Option<Figure>, even: bool) {
    const NAME: &str = "capacity.L2";
    let half = map.figure("capacity.L2.half").map(|half| half.interval.high);
    let knee = map.figures.iter_mut().find(|figure| figure.name == NAME);
    match (held, knee) {
        (Some(held), knee) => {
            if let Some(knee) = knee {
                knee.name = format!("{NAME}.knee");
                map.findings.push(trust::scattered(&knee.name, knee.value, Some(held.value)));
            }
            map.figures.push(held);
        }
        (None, Some(knee)) if !even => {
            knee.interval.high = knee.interval.high.max(half.unwrap_or(0.0));
            map.findings.push(trust::scattered(NAME, knee.value, None));
        }
        (None, _) => {}
    }
}

/// Parts that nothing else needs.
fn rest(session: &mut Session, map: &mut Map) {
    let result = translation::measure(session);
    if let Some(curve) = session.noted("reach of the TLBs", result) {
        let reach = translation::reach(&curve);
        map.knees.extend(reach.iter().map(|(name, joint)| Knee {
            curve: curve.name.clone(),
            level: (*name).to_owned(),
            at: joint.at,
            interval: joint.interval,
            ..Knee::default()
        }));
        map.figures.extend(reach.iter().map(|(name, joint)| {
            let method = format!("knee of latency.page, {:.0} pages of 4 KiB", joint.at / 4096.0);
            bytes(&format!("capacity.{name}"), joint, method)
        }));
        map.curves.push(curve);
    }
    let result = translation::line(session);
    map.figures.extend(session.noted("memory.line", result));
    let result = translation::ways(session);
    map.figures.extend(session.noted("memory.L1.ways", result));
    second_level(session, map);
    map.figures.extend(floors::measure(session));
    map.figures.extend(node::measure(session));
    let result = coherence::matrix(session);
    map.core_to_core = session.noted("latency between cores", result);
    let result = coherence::loaded(session);
    map.curves.extend(session.noted("latency.loaded", result));
    let (histogram, figure) = noise::jitter(session);
    map.histograms.push(histogram);
    map.figures.push(figure);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So little of everything that a test can wait for it.
    fn brief() -> Plan {
        let brief = Seconds(2e-3);
        Plan {
            ramp: brief,
            soak: brief,
            unit: brief,
            team: brief,
            stream: brief,
            point: Seconds(1e-4),
            instruction: Seconds(1e-4),
            floor: Seconds(1e-4),
            jitter: brief,
            octave: 2,
            fine: 0,
            bandwidth: 1,
            largest_cycle: 64 << 10,
            least_dram: 8 << 20,
            pairs: 5,
            rounds: 2,
            checks: plan::Checks::All,
        }
    }

    fn map_on(facts: Facts, find: Find) -> Map {
        let mut wall = Wall::start();
        let grain = granularity(&mut wall);
        let mut session = Session {
            clock: &mut wall,
            random: Random::from_seed(1),
            plan: brief(),
            facts,
            find,
            missing: Vec::new(),
            progress: &mut |_| {},
        };
        whole(&mut session, &grain).unwrap()
    }

    #[test]
    fn a_knee_that_pages_may_have_moved_is_never_printed_as_good() {
        let figure = |name: &str, value: f64| Figure {
            name: name.to_owned(),
            value,
            interval: Interval { low: 0.9 * value, high: 1.1 * value },
            ..Figure::default()
        };
        let after = |held: Option<f64>, even: bool| {
            let figures = vec![figure("capacity.L2", 1.0e6), figure("capacity.L2.half", 2.0e6)];
            let mut map = Map { figures, ..Map::default() };
            second_capacity(&mut map, held.map(|held| figure("capacity.L2", held)), even);
            let of = |name: &str| map.figure(name).map(|figure| (figure.value, figure.interval.high));
            (of("capacity.L2"), of("capacity.L2.knee"), map.findings.iter().map(|f| f.sound).collect::<Vec<_>>())
        };
        assert_eq!(after(None, true), (Some((1.0e6, 1.1e6)), None, vec![]));
        assert_eq!(after(None, false), (Some((1.0e6, 2.2e6)), None, vec![false]));
        assert_eq!(after(Some(2.0e6), false), (Some((2.0e6, 2.2e6)), Some((1.0e6, 1.1e6)), vec![false]));
        assert_eq!(after(Some(1.05e6), true).2, [true]);
    }

    /// The whole of it in small: everything is either in the map or named as missing.
    #[test]
    fn a_small_map_accounts_for_everything() {
        let map = map_on(Facts::read(), kernels::find);
        let missing = |name: &str| map.missing.iter().any(|line| line.starts_with(name));
        for name in ["f32", "f64", "bf16-matrix", "bf16-matrix-resident"] {
            assert!(map.compute(name).is_some() || missing(name), "{name}: {:?}", map.missing);
        }
        for level in ["L1", "L2", "LLC", "DRAM"] {
            for kernel in ["read", "copy", "triad"] {
                let found = map.memory(level, kernel).is_some();
                assert!(found || missing(&format!("{kernel} at {level}")) || missing(level), "{level} {kernel}");
            }
        }
        for (name, reason) in [
            ("compute.i8-vnni.one", "i8-vnni"),
            ("floor.call", "floor.call"),
            ("floor.syscall", "floor.syscall"),
            ("memory.L1.write.one", "write at L1"),
            ("noise.interrupted", "never missing"),
        ] {
            assert!(map.figure(name).is_some() || missing(reason), "{name}: {:?}", map.missing);
        }
        assert!(map.exp.is_some() || missing("exp"));
        assert!(map.core_clock.is_some() || missing("core clock"));
        assert!(map.core_to_core.is_some() || missing("latency between cores"));
        assert!(map.compute.iter().all(|c| c.sustained.0 > 0.0 && c.burst >= c.sustained));
        assert!(map.latency.iter().all(|point| point.latency.0 > 0.0));
        for figure in map.every_figure() {
            assert!(figure.value.is_finite() && figure.interval.low <= figure.interval.high, "{figure:?}");
        }
        // What cannot be read back would be lost in the ledger.
        let names: Vec<String> = map.every_figure().into_iter().map(|figure| figure.name).collect();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "two figures of one name");
    }

    /// Whether a documented name stands for a figure's: equal parts, or parts in capitals for one part each.
    fn stands_for(documented: &str, name: &str) -> bool {
        let is_word = |part: &str| part.chars().all(|c| c.is_ascii_uppercase() || c == '-');
        let (a, b): (Vec<&str>, Vec<&str>) = (documented.split('.').collect(), name.split('.').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || is_word(a))
    }

    #[test]
    fn every_figure_and_curve_is_documented() {
        const PAGE: &str = include_str!("../../../docs/map-schema.md");
        let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        let documented: Vec<&str> = rows.flat_map(|cell| cell.split('`')).filter(|name| name.contains('.')).collect();
        // Two threads of a core, and two nodes, whatever the machine has.
        let core = Facts::read().cores[0];
        let (siblings, nodes) = (vec![core, core], vec![vec![core], vec![core]]);
        let map = map_on(Facts { siblings, nodes, ..Facts::read() }, kernels::find);
        for name in ["compute.f32.core", "latency.node-1", "memory.node-1.read.one"] {
            let is_missing = map.missing.iter().any(|line| line.contains("one core"));
            assert!(map.figure(name).is_some() || is_missing, "{name}: {:?}", map.missing);
        }
        let figures = map.every_figure().into_iter().map(|figure| figure.name);
        for name in figures.chain(map.curves.iter().map(|curve| curve.name.clone())) {
            assert!(documented.iter().any(|known| stands_for(known, &name)), "docs/map-schema.md lacks {name}");
        }
        assert!(!stands_for("latency.LEVEL", "latency.L1.x") && !stands_for("latency.huge", "latency.L1"));
    }

    /// Whether a figure is of all cores.
    fn of_all(figure: &Figure) -> bool {
        figure.name.rsplit('.').next() == Some("all")
    }

    /// As a machine without wide vectors and tiles would answer.
    fn find_little(name: &str) -> Option<kernels::Kernel> {
        let hidden = ["matrix", "vnni", "bf16", "f16", "sweep"];
        kernels::find(name).filter(|_| hidden.iter().all(|part| !name.contains(part)))
    }

    #[test]
    fn a_bare_machine_has_fewer_figures_and_reasons() {
        let map = map_on(Facts::bare(), find_little);
        let missing = |name: &str| map.missing.iter().any(|line| line.starts_with(name));
        for reason in [
            "bf16-matrix: this machine has no such unit",
            "i8-vnni",
            "compute of all cores: this process may run on one core only",
            "memory of all cores",
            "latency between cores",
            "latency.loaded",
            "latency.huge: none in this test",
            "floor.page.huge",
        ] {
            assert!(missing(reason), "{reason}: {:?}", map.missing);
        }
        // A machine that is too busy for the probe itself has no use for its variants.
        let refused = missing("variants of the f32 probe") || missing("f32: time does not follow");
        assert!(refused, "{:?}", map.missing);
        assert!(map.every_figure().iter().all(|figure| !of_all(figure) && !figure.name.contains("matrix")));
        assert_eq!((map.core_to_core, map.curves[0].name.as_str()), (None, "latency.4k"));
    }

    #[test]
    fn a_share_of_the_cores_gives_no_figure_of_all() {
        let facts = Facts { cores: vec![0, 1, 2, 3], quota: Some(1.0), ..Facts::bare() };
        let map = map_on(facts, kernels::find);
        assert!(
            map.missing.iter().any(|line| line.contains("the control group allows 1.00 of 4")),
            "{:?}",
            map.missing
        );
        assert!(map.every_figure().iter().all(|figure| !of_all(figure)));
    }

    #[test]
    fn latencies_stand_for_their_levels() {
        let point = |x: f64, y: f64| model::CurvePoint { x, y, ..model::CurvePoint::default() };
        let curve = Curve {
            points: vec![point(16e3, 1.0), point(1e6, 5.0), point(64e6, 90.0), point(512e6, 110.0)],
            ..Curve::default()
        };
        let level = |name: &'static str, working_set| Level { name, working_set, reason: String::new() };
        let joint = |at: f64| Joint { at, interval: Interval { low: at, high: at } };
        let check = |name, set, knees: &[Joint], expected: f64| {
            assert_eq!(level_latency(&curve, &level(name, set), knees).map(|f| f.value), Some(expected), "{name}");
        };
        check("L1", 24 << 10, &[], 1.0);
        check("L2", 1 << 20, &[], 5.0);
        check("DRAM", 1 << 30, &[joint(30e6)], 90.0);
        check("DRAM", 1 << 30, &[joint(60e6)], 110.0);
    }
}
