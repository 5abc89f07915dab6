//! Ctrl-C: the first one asks the loop to stop between two judgements, the second ends the process at once.
//!
//! Must not do anything in the handler but set a flag, tell the judge that waits for it and, the second time, leave. The
//! ledger needs no closing: every entry in it is complete.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
/// The judge that is told; 0 for none.
static JUDGE: AtomicI32 = AtomicI32::new(0);

/// Exit code after an interruption: 128 + SIGINT, as shells have it.
const EXIT: i32 = 130;

extern "C" fn on_signal(_: libc::c_int) {
    if ASKED.swap(true, Ordering::SeqCst) {
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(EXIT) }
    }
    let judge = JUDGE.load(Ordering::SeqCst);
    if judge > 0 {
        // SAFETY: `kill` is async-signal-safe and touches no memory.
        unsafe { libc::kill(judge, libc::SIGINT) };
    }
}

/// From now on the judge with this process id gets the interrupt as well: one that came from a terminal reaches it in any
/// case, one that was sent to this process alone would not. None ends that. Whether someone has asked already.
pub fn pass_on_to(judge: Option<u32>) -> bool {
    JUDGE.store(judge.map_or(0, |id| id as i32), Ordering::SeqCst);
    asked()
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
