//! The corpora of the fuzz targets of this crate, read again.

#[path = "../../../fuzz/replay.rs"]
mod replay;

mod cassette;
mod settings;

#[test]
fn corpora_of_the_targets_are_read() {
    replay::replay("cassette", cassette::check);
    replay::replay("llm_toml", settings::check);
}
