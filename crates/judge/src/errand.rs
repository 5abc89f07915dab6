//! Runs a role to its end and keeps what it says: compilers, evaluators.
//!
//! Must not wait for ever: the kernel kills the role's whole namespace when its time is up, so that the pipe closes.

use crate::cgroup::Member;
use crate::sandbox::{Child, Confinement, SandboxError, Start};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is kept of a role's words, bytes.
const LOG: usize = 16 << 10;

/// What a role is sent to do.
pub struct Errand<'a> {
    /// Its arguments, the role first.
    pub arguments: &'a [String],
    /// The one folder that it may write in.
    pub writable: &'a Path,
    /// Folders that it sees beyond the system's.
    pub sees: &'a [PathBuf],
    /// Wall-clock limit.
    pub limit: Duration,
}

/// Starts the role, and returns its words and its wait status.
///
/// # Errors
/// When it can't be started, or its sandbox can't be set up.
pub fn run(confinement: Confinement, errand: &Errand<'_>) -> Result<(String, i32), SandboxError> {
    let (mut reader, writer) = io::pipe()?;
    let descriptors = [(writer.as_raw_fd(), 1), (writer.as_raw_fd(), 2)];
    let start = Start {
        confinement,
        arguments: errand.arguments,
        descriptors: &descriptors,
        core: None,
        member: Member::Builder,
        writable: Some(errand.writable),
        sees: errand.sees,
    };
    let mut child = Child::start(&start)?;
    drop(writer);
    let alarm = Alarm::new(child.pid(), errand.limit);
    let mut log = Vec::new();
    let _ = (&mut reader).take(LOG as u64).read_to_end(&mut log);
    let _ = io::copy(&mut reader, &mut io::sink());
    let status = child.wait(errand.limit).unwrap_or(libc::SIGKILL);
    drop(alarm);
    let log = String::from_utf8_lossy(&log).into_owned();
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == protocol::EXIT_SANDBOX {
        return Err(SandboxError::Step(log.trim().trim_start_matches("rooflab: sandbox: ").to_owned()));
    }
    Ok((log, status))
}

/// Kills a process group's head when time is up. A child process of its own would survive us; a timer does not.
struct Alarm {
    timer: libc::timer_t,
}

impl Alarm {
    fn new(pid: i32, limit: Duration) -> Self {
        ALARM_PID.store(pid, std::sync::atomic::Ordering::Release);
        // SAFETY: the handler only kills; the timer is deleted when dropped.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_alarm as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
            let mut timer: libc::timer_t = std::ptr::null_mut();
            libc::timer_create(libc::CLOCK_MONOTONIC, std::ptr::null_mut(), &raw mut timer);
            let mut when: libc::itimerspec = std::mem::zeroed();
            when.it_value.tv_sec = limit.as_secs() as i64;
            libc::timer_settime(timer, 0, &raw const when, std::ptr::null_mut());
            Self { timer }
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        ALARM_PID.store(0, std::sync::atomic::Ordering::Release);
        // SAFETY: the timer of `new`.
        unsafe { libc::timer_delete(self.timer) };
    }
}

static ALARM_PID: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

extern "C" fn on_alarm(_signal: i32) {
    let pid = ALARM_PID.load(std::sync::atomic::Ordering::Acquire);
    if pid > 0 {
        // SAFETY: a plain system call.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}
