//! Files as a medium: creating, opening and locking them.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Medium;
use crate::durable::{RealDisk, private_file, sync_name};

/// An open file and the path that it had then.
#[derive(Debug)]
pub(crate) struct DiskFile {
    path: PathBuf,
    file: File,
}

/// A file that cannot be opened.
#[derive(Debug)]
pub(crate) struct FileError {
    /// Its absolute path, if it has one.
    pub(crate) path: PathBuf,
    pub(crate) why: Refusal,
}

/// Why a file cannot be opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Something exists already.
    Exists,
    /// The path is a folder, a device or the like.
    NotAFile,
    /// Another writer has locked it.
    Locked,
    /// The system refused.
    System { operation: &'static str, source: io::Error },
}

impl DiskFile {
    /// Creates a file where there is nothing, and locks it.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let path = absolute(path)?;
        let created = private_file().read(true).write(true).create_new(true).open(&path);
        match created {
            Ok(file) => Self { path, file }.locked(),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
                Err(FileError { path, why: Refusal::Exists })
            }
            Err(source) => Err(FileError::system(&path, "create", source)),
        }
    }

    /// Opens a file for writing, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        Self::open_as(path, true)?.locked()
    }

    /// Opens a file for reading, even while another process writes.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        Self::open_as(path, false)
    }

    fn open_as(path: &Path, write: bool) -> Result<Self, FileError> {
        let path = absolute(path)?;
        let failed = |source| FileError::system(&path, "open", source);
        // Asked before it is opened: opening a pipe would wait for its other end.
        if !fs::metadata(&path).map_err(failed)?.is_file() {
            return Err(FileError { path, why: Refusal::NotAFile });
        }
        let file = File::options().read(true).write(write).open(&path).map_err(failed)?;
        Ok(Self { path, file })
    }

    /// Takes the lock that one writer at a time holds.
    fn locked(self) -> Result<Self, FileError> {
        match self.file.try_lock() {
            Ok(()) => Ok(self),
            Err(TryLockError::WouldBlock) => {
                Err(FileError { path: self.path.clone(), why: Refusal::Locked })
            }
            Err(TryLockError::Error(source)) => Err(FileError::system(&self.path, "lock", source)),
        }
    }
}

impl FileError {
    fn system(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self { path: path.to_owned(), why: Refusal::System { operation, source } }
    }
}

impl Drop for DiskFile {
    /// Closing the file is not enough: a process that is just being started by another thread
    /// holds the file, and so the lock, for a moment longer.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Medium for DiskFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        Ok(Box::new(file))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(bytes)
    }

    fn set_len(&mut self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        sync_name(&RealDisk, &self.path)
    }

    #[cfg(unix)]
    fn is_still_there(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(file), Ok(named)) => place(file) == place(named),
            (Err(_), _) | (_, Err(_)) => false,
        }
    }

    /// Elsewhere an open file keeps its name.
    #[cfg(not(unix))]
    fn is_still_there(&self) -> bool {
        self.path.exists()
    }
}

/// The path, independent of later changes of the working directory.
fn absolute(path: &Path) -> Result<PathBuf, FileError> {
    std::path::absolute(path).map_err(|source| FileError::system(path, "open", source))
}
