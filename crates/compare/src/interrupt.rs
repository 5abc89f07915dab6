//! Ctrl-C must leave nothing running: the handler kills the process group that runs now; the engine then stops.
//!
//! What cleans up afterwards runs in spite of it, until the next one.

use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

static RUNNING: AtomicI32 = AtomicI32::new(0);
/// Interrupts that the running group was started in spite of.
static FORGIVEN: AtomicUsize = AtomicUsize::new(0);
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Catches SIGINT and SIGTERM from here on. For the binary to call, once, before a comparison.
pub fn catch_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: the handler only touches atomics and calls kill, both allowed in a signal handler.
            unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
        }
    });
}

extern "C" fn handler(_: libc::c_int) {
    ASKED.fetch_add(1, Ordering::SeqCst);
    kill_running();
}

fn kill_running() {
    let group = RUNNING.load(Ordering::SeqCst);
    if group > 0 && count() > FORGIVEN.load(Ordering::SeqCst) {
        // SAFETY: kill has no memory effects.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Names the group that an interrupt beyond the `forgiven` first has to kill; 0 for none.
pub(crate) fn watch(group: i32, forgiven: usize) {
    FORGIVEN.store(forgiven, Ordering::SeqCst);
    RUNNING.store(group, Ordering::SeqCst);
    // The signal may have come between the start and this line.
    kill_running();
}

/// How many interrupts have come.
pub(crate) fn count() -> usize {
    ASKED.load(Ordering::SeqCst)
}

/// Whether an interrupt has come.
pub(crate) fn asked() -> bool {
    count() > 0
}
