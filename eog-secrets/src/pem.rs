//! Blocks between `-----BEGIN …-----` and `-----END …-----`.

use std::ops::Range;

use memchr::memmem;

/// How blocks begin.
pub(crate) const BEGIN: &[u8] = b"-----BEGIN ";

/// Longest label of a block.
const MAX_LABEL: usize = 100;

/// Farthest end of a block that is public.
const MAX_PUBLIC: usize = 64 * 1024;

/// A block, and whether it is private.
pub(crate) struct Block {
    pub(crate) range: Range<usize>,
    pub(crate) private: bool,
}

/// The block that begins at this place. Without an end it reaches to the end of the text when it is
/// private, since what follows may be the key; otherwise to the end of its label.
pub(crate) fn at(text: &[u8], start: usize) -> Option<Block> {
    let label_start = start + BEGIN.len();
    let after = text.get(label_start..)?;
    let head = after.get(..after.len().min(MAX_LABEL))?;
    let line = head.get(..memchr::memchr(b'\n', head).unwrap_or(head.len()))?;
    let dashes = memmem::find(line, b"-----");
    let label = line.get(..dashes.unwrap_or(line.len()))?;
    let private = memmem::find(label, b"PRIVATE KEY").is_some();
    if dashes.is_none() && !private {
        // No block: what stands behind is searched like any other text.
        return None;
    }
    // What follows a private block without an end is masked, and not searched again.
    let farthest = if private { after.len() } else { after.len().min(MAX_PUBLIC) };
    let block = after.get(..farthest)?;
    let end = memmem::find(block, b"-----END ").map(|end| {
        let tail = after.get(end + 9..).unwrap_or_default();
        let tail = tail.get(..tail.len().min(MAX_LABEL)).unwrap_or_default();
        end + 9 + memmem::find(tail, b"-----").map_or(0, |dashes| dashes + 5)
    });
    let open_end = if private { after.len() } else { label.len() };
    Some(Block { range: start..label_start + end.unwrap_or(open_end), private })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_begins_like_a_block_hides_nothing() {
        assert!(at(b"-----BEGIN \npassword=hunter2\n", 0).is_none());
        assert!(at(b"-----BEGIN OF IT\n-----\npassword=hunter2", 0).is_none());
        let masked = crate::Masker::new().mask("-----BEGIN \npassword=hunter2\n").into_owned();
        assert_eq!(masked, "-----BEGIN \npassword=[masked]\n");
    }

    #[test]
    fn private_blocks_are_told_from_others() {
        let text = b"a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b";
        let block = at(text, 2).unwrap();
        assert!(block.private && block.range == (2..text.len() - 2));
        let open = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl";
        assert_eq!(at(open, 0).unwrap().range, 0..open.len());
        let public = b"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\nmore";
        let block = at(public, 0).unwrap();
        assert!(!block.private && block.range.end == public.len() - 5);
    }
}
