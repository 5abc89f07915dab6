//! End-to-end tests: the built `rooflab` binary, run as a person or a program would run it. They live in `tests/`.
//!
//! Must not link anything of rooflab's but the vocabulary: what isn't visible from outside isn't tested here.
