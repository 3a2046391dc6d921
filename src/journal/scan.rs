//! Reading a journal through, and checking every entry.

use std::io::{self, BufReader, Read};

use eog_core::ledger::{Body, LedgerError};
use eog_core::{Entry, Ledger};

use super::frame::{self, Frame, Header};
use super::{CutTail, JournalError, Medium};

/// A journal that was read through.
pub(super) struct Scan<B> {
    pub(super) ledger: Ledger<B>,
    pub(super) cut: Option<CutTail>,
    /// The bytes to keep; 0 if not even the header is whole.
    pub(super) kept: u64,
}

/// Reads and checks every entry, one at a time.
pub(super) fn scan<B: Body>(medium: &dyn Medium) -> Result<Scan<B>, JournalError> {
    let path = medium.path();
    let failed = |source: io::Error| JournalError::unusable(path, "read", source);
    let length = medium.size().map_err(failed)?;
    // A writer may add to the file meanwhile; only what was there at the start is read.
    let mut reader = BufReader::new(medium.reader().map_err(failed)?.take(length));
    let mut ledger = Ledger::default();
    match frame::read_header(&mut reader, length).map_err(failed)? {
        Header::Known => {}
        Header::Torn => {
            let cut = (length > 0).then_some(CutTail { after: 0, bytes: length });
            return Ok(Scan { ledger, cut, kept: 0 });
        }
        Header::Version(version) => {
            return Err(JournalError::UnknownVersion { path: path.to_owned(), version });
        }
        Header::Foreign => return Err(JournalError::NotAJournal { path: path.to_owned() }),
    }
    let mut kept = frame::HEADER_BYTES;
    loop {
        let after = ledger.next_seq();
        let damaged = |reason: String| JournalError::Damaged {
            path: path.to_owned(),
            entry: after,
            offset: kept,
            reason,
        };
        let left = length.saturating_sub(kept);
        match frame::read_frame(&mut reader, left).map_err(failed)? {
            Frame::End => return Ok(Scan { ledger, cut: None, kept }),
            Frame::Torn => {
                return Ok(Scan { ledger, cut: Some(CutTail { after, bytes: left }), kept });
            }
            Frame::Damaged(reason) => return Err(damaged(reason.to_owned())),
            Frame::Whole(payload) => {
                let entry = entry(&payload).map_err(damaged)?;
                ledger.push(entry).map_err(|error| match error {
                    LedgerError::UnknownFormat { format, .. } => {
                        JournalError::UnknownFormat { path: path.to_owned(), format }
                    }
                    error => damaged(error.to_string()),
                })?;
                kept += frame::FRAME_BYTES + payload.len() as u64;
            }
        }
    }
}

/// The tag of the first entry, if there is a whole one.
pub(super) fn opening(medium: &dyn Medium) -> Result<Option<String>, JournalError> {
    let path = medium.path();
    let failed = |source: io::Error| JournalError::unusable(path, "read", source);
    let length = medium.size().map_err(failed)?;
    let mut reader = BufReader::new(medium.reader().map_err(failed)?.take(length));
    match frame::read_header(&mut reader, length).map_err(failed)? {
        Header::Known => {}
        Header::Torn => return Ok(None),
        Header::Version(version) => {
            return Err(JournalError::UnknownVersion { path: path.to_owned(), version });
        }
        Header::Foreign => return Err(JournalError::NotAJournal { path: path.to_owned() }),
    }
    let left = length.saturating_sub(frame::HEADER_BYTES);
    match frame::read_frame(&mut reader, left).map_err(failed)? {
        // The reader of the journal reports what is wrong with it.
        Frame::Whole(payload) => Ok(eog_core::ledger::opening_tag(&payload)),
        Frame::End | Frame::Torn | Frame::Damaged(_) => Ok(None),
    }
}

fn entry<B: Body>(payload: &[u8]) -> Result<Entry<B>, String> {
    let entry: Entry<B> = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    match serde_json::to_vec(&entry) {
        Ok(bytes) if bytes == payload => Ok(entry),
        Ok(_) | Err(_) => Err("it is not written the way a ledger is".to_owned()),
    }
}
