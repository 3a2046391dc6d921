//! Masks a stream of bytes: the output of a program, as it comes.

use memchr::{memmem, memrchr};

use crate::Masker;
use crate::pem::BEGIN;

/// Most bytes that are held back for the end of a line. A longer line is masked in pieces, cut at a
/// space.
const MAX_HELD: usize = 64 * 1024;

/// Masks a stream line by line. What is cut by the end of a read is held back until its line is
/// whole, and a private key until its block is.
///
/// ```
/// let mut stream = eog_secrets::StreamMasker::new();
/// let mut shown = stream.push(b"ready\npassword=hun");
/// shown.extend(stream.push(b"ter2\n"));
/// shown.extend(stream.finish());
/// assert_eq!(shown, b"ready\npassword=[masked]\n");
/// ```
#[derive(Debug, Default)]
pub struct StreamMasker {
    masker: Masker,
    held: Vec<u8>,
}

impl StreamMasker {
    /// A masker at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes further bytes, and returns what can be shown by now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::new();
        for piece in bytes.chunks(MAX_HELD) {
            self.held.extend_from_slice(piece);
            let end = self.shown_end();
            let rest = self.held.split_off(end);
            let ready = std::mem::replace(&mut self.held, rest);
            shown.extend_from_slice(&self.masker.mask_bytes(&ready));
        }
        shown
    }

    /// The end of the stream: returns what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.masker.mask_bytes(&held).into_owned()
    }

    /// How much of what is held can be shown: whole lines, and no half of a block.
    fn shown_end(&self) -> usize {
        let held = self.held.as_slice();
        let lines = memrchr(b'\n', held).map_or(0, |at| at + 1);
        let begun = memmem::rfind(held, BEGIN).filter(|at| {
            let after = held.get(*at..).unwrap_or_default();
            memmem::find(after, b"-----END ").is_none_or(|end| memrchr(b'\n', after) < Some(end))
        });
        let end = begun.map_or(lines, |block| lines.min(block));
        if held.len() - end <= MAX_HELD {
            return end;
        }
        let space = held.iter().rposition(u8::is_ascii_whitespace).map_or(held.len(), |at| at + 1);
        if begun.is_some() { held.len() } else { space }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &[u8], sizes: usize) -> Vec<u8> {
        let mut stream = StreamMasker::new();
        let mut shown: Vec<u8> = text.chunks(sizes).flat_map(|piece| stream.push(piece)).collect();
        shown.extend(stream.finish());
        shown
    }

    #[test]
    fn cuts_do_not_matter() {
        let text = b"one\npassword=hunter2 refused\n-----BEGIN PRIVATE KEY-----\nabc\nde\n\
            -----END PRIVATE KEY-----\nlast \xff token=s3ss10nT0k";
        let expected = b"one\npassword=[masked] refused\n[masked]\nlast \xff token=[masked]";
        for size in 1..text.len() {
            assert_eq!(shown(text, size), expected, "{size}");
        }
    }

    #[test]
    fn long_lines_are_shown_in_pieces() {
        let text = b"word ".repeat(100_000);
        let mut stream = StreamMasker::new();
        let begun = stream.push(&text);
        assert!(begun.len() > text.len() - 2 * MAX_HELD);
        assert_eq!([begun, stream.finish()].concat(), text);
    }
}
