//! What a role may touch of the file system, as one value: Landlock's rules on Linux and a sandbox profile on macOS say
//! the same.
//!
//! Must not put anything in force.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a role's output goes that nobody wants.
pub const NULL: &str = "/dev/null";
/// PyTorch seeds itself from it.
pub const RANDOM: &str = "/dev/urandom";

/// What macOS has of a system beyond Linux's: frameworks, the linker's cache, the developer's tools.
const OF_MACOS: [&str; 5] =
    ["/System", "/Library/Developer", "/Applications/Xcode.app", "/private/var/db/dyld", "/private/var/select"];

/// A step of the sandbox that this machine refuses, by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing(pub String);

pub(crate) fn missing(step: &str, why: impl fmt::Display) -> Missing {
    Missing(format!("{step}: {why}"))
}

/// A role's files. There is no network in any policy.
#[derive(Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// Files and folders that it may read, and run programs of.
    pub reads: Vec<PathBuf>,
    /// The one folder that it may write in.
    pub writes: Option<&'a Path>,
}

impl<'a> Policy<'a> {
    /// The system's files and those `besides`, as far as they exist; and one folder to write in.
    pub fn new(writes: Option<&'a Path>, besides: &[PathBuf]) -> Self {
        let of_macos: &[&str] = if cfg!(target_os = "macos") { &OF_MACOS } else { &[] };
        let system = protocol::SYSTEM.iter().chain(of_macos).map(PathBuf::from);
        let reads = system.chain(besides.iter().cloned()).filter(|path| path.exists()).collect();
        Self { reads, writes }
    }
}
