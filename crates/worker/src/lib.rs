//! The untrusted side: the builder, which execs a compiler, and the runner, which loads a candidate and calls it.
//!
//! Must not know an oracle, a tolerance or a verdict, read a clock that counts, or open anything after the seal.
//! What runs here before the candidate is loaded is ours; afterwards nothing in the process is believed.

#[cfg(target_os = "linux")]
mod alone;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod builder;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod evaluator;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod limits;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod policy;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(any(test, target_os = "macos"))]
mod profile;
#[cfg(target_os = "linux")]
mod python;
#[cfg(target_os = "linux")]
mod runner;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use builder::builder_main;
#[cfg(target_os = "linux")]
pub use evaluator::evaluator_main;
#[cfg(target_os = "linux")]
pub use python::python_main;
#[cfg(target_os = "linux")]
pub use runner::runner_main;

/// Neither role exists on this platform yet.
#[cfg(not(target_os = "linux"))]
pub fn runner_main() -> ! {
    eprintln!("rooflab: no runner for this platform: its sandbox is not written yet");
    std::process::exit(protocol::EXIT_SANDBOX)
}

/// No role exists on this platform yet.
#[cfg(not(target_os = "linux"))]
pub fn evaluator_main() -> ! {
    eprintln!("rooflab: no evaluator for this platform: its sandbox is not written yet");
    std::process::exit(protocol::EXIT_SANDBOX)
}

/// No role exists on this platform yet.
#[cfg(not(target_os = "linux"))]
pub fn python_main() -> ! {
    eprintln!("rooflab: no Python runner for this platform: its sandbox is not written yet");
    std::process::exit(protocol::EXIT_SANDBOX)
}

/// No role exists on this platform yet.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn builder_main() -> ! {
    eprintln!("rooflab: no builder for this platform: its sandbox is not written yet");
    std::process::exit(protocol::EXIT_SANDBOX)
}
