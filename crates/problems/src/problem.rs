//! A loaded problem: what a candidate is given, what it owes, and how much work that is.
//!
//! Must not read files (`resolve` does) or hold any drawn data.

use crate::expression::{Expression, Scope};
use crate::{Distribution, ProblemError};
use model::{Bytes, Count, Digest, Flop, Language, Products, Seconds, Work, Workload};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A problem whose every expression has been tried on all its workloads.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The C function that a candidate defines.
    pub entry: String,
    /// The language of its candidates.
    pub language: Language,
    /// Threads of the pool that a candidate may use, beside the thread that calls it; 0 is no pool.
    pub threads: usize,
    /// Constants, macros in upper case for the candidate.
    pub constants: BTreeMap<String, i64>,
    /// Axes, in the order of the function's trailing arguments.
    pub axes: Vec<Axis>,
    /// Arguments, in the function's order.
    pub arguments: Vec<Argument>,
    /// Declared workloads, shortest first.
    pub workloads: Vec<Workload>,
    /// Baselines, in the order in which they are declared.
    pub baselines: Vec<Baseline>,
    /// How the tolerance is derived.
    pub rule: ToleranceRule,
    /// The tolerance over the error that the rule finds.
    pub factor: f64,
    /// Rules for special values, and families of inputs beside the declared draw.
    pub numerics: crate::Numerics,
    /// Sentence that states how the work is counted.
    pub counting: String,
    /// What a search may spend.
    pub budget: Budget,
    /// What people would try first, for proposers; empty when the problem gives none.
    pub hints: String,
    /// Digest of every file that matters.
    pub digest: Digest,
    pub(crate) edges: Vec<Workload>,
    pub(crate) oracle: String,
    pub(crate) rows: Expression,
    pub(crate) row_length: Expression,
    pub(crate) flop: Expression,
    pub(crate) bytes: Expression,
    pub(crate) exp: Expression,
}

/// One axis of the problem's shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Smallest and largest value that held-out shapes are drawn from.
    pub range: [i64; 2],
}

/// One buffer of the candidate's function.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name in the prototype.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Who writes it, and when.
    pub role: Role,
    /// Dimensions, slowest first.
    pub shape: Vec<Expression>,
    /// What it holds, for roles that are drawn.
    pub draw: Option<Distribution>,
}

/// Element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// IEEE single.
    F32,
    /// bfloat16: the upper half of an f32.
    Bf16,
    /// IEEE double.
    F64,
    /// 32-bit integer.
    I32,
}

impl Dtype {
    /// Size of one element, bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Bf16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F64 => "f64",
            Self::I32 => "i32",
        }
    }

    /// The type of its bits in Rust.
    pub fn rust(self) -> &'static str {
        if self == Self::Bf16 { "u16" } else { self.name() }
    }

    /// The type of its bits in C.
    pub fn c(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::Bf16 => "uint16_t",
            Self::F64 => "double",
            Self::I32 => "int32_t",
        }
    }
}

/// What an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Fresh every call, read-only.
    Activation,
    /// Drawn once after load, read-only.
    Weight,
    /// Written by `prepare`, read by the call.
    Packed,
    /// The candidate's own, content undefined.
    Scratch,
    /// Written by the call.
    Output,
}

impl Role {
    /// Whether the judge draws it and the oracle reads it.
    pub fn is_input(self) -> bool {
        matches!(self, Self::Activation | Self::Weight)
    }
}

/// A piece of code to beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// What beating it is worth.
    pub strength: Strength,
    /// Where it is.
    pub code: BaselineCode,
}

/// How good a baseline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Plain loops.
    Naive,
    /// What a library gives.
    Stock,
    /// Tuned for this very problem.
    Tuned,
}

impl Strength {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Stock => "stock",
            Self::Tuned => "tuned",
        }
    }
}

/// Where a baseline's code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineCode {
    /// In the problem's folder: compiled like a candidate.
    Source(model::Source),
    /// Compiled into rooflab, by name.
    Builtin(String),
}

/// How the tolerance is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToleranceRule {
    /// A factor over the error of the same oracle run in f32.
    OracleF32,
    /// A factor over what one rounding of every input to bf16 does to the answer.
    OracleBf16,
}

impl ToleranceRule {
    /// The type of a product's factors that an answer within the tolerance can be made from.
    fn products(self) -> Products {
        match self {
            Self::OracleF32 => Products::F32,
            Self::OracleBf16 => Products::Bf16,
        }
    }
}

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Default length of a search.
    pub search: Seconds,
    /// One call that takes longer is stopped.
    pub call: Seconds,
}

impl Problem {
    /// Reads and checks the problem in `dir`.
    ///
    /// # Errors
    /// [`ProblemError`], with the place in `problem.toml` and the fix.
    pub fn load(dir: &Path) -> Result<Self, ProblemError> {
        crate::resolve::load(dir)
    }

    /// Size of every argument in order, bytes.
    ///
    /// # Panics
    /// When `workload` lacks an axis or is too large: ask [`Self::fits`] of shapes that come from outside.
    pub fn workload_bytes(&self, workload: &Workload) -> Vec<usize> {
        let scope = self.scope(workload);
        let size = |argument: &Argument| argument.bytes(&scope).expect("a shape that has been checked");
        self.arguments.iter().map(size).collect()
    }

    /// Dimensions of the argument `index`, slowest first.
    ///
    /// # Panics
    /// As [`Self::workload_bytes`].
    pub fn dimensions(&self, index: usize, workload: &Workload) -> Vec<usize> {
        let scope = self.scope(workload);
        let count = |dimension: &Expression| dimension.count(&scope).expect("a shape that has been checked");
        self.arguments[index].shape.iter().map(count).collect()
    }

    /// Whether every argument of this shape has a size that the judge will allocate.
    pub fn fits(&self, workload: &Workload) -> bool {
        let scope = self.scope(workload);
        self.arguments.iter().all(|argument| argument.bytes(&scope).is_ok())
            && self.rows.count(&scope).is_ok()
            && self.row_length.count(&scope).is_ok()
    }

    /// Values of the axes in declared order: the function's trailing arguments.
    ///
    /// # Panics
    /// When `workload` lacks an axis.
    pub fn sizes(&self, workload: &Workload) -> Vec<i64> {
        self.axes.iter().map(|axis| workload.axes[&axis.name]).collect()
    }

    /// Rows of the output that the oracle counts.
    pub fn rows(&self, workload: &Workload) -> usize {
        self.rows.count(&self.scope(workload)).expect("a shape that has been checked")
    }

    /// Elements of one row.
    pub fn row_length(&self, workload: &Workload) -> usize {
        self.row_length.count(&self.scope(workload)).expect("a shape that has been checked")
    }

    /// Indices of the arguments that are drawn, in order: what the oracle is given.
    pub fn inputs(&self) -> Vec<usize> {
        (0..self.arguments.len()).filter(|i| self.arguments[*i].role.is_input()).collect()
    }

    /// Index of the output. A problem has exactly one.
    pub fn output(&self) -> usize {
        self.arguments.iter().position(|a| a.role == Role::Output).expect("checked at load")
    }

    /// The work of one call, by the problem's own counting.
    pub fn work(&self, workload: &Workload) -> Work {
        let scope = self.scope(workload);
        Work {
            flop: Flop(self.flop.evaluate(&scope)),
            bytes: Bytes(self.bytes.evaluate(&scope)),
            exp: Count(self.exp.evaluate(&scope)),
            products: self.rule.products(),
        }
    }

    /// The baseline named.
    pub fn baseline(&self, name: &str) -> Option<&Baseline> {
        self.baselines.iter().find(|baseline| baseline.name == name)
    }

    /// Shapes that break careless code: 1, primes, one past a block. For correctness alone.
    pub fn edges(&self) -> &[Workload] {
        &self.edges
    }

    pub(crate) fn scope(&self, workload: &Workload) -> Scope {
        let constants = self.constants.iter().map(|(name, value)| (name.clone(), *value as f64));
        constants.chain(workload.axes.iter().map(|(name, value)| (name.clone(), *value as f64))).collect()
    }
}

/// Largest argument, bytes. Both arms hold every argument in shared memory several times over; populating 128 MB of
/// maps already takes most of a runner's start.
pub(crate) const LARGEST_ARGUMENT: usize = 64 << 20;
/// Largest pool. Each thread spins on a core of its own while a call runs.
pub(crate) const LARGEST_POOL: i64 = 32;

impl Argument {
    /// Its size in a shape, bytes.
    pub(crate) fn bytes(&self, scope: &Scope) -> Result<usize, String> {
        let mut size = self.dtype.size();
        for dimension in &self.shape {
            let n = dimension
                .count(scope)
                .map_err(|value| format!("`{}` is {value}, not a count of at least 1", dimension.text()))?;
            size = size.saturating_mul(n);
        }
        if size > LARGEST_ARGUMENT {
            return Err(format!("`{}` would take {size} bytes; at most {LARGEST_ARGUMENT} are allowed", self.name));
        }
        Ok(size)
    }
}
