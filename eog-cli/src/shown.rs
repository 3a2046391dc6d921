//! What is said on standard error: without secrets, which names of files and errors of the system may hold,
//! and without what could move a cursor.

/// A line as it may be shown.
pub(crate) fn clean_line(text: &str) -> String {
    eog_report::clean::clean_line(&eog_evidence::mask_text(text))
}
