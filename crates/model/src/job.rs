//! What the judge is asked: one candidate against one base, on some workloads, at some depth.

use crate::{Digest, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A candidate as text: what is compiled, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// The language, which picks the backend.
    pub language: Language,
    /// The whole source file.
    pub text: String,
    /// Compiler flags beyond the backend's own, each from its allow-list.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Source {
    /// A C source without extra flags.
    pub fn c(text: impl Into<String>) -> Self {
        Self { language: Language::C, text: text.into(), flags: Vec::new() }
    }

    /// Identity of the candidate: language, flags and text.
    pub fn digest(&self) -> Digest {
        Digest::of(format!("{}\0{}\0{}", self.language, self.flags.join("\0"), self.text))
    }
}

/// The languages that a backend exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// C, through the machine's C compiler.
    C,
    /// C++ without its library, through the same compiler.
    Cpp,
    /// Rust without its runtime, through the machine's rustc.
    Rust,
    /// Python, in an interpreter of its own.
    Python,
}

impl Language {
    /// The language of a file with this extension; C for any that is not known.
    pub fn of_extension(extension: &str) -> Self {
        match extension {
            "cc" | "cpp" | "cxx" => Self::Cpp,
            "rs" => Self::Rust,
            "py" => Self::Python,
            _ => Self::C,
        }
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Rust => "rs",
            Self::Python => "py",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Rust => "rust",
            Self::Python => "python",
        })
    }
}

/// Code that can be one side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// A candidate's source.
    Source(Source),
    /// A baseline that the problem declares, by name.
    Baseline(String),
    /// The probe of a ceiling, by name, sized to take about as long as the other arm.
    Ceiling(String),
    /// A shared library that somebody else built. For `compare` alone: it is measured, not judged.
    Library(Library),
}

/// A prebuilt shared library.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// Digest of what the file held when it was named.
    pub digest: Digest,
}

/// Which workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slice {
    /// All that the problem declares for the search.
    Declared,
    /// These of the declared ones, by name.
    Named(Vec<String>),
    /// `n` shapes drawn from the declared ranges with fresh entropy. For `verify` alone; each look is counted.
    HeldOut {
        /// How many.
        n: usize,
    },
    /// The problem's edge shapes. Correctness only.
    Edges,
}

/// How deep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Correctness alone.
    Gate,
    /// The search's cascade: the first workload, the others only for survivors; anytime test at `alpha`.
    Anytime {
        /// Error rate of the test.
        alpha: f64,
        /// Process pairs at most, a workload.
        max_process_pairs: u32,
    },
    /// A fixed number of process pairs on every workload; sign-flip test.
    Fixed {
        /// Error rate of the test.
        alpha: f64,
        /// Process pairs, a workload.
        process_pairs: u32,
    },
}

/// One question to the judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// B.
    pub candidate: Arm,
    /// A.
    pub against: Arm,
    /// On which workloads.
    pub slice: Slice,
    /// How deep.
    pub fidelity: Fidelity,
    /// Differences of ln time inside +-margin do not matter.
    pub margin: f64,
    /// Wall-clock limit of the whole job.
    pub cap: Seconds,
}

/// One shape of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Its name in reports, e.g. `len=128`.
    pub name: String,
    /// The value of every axis.
    pub axes: BTreeMap<String, i64>,
}
