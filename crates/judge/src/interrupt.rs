//! Ctrl-C while a question is answered whose asker wants what was measured until then.
//!
//! Must not do anything in the handler but set a flag; whoever runs or times something looks at it.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    ASKED.store(true, Ordering::SeqCst);
}

/// Listens for SIGINT from now on, which otherwise ends the judge.
pub fn listen() {
    ASKED.store(false, Ordering::SeqCst);
    // SAFETY: the handler touches one atomic. System calls that it interrupts are restarted: a wait for a runner that is
    // being stopped must not come back early.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
    }
}

/// Whether someone asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
