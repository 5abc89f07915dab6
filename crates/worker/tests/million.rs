//! A million calls in one runner leave it as it was: no memory, mapping, descriptor or thread more, and no call lost.
//!
//! The binary plays the runner's role itself, so it has no test harness; it answers a runner's `--list`.

use protocol::{Control, FD_ARGUMENTS, FD_ARTEFACT, FD_CONTROL, MAX_CALLS, OP_CALL, STATE_READY};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CALLS: usize = 1_000_000;
/// The kernel counts resident pages by the batch, KiB.
const SLACK: u64 = 512;
const CANDIDATE: &str = "#include <stdint.h>\nvoid rooflab_entry(void *const *b, const int64_t *s) {\n    (void)s;\n    \
                         ++*(volatile int64_t *)b[0];\n}\n";

fn main() {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first == protocol::RUNNER_ROLE {
        worker::runner_main();
    }
    if std::env::args().any(|word| word == "--list") {
        if !std::env::args().any(|word| word == "--ignored") {
            println!("a_million_calls: test");
        }
        return;
    }
    if !cfg!(target_os = "linux") || Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: needs Linux and a C compiler");
        return;
    }
    a_million_calls();
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

#[expect(clippy::cast_ptr_alignment, reason = "a mapping begins a page")]
fn a_million_calls() {
    let control = Shared::new(size_of::<Control>().next_multiple_of(4096));
    let argument = Shared::new(4096);
    let artefact = memory(&library());
    let mut runner = start(&[(&control.file, FD_CONTROL), (&artefact, FD_ARTEFACT), (&argument.file, FD_ARGUMENTS)]);
    let page: *mut Control = control.at.cast();
    // SAFETY: both mappings live as long as this function; the runner is trusted here.
    let counted = unsafe {
        wait(&mut runner, || (*page).state.0.load(Ordering::Acquire) == STATE_READY);
        (*page).order.op = OP_CALL;
        (*page).order.calls = MAX_CALLS as u32;
        (*page).order.arguments = 1;
        let batches = CALLS.div_ceil(MAX_CALLS);
        let mut early = None;
        for batch in 1..=batches {
            (*page).go.store(batch as u32, Ordering::Release);
            wait(&mut runner, || (*page).done.0.load(Ordering::Acquire) == batch as u32);
            if batch == batches / 10 {
                early = Some(held(runner.id()));
            }
        }
        let (early, late) = (early.expect("more than ten batches"), held(runner.id()));
        assert_eq!(early.0, late.0, "descriptors, threads and mappings after a tenth, and at the end");
        assert!(late.1 <= early.1 + SLACK, "{} KiB resident after a tenth, {} at the end", early.1, late.1);
        assert_eq!((*page).state.0.load(Ordering::Acquire), STATE_READY);
        ((*argument.at.cast::<AtomicU64>()).load(Ordering::Acquire), batches * MAX_CALLS)
    };
    assert_eq!(counted.0, counted.1 as u64, "calls made, calls ordered");
    runner.kill().expect("our own child");
    runner.wait().expect("our own child");
}

/// Descriptors, threads and mappings; resident memory, KiB.
fn held(pid: u32) -> ([usize; 3], u64) {
    let count = |name: &str| fs::read_dir(format!("/proc/{pid}/{name}")).map_or(0, Iterator::count);
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let resident = resident.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    ([count("fd"), count("task"), maps.lines().count()], resident)
}

fn wait(runner: &mut Child, mut is_done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    let mut turns = 0_u32;
    while !is_done() {
        std::hint::spin_loop();
        turns += 1;
        // On one core, spinning alone would keep the runner from running.
        if turns.is_multiple_of(4096) {
            assert!(runner.try_wait().expect("our own child").is_none(), "the runner ended");
            assert!(Instant::now() < end, "the runner does not answer");
            std::thread::yield_now();
        }
    }
}

fn library() -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("rooflab-million-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let (source, library) = (folder.join("unit.c"), folder.join("unit.so"));
    fs::write(&source, CANDIDATE).expect("our own folder");
    let flags = ["-O2", "-fPIC", "-shared", "-nostartfiles", "-o"];
    let status = Command::new("cc").args(flags).args([&library, &source]).status().expect("cc");
    assert!(status.success(), "the candidate builds");
    let bytes = fs::read(&library).expect("what cc wrote");
    let _ = fs::remove_dir_all(&folder);
    bytes
}

/// A file without a name.
fn memory(content: &[u8]) -> File {
    // SAFETY: a plain system call; the descriptor is ours from here on.
    let mut file = unsafe { File::from_raw_fd(libc::memfd_create(c"million".as_ptr(), libc::MFD_CLOEXEC)) };
    file.write_all(content).expect("memory");
    file
}

struct Shared {
    file: File,
    at: *mut u8,
}

impl Shared {
    fn new(bytes: usize) -> Self {
        let file = memory(&vec![0; bytes]);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of a file that is that long; never unmapped.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Self { file, at: at.cast() }
    }
}

fn start(descriptors: &[(&File, i32)]) -> Child {
    /// Descriptors move out of the way before they are put in place.
    const PARKING: i32 = 200;
    let pairs: Vec<(i32, i32)> = descriptors.iter().map(|(file, to)| (file.as_raw_fd(), *to)).collect();
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command.args([protocol::RUNNER_ROLE, protocol::CONFINED, "artefact", "0", "w:4096"]);
    // SAFETY: plain system calls on integers that were laid out before the fork.
    unsafe {
        command.pre_exec(move || {
            for (i, (from, _)) in pairs.iter().enumerate() {
                libc::dup2(*from, PARKING + i as i32);
            }
            for (i, (_, to)) in pairs.iter().enumerate() {
                libc::dup2(PARKING + i as i32, *to);
            }
            Ok(())
        });
    }
    command.spawn().expect("this very binary")
}
