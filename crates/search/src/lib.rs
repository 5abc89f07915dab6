//! The search: a campaign as a fold over events, proposers of candidates, selection, and what the history teaches.
//!
//! Pure: no clock, no files, no processes, no entropy. Seeds and elapsed time come from outside; the app executes the
//! actions, writes the events and asks the judge, which this crate must not know.

pub mod ablation;
pub mod archive;
pub mod campaign;
pub mod mining;
pub mod proposers;
pub mod selection;
pub mod tasks;

pub use archive::{Archive, Candidate, Standing};
pub use campaign::{Action, Campaign, Policy, Yield};
pub use proposers::embedded::{Embedded, OFFERED_FLAGS};
pub use proposers::written::Written;
pub use proposers::{Context, Proposer, Silence};
pub use tasks::Task;
