//! Judge <-> runner: the control page that both map, and the descriptors that the runner inherits.
//!
//! Fits one screen, and imports nothing. The runner may scribble over all of it: nothing in here is believed by
//! the judge beyond "the sequence number came back".

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

/// First argument that makes the binary a runner.
pub const RUNNER_ROLE: &str = "__runner";
/// First argument that makes the binary a builder.
pub const BUILDER_ROLE: &str = "__builder";
/// First argument that makes the binary a Python runner.
pub const PYTHON_ROLE: &str = "__python";
/// First argument that makes the binary an evaluator.
pub const EVALUATOR_ROLE: &str = "__evaluator";
/// Exit code of a role whose sandbox could not be set up.
pub const EXIT_SANDBOX: i32 = 91;
/// Exit code of a role that was started with arguments that make no sense.
pub const EXIT_USAGE: i32 = 92;
/// Flag that leaves the sandbox off, for `--unconfined`.
pub const UNCONFINED: &str = "unconfined";
/// Flag of the confined state.
pub const CONFINED: &str = "confined";
/// Flag of a builder that runs a sanitizer's program: all address space, and a look at its own /proc; and of an
/// interpreter whose libraries compile while they run.
pub const CONFINED_WIDE: &str = "confined-wide";
/// What a runner is told to load: an artefact.
pub const ARTEFACT: &str = "artefact";
/// What a runner is told to load: a prebuilt library, then the artefact that is its shim.
pub const LIBRARY: &str = "library";
/// Descriptor of the control page in the runner.
pub const FD_CONTROL: i32 = 3;
/// Descriptor of the artefact, a sealed memory file; absent (-1 in the plan) for code of our own.
pub const FD_ARTEFACT: i32 = 4;
/// Descriptor of the prebuilt library that the artefact is a shim of, a sealed memory file; absent for everything else.
pub const FD_LIBRARY: i32 = 5;
/// Descriptor of the first argument's memory; argument i has `FD_ARGUMENTS + i`.
pub const FD_ARGUMENTS: i32 = 6;
/// Where compilers, headers and libraries live: what a role may read, and all that its root holds beside /proc.
pub const SYSTEM: [&str; 10] = [
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
];
/// Arguments at most.
pub const MAX_ARGUMENTS: usize = 12;
/// Sizes at most.
pub const MAX_SIZES: usize = 8;
/// Inaccessible bytes before and after every argument: more than a vector kernel's furthest sloppy access.
pub const GUARD: usize = 64 << 10;
/// Calls of one batch at most.
pub const MAX_CALLS: usize = 256;
/// Bytes of a note.
pub const NOTE: usize = 240;
/// Symbol of the generated entry: `void rooflab_entry(void *const *buffers, const int64_t *sizes)`.
pub const ENTRY: &str = "rooflab_entry";
/// Symbol of the generated preparation, same signature; may be absent.
pub const PREPARE: &str = "rooflab_prepare";
/// Symbol of the generated pointer to `void run(int64_t count, void (*task)(void *, int64_t), void *context)`, which a
/// runner with a pool points at its own; absent where the problem has no pool.
pub const POOL: &str = "rooflab_pool";
/// In the place of the pool's cores: none.
pub const NO_POOL: &str = "-";

/// Folders as one argument of a role: with a line's end between them, or `-` for none.
pub fn folders(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join("\n") }
}

/// Reads what `folders` wrote.
pub fn paths(text: &str) -> Vec<PathBuf> {
    if text == "-" { Vec::new() } else { text.lines().map(PathBuf::from).collect() }
}

/// `op`: call the entry once a call of the batch.
pub const OP_CALL: u32 = 1;
/// `op`: call the preparation once.
pub const OP_PREPARE: u32 = 2;
/// `op`: do nothing; a handshake.
pub const OP_NOTHING: u32 = 3;

/// `state`: not ready yet.
pub const STATE_LOADING: u32 = 0;
/// `state`: loaded and sealed; spins on `go`.
pub const STATE_READY: u32 = 1;
/// `state`: the artefact did not load; `note` says why.
pub const STATE_LOAD_FAILED: u32 = 2;
/// `state`: a part of the sandbox could not be set up; `note` names it.
pub const STATE_SANDBOX_FAILED: u32 = 3;
/// `state`: a fault was caught; `fault` holds the address.
pub const STATE_FAULT: u32 = 4;
/// `state`: a Python candidate raised an exception; `note` says which.
pub const STATE_RAISED: u32 = 5;
/// `state`: the Python runner has its own libraries, and reads the candidate's text and loads what that imports.
pub const STATE_READING: u32 = 7;
/// `state`: the Python runner is sealed, and waits for leave to run the candidate's first line: the first `go`.
pub const STATE_SEALED: u32 = 6;

/// The control page. The judge writes `Order` only while the runner is stopped.
#[repr(C, align(64))]
pub struct Control {
    /// Judge -> runner: the sequence number to serve.
    pub go: AtomicU32,
    /// Judge -> runner: what to do.
    pub order: Order,
    /// Runner -> judge: the sequence number served.
    pub done: Line<AtomicU32>,
    /// Runner -> judge: one of `STATE_*`.
    pub state: Line<AtomicU32>,
    /// Runner -> judge: address of a fault.
    pub fault: u64,
    /// Runner -> judge: where each argument's memory begins, to turn a fault's address into an argument.
    pub bases: [u64; MAX_ARGUMENTS],
    /// Runner -> judge: a zero-ended text.
    pub note: [u8; NOTE],
    /// Runner -> judge, before anything is loaded: where its own instructions begin and end that serve batches; 0 where
    /// they have no section of their own.
    pub ground: [u64; 2],
}

/// What a batch is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Order {
    /// One of `OP_*`.
    pub op: u32,
    /// Calls in the batch.
    pub calls: u32,
    /// Arguments of the entry.
    pub arguments: u32,
    /// Sizes of the entry.
    pub sizes: [i64; MAX_SIZES],
    /// Offset in bytes of argument `a` for call `c`, in that argument's memory.
    pub offsets: [[u64; MAX_ARGUMENTS]; MAX_CALLS],
}

/// A value alone on its cache line.
#[repr(C, align(64))]
pub struct Line<T>(pub T);
