//! Fuzz target: see `bodies/samples.rs`, which the tests run over the corpus as well.
#![no_main]

#[path = "../bodies/samples.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
