//! Fuzz target: see `bodies/problem.rs`, which the tests run over the corpus as well.
#![no_main]

#[path = "../bodies/problem.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
