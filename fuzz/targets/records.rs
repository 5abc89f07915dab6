//! Fuzz target: see `bodies/records.rs`, which the tests run over the corpus as well.
#![no_main]

#[path = "../bodies/records.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
