//! The peers in the race, each as its users would ask it, in the manner that suits it best within the window.
//!
//! A peer that ignores small effects by default is asked without that threshold, as rooflab is asked without a margin;
//! what it would have said by default is read out of the same window and kept beside it.

pub mod criterion;
pub mod hyperfine;
pub mod tango;
