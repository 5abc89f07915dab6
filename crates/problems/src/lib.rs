//! Problems: reads a folder, draws inputs, compiles text for the judge, and says whether an output is right.
//!
//! For the trusted side alone: the expected answers come from here. Must not run a candidate, start a compiler,
//! read a clock, or take entropy of its own: seeds and keys are passed in.

mod draw;
mod error;
mod expression;
mod manifest;
mod new;
mod numerics;
mod oracle;
mod problem;
mod resolve;
mod rust;
mod scan;
mod tolerance;
mod tried;
mod trivial;
mod unit;
mod workload;

pub use draw::Distribution;
pub use error::{Malformed, ProblemError};
pub use expression::Expression;
pub use new::create;
pub use numerics::{Denormals, Family, NotFinite, Numerics, Repeat, SignedZero};
pub use oracle::Oracle;
pub use problem::{Argument, Axis, Baseline, BaselineCode, Budget, Dtype, Problem, Role, Strength, ToleranceRule};
pub use scan::scan;
pub use tolerance::{Bound, Check, Mismatch, Tolerance, check_rows};
pub use trivial::refuse_trivial;
