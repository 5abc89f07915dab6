//! Ctrl-C: the first one asks the loop to stop between two judgements, the second ends the process at once.
//!
//! Must not do anything in the handler but set a flag and, the second time, leave. The ledger needs no closing: every
//! entry in it is complete.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code after an interruption: 128 + SIGINT, as shells have it.
const EXIT: i32 = 130;

extern "C" fn on_signal(_: libc::c_int) {
    if ASKED.swap(true, Ordering::SeqCst) {
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(EXIT) }
    }
}

/// Listens for SIGINT and SIGTERM from now on.
pub fn listen() {
    let handler = on_signal as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler touches one atomic and calls `_exit`, both async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Whether someone asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
