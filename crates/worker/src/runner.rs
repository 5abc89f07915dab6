//! The runner: maps its arguments, loads one candidate, seals itself, and serves batches.
//!
//! Arguments: `__runner confined|unconfined CODE SPIN POOL ARGUMENT...` where CODE is `artefact`, `library` (an artefact
//! that is the shim of a prebuilt library) or `kernel:NAME`, SPIN is a count of extra loop turns a call (the slowed twin
//! of our own kernels), POOL is `-` or the cores of the pool's threads (`2,3`), and each ARGUMENT is `r:BYTES` or
//! `w:BYTES`, backed by the descriptor of the same position. No system call is possible once `state` is ready.

use crate::alone::{self, CONTROL, Entry, on_fault, settle};
use crate::confine::{self, Missing};
use crate::pool::{self, Pool};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use protocol::{
    Control, ENTRY, EXIT_USAGE, FD_ARGUMENTS, FD_ARTEFACT, FD_CONTROL, FD_LIBRARY, GUARD, LIBRARY, MAX_ARGUMENTS,
    MAX_CALLS, MAX_SIZES, NO_POOL, OP_CALL, OP_PREPARE, Order, POOL, PREPARE, STATE_LOAD_FAILED, STATE_READY,
    STATE_SANDBOX_FAILED, UNCONFINED,
};
use std::error::Error;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::Ordering;

/// Heap grown before the seal, so that small allocations of our own kernels need no system call.
const HEAP: usize = 96 << 20;
/// Address space beyond the arguments: code, libraries, heap, stack.
const ADDRESS_SPACE: u64 = 2 << 30;
/// CPU seconds of one runner, its threads together.
const CPU: u64 = 600;

enum Code {
    Candidate { entry: Entry, prepare: Option<Entry> },
    Kernel(kernels::Kernel),
}

/// What is ready to be called, and with what.
struct Loaded {
    code: Code,
    bases: Vec<*mut u8>,
    /// Null without threads.
    pool: *mut Pool,
}

/// Runs the role. Never returns.
pub fn runner_main() -> ! {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [mode, code, spin, cores, buffers @ ..] = arguments.as_slice() else { std::process::exit(EXIT_USAGE) };
    let (Ok(spin), Some(cores), true) = (spin.parse::<u64>(), pool_cores(cores), buffers.len() <= MAX_ARGUMENTS) else {
        std::process::exit(EXIT_USAGE)
    };
    let control = map_control();
    CONTROL.store(control, Ordering::Release);
    match start(mode == UNCONFINED, code, (cores.as_slice(), buffers)) {
        Ok(loaded) => serve(control, &loaded, spin),
        Err((state, note)) => end(control, state, &note),
    }
}

fn pool_cores(text: &str) -> Option<Vec<usize>> {
    if text == NO_POOL { Some(Vec::new()) } else { text.split(',').map(|core| core.parse().ok()).collect() }
}

fn start(unconfined: bool, code: &str, (cores, buffers): (&[usize], &[String])) -> Result<Loaded, (u32, String)> {
    let sandbox = |Missing(step)| (STATE_SANDBOX_FAILED, step);
    let load = |note: String| (STATE_LOAD_FAILED, note);
    let bases = buffers
        .iter()
        .enumerate()
        .map(|(i, text)| map_argument(text, FD_ARGUMENTS + i as i32))
        .collect::<Result<Vec<_>, _>>()
        .map_err(load)?;
    if !unconfined {
        confine::close_from(FD_ARGUMENTS as u32);
        limits(buffers, cores.len()).map_err(sandbox)?;
        confine::drop_privileges().map_err(sandbox)?;
        confine::files(None, &[]).map_err(sandbox)?;
    }
    grow_heap();
    request_matrix_unit();
    catch_faults();
    // Before the first filter, so that both come down on every thread; after all that threads inherit.
    let pool = if cores.is_empty() {
        null_mut()
    } else {
        pool::start(cores).map_err(|error| sandbox(Missing(format!("the pool's threads: {error}"))))?
    };
    if !unconfined {
        confine::loader_only().map_err(sandbox)?;
    }
    let code = if let Some(name) = code.strip_prefix("kernel:") {
        let kernel = kernels::find(name).ok_or_else(|| load(format!("no kernel is named `{name}`")))?;
        (kernel.warm)();
        Code::Kernel(kernel)
    } else {
        if code == LIBRARY {
            load_library().map_err(load)?;
        }
        load_artefact(pool).map_err(load)?
    };
    if !unconfined {
        confine::close_from(0);
        if alone::CAN_BE_ALONE
            && let Code::Candidate { entry, prepare } = code
        {
            serve_alone((entry, prepare), &bases, pool).map_err(sandbox)?;
        }
        confine::seal().map_err(sandbox)?;
    }
    Ok(Loaded { code, bases, pool })
}

/// Returns only when it can't be done.
fn serve_alone((entry, prepare): (Entry, Option<Entry>), bases: &[*mut u8], pool: *mut Pool) -> Result<(), Missing> {
    let mut places = [null_mut(); MAX_ARGUMENTS];
    places[..bases.len()].copy_from_slice(bases);
    let plan = alone::Plan {
        control: CONTROL.load(Ordering::Acquire),
        entry,
        prepare,
        bases: places,
        pool,
        hidden: alone::rest_of_program(),
        seal: confine::seal_program()?,
    };
    // SAFETY: the pool's threads wait, and all of it is from the judge and the loader.
    unsafe { alone::serve(&plan) }
}

fn limits(buffers: &[String], threads: usize) -> Result<(), Missing> {
    let mapped: u64 = buffers.iter().filter_map(|text| text.get(2..)?.parse::<u64>().ok()).sum();
    confine::limit(libc::RLIMIT_AS, mapped + ADDRESS_SPACE + (threads * 2 * pool::STACK) as u64)?;
    confine::limit(libc::RLIMIT_CPU, CPU)?;
    confine::limit(libc::RLIMIT_CORE, 0)?;
    confine::limit(libc::RLIMIT_FSIZE, 0)?;
    confine::limit(libc::RLIMIT_MEMLOCK, 0)
}

pub(crate) fn map_control() -> *mut Control {
    let length = size_of::<Control>().next_multiple_of(4096);
    // SAFETY: the judge made this descriptor at least that long.
    let at =
        unsafe { libc::mmap(null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, FD_CONTROL, 0) };
    if at == libc::MAP_FAILED {
        std::process::exit(EXIT_USAGE);
    }
    at.cast()
}

fn map_argument(text: &str, descriptor: i32) -> Result<*mut u8, String> {
    let (kind, bytes) = text.split_once(':').ok_or("an argument is `r:BYTES` or `w:BYTES`")?;
    let bytes: usize = bytes.parse().map_err(|e| format!("{text}: {e}"))?;
    let protection = if kind == "w" { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    let total = bytes + 2 * GUARD;
    // SAFETY: a fresh reservation, then a fixed mapping inside it.
    unsafe {
        let reserved = libc::mmap(
            null_mut(),
            total,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if reserved == libc::MAP_FAILED {
            return Err(format!("reserving {total} bytes: {}", std::io::Error::last_os_error()));
        }
        let at = with_exposed_provenance_mut::<u8>(reserved.expose_provenance() + GUARD);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE;
        if libc::mmap(at.cast(), bytes, protection, flags, descriptor, 0) == libc::MAP_FAILED {
            return Err(format!("mapping {bytes} bytes: {}", std::io::Error::last_os_error()));
        }
        Ok(at)
    }
}

/// Loads a prebuilt library where the shim, loaded next, finds its functions.
fn load_library() -> Result<(), String> {
    // SAFETY: none is claimed for what it runs as it loads. It is its owner's, who asked for it, and the loader's filter
    // and the sandbox hold it.
    let library = unsafe { open(FD_LIBRARY, RTLD_NOW | RTLD_GLOBAL)? };
    std::mem::forget(library);
    Ok(())
}

fn load_artefact(pool: *mut Pool) -> Result<Code, String> {
    // SAFETY: the judge vetted the artefact, so nothing in it runs at load; or it is a library as above.
    unsafe {
        let library = open(FD_ARTEFACT, RTLD_NOW | RTLD_LOCAL)?;
        let entry = *library.get::<Entry>(ENTRY).map_err(|error| words(&error))?;
        let prepare = library.get::<Entry>(PREPARE).ok().map(|symbol| *symbol);
        if !pool.is_null() {
            let place = library.get::<*mut Option<pool::Run>>(POOL).map_err(|error| words(&error))?;
            place.write(Some(pool::run));
        }
        std::mem::forget(library);
        Ok(Code::Candidate { entry, prepare })
    }
}

/// # Safety
/// What the file runs as it loads is run.
unsafe fn open(descriptor: i32, flags: i32) -> Result<Library, String> {
    // SAFETY: the caller's promise.
    unsafe { Library::open(Some(format!("/proc/self/fd/{descriptor}")), flags) }.map_err(|error| words(&error))
}

/// The loader's own words, where it had any.
fn words(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Grows the heap and keeps it, so that no allocation after the seal asks the kernel. One heap for all threads: another
/// would reserve 128 MiB of address space.
fn grow_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: allocator settings, then one allocation that is freed at once; the black box keeps both.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::free(std::hint::black_box(libc::malloc(HEAP)));
    }
}

/// Linux hands out the matrix unit's state on request only; refused where there is none.
fn request_matrix_unit() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: ARCH_REQ_XCOMP_PERM (0x1023) for XTILEDATA (18).
    unsafe {
        libc::syscall(libc::SYS_arch_prctl, 0x1023, 18);
    }
}

/// A fault is written down and ends the process: the only thing that a handler can do behind the seal.
fn catch_faults() {
    const STACK: usize = 64 << 10;
    // SAFETY: an alternative stack that is never freed, and handlers that only store and exit.
    unsafe {
        let memory = libc::mmap(
            null_mut(),
            STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK };
        libc::sigaltstack(&raw const stack, null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
            libc::sigaction(signal, &raw const action, null_mut());
        }
    }
}

pub(crate) fn end(control: *mut Control, state: u32, note: &str) -> ! {
    // SAFETY: the control page is mapped for the whole life of the process.
    unsafe {
        let text = &mut (*control).note;
        let n = note.len().min(text.len() - 1);
        text[..n].copy_from_slice(&note.as_bytes()[..n]);
        (*control).state.0.store(state, Ordering::Release);
        libc::syscall(libc::SYS_exit_group, 0);
    }
    unreachable!("exit_group returns to nobody")
}

fn serve(control: *mut Control, loaded: &Loaded, spin: u64) -> ! {
    let Loaded { code, bases, pool } = loaded;
    // SAFETY: the page stays mapped. The judge writes the order only while this process is stopped; it is read
    // through a volatile pointer since nothing else here tells the compiler that it changes.
    unsafe {
        for (place, base) in (*control).bases.iter_mut().zip(bases) {
            *place = base.addr() as u64;
        }
        let (go, done) = (&raw const (*control).go, &raw const (*control).done.0);
        let mut last = (*go).load(Ordering::Acquire);
        (*control).state.0.store(STATE_READY, Ordering::Release);
        loop {
            let mut sequence = (*go).load(Ordering::Acquire);
            while sequence == last {
                std::hint::spin_loop();
                sequence = (*go).load(Ordering::Acquire);
            }
            last = sequence;
            obey(&raw const (*control).order, code, bases, spin);
            pool::wait_for_all(*pool);
            settle();
            (*done).store(sequence, Ordering::Release);
        }
    }
}

/// # Safety
/// `order` points into the control page.
unsafe fn obey(order: *const Order, code: &Code, bases: &[*mut u8], spin: u64) {
    // SAFETY: the caller's promise.
    let (op, calls, sizes) = unsafe {
        ((&raw const (*order).op).read_volatile(), (&raw const (*order).calls).read_volatile(), (*order).sizes)
    };
    for call in 0..(calls as usize).min(MAX_CALLS) {
        // SAFETY: as above.
        let offsets = unsafe { (&raw const (*order).offsets[call]).read_volatile() };
        match op {
            OP_CALL => invoke(code, bases, &offsets, &sizes),
            OP_PREPARE => prepare(code, bases, &offsets, &sizes),
            _ => {}
        }
        for turn in 0..spin {
            std::hint::black_box(turn);
        }
    }
}

fn place(bases: &[*mut u8], offsets: &[u64; MAX_ARGUMENTS]) -> [*mut u8; MAX_ARGUMENTS] {
    let mut buffers = [null_mut(); MAX_ARGUMENTS];
    for ((buffer, base), offset) in buffers.iter_mut().zip(bases).zip(offsets) {
        *buffer = base.wrapping_add(*offset as usize);
    }
    buffers
}

fn invoke(code: &Code, bases: &[*mut u8], offsets: &[u64; MAX_ARGUMENTS], sizes: &[i64; MAX_SIZES]) {
    let buffers = place(bases, offsets);
    // SAFETY: none is claimed: this is the candidate. The process around it is the protection.
    unsafe {
        match code {
            Code::Candidate { entry, .. } => entry(buffers.as_ptr(), sizes.as_ptr()),
            Code::Kernel(kernel) => (kernel.entry)(buffers.as_ptr(), sizes.as_ptr()),
        }
    }
}

fn prepare(code: &Code, bases: &[*mut u8], offsets: &[u64; MAX_ARGUMENTS], sizes: &[i64; MAX_SIZES]) {
    let buffers = place(bases, offsets);
    // SAFETY: as `invoke`.
    unsafe {
        match code {
            Code::Candidate { prepare: Some(prepare), .. } => prepare(buffers.as_ptr(), sizes.as_ptr()),
            Code::Kernel(kernels::Kernel { prepare: Some(prepare), .. }) => prepare(buffers.as_ptr(), sizes.as_ptr()),
            _ => {}
        }
    }
}
