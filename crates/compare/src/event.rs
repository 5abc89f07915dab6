//! What happens while a comparison runs, for whoever renders it.

use crate::Warning;
use serde::Serialize;

/// Emitted between runs only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// Something before the measuring: a build, a connection.
    Preparing {
        /// What, in words.
        what: String,
    },
    /// Identical arms are compared.
    NoiseStarted {
        /// Units planned.
        units: usize,
    },
    /// The noise floor is known.
    NoiseMeasured {
        /// Of ln(t_A' / t_A).
        sigma: f64,
        /// Smallest effect that the budget resolves.
        resolvable: f64,
        /// Units that fit into the budget.
        units: usize,
    },
    /// The comparison moved on. At most four a second.
    Progress {
        /// Units counted.
        units: usize,
        /// Units at most.
        of: usize,
        /// Seconds since the start.
        elapsed: f64,
        /// Estimate of t_B / t_A - 1 so far.
        effect: f64,
        /// The anytime test's e-value.
        e: Option<f64>,
    },
    /// The first arm is measured again.
    ControlStarted,
    /// Something that people should know.
    Warned {
        /// What, and what to do.
        warning: Warning,
    },
}
