//! The builder: confines itself, then becomes the compiler.
//!
//! Arguments: `__builder confined|confined-wide|unconfined FOLDER FOLDERS COMPILER ARGUMENT...`. The compiler may read the
//! system's files and FOLDERS, and write beneath FOLDER; its output goes to the pipe that the judge set up.

#[cfg(target_os = "linux")]
use crate::confine;
use crate::limits::limit;
use crate::policy::Missing;
#[cfg(target_os = "macos")]
use crate::policy::Policy;
#[cfg(target_os = "macos")]
use crate::profile;
use protocol::{CONFINED_WIDE, EXIT_SANDBOX, EXIT_USAGE, UNCONFINED};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a role that becomes somebody's program may use.
pub struct Limits {
    /// Memory that it may address, bytes.
    pub memory: u64,
    /// Largest file that it may write, bytes.
    pub file: u64,
    /// CPU seconds.
    pub cpu: u64,
}

/// gcc 12 takes 0.1 GB on an unrolled kernel.
const COMPILER: Limits = Limits { memory: 3 << 30, file: 64 << 20, cpu: 60 };
/// Processes of its user: driver, cc1, as, ld, collect2, and the user's other processes where not root.
const PROCESSES: u64 = 4_096;

/// Runs the role. Never returns.
pub fn builder_main() -> ! {
    become_program(&COMPILER)
}

/// Confines itself as the arguments say, and becomes the program that they name.
pub fn become_program(limits: &Limits) -> ! {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [mode, folder, sees, compiler, rest @ ..] = arguments.as_slice() else { std::process::exit(EXIT_USAGE) };
    let folder = Path::new(folder);
    if mode != UNCONFINED
        && let Err(Missing(step)) = confine_builder(folder, (mode, protocol::paths(sees)), limits)
    {
        eprintln!("rooflab: sandbox: {step}");
        std::process::exit(EXIT_SANDBOX);
    }
    let error = Command::new(compiler)
        .args(rest)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TMPDIR", folder)
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .exec();
    eprintln!("rooflab: `{compiler}` did not start: {error}");
    std::process::exit(EXIT_USAGE)
}

/// The limits, which are the same everywhere. A sanitizer maps terabytes of shadow memory; its cgroup, where there is one,
/// limits what it really uses.
fn hold(mode: &str, limits: &Limits) -> Result<(), Missing> {
    if mode != CONFINED_WIDE {
        limit(libc::RLIMIT_AS, limits.memory)?;
    }
    limit(libc::RLIMIT_FSIZE, limits.file)?;
    limit(libc::RLIMIT_CPU, limits.cpu)?;
    limit(libc::RLIMIT_CORE, 0)?;
    limit(libc::RLIMIT_NPROC, PROCESSES)
}

/// macOS's half: a profile in place of all else. It has no word for a sanitizer's wider needs, which
/// need no more files.
#[cfg(target_os = "macos")]
fn confine_builder(folder: &Path, (mode, sees): (&str, Vec<PathBuf>), limits: &Limits) -> Result<(), Missing> {
    hold(mode, limits)?;
    profile::enter(&Policy::new(Some(folder), &sees))
}

#[cfg(target_os = "linux")]
fn confine_builder(folder: &Path, (mode, mut sees): (&str, Vec<PathBuf>), limits: &Limits) -> Result<(), Missing> {
    confine::close_from(3);
    hold(mode, limits)?;
    confine::drop_privileges()?;
    // A sanitizer reads its own map of its memory.
    if mode == CONFINED_WIDE {
        sees.push(PathBuf::from("/proc"));
    }
    confine::files(Some(folder), &sees)?;
    confine::forbid_for_builder()
}
