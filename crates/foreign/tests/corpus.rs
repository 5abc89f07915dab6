//! The corpus of the fuzz target `formats`, replayed and varied: the target's own body, without a fuzzer.

#[path = "../../../fuzz/bodies/formats.rs"]
mod body;
#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn the_corpus_and_its_neighbours() {
    replay::replay("formats", body::run);
}
