//! The two halves of the L2, where there are two: how far each is, and how the multiprocessors lie to them.
//!
//! One multiprocessor reads lines, so that the copies are in its half; another then meets each line for the first time.
//! If it lies in the same half all loads are near; else those whose home is the other half are far.

use crate::error::CudaError;
use crate::permutation::{Cycle, LINE};
use crate::rig::{Load, Session};
use crate::summary::{Title, figure, split, told};
use model::{Map, Quantity};

/// Lines: 512 KiB, a small part of any L2.
const LINES: u64 = 4096;
/// Bytes that are read between two trials, so that nothing of the last is left.
const FLUSH: usize = 512 << 20;
/// Dynamic shared memory that keeps a second block off a multiprocessor.
const ALONE: u32 = 120 << 10;
/// Cycles between the heaps, or there is one half only.
const GAP: f64 = 40.0;
/// Share of far loads from which a multiprocessor lies in the other half.
const OTHER: f64 = 0.2;
/// Where the kernel writes.
const BEHIND: usize = 64;

/// `latency.L2.near`, `latency.L2.far`, and the share of multiprocessors in each half.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let lines = session.buffer((LINES * LINE) as usize)?;
    let other = session.buffer(FLUSH)?;
    let count = session.device.multiprocessors;
    let tried: Vec<u32> = (1..count).step_by((count as usize / 24).max(1)).collect();
    let mut trials = Vec::new();
    for multiprocessor in tried {
        trials.push(trial(session, [lines.address(), other.address()], multiprocessor)?);
    }
    let first: Vec<f64> = trials.iter().flat_map(|trial| trial.first.iter().copied()).collect();
    let Some(border) = split(&first, GAP) else {
        let [low, middle, high] = [0.01, 0.5, 0.99].map(|share| stats::robust::quantile(&first, share));
        session.lacks(format!(
            "halves of the L2: {} multiprocessors meet lines of another one after {low:.0} to {high:.0} cycles, {middle:.0} in the middle: one heap and not two",
            trials.len()
        ));
        return Ok(());
    };
    let reading: Vec<f64> = trials.iter().map(Trial::reading).collect();
    let cost = stats::robust::median(&reading);
    let title = Title { name: "clock.core.reading.cycles", quantity: Quantity::Cycles };
    let method =
        "repeated near loads with the clock read around each, less the same loads in a row, one multiprocessor";
    map.figures.push(figure(title, &reading, method));
    if !(0.0..100.0).contains(&cost) {
        return Err(CudaError::Wrong(format!("reading the clock cost {cost:.1} cycles")));
    }
    let clock = map.core_clock.map_or(f64::NAN, |clock| clock.0);
    // Each multiprocessor's loads less what reading the clock cost there.
    let net = |trial: &Trial| {
        let cost = trial.reading();
        trial.first.iter().map(|cycles| (*cycles, cycles - cost)).collect::<Vec<_>>()
    };
    let heaps: [Vec<f64>; 2] = {
        let (near, far): (Vec<_>, Vec<_>) = trials.iter().flat_map(net).partition(|(gross, _)| *gross < border);
        [near, far].map(|heap| heap.into_iter().map(|(_, net)| net).collect())
    };
    for (name, cycles) in ["latency.L2.near", "latency.L2.far"].into_iter().zip(&heaps) {
        let method = format!("first loads of lines that another multiprocessor has read, parted at {border:.0} cycles");
        let seconds: Vec<f64> = cycles.iter().map(|cycles| cycles / clock).collect();
        map.figures.push(figure(Title { name, quantity: Quantity::Seconds }, &seconds, method.clone()));
        let name = format!("{name}.cycles");
        map.figures.push(figure(Title { name: &name, quantity: Quantity::Cycles }, cycles, method));
    }
    let across = trials.iter().filter(|trial| trial.share_above(border) > OTHER).count();
    let title = Title { name: "machine.L2.other-half", quantity: Quantity::Ratio };
    let method = format!("share of {} multiprocessors that meet lines of multiprocessor 0 from afar", trials.len());
    map.figures.push(told(title, across as f64 / trials.len() as f64, method));
    Ok(())
}

/// Cycles of each load, met first and met again, and of one load in a row of the same ones.
struct Trial {
    first: Vec<f64>,
    again: Vec<f64>,
    row: f64,
}

impl Trial {
    /// What reading the clock around a load adds: the same lines, the same multiprocessor, one after the other.
    fn reading(&self) -> f64 {
        stats::robust::mean(&self.again) - self.row
    }

    fn share_above(&self, border: f64) -> f64 {
        self.first.iter().filter(|cycles| **cycles > border).count() as f64 / self.first.len() as f64
    }
}

fn trial(session: &mut Session, [lines, other]: [u64; 2], multiprocessor: u32) -> Result<Trial, CudaError> {
    let count = session.device.multiprocessors;
    let cycle = Cycle { nodes: LINES, stride: LINE, seed: session.random.bits() };
    let build = session.load("latency", "build_cycle", [count, 128])?;
    session.shot(&Load { input: lines, n: LINES, seed: cycle.seed, extra: LINE, ..build }, 1)?;
    // What was just written lies in the L2 in parts; from memory it comes back whole.
    session.sum(other, FLUSH as u64)?;
    let mut alone = |kernel: &str, threads: u32| -> Result<Load, CudaError> {
        let mut load = session.load("latency", kernel, [count, threads])?;
        load.function.allow_shared(ALONE)?;
        load.launch.shared = ALONE;
        load.input = lines;
        Ok(load)
    };
    let (warm, touch) = (alone("warm_from", 1024)?, alone("touch", 32)?);
    session.shot(&Load { n: LINES * LINE, extra: 0, ..warm }, 1)?;
    session.shot(&Load { n: LINES, seed: cycle.after(0), extra: u64::from(multiprocessor), ..touch }, 1)?;
    let words = session.output.words(BEHIND, 2 * LINES as usize + 2)?;
    let cycles = |words: &[u32]| words.iter().map(|word| f64::from(*word)).collect::<Vec<f64>>();
    let ([first, again], rest) = {
        let (first, rest) = words.split_at(LINES as usize);
        let (again, rest) = rest.split_at(LINES as usize);
        ([cycles(first), cycles(again)], rest)
    };
    // Three times round: the walk ends where it began.
    let (row, ended) = (f64::from(rest[0]) / LINES as f64, u64::from(rest[1]));
    if ended != cycle.after(0) {
        return Err(CudaError::Wrong(format!(
            "a walk through the L2 ended at {ended:#x}, not at {:#x}",
            cycle.after(0)
        )));
    }
    Ok(Trial { first, again, row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reading_costs_is_found_on_the_same_loads() {
        let trial = Trial { first: vec![300.0, 480.0], again: vec![300.0, 320.0], row: 270.0 };
        assert_eq!(trial.reading(), 40.0);
        assert_eq!(trial.share_above(400.0), 0.5);
    }
}
