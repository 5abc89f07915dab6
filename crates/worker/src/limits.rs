//! Resource limits, which Linux and macOS both have.
//!
//! Must not choose any: the roles do.

use crate::policy::{Missing, missing};

#[cfg(target_os = "linux")]
type Resource = libc::__rlimit_resource_t;
#[cfg(target_os = "macos")]
type Resource = libc::c_int;

/// One resource limit, soft and hard.
pub fn limit(resource: Resource, value: u64) -> Result<(), Missing> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: a plain system call on a local struct.
    let done = unsafe { libc::setrlimit(resource, &raw const limit) };
    if done == 0 { Ok(()) } else { Err(missing("rlimit", std::io::Error::last_os_error())) }
}
