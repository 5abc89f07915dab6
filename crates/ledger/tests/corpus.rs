//! The corpus of the fuzz target `records`, replayed and varied: the target's own body, without a fuzzer.

#[path = "../../../fuzz/bodies/records.rs"]
mod body;
#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn the_corpus_and_its_neighbours() {
    replay::replay("records", body::run);
}
