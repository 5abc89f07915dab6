//! What an op has to do, whatever the code: the counts that a floor time is made from.

use crate::{Bytes, Count, Flop};
use serde::{Deserialize, Serialize};

/// The work of one call, counted by the problem's formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Multiplies and adds that no algorithm in the problem's class avoids; a fused multiply-add is two.
    pub flop: Flop,
    /// Compulsory traffic: every input read once, every output written once.
    pub bytes: Bytes,
    /// Evaluations of exp (or a function as costly).
    pub exp: Count,
}
