//! What a server wrote beside its answers, to explain why it failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eog_evidence::{mask_text, shorten};
use tokio_util::sync::CancellationToken;

/// How much of standard error is kept, in bytes.
const TAIL_BYTES: usize = 2 << 10;

/// How much of a line that is no message is shown, in characters.
const SHOWN_JUNK: usize = 120;

/// How long is waited for the end of standard error.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What one connection left behind.
#[derive(Debug, Default)]
pub(super) struct Notes {
    kept: Mutex<Kept>,
    /// Standard error has ended.
    silent: CancellationToken,
}

#[derive(Debug, Default)]
struct Kept {
    stderr: Vec<u8>,
    junk: u64,
    first_junk: String,
    end: Option<String>,
}

impl Notes {
    /// Something was written to standard error.
    pub(super) fn stderr_read(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        kept.stderr.extend_from_slice(bytes);
        let excess = kept.stderr.len().saturating_sub(TAIL_BYTES);
        kept.stderr.drain(..excess);
    }

    /// Standard error has ended.
    pub(super) fn stderr_ended(&self) {
        self.silent.cancel();
    }

    /// Waits a moment for what a server that is ending still has to say.
    pub(super) async fn silence(&self) {
        let _ = tokio::time::timeout(LAST_WORDS, self.silent.cancelled()).await;
    }

    /// A line on standard output was no message.
    pub(super) fn junk(&self, line: &[u8]) {
        let mut kept = self.kept();
        if kept.junk == 0 {
            let head = line.get(..line.len().min(4 * SHOWN_JUNK)).unwrap_or_default();
            kept.first_junk = shorten(&mask_text(&String::from_utf8_lossy(head)), SHOWN_JUNK);
        }
        kept.junk += 1;
    }

    /// Why the connection ended. The first reason stays.
    pub(super) fn ended(&self, why: String) {
        self.kept().end.get_or_insert(why);
    }

    /// Why the connection ended, if that is known.
    pub(super) fn end(&self) -> Option<String> {
        self.kept().end.clone()
    }

    /// What to add to a message of failure.
    pub(super) fn for_failure(&self) -> String {
        let kept = self.kept();
        let mut text = String::new();
        if kept.junk > 0 {
            let first = &kept.first_junk;
            text.push_str(&match kept.junk {
                1 => format!("; 1 line on standard output was not an MCP message: {first:?}"),
                count => format!(
                    "; {count} lines on standard output were not MCP messages, the first: {first:?}"
                ),
            });
        }
        let stderr = String::from_utf8_lossy(&kept.stderr);
        let stderr = stderr.trim();
        if !stderr.is_empty() {
            text.push_str("; standard error ends with: ");
            text.push_str(&mask_text(stderr));
        }
        text
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_masked() {
        let notes = Notes::default();
        assert_eq!(notes.for_failure(), "");
        for _ in 0..1000 {
            notes.stderr_read(b"a line of noise\n");
        }
        notes.stderr_read(b"password=hunter2 refused\n");
        notes.junk(b"Welcome!");
        notes.junk(b"again");
        let text = notes.for_failure();
        assert!(text.ends_with("password=[masked] refused"), "{text}");
        assert!(
            text.contains(
                "2 lines on standard output were not MCP messages, the first: \"Welcome!\""
            )
        );
        assert!(text.len() < TAIL_BYTES + 200);
    }
}
