//! What the peers' programs share: one run of an arm, the same for both. Times nothing itself.

use std::path::Path;
use std::process::{Command, Stdio};

/// Starts an arm and waits for its end.
///
/// # Panics
/// When it can't be started or fails: such a window says nothing about the peer.
pub fn run(arm: &Path) {
    let mut command = Command::new(arm);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{}: {status:?}", arm.display());
}
