//! What holds of a ledger whatever its text is. The fuzz target includes this file.

use eog_core::Ledger;
use eog_core::controller::EntryBody;

/// Reads a ledger.
///
/// # Panics
/// When one that was accepted is not written again in the same bytes.
pub(crate) fn check(text: &str) {
    if let Ok(ledger) = Ledger::<EntryBody>::from_json_lines(text) {
        let written = ledger.to_json_lines();
        assert_eq!(written.trim_end_matches('\n'), text.trim_end_matches('\n'));
        let again =
            Ledger::<EntryBody>::from_json_lines(&written).expect("what was written can be read");
        assert_eq!(again.head(), ledger.head());
    }
}
