//! The corpora of the fuzz targets of this crate, read again.

#[path = "../../../fuzz/replay.rs"]
mod replay;

mod answer;

#[test]
fn corpora_of_the_targets_are_read() {
    replay::replay("model_answer", answer::check);
}
