//! The multiprocessors' clock, the device's timer, and the host's clock, against each other.

use crate::error::CudaError;
use crate::rig::{Load, Session};
use crate::summary::{Title, figure, told};
use model::{Finding, Hertz, Map, Quantity, Seconds};

/// Where kernels write what is no record.
const BEHIND: usize = 64;
/// Readings of the timer that differ.
const STEPS: u64 = 1000;
/// Nanoseconds of a window.
const WINDOW: u64 = 20_000_000;
/// How far timer and host may be apart over a window.
const APART: f64 = 0.005;

/// The timer's step, the clock of an idle device, and whether timer and wall agree.
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    let steps = session.load("latency", "timer_steps", [1, 32])?;
    session.shot(&Load { n: STEPS, ..steps }, 0)?;
    let steps = session.output.words(BEHIND, STEPS as usize)?;
    let step = f64::from(steps.iter().copied().min().unwrap_or(0)) * 1e-9;
    if step <= 0.0 {
        return Err(CudaError::Wrong("the device's timer stands still".to_owned()));
    }
    let title = Title { name: "clock.timer.step", quantity: Quantity::Seconds };
    map.figures.push(told(title, step, format!("least of {STEPS} differences of %globaltimer")));
    map.clock_resolution = Seconds(step);

    let tick = session.load("latency", "tick", [1, 32])?;
    // The first windows bring the clock up from rest.
    session.windows(&tick, WINDOW, 5)?;
    let shots = session.windows(&tick, WINDOW, session.plan.windows)?;
    let clock: Vec<f64> = shots.iter().map(|shot| shot.cycles / shot.timer).collect();
    let title = Title { name: "clock.core", quantity: Quantity::Hertz };
    let core = figure(title, &clock, "%clock64 over %globaltimer, one thread on an idle device");
    map.core_clock = Some(Hertz(core.value));
    map.figures.push(core);

    let ratio = stats::robust::median(&shots.iter().map(|shot| shot.timer / shot.wall).collect::<Vec<_>>());
    session.findings.push(Finding {
        detector: "timer".to_owned(),
        figure: "clock.core".to_owned(),
        sound: (ratio - 1.0).abs() < APART,
        text: format!("%globaltimer ran {ratio:.5} times as fast as the host's clock over windows of 20 ms"),
    });
    Ok(())
}
