//! A runner of the worker's, driven as the judge drives it, for tests whose binary plays the runner's role itself: they
//! have no test harness and answer a runner's `--list`.
//!
//! Must not stop the runner between batches: who drives it here trusts it.

#![allow(dead_code, reason = "each test uses a part")]

use protocol::{Control, FD_ARGUMENTS, FD_ARTEFACT, FD_CONTROL, OP_CALL, STATE_READY};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of the one argument.
const ARGUMENT: usize = 4096;
/// Nothing here takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// The `main` of a test's binary: the runner's role, the list of its one test, or the test.
pub fn play(name: &str, test: fn()) {
    if std::env::args().nth(1).is_some_and(|first| first == protocol::RUNNER_ROLE) {
        worker::runner_main();
    }
    if std::env::args().any(|word| word == "--list") {
        if !std::env::args().any(|word| word == "--ignored") {
            println!("{name}: test");
        }
        return;
    }
    if !cfg!(target_os = "linux") || Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: needs Linux and a C compiler");
        return;
    }
    test();
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

/// A runner that waits for orders; killed when dropped.
pub struct Rig {
    child: Child,
    page: *mut Control,
    argument: *const AtomicI64,
    batches: u32,
}

impl Rig {
    /// Starts one that has loaded `candidate`, a C text, with a pool on these cores.
    pub fn start(candidate: &str, pool: &str) -> Self {
        let control = Shared::new(size_of::<Control>().next_multiple_of(4096));
        let argument = Shared::new(ARGUMENT);
        let artefact = memory(&library(candidate));
        let descriptors = [(&control.file, FD_CONTROL), (&artefact, FD_ARTEFACT), (&argument.file, FD_ARGUMENTS)];
        let child = spawn(pool, &descriptors);
        let mut rig = Self { child, page: control.at.cast(), argument: argument.at.cast(), batches: 0 };
        // SAFETY: the mappings are never unmapped, and the runner is trusted here.
        unsafe {
            let page = rig.page;
            rig.wait(|| (*page).state.0.load(Ordering::Acquire) == STATE_READY);
            (*page).order.op = OP_CALL;
            (*page).order.arguments = 1;
        }
        rig
    }

    /// The runner's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Orders a batch of `calls` and does not wait.
    pub fn order(&mut self, calls: usize) {
        self.batches += 1;
        // SAFETY: as in `start`.
        unsafe {
            (*self.page).order.calls = calls as u32;
            (*self.page).go.store(self.batches, Ordering::Release);
        }
    }

    /// Runs a batch of `calls`.
    pub fn batch(&mut self, calls: usize) {
        self.order(calls);
        let (page, batch) = (self.page, self.batches);
        // SAFETY: as in `start`.
        self.wait(|| unsafe { (*page).done.0.load(Ordering::Acquire) } == batch);
    }

    /// The argument's `i`-th 64-bit number.
    pub fn number(&self, i: usize) -> i64 {
        assert!(i < ARGUMENT / size_of::<AtomicI64>());
        // SAFETY: inside the mapping, which is never unmapped.
        unsafe { (*self.argument.add(i)).load(Ordering::Acquire) }
    }

    /// Waits for the runner's end.
    pub fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return status;
            }
            assert!(Instant::now() < end, "the runner does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn wait(&mut self, mut is_done: impl FnMut() -> bool) {
        let end = Instant::now() + LIMIT;
        let mut turns = 0_u32;
        while !is_done() {
            std::hint::spin_loop();
            turns += 1;
            // On one core, spinning alone would keep the runner from running.
            if turns.is_multiple_of(4096) {
                assert!(self.child.try_wait().expect("our own child").is_none(), "the runner ended: {}", self.note());
                assert!(Instant::now() < end, "the runner does not answer");
                std::thread::yield_now();
            }
        }
    }

    fn note(&self) -> String {
        // SAFETY: as in `start`.
        let note = unsafe { (&raw const (*self.page).note).read_volatile() };
        String::from_utf8_lossy(&note).trim_end_matches('\0').to_owned()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn library(candidate: &str) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("rooflab-worker-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let (source, library) = (folder.join("unit.c"), folder.join("unit.so"));
    fs::write(&source, candidate).expect("our own folder");
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
    let mut file = unsafe { File::from_raw_fd(libc::memfd_create(c"worker".as_ptr(), libc::MFD_CLOEXEC)) };
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

fn spawn(pool: &str, descriptors: &[(&File, i32)]) -> Child {
    /// Descriptors move out of the way before they are put in place.
    const PARKING: i32 = 200;
    let pairs: Vec<(i32, i32)> = descriptors.iter().map(|(file, to)| (file.as_raw_fd(), *to)).collect();
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command.args([protocol::RUNNER_ROLE, protocol::CONFINED, "artefact", "0", pool, &format!("w:{ARGUMENT}")]);
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
