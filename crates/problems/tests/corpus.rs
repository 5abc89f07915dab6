//! The corpus of the fuzz target `problem`, replayed and varied: the target's own body, without a fuzzer.

#[path = "../../../fuzz/bodies/problem.rs"]
mod body;
#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn the_corpus_and_its_neighbours() {
    replay::replay("problem", body::run);
}
