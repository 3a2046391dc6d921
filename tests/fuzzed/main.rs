//! The corpus of the fuzz target whose reader is a whole investigation, read again.

#[path = "../../fuzz/replay.rs"]
mod replay;

mod decision;

#[test]
fn the_corpus_is_investigated() {
    replay::replay("decision", decision::check);
}
