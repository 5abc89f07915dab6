//! The sandbox's outer half: starts a role of this very binary in namespaces of its own.
//!
//! The child is the judge's direct child, so that a stop can be confirmed with `waitpid`. Must not fall back: where
//! a namespace is refused, that is an error that names it, unless the user asked for `--unconfined`.

use crate::cgroup::{self, Member};
use crate::root::Root;
use std::ffi::{CStr, CString};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Descriptors move out of the way before they are put in place.
const PARKING: i32 = 200;
/// Descriptors that are parked at most.
const PARKED: i32 = 64;

/// Whether roles are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Namespaces, limits, Landlock, seccomp.
    Confined,
    /// None of them: every record says so.
    Unconfined,
}

impl Confinement {
    /// From the flag that leaves the sandbox off.
    pub fn from_flag(unconfined: bool) -> Self {
        if unconfined { Self::Unconfined } else { Self::Confined }
    }

    /// The word that the roles understand.
    pub fn word(self) -> &'static str {
        match self {
            Self::Confined => protocol::CONFINED,
            Self::Unconfined => protocol::UNCONFINED,
        }
    }

    /// Layers in force, for the record.
    pub fn layers(self) -> Vec<String> {
        if self == Self::Unconfined {
            return Vec::new();
        }
        let layers = [
            "pid, mount, network, ipc and uts namespaces",
            "a read-only root",
            "landlock",
            "seccomp (exit_group alone after load)",
            "rlimits",
            "no_new_privs",
            "parent-death signal",
        ];
        layers.iter().map(ToString::to_string).chain([cgroup::words()]).collect()
    }
}

/// The sandbox can't be set up here.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel refused namespaces.
    #[error(
        "the sandbox is incomplete: namespaces: {0}. Allow user namespaces, or go on without any protection with --unconfined"
    )]
    Namespaces(io::Error),
    /// A step inside the role failed.
    #[error("the sandbox is incomplete: {0}. Mend it, or go on without any protection with --unconfined")]
    Step(String),
    /// Something else that the OS refused.
    #[error("a role could not be started: {0}")]
    Os(#[from] io::Error),
}

/// A child process of a role, killed when dropped.
pub struct Child {
    pid: i32,
    ended: Option<i32>,
}

/// How to start a role.
pub struct Start<'a> {
    /// Confinement.
    pub confinement: Confinement,
    /// Arguments after the binary's name.
    pub arguments: &'a [String],
    /// Descriptors, each with its number in the child; 0, 1 and 2 are `/dev/null` unless named.
    pub descriptors: &'a [(RawFd, i32)],
    /// The core that it is pinned to.
    pub core: Option<usize>,
    /// The group that it joins.
    pub member: Member,
    /// The one folder that it may write in.
    pub writable: Option<&'a Path>,
    /// Folders that it sees beyond the system's: a toolchain in somebody's home.
    pub sees: &'a [PathBuf],
}

/// What a child needs between clone and exec, laid out before the clone: formatting and allocating are not for the child.
struct Layout {
    identity: Identity,
    root: Option<Root>,
    doors: Vec<RawFd>,
    /// Becomes the role's standard input.
    life: RawFd,
}

/// A pipe whose writing end this process alone holds: a role sees at the other that its judge is dead.
static LIFE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();

fn life() -> io::Result<RawFd> {
    if LIFE.get().is_none() {
        let _ = LIFE.set(io::pipe()?);
    }
    Ok(LIFE.get().expect("set above").0.as_raw_fd())
}

impl Layout {
    fn of(start: &Start<'_>) -> io::Result<Self> {
        let (identity, life) = (Identity::of_this_process(), life()?);
        Ok(match start.confinement {
            Confinement::Confined => {
                cgroup::set_up();
                let root = Some(Root::plan(start.writable, start.sees)?);
                Self { identity, root, doors: cgroup::doors(start.member), life }
            }
            Confinement::Unconfined => Self { identity, root: None, doors: Vec::new(), life },
        })
    }
}

impl Child {
    /// Starts a role.
    ///
    /// # Errors
    /// When the namespaces are refused.
    pub fn start(start: &Start<'_>) -> Result<Self, SandboxError> {
        let mut words = vec![CString::new("rooflab").map_err(io::Error::from)?];
        for argument in start.arguments {
            words.push(CString::new(argument.as_str()).map_err(io::Error::from)?);
        }
        let mut argv: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
        argv.push(std::ptr::null());
        let layout = Layout::of(start)?;
        let flags = match start.confinement {
            Confinement::Confined => layout.identity.namespaces(),
            Confinement::Unconfined => 0,
        };
        // SAFETY: the judge has one thread, and the child makes plain system calls until it execs.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) } as i32;
        match pid {
            -1 => Err(SandboxError::Namespaces(io::Error::last_os_error())),
            // SAFETY: in the child.
            0 => unsafe { become_role(start, &layout, &argv) },
            pid => Ok(Self { pid, ended: None }),
        }
    }

    /// The process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The wait status if it has ended. Doesn't wait.
    pub fn ended(&mut self) -> Option<i32> {
        if self.ended.is_none() {
            let mut status = 0;
            // SAFETY: our own child.
            if unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) } == self.pid {
                self.ended = Some(status);
            }
        }
        self.ended
    }

    /// Waits for the end, at most `limit`; kills it then.
    pub fn wait(&mut self, limit: Duration) -> Option<i32> {
        if self.ended().is_some() {
            return self.ended;
        }
        let start = Instant::now();
        // A file descriptor for the process makes this a sleep rather than a spin.
        // SAFETY: plain system calls on our own child.
        unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, self.pid, 0) as i32;
            let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
            libc::poll(&raw mut poll, 1, limit.as_millis().min(i32::MAX as u128) as i32);
            libc::close(descriptor);
        }
        while self.ended().is_none() && start.elapsed() < limit {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.ended
    }

    /// Stops it, and returns when it is stopped. False when it has ended instead.
    pub fn stop(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        let mut status = 0;
        // SAFETY: our own child.
        unsafe {
            libc::kill(self.pid, libc::SIGSTOP);
            if libc::waitpid(self.pid, &raw mut status, libc::WUNTRACED) != self.pid {
                return false;
            }
        }
        if libc::WIFSTOPPED(status) {
            return true;
        }
        self.ended = Some(status);
        false
    }

    /// Lets it go on.
    pub fn proceed(&self) {
        // SAFETY: our own child.
        unsafe { libc::kill(self.pid, libc::SIGCONT) };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let mut status = 0;
        // SAFETY: our own child. It is process 1 of its namespace: all that it started dies with it.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, &raw mut status, 0);
        }
    }
}

/// Who we are, written down before the clone: formatting is not for the child.
struct Identity {
    root: bool,
    uid_map: CString,
    gid_map: CString,
}

impl Identity {
    fn of_this_process() -> Self {
        // SAFETY: plain system calls.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let map = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
        Self { root: uid == 0, uid_map: map(uid), gid_map: map(gid) }
    }

    fn namespaces(&self) -> i32 {
        let all = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        if self.root { all } else { all | libc::CLONE_NEWUSER }
    }
}

/// # Safety
/// To be called in a fresh child alone: it execs or ends.
unsafe fn become_role(start: &Start<'_>, layout: &Layout, argv: &[*const libc::c_char]) -> ! {
    // SAFETY: plain, async-signal-safe system calls on memory that was laid out before the clone.
    unsafe {
        libc::setsid();
        libc::umask(0o022);
        let identity = &layout.identity;
        // Where memory runs out, the kernel shall end this process and not the judge.
        write_file(c"/proc/self/oom_score_adj".as_ptr(), c"1000");
        if start.confinement == Confinement::Confined && !identity.root {
            write_file(c"/proc/self/setgroups".as_ptr(), c"deny");
            write_file(c"/proc/self/uid_map".as_ptr(), &identity.uid_map);
            write_file(c"/proc/self/gid_map".as_ptr(), &identity.gid_map);
        }
        if let Some(core) = start.core {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
        let joined = layout.doors.iter().all(|door| libc::write(*door, c"0".as_ptr().cast(), 1) == 1);
        // Held open, since the new root has no way to this binary; above everything that is put in place below.
        let exe = libc::open(c"/proc/self/exe".as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        let exe = libc::fcntl(exe, libc::F_DUPFD_CLOEXEC, PARKING + PARKED);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(null, standard);
        }
        libc::dup2(layout.life, 0);
        let mut last = 2;
        // Where nothing is: the judge may well hold one of those still to be parked at a number above PARKING.
        let mut parked = [-1; PARKED as usize];
        for ((from, _), place) in start.descriptors.iter().zip(&mut parked) {
            *place = libc::fcntl(*from, libc::F_DUPFD_CLOEXEC, PARKING);
        }
        for ((_, to), place) in start.descriptors.iter().zip(&parked) {
            libc::dup2(*place, *to);
            last = last.max(*to);
        }
        libc::syscall(libc::SYS_close_range, last + 1, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        if !joined {
            give_up(c"cgroup");
        }
        if let Some(Err(step)) = layout.root.as_ref().map(|root| root.enter()) {
            give_up(step);
        }
        let environment: [*const libc::c_char; 1] = [std::ptr::null()];
        let (empty, words) = (c"".as_ptr(), argv.as_ptr());
        libc::syscall(libc::SYS_execveat, exe, empty, words, environment.as_ptr(), libc::AT_EMPTY_PATH);
        libc::_exit(127)
    }
}

/// Ends a child whose sandbox is incomplete, with the step in the words of the roles.
///
/// # Safety
/// As [`become_role`].
unsafe fn give_up(step: &CStr) -> ! {
    // SAFETY: plain system calls on constants.
    unsafe {
        for text in [c"rooflab: sandbox: ", step, c"\n"] {
            libc::write(2, text.as_ptr().cast(), text.to_bytes().len());
        }
        libc::_exit(protocol::EXIT_SANDBOX)
    }
}

unsafe fn write_file(path: *const libc::c_char, text: &std::ffi::CStr) {
    // SAFETY: plain system calls.
    unsafe {
        let descriptor = libc::open(path, libc::O_WRONLY);
        libc::write(descriptor, text.as_ptr().cast(), text.to_bytes().len());
        libc::close(descriptor);
    }
}
