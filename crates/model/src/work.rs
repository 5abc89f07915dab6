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
    /// Type of the products' operands that the problem's tolerance allows.
    #[serde(default)]
    pub products: Products,
}

/// In which type the factors of a product may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Products {
    /// IEEE single.
    #[default]
    F32,
    /// bfloat16, summed in f32: what matrix units take.
    Bf16,
}
