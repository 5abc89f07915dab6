//! What can be measured: one file a kind of arm. Each is a rig for the engine and decides nothing itself.

pub mod commands;
pub mod git;
mod process;
pub mod sql;
mod watch;
mod words;

pub use process::kill_marked;
