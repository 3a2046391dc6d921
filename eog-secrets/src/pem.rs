//! Blocks between `-----BEGIN …-----` and `-----END …-----`.

use std::ops::Range;

use memchr::memmem;

/// How blocks begin.
pub(crate) const BEGIN: &[u8] = b"-----BEGIN ";

/// How they end.
const END: &[u8] = b"-----END ";

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
/// private, since what follows may be the key; otherwise to the end of its label. So does a public one that holds
/// anything but lines of base64, which are what is not searched.
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
    let end = match (private, dashes) {
        // What follows a private block without an end is masked, and not searched again.
        (true, _) => memmem::find(after, END),
        (false, Some(dashes)) => {
            let body = dashes + 5;
            lines(after.get(body..after.len().min(MAX_PUBLIC))?).map(|length| body + length)
        }
        (false, None) => None,
    };
    let end = end
        .map(|end| end + END.len() + label_end(after.get(end + END.len()..).unwrap_or_default()));
    let open_end = if private { after.len() } else { label.len() };
    Some(Block { range: start..label_start + end.unwrap_or(open_end), private })
}

/// The length of the label that ends a block, with its dashes; zero if it has none, or if these could belong
/// to the next block.
fn label_end(tail: &[u8]) -> usize {
    let tail = tail.get(..tail.len().min(MAX_LABEL)).unwrap_or_default();
    let line = tail.iter().position(|byte| b"\n\r\\".contains(byte));
    let line = tail.get(..line.unwrap_or(tail.len())).unwrap_or_default();
    match memmem::find(line, b"-----") {
        Some(dashes) if memmem::find(line, BEGIN).is_none() => dashes + 5,
        _ => 0,
    }
}

/// The length of the lines of base64 before the end of a block, if there is nothing else. All lines but the last are of
/// one length (RFC 7468, section 2). Line ends may be escaped, as in JSON.
fn lines(body: &[u8]) -> Option<usize> {
    let (mut at, mut first, mut is_last) = (0, None, false);
    loop {
        let rest = body.get(at..)?;
        let gap = gap(rest);
        at += gap;
        let rest = body.get(at..)?;
        if rest.starts_with(END) {
            return Some(at);
        }
        let word =
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"+/".contains(b)).count();
        let padding = rest.get(word..)?.iter().take(2).take_while(|b| **b == b'=').count();
        let length = word + padding;
        if gap == 0 || word == 0 || is_last {
            return None;
        }
        let whole = *first.get_or_insert(length);
        is_last = length < whole || padding > 0;
        if length > whole {
            return None;
        }
        at += length;
    }
}

/// The length of line ends, with the spaces around them. Spaces alone are none.
fn gap(text: &[u8]) -> usize {
    let (mut length, mut ends) = (0, false);
    loop {
        let rest = text.get(length..).unwrap_or_default();
        let slashes = rest.iter().take_while(|b| **b == b'\\').count();
        let after = rest.get(slashes).copied();
        let step = match (slashes, after) {
            (0, Some(b'\n' | b'\r')) => 1,
            (0, Some(b' ' | b'\t')) => {
                length += 1;
                continue;
            }
            (1.., Some(b'n' | b'r')) => slashes + 1,
            _ => return if ends { length } else { 0 },
        };
        ends = true;
        length += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_a_public_block() {
        let cert = |body: &str| {
            format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
        };
        let masker = crate::Masker::new();
        let line = "MIIDBTCCAe2gAwIBAgIIZq8rT1xWv5Kp3vN7yLkB9x7Qp2LmZ4vT8wAb12CdEf34";
        for public in [
            cert(line),
            cert(&format!("{line}\n{line}\nZq8rT1xWv5Kp3vN7yLkB9x7Qp2LmZ4vT8wAb12CdEg==")),
            cert(line).replace('\n', "\\n"),
            cert(line).replace('\n', "\r\n    "),
        ] {
            assert_eq!(masker.mask(&public), public, "{public}");
        }
        for hidden in ["password=hunter2", "password: hunter2", "x\n\npassword=hunter2\ny"] {
            let masked = masker.mask(&cert(hidden)).into_owned();
            assert!(!masked.contains("hunter2") && masked.contains("[masked]"), "{masked}");
        }
        // A key behind a certificate that was cut.
        let cut = format!(
            "-----BEGIN CERTIFICATE-----\n{line}\n-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
        );
        assert!(masker.mask(&cut).ends_with("[masked]"), "{}", masker.mask(&cut));
    }

    #[test]
    fn what_only_begins_like_a_block_hides_nothing() {
        assert!(at(b"-----BEGIN \npassword=hunter2\n", 0).is_none());
        assert!(at(b"-----BEGIN OF IT\n-----\npassword=hunter2", 0).is_none());
        let masked = crate::Masker::new().mask("-----BEGIN \npassword=hunter2\n").into_owned();
        assert_eq!(masked, "-----BEGIN \npassword=[masked]\n");
    }

    #[test]
    fn private_blocks_are_distinguished_from_others() {
        let text = b"a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b";
        let block = at(text, 2).unwrap();
        assert!(block.private && block.range == (2..text.len() - 2));
        let open = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl";
        assert_eq!(at(open, 0).unwrap().range, 0..open.len());
        for cut in ["-----END ", "-----END \n", "-----END X", "-----END ---"] {
            let text = format!(
                "-----BEGIN PRIVATE KEY-----{cut}-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
            );
            let first = at(text.as_bytes(), 0).unwrap().range.end;
            let rest = &text[first..];
            assert!(rest.contains("-----BEGIN PRIVATE KEY-----"), "{cut:?} {rest:?}");
        }
        let public = b"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\nmore";
        let block = at(public, 0).unwrap();
        assert!(!block.private && block.range.end == public.len() - 5);
    }
}
