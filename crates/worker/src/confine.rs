//! The sandbox's inner half: what a role does to itself before it touches anything of a candidate's.
//!
//! The outer half (namespaces, descriptors, limits on wall time) is the judge's. Nothing here falls back: a step
//! that fails is an error that names the step.

pub use crate::limits::limit;
pub(crate) use crate::policy::{Missing, missing};
use crate::policy::{NULL, Policy, RANDOM};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use protocol::EXIT_USAGE;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an interpreter needs to start and to load its libraries.
const INTERPRETER: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_getdents64,
    libc::SYS_ioctl,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_prlimit64,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getppid,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The user that a root-started role becomes.
const NOBODY: u32 = 65_534;

fn last(step: &str) -> Missing {
    missing(step, std::io::Error::last_os_error())
}

/// Gives up root, then any way back to it, then ties this process's life to its parent's.
///
/// The order matters: changing the user clears the parent-death signal.
pub fn drop_privileges() -> Result<(), Missing> {
    // SAFETY: plain system calls.
    unsafe {
        if libc::geteuid() == 0
            && (libc::setgroups(0, std::ptr::null()) != 0
                || libc::setresgid(NOBODY, NOBODY, NOBODY) != 0
                || libc::setresuid(NOBODY, NOBODY, NOBODY) != 0)
        {
            return Err(last("setresuid"));
        }
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(last("no_new_privs"));
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) != 0 {
            return Err(last("parent-death signal"));
        }
        if parent_is_gone() {
            libc::_exit(EXIT_USAGE);
        }
    }
    Ok(())
}

/// Whether the judge died before the parent-death signal was asked for: from inside a PID namespace its absence can't be
/// seen, so it holds the other end of the standard input for as long as it lives.
fn parent_is_gone() -> bool {
    let mut input = libc::pollfd { fd: 0, events: 0, revents: 0 };
    // SAFETY: a plain system call on a local struct.
    unsafe { libc::poll(&raw mut input, 1, 0) == 1 && input.revents & libc::POLLHUP != 0 }
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: u32) {
    // SAFETY: nothing of ours lives in a descriptor from `first` on.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Landlock: read and execute the system's files and those `besides`, write beneath `writable` alone, no network.
pub fn files(writable: Option<&Path>, besides: &[PathBuf]) -> Result<(), Missing> {
    let policy = Policy::new(writable, besides);
    // ABI 3 (Linux 6.2) is the least that stops truncation; anything newer is taken where it exists.
    let build = || -> Result<_, landlock::RulesetError> {
        let abi = ABI::V6;
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V3))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .add_rules(path_beneath_rules(&policy.reads, AccessFs::from_read(abi)))?
            .add_rules(path_beneath_rules([NULL], AccessFs::ReadFile | AccessFs::WriteFile))?
            .add_rules(path_beneath_rules([RANDOM], AccessFs::ReadFile))?;
        if let Some(folder) = policy.writes {
            rules = rules.add_rules(path_beneath_rules([folder], AccessFs::from_all(abi)))?;
        }
        rules.restrict_self()
    };
    let status = build().map_err(|e| missing("landlock", e))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(missing("landlock", "not enforced by this kernel"));
    }
    Ok(())
}

pub(crate) fn arch() -> Result<TargetArch, Missing> {
    std::env::consts::ARCH.try_into().map_err(|e| missing("seccomp", format!("{e:?}")))
}

fn install(calls: &[i64], listed: SeccompAction, unlisted: SeccompAction) -> Result<(), Missing> {
    let program = program(calls, listed, unlisted)?;
    seccompiler::apply_filter_all_threads(&program).map_err(|e| missing("seccomp", e))
}

fn program(calls: &[i64], listed: SeccompAction, unlisted: SeccompAction) -> Result<BpfProgram, Missing> {
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, unlisted, listed, arch()?).map_err(|e| missing("seccomp", e))?;
    filter.try_into().map_err(|e: seccompiler::BackendError| missing("seccomp", e))
}

/// For the builder: the calls that no compiler makes answer EPERM.
pub fn forbid_for_builder() -> Result<(), Missing> {
    let calls = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_ptrace,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_userfaultfd,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_setpriority,
        libc::SYS_memfd_create,
    ];
    install(&calls, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)
}

/// For the runner while it loads: the calls that the dynamic loader and the seal need; the rest answer EPERM.
pub fn loader_only() -> Result<(), Missing> {
    let mut calls = vec![
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_openat,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_munmap,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_readlinkat,
        libc::SYS_getcwd,
        libc::SYS_prctl,
        libc::SYS_seccomp,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_exit_group,
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([libc::SYS_access, libc::SYS_readlink, libc::SYS_arch_prctl, libc::SYS_stat, libc::SYS_open]);
    install(&calls, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

/// For an interpreter while it starts and loads libraries that are no candidate's: the rest answers EPERM.
pub fn interpreter_only() -> Result<(), Missing> {
    let mut calls = INTERPRETER.to_vec();
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        libc::SYS_access,
        libc::SYS_readlink,
        libc::SYS_arch_prctl,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_open,
        libc::SYS_getrlimit,
        libc::SYS_poll,
    ]);
    install(&calls, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

/// The seal: from here on the process can only compute, or end.
pub fn seal() -> Result<(), Missing> {
    install(&[libc::SYS_exit_group], SeccompAction::Allow, SeccompAction::KillProcess)
}

/// The seal, to be put on later.
pub fn seal_program() -> Result<BpfProgram, Missing> {
    program(&[libc::SYS_exit_group], SeccompAction::Allow, SeccompAction::KillProcess)
}
