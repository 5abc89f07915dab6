//! The pool of a threaded candidate: threads that the runner makes before it loads anything, and the function by which a
//! candidate shares work out among them and itself.
//!
//! Its state lies within the candidate's reach, so nothing here proves anything to anyone: where each thread really is
//! when a batch is reported done, the judge sees from outside. What runs after the seal lies in the section of `alone`,
//! must not call anything outside it, and waits by spinning, since no system call is left to wait with.

#![expect(clippy::inline_always, reason = "what is not inlined lies in the part that is gone")]

use crate::alone::settle;
use protocol::Line;
use std::ffi::c_void;
use std::io;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::mpsc;

/// Stack of a thread, as large as the main thread's usually is.
pub const STACK: usize = 8 << 20;

/// What a candidate hands over: called with its context and an index.
pub type Task = unsafe extern "C" fn(*mut c_void, i64);

/// What a candidate calls: a number of indices, a task, its context.
pub type Run = unsafe extern "C" fn(i64, Task, *mut c_void);

/// Shared by all threads of a runner.
#[repr(C, align(64))]
pub struct Pool {
    /// Number of the piece of work. A new one is the sign to begin.
    number: Line<AtomicU32>,
    /// The next index that nobody has taken.
    next: Line<AtomicI64>,
    /// Threads that are through with the piece of work.
    through: Line<AtomicU32>,
    /// 1 while a piece of work is being shared out.
    inside: Line<AtomicU32>,
    task: Option<Task>,
    context: *mut c_void,
    count: i64,
    threads: u32,
}

/// The runner's only pool, for `run`: a candidate has no other way to say which.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

/// Starts one thread a core, pinned to it, and returns when all wait for work. They stay as long as the process.
///
/// # Errors
/// When a thread can't be started, or not on its core.
pub fn start(cores: &[usize]) -> io::Result<*mut Pool> {
    let line = || Line(AtomicU32::new(0));
    let pool: *mut Pool = Box::leak(Box::new(Pool {
        number: line(),
        next: Line(AtomicI64::new(0)),
        through: line(),
        inside: line(),
        task: None,
        context: null_mut(),
        count: 0,
        threads: cores.len() as u32,
    }));
    POOL.store(pool, Ordering::Release);
    let address = pool.expose_provenance();
    let (tell, told) = mpsc::channel();
    for core in cores.iter().copied() {
        let tell = tell.clone();
        let begin = move || {
            let pinned = pin(core);
            let is_pinned = pinned.is_ok();
            let _ = tell.send(pinned);
            // Nothing is dropped after this: a thread that helps never returns.
            drop(tell);
            if is_pinned {
                // SAFETY: the pool is never freed.
                unsafe { help(with_exposed_provenance_mut(address)) };
            }
        };
        std::thread::Builder::new().stack_size(STACK).spawn(begin)?;
    }
    drop(tell);
    told.iter().collect::<io::Result<()>>()?;
    // SAFETY: as above. A thread is through when it waits.
    unsafe { rest(pool) };
    Ok(pool)
}

fn pin(core: usize) -> io::Result<()> {
    // SAFETY: plain system calls on a local set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A thread's life: wait for a piece of work, take indices until none is left, say so.
///
/// # Safety
/// `pool` is the pool.
#[unsafe(link_section = "rooflab_serve")]
#[inline(never)]
unsafe fn help(pool: *mut Pool) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        let (number, through) = (&raw const (*pool).number.0, &raw const (*pool).through.0);
        let mut last = 0;
        loop {
            (*through).fetch_add(1, Ordering::Release);
            let mut now = (*number).load(Ordering::Acquire);
            while now == last {
                std::hint::spin_loop();
                now = (*number).load(Ordering::Acquire);
            }
            last = now;
            take(pool);
            settle();
        }
    }
}

/// Calls `task` with `context` and every index below `count`, on this thread and the pool's, and returns when every one
/// of these calls has returned. From within a task it is an ordinary loop.
///
/// # Safety
/// None is claimed: this is what a candidate calls.
#[unsafe(link_section = "rooflab_serve")]
#[inline(never)]
pub unsafe extern "C" fn run(count: i64, task: Task, context: *mut c_void) {
    // SAFETY: a candidate is given this function only where there is a pool.
    unsafe {
        let pool = POOL.load(Ordering::Acquire);
        if (*pool).inside.0.swap(1, Ordering::Acquire) != 0 {
            let mut index = 0;
            while index < count {
                task(context, index);
                index += 1;
            }
            return;
        }
        (*pool).task = Some(task);
        (*pool).context = context;
        (*pool).count = count;
        (*pool).next.0.store(0, Ordering::Relaxed);
        (*pool).through.0.store(0, Ordering::Relaxed);
        (*pool).number.0.fetch_add(1, Ordering::Release);
        take(pool);
        rest(pool);
        (*pool).inside.0.store(0, Ordering::Release);
    }
}

/// Takes indices until none is left.
///
/// # Safety
/// `pool` is the pool.
#[inline(always)]
unsafe fn take(pool: *mut Pool) {
    // SAFETY: what is read was written before the number that this thread has seen.
    unsafe {
        let Some(task) = (*pool).task else { return };
        let (context, count) = ((*pool).context, (*pool).count);
        loop {
            let index = (*pool).next.0.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            task(context, index);
        }
    }
}

/// Waits until every thread is through.
///
/// # Safety
/// `pool` is the pool.
#[inline(always)]
unsafe fn rest(pool: *mut Pool) {
    // SAFETY: the caller's promise.
    unsafe {
        while (*pool).through.0.load(Ordering::Acquire) != (*pool).threads {
            std::hint::spin_loop();
        }
    }
}

/// After a call: a candidate that left in the middle of its work (by a jump out of a task) has left threads at it. They
/// are waited for while the clock runs, and the next call finds the pool as the first did.
///
/// # Safety
/// `pool` is the pool, or null.
#[inline(always)]
pub unsafe fn wait_for_all(pool: *mut Pool) {
    if pool.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        rest(pool);
        (*pool).inside.0.store(0, Ordering::Release);
    }
}
