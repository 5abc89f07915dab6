//! The trusted side: owns inputs, oracles, the clock and the verdict.
//!
//! Must not hold a candidate's code in its address space, believe a word of the runner's, or write the ledger.

pub mod client;
pub mod message;
