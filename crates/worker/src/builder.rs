//! The builder: confines itself, then becomes the compiler.
//!
//! Arguments: `__builder confined|confined-wide|unconfined FOLDER COMPILER ARGUMENT...`. The compiler may read the system's
//! files and write beneath FOLDER; its output goes to the pipe that the judge set up.

use crate::confine::{self, Missing};
use protocol::{CONFINED_WIDE, EXIT_SANDBOX, EXIT_USAGE, UNCONFINED};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Memory that a compiler may address. gcc 12 takes 0.1 GB on an unrolled kernel.
const MEMORY: u64 = 3 << 30;
/// Largest file that it may write.
const FILE: u64 = 64 << 20;
/// CPU seconds.
const CPU: u64 = 60;
/// Processes of its user: driver, cc1, as, ld, collect2, and the user's other processes where not root.
const PROCESSES: u64 = 4_096;

/// Runs the role. Never returns.
pub fn builder_main() -> ! {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [mode, folder, compiler, rest @ ..] = arguments.as_slice() else { std::process::exit(EXIT_USAGE) };
    let folder = Path::new(folder);
    if mode != UNCONFINED
        && let Err(Missing(step)) = confine_builder(folder, mode)
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
        .env("LC_ALL", "C")
        .exec();
    eprintln!("rooflab: `{compiler}` did not start: {error}");
    std::process::exit(EXIT_USAGE)
}

fn confine_builder(folder: &Path, mode: &str) -> Result<(), Missing> {
    confine::close_from(3);
    // A sanitizer maps terabytes of shadow memory and reads its own map of them; its cgroup, where there is one, limits
    // what it really uses.
    let is_wide = mode == CONFINED_WIDE;
    if !is_wide {
        confine::limit(libc::RLIMIT_AS, MEMORY)?;
    }
    confine::limit(libc::RLIMIT_FSIZE, FILE)?;
    confine::limit(libc::RLIMIT_CPU, CPU)?;
    confine::limit(libc::RLIMIT_CORE, 0)?;
    confine::limit(libc::RLIMIT_NPROC, PROCESSES)?;
    confine::drop_privileges()?;
    confine::files(Some(folder), if is_wide { &["/proc"] } else { &[] })?;
    confine::forbid_for_builder()
}
