//! What a journal is written on.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use super::CheckpointError;

/// What a [`Journal`](crate::Journal) or a [`SideFile`](crate::side::SideFile) is written on: bytes that
/// are read from their start and written at a place. A file, a stream that machines share, or in tests a
/// disk that fails on demand.
///
/// Journals and side files write only at the end: [`Medium::write_at`] is given the size, and what is to go
/// is cut off by [`Medium::set_len`] before.
///
/// Written bytes are read back at once. They outlive the machine only when
/// [`Medium::sync_data`] or [`Medium::sync_all`] has returned since.
pub trait Medium: fmt::Debug + Send + Sync {
    /// What errors call it.
    fn path(&self) -> &Path;

    /// How many bytes it holds.
    ///
    /// # Errors
    /// Those of the system.
    fn size(&self) -> io::Result<u64>;

    /// All bytes from the first. Nothing is written before the reader is dropped.
    ///
    /// # Errors
    /// Those of the system.
    fn reader(&self) -> io::Result<Box<dyn Read + '_>>;

    /// Writes all bytes at this offset, over what is there and beyond the end.
    ///
    /// # Errors
    /// Those of the system. A part may be written then.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts it to this size, or fills it up with zeros.
    ///
    /// # Errors
    /// Those of the system.
    fn set_len(&mut self, size: u64) -> io::Result<()>;

    /// Makes what was written outlive the machine.
    ///
    /// # Errors
    /// Those of the system. It is then unknown what would outlive it.
    fn sync_data(&mut self) -> io::Result<()>;

    /// As [`Medium::sync_data`], and makes sure that it is found again under its name.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_all(&mut self) -> io::Result<()>;

    /// Whether it would still be found under its name. A file without a name takes writes, and
    /// loses them when it is closed.
    fn is_still_there(&self) -> bool;
}

/// Where the checkpoint of one journal is kept: beside its file, or wherever its medium has a place for it.
///
/// Only who writes the journal writes its checkpoint. A checkpoint is an acceleration only, so a process that
/// reads one checks that it fits the journal.
pub trait Checkpoints: fmt::Debug + Send + Sync {
    /// Stores a payload in place of the one before.
    ///
    /// # Errors
    /// [`CheckpointError`]; the one before is there then, or the new one. Going on without is safe.
    fn write(&mut self, payload: &[u8]) -> Result<(), CheckpointError>;

    /// The last payload. None if there is none, or anything about it is wrong.
    fn read(&self) -> Option<Vec<u8>>;
}
