//! The corpus of the fuzz target of the server, sent again.

#[path = "../../../fuzz/replay.rs"]
mod replay;

mod requests;

#[test]
fn the_corpus_is_answered() {
    replay::replay("mcp_requests", requests::check);
}
