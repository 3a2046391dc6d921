//! What a journal is written on.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

/// What a [`Journal`](crate::Journal) or a [`SideFile`](crate::side::SideFile) is written on: bytes that
/// are read from their start and written at a place. A file, unless a test needs a disk that fails
/// when it is told to.
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
    /// Those of the system. Nobody knows then what would outlive it.
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
