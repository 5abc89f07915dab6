//! The engine behind `rooflab compare`: is B better than A here, beyond this machine's noise?
//!
//! A [`Plan`] says what is compared and how; [`run`] measures and returns an [`Outcome`]. It prints nothing: whoever
//! calls renders the events and the outcome. It never forces a verdict.

pub mod arms;
mod engine;
pub mod environment;
mod error;
mod event;
pub mod history;
mod interrupt;
mod markdown;
mod noise_store;
mod outcome;
mod plan;
pub mod samples;
pub mod selfcheck;
mod sequential;

pub use engine::{Group, Inside, Printed, Rig, Role, Sample, drive};
pub use environment::Warning;
pub use error::{CompareError, Failure};
pub use event::Event;
pub use interrupt::catch_interrupts;
pub use noise_store::{NoiseStore, NoiseUse, run_with_noise};
pub use outcome::{ArmReport, Comparison, Control, GateAnswer, Levels, Outcome, RunningPoint, SigmaOf, Unit};
pub use plan::{DaysNoise, Metric, Pairs, Plan, Settings, Target};
pub use sequential::compare_samples;

/// Measures what the plan names. Events come between runs, never while a clock runs.
///
/// # Errors
/// When a command, a build or a file fails; what was measured until then is in the failure.
pub fn run(plan: &Plan, on: &mut dyn FnMut(&Event)) -> Result<Outcome, Failure> {
    match &plan.target {
        Target::Commands(commands) => arms::commands::run(commands, &plan.settings, on),
        Target::Git(git) => arms::git::run(git, &plan.settings, on),
        Target::Sql(sql) => arms::sql::run(sql, &plan.settings, on),
        Target::Samples { a, b, reading } => {
            let (a, b) = samples::read_two(a, b.as_deref(), reading)?;
            Ok(compare_samples(&a, &b, &plan.settings)?)
        }
    }
}
