//! The folder of a memory. Paths are made of digests alone: names in packets are untrusted.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{DecisionKey, DecisionStore, MemoryError};
use crate::durable::{RealDisk, create_folders, private_file, publish, sync_name};

/// The most bytes of one file that are read or written.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Numbers the temporary files of this process.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Folder {
    folder: PathBuf,
}

impl Folder {
    pub(super) fn open(folder: &Path) -> Result<Self, MemoryError> {
        let unusable = |operation, source| MemoryError::Unusable {
            path: folder.to_owned(),
            operation,
            source,
        };
        let path = std::path::absolute(folder).map_err(|source| unusable("create", source))?;
        if fs::metadata(&path).is_ok_and(|found| !found.is_dir()) {
            return Err(MemoryError::NotAFolder { path: folder.to_owned() });
        }
        create_folders(&RealDisk, &path).map_err(|source| unusable("create", source))?;
        let (probe, _) = temporary_in(&path).map_err(|source| unusable("write", source))?;
        fs::remove_file(probe).map_err(|source| unusable("write", source))?;
        Ok(Self { folder: path })
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("it would have {} bytes", bytes.len())));
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let (temporary, mut file) = temporary_in(folder)?;
        let stored = file
            .write_all(bytes)
            .and_then(|()| publish(&RealDisk, &file, &temporary, path))
            // The names as well, up to the memory itself: who made a folder may have died since.
            .and_then(|()| {
                let mut names = path.ancestors().skip(1).take_while(|name| *name != self.folder);
                names.try_for_each(|name| sync_name(&RealDisk, name))
            });
        if stored.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        stored
    }

    /// `IDENTITY/FI/FILE.json`, spread over folders that any system lists quickly.
    fn file(&self, key: &DecisionKey) -> PathBuf {
        let name = key.question();
        self.folder.join(key.identity()).join(&name[..2]).join(format!("{name}.json"))
    }
}

impl DecisionStore for Folder {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn read(&self, key: &DecisionKey) -> Result<Option<Vec<u8>>, MemoryError> {
        let path = self.file(key);
        match read_file(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(MemoryError::Unusable { path, operation: "read", source }),
        }
    }

    /// It is on disk when this returns.
    fn write(&self, key: &DecisionKey, bytes: &[u8]) -> Result<(), MemoryError> {
        let path = self.file(key);
        self.replace(&path, bytes).map_err(|source| MemoryError::Unusable {
            path,
            operation: "write",
            source,
        })
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before it is opened: opening a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other("too large"));
    }
    Ok(bytes)
}

/// A new file that no other process writes. Another machine may have a process of the same number,
/// and a killed one may have left a file behind.
fn temporary_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{}-{number}.tmp", std::process::id()));
        match private_file().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_behind_is_in_no_way() {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let next = TEMPORARY.load(Ordering::Relaxed);
        for number in next..next + 50 {
            let name = format!(".{}-{number}.tmp", std::process::id());
            fs::write(folder.path().join(name), "half").expect("it is ours");
        }
        let (path, mut file) = temporary_in(folder.path()).expect("there are other names");
        file.write_all(b"new").expect("it is ours");
        assert_eq!(fs::read(path).expect("it is there"), b"new");
        let kept = fs::read_dir(folder.path()).expect("it is a folder").count();
        assert_eq!(kept, 51, "nothing was overwritten");
    }
}
