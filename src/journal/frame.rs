//! The bytes of a journal: header and frames. `docs/embedding.md` describes them.

use std::io::{self, Read};

/// The version of the format that this program writes and reads.
pub(super) const VERSION: u32 = 1;

/// The length of the header.
pub(super) const HEADER_BYTES: u64 = 12;

/// What precedes each payload: its length and the checksum.
pub(super) const FRAME_BYTES: u64 = LENGTH_BYTES as u64 + CHECKSUM_BYTES as u64;

/// The largest entry that a journal takes, in bytes of JSON: 64 MiB.
///
/// Readers set aside no more than this for one entry.
pub const MAX_ENTRY_BYTES: u32 = 64 << 20;

pub(super) const MAGIC: [u8; 8] = *b"eog-jrnl";
const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 8;

/// How every payload begins. Inside a payload this cannot occur again: quotes within strings are
/// escaped, and no part of an entry has such a field.
const PAYLOAD_START: &[u8] = br#"{"seq":"#;

/// The header of a new journal.
pub(super) fn header() -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat()
}

/// What the first bytes of a file say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// A journal of this version.
    Known,
    /// A journal of another version.
    Version(u32),
    /// A journal whose creation was interrupted. It has no entries.
    Torn,
    /// Something else.
    Foreign,
}

/// Reads the header. `length` is that of the whole file.
pub(super) fn read_header(reader: &mut impl Read, length: u64) -> io::Result<Header> {
    let found = read_up_to(reader, HEADER_BYTES)?;
    let expected = header();
    if found == expected {
        return Ok(Header::Known);
    }
    let begun = length < HEADER_BYTES && expected.starts_with(&found);
    if begun || (length <= HEADER_BYTES && all_zero(&found)) {
        return Ok(Header::Torn);
    }
    Ok(match found.strip_prefix(&MAGIC).map(<[u8; 4]>::try_from) {
        Some(Ok(version)) => Header::Version(u32::from_le_bytes(version)),
        Some(Err(_)) | None => Header::Foreign,
    })
}

/// Adds the frame of a payload. The payload must be within bounds.
pub(super) fn encode(payload: &[u8], length: u32, frames: &mut Vec<u8>) {
    let length = length.to_le_bytes();
    frames.extend_from_slice(&length);
    frames.extend_from_slice(&checksum(length, payload));
    frames.extend_from_slice(payload);
}

/// The content at one place of a journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Nothing: the file ends here.
    End,
    /// A whole payload, as it was written.
    Whole(Vec<u8>),
    /// A write that was interrupted, and nothing after it.
    Torn,
    /// Bytes that no interrupted write leaves behind.
    Damaged(&'static str),
}

/// Reads the next frame. `left` is how many bytes the file still has.
///
/// A write that was interrupted leaves a part of what was to be written, perhaps filled up with
/// zeros. Whatever has something else after it was once complete, and must not be cut off.
pub(super) fn read_frame(reader: &mut impl Read, left: u64) -> io::Result<Frame> {
    if left == 0 {
        return Ok(Frame::End);
    }
    let head = read_up_to(reader, FRAME_BYTES)?;
    let Some((length_bytes, stored)) = head
        .split_first_chunk::<LENGTH_BYTES>()
        .filter(|(_, checksum)| checksum.len() == CHECKSUM_BYTES)
    else {
        return Ok(Frame::Torn);
    };
    let length = u32::from_le_bytes(*length_bytes);
    if length == 0 || length > MAX_ENTRY_BYTES {
        let torn = left <= FRAME_BYTES || (all_zero(&head) && only_zeros(reader)?);
        return Ok(if torn { Frame::Torn } else { Frame::Damaged("its length is impossible") });
    }
    let payload = read_up_to(reader, u64::from(length))?;
    if payload.len() as u64 == u64::from(length) && checksum(*length_bytes, &payload) == stored {
        return Ok(Frame::Whole(payload));
    }
    if another_begins(&payload) {
        return Ok(Frame::Damaged("its length is wrong, and further entries follow"));
    }
    if !only_zeros(reader)? {
        return Ok(Frame::Damaged("its checksum is wrong, and more follows"));
    }
    Ok(Frame::Torn)
}

/// The first bytes of the BLAKE3 digest of length and payload.
fn checksum(length: [u8; LENGTH_BYTES], payload: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&length).update(payload);
    let mut checksum = [0; CHECKSUM_BYTES];
    hasher.finalize_xof().fill(&mut checksum);
    checksum
}

/// Whether another payload begins inside this one: a wrong length swallowed the next frame.
fn another_begins(payload: &[u8]) -> bool {
    payload.windows(PAYLOAD_START.len()).skip(1).any(|window| window == PAYLOAD_START)
}

/// At most `limit` bytes; fewer only where the file ends.
fn read_up_to(reader: &mut impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether nothing but zeros is left to read.
fn only_zeros(reader: &mut impl Read) -> io::Result<bool> {
    loop {
        let chunk = read_up_to(reader, 64 << 10)?;
        if !all_zero(&chunk) {
            return Ok(false);
        }
        if chunk.is_empty() {
            return Ok(true);
        }
    }
}

fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
