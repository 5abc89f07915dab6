//! The namespaces around an adapter: they keep what a hostile candidate does to a peer away from the machine.
//!
//! Must not be less where they can't be set up: an adapter then doesn't start.

use crate::workspace::{command, output};
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Nobody's user and group.
const NOBODY: u32 = 65_534;
/// Processes, bytes of a file, bytes of data.
const LIMITS: [&str; 4] = ["--nproc=256", "--fsize=536870912", "--data=12884901888", "--core=0"];
/// Mounts, then whatever follows.
const MOUNTS: &str = "mount -t proc proc /proc && mount -t tmpfs -o mode=1777,size=2g tmpfs /tmp && exec \"$@\"";

/// A command that starts `program` as the first process of its own PID, mount, network, IPC and UTS namespaces, as nobody
/// where we are root, with a temporary folder of its own.
pub fn command_for(program: &OsStr) -> Command {
    let mut confined = command(&["unshare", "--fork", "--kill-child", "--pid", "--mount", "--net", "--ipc", "--uts"]);
    let is_root = output(&mut command(&["id", "-u"])).is_ok_and(|id| id.trim() == "0");
    if !is_root {
        confined.args(["--user", "--map-root-user"]);
    }
    confined.args(["--", "sh", "-c", MOUNTS, "sh", "setpriv", "--no-new-privs", "--pdeathsig", "KILL"]);
    if is_root {
        confined.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
    }
    confined.arg("prlimit").args(LIMITS).arg(program);
    confined.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    for (name, value) in [
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("MPLCONFIGDIR", "/tmp"),
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
    ] {
        confined.env(name, value);
    }
    confined
}
