//! The builder: confines itself, then becomes the compiler.
//!
//! Arguments: `__builder confined|confined-wide|unconfined FOLDER FOLDERS COMPILER ARGUMENT...`. The compiler may read the
//! system's files and FOLDERS, and write beneath FOLDER; its output goes to the pipe that the judge set up.

use crate::confine::{self, Missing};
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

fn confine_builder(folder: &Path, (mode, mut sees): (&str, Vec<PathBuf>), limits: &Limits) -> Result<(), Missing> {
    confine::close_from(3);
    // A sanitizer maps terabytes of shadow memory and reads its own map of them; its cgroup, where there is one, limits
    // what it really uses.
    let is_wide = mode == CONFINED_WIDE;
    if !is_wide {
        confine::limit(libc::RLIMIT_AS, limits.memory)?;
    }
    confine::limit(libc::RLIMIT_FSIZE, limits.file)?;
    confine::limit(libc::RLIMIT_CPU, limits.cpu)?;
    confine::limit(libc::RLIMIT_CORE, 0)?;
    confine::limit(libc::RLIMIT_NPROC, PROCESSES)?;
    confine::drop_privileges()?;
    if is_wide {
        sees.push(PathBuf::from("/proc"));
    }
    confine::files(Some(folder), &sees)?;
    confine::forbid_for_builder()
}
