//! Work and ceilings in, floor times, fractions and payoffs out.
//!
//! Pure: must not measure, read or guess anything. A missing ceiling is an error, never a zero.

mod floor;
mod payoff;

pub use floor::{Bound, Figure, Floor, Resource, ScoreError, Term, floor, fraction, memory_level, quarantine_limit};
pub use payoff::{Ranked, Target, payoff, rank};
