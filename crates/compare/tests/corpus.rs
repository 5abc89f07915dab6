//! The corpus of the fuzz target `samples`, replayed and varied: the target's own body, without a fuzzer.

#[path = "../../../fuzz/bodies/samples.rs"]
mod body;
#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn the_corpus_and_its_neighbours() {
    replay::replay("samples", body::run);
}
