//! The corpus of the fuzz target `messages`, replayed and varied: the target's own body, without a fuzzer.

#[path = "../../../fuzz/bodies/messages.rs"]
mod body;
#[path = "../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn the_corpus_and_its_neighbours() {
    replay::replay("messages", body::run);
}
