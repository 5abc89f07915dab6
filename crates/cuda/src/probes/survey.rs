//! Several ways to do the same thing: which is the fastest, and whether the ways have run out.

use crate::error::CudaError;
use crate::rig::{Load, Session, Shot};
use model::Finding;
use stats::robust::median;

/// Launches of each way before the best is chosen.
const LOOKS: usize = 3;
/// A second way that comes so close says that there is no more to be had.
const PLATEAU: f64 = 0.97;

/// What a way has to come to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// The sum of its checksums, for one repeat.
    Records(u32),
    /// The sum of the words at an address, so many bytes.
    Memory { expected: u32, address: u64, bytes: u64 },
    /// The same at every way, whatever it is: the first one's sum at an address.
    Same { address: u64, bytes: u64 },
    /// Checked elsewhere, in small; here the same sum in every launch, and not nothing.
    Stable,
    /// Checked elsewhere, and the kernel sums nothing.
    Elsewhere,
}

/// One way.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) label: String,
    pub(crate) load: Load,
    pub(crate) repeats: u64,
    /// What one launch does: bytes, operations.
    pub(crate) work: f64,
    pub(crate) check: Check,
}

impl Way {
    /// A way that fills a window, where one repeat does `work`.
    pub(crate) fn filling(
        session: &Session,
        label: String,
        load: Load,
        work: f64,
        check: Check,
    ) -> Result<Self, CudaError> {
        let repeats = session.repeats(&load, session.plan.window)?;
        Ok(Self { label, load, repeats, work: work * repeats as f64, check })
    }
}

/// The best way, with its windows.
pub(crate) struct Best {
    pub(crate) way: Way,
    pub(crate) shots: Vec<Shot>,
    /// Work a second, by events.
    pub(crate) rates: Vec<f64>,
    pub(crate) method: String,
}

impl Best {
    /// Work of one block's share a cycle, where the kernel counts cycles and a multiprocessor has `blocks` of them.
    pub(crate) fn per_cycle(&self, multiprocessors: u32) -> Vec<f64> {
        let share = self.way.work / f64::from(multiprocessors);
        self.shots.iter().filter(|shot| shot.cycles > 0.0).map(|shot| share / shot.cycles).collect()
    }

    /// Cycles a second while it ran.
    pub(crate) fn clock(&self) -> Vec<f64> {
        self.shots.iter().filter(|shot| shot.cycles > 0.0).map(|shot| shot.cycles / shot.event).collect()
    }
}

/// Tries every way, checks what each computed, and measures the fastest closely.
pub(crate) fn survey(session: &mut Session, figure: &str, ways: Vec<Way>) -> Result<Best, CudaError> {
    let mut seen: Vec<(f64, Way)> = Vec::new();
    let (mut first_sum, count) = (None, ways.len());
    for way in ways {
        // What an earlier way left there would pass for this one's.
        if let Check::Memory { address, bytes, .. } | Check::Same { address, bytes } = way.check {
            session.poison(address, bytes)?;
        }
        let shots = session.windows(&way.load, way.repeats, LOOKS)?;
        verify(session, &way, &shots, &mut first_sum)?;
        seen.push((median(&shots.iter().map(|shot| way.work / shot.event).collect::<Vec<_>>()), way));
    }
    seen.sort_by(|a, b| b.0.total_cmp(&a.0));
    let second = seen.get(1).map(|(rate, way)| (*rate, way.label.clone()));
    let Some((rate, way)) = seen.into_iter().next() else {
        return Err(CudaError::Wrong(format!("{figure}: no way was tried")));
    };
    if let Some((next, label)) = second {
        session.findings.push(Finding {
            detector: "plateau".to_owned(),
            figure: figure.to_owned(),
            sound: next >= PLATEAU * rate,
            text: format!(
                "of {count} ways `{}` is the fastest, `{label}` reaches {:.1} % of it",
                way.label,
                100.0 * next / rate
            ),
        });
    }
    let shots = session.windows(&way.load, way.repeats, session.plan.windows)?;
    let rates = shots.iter().map(|shot| way.work / shot.event).collect();
    let method = format!("{}, the fastest of {count} ways, by events", way.label);
    Ok(Best { way, shots, rates, method })
}

/// An error where a way computed something else than it should have.
fn verify(session: &mut Session, way: &Way, shots: &[Shot], first: &mut Option<u32>) -> Result<(), CudaError> {
    let (expected, found) = match way.check {
        Check::Records(expected) => {
            let expected = expected.wrapping_mul(way.repeats as u32);
            let odd = shots.iter().map(|shot| shot.sum).find(|sum| *sum != expected);
            (expected, odd.unwrap_or(expected))
        }
        Check::Memory { expected, address, bytes } => (expected, session.sum(address, bytes)?),
        Check::Same { address, bytes } => {
            let found = session.sum(address, bytes)?;
            (*first.get_or_insert(found), found)
        }
        Check::Stable => {
            let first = shots.first().map_or(0, |shot| shot.sum);
            let odd = shots.iter().map(|shot| shot.sum).find(|sum| *sum != first || *sum == 0);
            if odd == Some(0) {
                return Err(CudaError::Wrong(format!("{} computed nothing", way.label)));
            }
            (first, odd.unwrap_or(first))
        }
        Check::Elsewhere => return Ok(()),
    };
    if expected == found {
        return Ok(());
    }
    Err(CudaError::Wrong(format!("{} came to {found:#x}, not to {expected:#x}", way.label)))
}
