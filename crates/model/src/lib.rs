//! The vocabulary that every other crate shares: digests, units, work, verdicts, jobs, judgements, maps, events.
//!
//! Must not do: I/O, clocks, randomness, or decisions. Data and arithmetic on units only.

pub mod bf16;
mod campaign;
mod certificate;
mod digest;
mod figure;
mod flags;
mod job;
mod judgement;
mod map;
mod units;
mod verdict;
mod work;

pub use campaign::*;
pub use certificate::*;
pub use digest::*;
pub use figure::*;
pub use flags::*;
pub use job::*;
pub use judgement::*;
pub use map::*;
pub use units::*;
pub use verdict::*;
pub use work::*;
