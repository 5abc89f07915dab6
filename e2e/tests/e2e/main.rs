//! One binary for all end-to-end tests: linked once, and one table of cheats to walk.
//!
//! These tests measure, so each must have the machine for itself: `rig::alone` sees to it under `cargo test`,
//! `.config/nextest.toml` under nextest.

mod cli;
mod compare;
mod door;
mod endings;
mod foreign;
mod judge;
mod leaks;
mod libraries;
mod map;
mod page;
mod rig;
mod run;
mod shapes;
mod zoo;
