//! The outcomes of judging a candidate: three kinds, never blurred.
//!
//! A verdict is data about the candidate. A failure of the environment is an error, a bug of ours is a panic.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the judge says of B (the candidate) against A (what it is compared with).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Verdict {
    /// Faster beyond the noise.
    Better,
    /// Slower beyond the noise.
    Worse,
    /// The whole interval lies inside the margin.
    Equivalent,
    /// The evidence does not decide, and says so.
    Undecided,
    /// Too good for this machine's ceilings: not ranked until a deeper check passes.
    Quarantined {
        /// What was exceeded, with both figures.
        why: String,
    },
    /// The candidate broke a rule.
    Refused {
        /// Which.
        rule: Rule,
        /// The evidence.
        detail: String,
    },
    /// The candidate does not work.
    Failed {
        /// Where.
        stage: Stage,
        /// Compiler message, signal, or first wrong element.
        cause: String,
    },
}

impl Verdict {
    /// The verdict's name without its evidence.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
            Self::Quarantined { .. } => "quarantined",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether the candidate was measured at all.
    pub fn is_measured(&self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Equivalent | Self::Undecided)
    }

    /// The line of a report's yield (attempted / invalid / cheated / noise / loss / win) that it counts in.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Better => Outcome::Win,
            Self::Worse => Outcome::Loss,
            Self::Equivalent | Self::Undecided => Outcome::Noise,
            Self::Quarantined { .. } | Self::Refused { .. } => Outcome::Cheated,
            Self::Failed { .. } => Outcome::Invalid,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quarantined { why } => write!(f, "quarantined: {why}"),
            Self::Refused { rule, detail } => write!(f, "refused ({rule}): {detail}"),
            Self::Failed { stage, cause } => write!(f, "failed ({stage}): {cause}"),
            other => f.write_str(other.name()),
        }
    }
}

/// The yield's categories, in the order in which a report opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Did not build, wrong, crashed or timed out.
    Invalid,
    /// Refused for a broken rule, or quarantined.
    Cheated,
    /// Equivalent or undecided.
    Noise,
    /// Worse.
    Loss,
    /// Better.
    Win,
}

/// The rules of the judge. Each names what the candidate did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Left part of an output as it was before the call.
    UnwrittenOutput,
    /// Wrote where only reading is allowed.
    WroteInput,
    /// Touched memory outside its arguments: a guard page or a canary.
    OutOfBounds,
    /// Made a system call after the seal.
    SystemCall,
    /// Left a thread or a process running.
    ExtraThread,
    /// Imports a symbol that is not on the list.
    ForbiddenImport,
    /// Code that runs at load (constructor, IFUNC).
    CodeAtLoad,
    /// A segment both writable and executable, a text relocation or an executable stack.
    WritableCode,
    /// A flag, directive or include that the builder does not allow.
    ForbiddenBuild,
    /// Right in one call and wrong in another with fresh inputs, or other bits on the same inputs.
    Inconsistent,
    /// Changed the control page, the mapping or anything that belongs to the runner.
    TamperedRunner,
    /// Took less time than the machine's fastest unit needs for the work, again and again, under ceilings that were
    /// probed anew.
    FasterThanPossible,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnwrittenOutput => "unwritten-output",
            Self::WroteInput => "wrote-input",
            Self::OutOfBounds => "out-of-bounds",
            Self::SystemCall => "system-call",
            Self::ExtraThread => "extra-thread",
            Self::ForbiddenImport => "forbidden-import",
            Self::CodeAtLoad => "code-at-load",
            Self::WritableCode => "writable-code",
            Self::ForbiddenBuild => "forbidden-build",
            Self::Inconsistent => "inconsistent",
            Self::TamperedRunner => "tampered-runner",
            Self::FasterThanPossible => "faster-than-possible",
        })
    }
}

/// Where a candidate failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The patch did not apply, or changed nothing.
    Propose,
    /// The compiler said no.
    Build,
    /// The artefact did not load.
    Load,
    /// Wrong output.
    Invalid,
    /// A signal ended it.
    Crashed,
    /// It outran its limit.
    TimedOut,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Propose => "propose",
            Self::Build => "build",
            Self::Load => "load",
            Self::Invalid => "invalid",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
        })
    }
}

/// What a backend can promise about its candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Native CPU code that can only compute.
    Sealed,
    /// WASM with fuel.
    Fuelled,
    /// GPU code; the host side is ours.
    DeviceOnly,
    /// Contained, but the code shares a process with its runtime.
    Open,
    /// Run with `--unconfined`: nothing is promised.
    Unconfined,
}
