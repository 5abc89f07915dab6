//! The machine's state around a comparison: read before and after, told, and kept in the outcome.

use crate::environment::Snapshot;
use crate::error::amended;
use crate::{Event, Failure, Outcome};

/// Whose work the machine's own counters can be told from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// All measured work is done by our children: the rest is somebody else's.
    Ours,
    /// A server does it, and cannot be told from others.
    Servers,
}

/// Drives a comparison between two readings. `pin` is the core that the runs are bound to.
pub(super) fn watched(
    work: Work,
    pin: Option<usize>,
    on: &mut dyn FnMut(&Event),
    drive: impl FnOnce(&mut dyn FnMut(&Event)) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let before = Snapshot { pinned: pin, ..Snapshot::take() };
    for warning in before.warnings() {
        on(&Event::Warned { warning });
    }
    let result = drive(on);
    let after = Snapshot::take();
    amended(result, |outcome| {
        outcome.warnings.extend(before.warnings());
        outcome.warnings.extend(after.steal_since(&before));
        if work == Work::Ours {
            outcome.warnings.extend(after.others_since(&before));
        }
        outcome.environment = Some(before);
    })
}
