//! The version of what readers make of files: the text of the readers themselves.
//!
//! A number would have to be raised by hand, and a forgotten one would give records that readers no
//! longer make. So the source counts, comments too: a cache that is made anew once too often costs
//! half a second. How texts are masked counts as well. What other crates do to records (cutting texts, parsers) comes with the version
//! of this package.

use std::sync::OnceLock;

/// Every file that decides what records hold, and how they are stored.
const SOURCES: &[&str] = &[
    include_str!("../read/alerts.rs"),
    include_str!("../read/all.rs"),
    include_str!("../read/budget.rs"),
    include_str!("../read/error.rs"),
    include_str!("../read/events.rs"),
    include_str!("../read/layout.rs"),
    include_str!("../read/logs.rs"),
    include_str!("../read/memory.rs"),
    include_str!("../read/metrics.rs"),
    include_str!("../read/mod.rs"),
    include_str!("../read/objects.rs"),
    include_str!("../read/options.rs"),
    include_str!("../read/progress.rs"),
    include_str!("../read/records.rs"),
    include_str!("../read/resource.rs"),
    include_str!("../read/stop.rs"),
    include_str!("../read/text.rs"),
    include_str!("../read/traces.rs"),
    include_str!("../read/tsv.rs"),
    include_str!("../read/workers.rs"),
    include_str!("../store/dictionary.rs"),
    include_str!("../store/logs.rs"),
    include_str!("../store/mod.rs"),
    include_str!("../store/resource.rs"),
    include_str!("../store/samples.rs"),
    include_str!("../store/spans.rs"),
    include_str!("../store/times.rs"),
    include_str!("../masker.rs"),
    include_str!("../names.rs"),
    include_str!("../notice.rs"),
    include_str!("../pydict.rs"),
    include_str!("../time.rs"),
    include_str!("../unfold.rs"),
    include_str!("../warnings.rs"),
    include_str!("codec.rs"),
    include_str!("stored.rs"),
];

/// The digest of all of them.
pub(super) fn version() -> &'static [u8; 32] {
    static VERSION: OnceLock<[u8; 32]> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut digest = blake3::Hasher::new();
        let texts = eog_evidence::TEXT_SOURCES.iter().chain(&eog_secrets::SOURCES);
        for source in SOURCES.iter().chain(texts) {
            digest.update(&(source.len() as u64).to_le_bytes());
            digest.update(source.as_bytes());
        }
        digest.finalize().into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_reader_counts() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for folder in ["read", "store"] {
            for entry in fs::read_dir(source.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let text = fs::read_to_string(&path).unwrap();
                assert!(SOURCES.contains(&text.as_str()), "{} is not listed", path.display());
            }
        }
    }
}
