//! Translation and lines: the reach of each TLB, from cycles that touch one line a page; the line's size, from loads
//! beside a flushed address; and how many lines of one set the first two levels hold.

use crate::Session;
use crate::arena::{Arena, Pages};
use crate::knee::{Joint, joints};
use crate::latency::{GRAIN, LINE};
use crate::rig::{Rig, WINDOW};
use crate::summary::{Summary, median};
use model::{Curve, CurvePoint, Figure, Interval, Quantity, Seconds};

/// Bytes of a small page.
const PAGE: usize = 4096;
/// Fewest and most pages of a cycle: from below any first TLB known to us to beyond any second one.
const PAGES_FROM: usize = 16;
const PAGES_TO: usize = 16 << 10;
/// Distances from a flushed address, in bytes.
const DISTANCES: [usize; 6] = [8, 16, 32, 64, 128, 256];
/// A flush and a load that has to come from memory take so many times a flush and one that does not. The flush itself
/// takes as long as a miss.
const FAR: f64 = 1.15;

/// Latency of one load a page, by the bytes that the pages span; its knees are the TLBs' reach.
pub(crate) fn measure(session: &mut Session) -> Result<Curve, String> {
    (session.progress)("reach of the TLBs");
    let arena = Arena::on(PAGES_TO * PAGE, Pages::Small).ok_or("out of memory")?;
    // SAFETY: inside the arena. Written to, so that its pages exist.
    unsafe { arena.start().write_bytes(0, arena.bytes()) };
    if arena.is_huge() == Some(true) {
        return Err("the system put large pages where small ones were asked for".to_owned());
    }
    let octave = f64::from(session.plan.octave.max(4));
    let mut counts: Vec<usize> = (0_i32..1024)
        .map(|i| (PAGES_FROM as f64 * 2_f64.powf(f64::from(i) / octave)).round() as usize)
        .take_while(|&count| count <= PAGES_TO)
        .collect();
    counts.dedup();
    let mut points = Vec::new();
    for count in counts {
        points.push(point(session, &arena, count)?);
    }
    Ok(Curve {
        name: "latency.page".to_owned(),
        quantity: Quantity::Seconds,
        points,
        method:
            "random cycle through one line each of so many small pages; the line differs from page to page, so that \
                 the caches' sets are used evenly; x is the bytes that the pages span"
                .to_owned(),
    })
}

/// The knees of that curve: the first within the reach of first TLBs, and the first beyond what the lines themselves
/// cost, which is where they leave the first level: 768 lines fill one of 48 KiB.
pub(crate) fn reach(curve: &Curve) -> Vec<(&'static str, Joint)> {
    let all = joints(&curve.points);
    let within = |from: f64, to: f64| all.iter().copied().find(|joint| (from..to).contains(&(joint.at / PAGE as f64)));
    let found = [("dTLB", within(24.0, 300.0)), ("sTLB", within(1000.0, f64::INFINITY))];
    found.into_iter().filter_map(|(name, joint)| Some((name, joint?))).collect()
}

fn point(session: &mut Session, arena: &Arena, pages: usize) -> Result<CurvePoint, String> {
    let Summary { median, middle, .. } = cycle(session, arena, (0..pages).map(line_of))?;
    Ok(CurvePoint { x: (pages * PAGE) as f64, y: median, interval: middle })
}

/// Seconds a load of a random cycle through the lines at these offsets, of which 0 is one.
fn cycle(session: &mut Session, arena: &Arena, offsets: impl Iterator<Item = usize>) -> Result<Summary, String> {
    let offsets: Vec<usize> = offsets.collect();
    link(session, arena, &offsets);
    walk(session, arena, offsets.len())
}

/// Seconds a load of a cycle of so many lines that is linked already.
fn walk(session: &mut Session, arena: &Arena, lines: usize) -> Result<Summary, String> {
    let kernel = kernels::find("chase").ok_or("the probe is unknown")?;
    let mut position = [0_u64; 8];
    // The cycle goes through offset 0, where the position stands.
    let mut walk = |steps: u64| {
        let buffers = [arena.start(), position.as_mut_ptr().cast()];
        // SAFETY: the cycle stays inside the arena, and the position is one of its offsets.
        unsafe { (kernel.entry)(buffers.as_ptr(), [(steps * GRAIN) as i64].as_ptr()) };
    };
    walk((2 * lines as u64).div_ceil(GRAIN));
    let mut rig = Rig { clock: session.clock, load: &mut walk };
    let units = rig.units(Seconds(WINDOW.0 / 2.0))?;
    Ok(rig.soak(units, session.plan.point)?.scaled(GRAIN as f64).per_unit())
}

/// Offset of the line that page `i` contributes.
fn line_of(page: usize) -> usize {
    page * PAGE + page % (PAGE / LINE) * LINE
}

#[expect(clippy::cast_ptr_alignment, reason = "a line of an arena is aligned to 64 bytes")]
fn link(session: &mut Session, arena: &Arena, offsets: &[usize]) {
    assert!(offsets.iter().all(|&offset| offset + LINE <= arena.bytes()), "the cycle leaves the arena");
    let mut order = offsets.to_vec();
    session.random.shuffle(&mut order);
    for (i, &offset) in order.iter().enumerate() {
        let next = order[(i + 1) % order.len()];
        // SAFETY: inside the arena.
        unsafe { arena.start().add(offset).cast::<u64>().write(next as u64) };
    }
}

/// Most lines of one set that are tried: more ways than any first level known to us has.
const MOST_WAYS: usize = 32;
/// A line that fell out of the first level costs so much more; the least step of any cache known to us is 1.5.
const FELL_OUT: f64 = 1.25;

/// Lines a small page apart that the first level holds at once: its ways, where a way is as large as a page.
pub(crate) fn ways(session: &mut Session) -> Result<Figure, String> {
    let arena = Arena::on(MOST_WAYS * PAGE, Pages::Small).ok_or("out of memory")?;
    // SAFETY: inside the arena.
    unsafe { arena.start().write_bytes(0, arena.bytes()) };
    let mut times = Vec::new();
    for lines in 1..=MOST_WAYS {
        times.push(cycle(session, &arena, (0..lines).map(|line| line * PAGE))?.median);
    }
    ways_of_times(&times)
}

/// Distance between lines of one set of the second level: a multiple of the size of any way known to us.
const APART: usize = 256 << 10;
/// Lines that far apart that are tried: twice as many as any second level known to us has ways.
const MOST_FAR: usize = 40;

/// Lines a quarter of a MiB apart on large pages that stay in the second level: its ways. Where more stay than it can
/// have, the pages are large for this system alone, and scattered in the machine's memory; `levels` are the latencies
/// of the second level and of the one after it.
pub(crate) fn second_ways(session: &mut Session, levels: [f64; 2]) -> Result<Figure, String> {
    session.facts.huge.clone()?;
    let arena = Arena::new(MOST_FAR * APART).ok_or("out of memory")?;
    // SAFETY: inside the arena. Written to, so that its pages exist and their kind can be seen.
    unsafe { arena.start().write_bytes(0, arena.bytes()) };
    if arena.is_huge() == Some(false) {
        return Err("the system granted no large pages".to_owned());
    }
    let mut times = Vec::new();
    for lines in 1..=MOST_FAR {
        times.push(cycle(session, &arena, (0..lines).map(|line| line * APART))?.median);
    }
    second_ways_of_times(&times, levels)
}

fn second_ways_of_times(times: &[f64], [second, beyond]: [f64; 2]) -> Result<Figure, String> {
    let middle = (second * beyond).sqrt();
    let ways = (1..times.len()).find(|&n| times[n..].iter().all(|&time| time > middle)).ok_or_else(|| {
        format!(
            "{} lines {} KiB apart all stay in the second level, so large pages are scattered in the machine's memory \
             (a hypervisor does that), and its sets fill unevenly",
            times.len(),
            APART >> 10
        )
    })?;
    let value = ways as f64;
    Ok(Figure {
        name: "memory.L2.ways".to_owned(),
        quantity: Quantity::Ratio,
        value,
        interval: Interval { low: value, high: value },
        samples: times.len() as u32,
        method: "lines 256 KiB apart on large pages that stay within the second level: its ways".to_owned(),
        witness: None,
    })
}

fn ways_of_times(times: &[f64]) -> Result<Figure, String> {
    // One and two lines are the same at any associativity known to us.
    let least = times.iter().take(2).copied().fold(f64::INFINITY, f64::min);
    let fell_out = |i: &usize| times[*i..].iter().all(|&time| time > FELL_OUT * least);
    let ways = (0..times.len()).find(fell_out).filter(|&ways| ways > 0);
    let value = ways.ok_or_else(|| format!("up to {} lines a page apart are as fast as one", times.len()))? as f64;
    Ok(Figure {
        name: "memory.L1.ways".to_owned(),
        quantity: Quantity::Ratio,
        value,
        interval: Interval { low: value, high: value },
        samples: times.len() as u32,
        method: "lines 4 KiB apart that are as fast as one: the first level's ways, where a way is 4 KiB".to_owned(),
        witness: None,
    })
}

/// The line's size: the least distance at which a load no longer misses with a flushed neighbour.
pub(crate) fn line(session: &mut Session) -> Result<Figure, String> {
    let arena = Arena::on(PAGE, Pages::Small).ok_or("out of memory")?;
    // SAFETY: inside the arena.
    unsafe { arena.start().write_bytes(1, PAGE) };
    let mut times = Vec::new();
    for distance in DISTANCES {
        // SAFETY: the arena holds a page and more.
        let mut load = |n: u64| _ = unsafe { kernels::flush_and_load(arena.start(), distance, n) };
        // SAFETY: as above.
        if !unsafe { kernels::flush_and_load(arena.start(), distance, 1) } {
            return Err("programs cannot flush a line on this platform".to_owned());
        }
        let mut rig = Rig { clock: session.clock, load: &mut load };
        let units = rig.units(Seconds(WINDOW.0 / 4.0))?;
        let windows: Vec<f64> = (0..15).map(|_| rig.time(units).0 / units as f64).collect();
        times.push(median(windows).ok_or("no window")?);
    }
    line_of_times(&times)
}

fn line_of_times(times: &[f64]) -> Result<Figure, String> {
    let fast = times.last().copied().ok_or("no distance")?;
    let slow = times.first().copied().ok_or("no distance")?;
    if slow < FAR * fast {
        return Err(format!("a flushed line and another are {:.2} apart: nothing to tell them by", slow / fast));
    }
    let middle = (slow * fast).sqrt();
    let at = times.iter().position(|&time| time < middle).ok_or("no distance is fast")?;
    let value = DISTANCES[at] as f64;
    Ok(Figure {
        name: "memory.line".to_owned(),
        quantity: Quantity::Bytes,
        value,
        interval: Interval { low: DISTANCES[at.saturating_sub(1)] as f64, high: value },
        samples: 15 * DISTANCES.len() as u32,
        method: "an address is flushed, another at a distance loaded: it misses while both lie in one line".to_owned(),
        witness: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_loads_get_fast() {
        let check = |times: [f64; 6], expected: Option<f64>| {
            assert_eq!(line_of_times(&times).ok().map(|figure| figure.value), expected, "{times:?}");
        };
        check([90.0, 91.0, 89.0, 12.0, 12.0, 12.0], Some(64.0));
        check([90.0, 91.0, 89.0, 90.0, 12.0, 12.0], Some(128.0));
        check([12.0, 12.0, 12.0, 12.0, 12.0, 12.0], None);
    }

    #[test]
    fn ways_end_where_lines_fall_out() {
        let times = |ways: usize| (1..=32).map(|lines| if lines <= ways { 2.0 } else { 5.0 }).collect::<Vec<f64>>();
        let check = |times: &[f64], expected: Option<f64>| {
            assert_eq!(ways_of_times(times).ok().map(|figure| figure.value), expected);
        };
        check(&times(12), Some(12.0));
        check(&times(8), Some(8.0));
        check(&times(32), None);
        // One disturbed point is no end.
        let mut disturbed = times(12);
        disturbed[5] = 9.0;
        check(&disturbed, Some(12.0));
    }

    #[test]
    fn ways_of_the_second_level_end_where_loads_come_from_beyond() {
        let times = |ways: usize| (1..=40).map(move |n| [1.5, 5.0, 40.0][usize::from(n > 12) + usize::from(n > ways)]);
        let check = |times: &[f64], expected: Option<f64>| {
            assert_eq!(second_ways_of_times(times, [5.0, 35.0]).ok().map(|figure| figure.value), expected);
        };
        check(&times(16).collect::<Vec<f64>>(), Some(16.0));
        check(&times(40).collect::<Vec<f64>>(), None);
        let why = second_ways_of_times(&[5.0; 40], [5.0, 35.0]).unwrap_err();
        assert!(why.contains("scattered"), "{why}");
    }

    #[test]
    fn every_page_gives_another_line() {
        let lines: std::collections::BTreeSet<usize> = (0..64).map(|page| line_of(page) % PAGE).collect();
        assert_eq!(lines.len(), 64);
        assert!((0..200).all(|page| line_of(page) / PAGE == page));
    }
}
