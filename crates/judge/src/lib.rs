//! The trusted side: owns inputs, oracles, the clock and the verdict.
//!
//! Must not hold a candidate's code in its address space, believe a word of the runner's, or write the ledger.

pub mod client;
pub mod library;
pub mod message;
pub mod twin;

#[cfg(target_os = "linux")]
mod arm;
#[cfg(target_os = "linux")]
mod builder;
#[cfg(target_os = "linux")]
mod calibrate;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod cores;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod errand;
#[cfg(target_os = "linux")]
mod export;
#[cfg(target_os = "linux")]
mod families;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod ladder;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod pairing;
#[cfg(target_os = "linux")]
mod python;
#[cfg(target_os = "linux")]
mod quarantine;
#[cfg(target_os = "linux")]
mod recipe;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sanitize;
#[cfg(target_os = "linux")]
mod seal;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod side;
#[cfg(target_os = "linux")]
mod standing;
#[cfg(target_os = "linux")]
mod vet;

#[cfg(target_os = "linux")]
pub use builder::BASE_FLAGS;
#[cfg(target_os = "linux")]
pub use serve::judge_main;

/// There is no judge for this platform yet.
#[cfg(not(target_os = "linux"))]
pub fn judge_main() -> ! {
    eprintln!("rooflab: no judge for this platform: its sandbox is not written yet");
    std::process::exit(4)
}
