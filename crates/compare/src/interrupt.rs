//! Ctrl-C must leave nothing running: the handler kills the process group that runs now; the engine then stops.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static RUNNING: AtomicI32 = AtomicI32::new(0);
static ASKED: AtomicBool = AtomicBool::new(false);

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
    ASKED.store(true, Ordering::SeqCst);
    let group = RUNNING.load(Ordering::SeqCst);
    if group > 0 {
        // SAFETY: kill has no memory effects.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Names the group that an interrupt has to kill; 0 for none.
pub(crate) fn watch(group: i32) {
    RUNNING.store(group, Ordering::SeqCst);
    if group > 0 && asked() {
        // The signal came between the start and this line.
        // SAFETY: kill has no memory effects.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Whether an interrupt has come.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
