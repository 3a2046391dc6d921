//! A snapshot as it was read, in one file, so that the next reading is short.
//!
//! The file holds what [`Snapshot`](crate::Snapshot) holds and no more: bounded, secrets masked. It
//! is used when its key fits (program, options, every source file), its checksum fits, and all of
//! it can be understood; anything else is as if it were not there. It is written under a name of
//! its own and then renamed, so that another process sees the old file or the new one.

mod codec;
mod stamps;
mod stored;
mod version;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use codec::{Reader, Stored, Writer};
use stamps::stamp;

pub(crate) use stored::Cached;

use crate::read::{Budget, CacheAt, Folder, Layout, ReadOptions};
use crate::warnings::Warnings;

/// How the file begins.
const MAGIC: &[u8; 8] = b"eogsnap\n";

/// Magic, key, checksum.
const HEADER: usize = 8 + 32 + 32;

/// The place of one snapshot's cache, and what its file must have been made from.
pub(crate) struct Cache {
    path: PathBuf,
    key: [u8; 32],
}

impl Cache {
    /// Checks every source file, at most the ends of large ones.
    pub(crate) fn find(
        at: &CacheAt,
        folder: &Folder,
        layout: &Layout,
        options: &ReadOptions,
        warnings: &Warnings,
    ) -> Self {
        let rows = options.max_rows_per_file;
        let root = folder.root();
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let path = match at {
            CacheAt::BesideSnapshot => root.with_file_name(format!("{name}.eog-cache")),
            CacheAt::Folder(folder) => {
                let place = format!("{} {rows}", root.display());
                let hash = blake3::hash(place.as_bytes()).to_hex();
                let name: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                    .take(60)
                    .collect();
                let hash = hash.get(..16).unwrap_or_default();
                folder.join(format!("{name}-{hash}.eog-cache"))
            }
        };
        let mut key = blake3::Hasher::new();
        key.update(version::version());
        let program = (env!("CARGO_PKG_VERSION"), rows);
        key.update(format!("{program:?} {warnings:?} {layout:?}").as_bytes());
        key.update(stored::FIELDS.as_bytes());
        for file in layout.files() {
            stamp(&mut key, &folder.root().join(file), folder.peek(file));
        }
        Self { path, key: key.finalize().into() }
    }

    /// Whether both were made from the same files, options and program.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
    }

    /// What the file holds, if it is there and fits in every respect, and reading is not cancelled. One that
    /// is larger than the memory that may be used holds another snapshot.
    pub(crate) fn load(&self, budget: &Budget) -> Option<Cached> {
        if !fs::metadata(&self.path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let mut file = fs::File::open(&self.path).ok()?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        let (magic, rest) = header.split_at(MAGIC.len());
        let (key, checksum) = rest.split_at(self.key.len());
        if magic != MAGIC || key != self.key {
            return None;
        }
        if file.metadata().ok()?.len() > budget.allowed() {
            return None;
        }
        let bytes = read_whole(&file, checksum, budget)?;
        let mut reader = Reader::new(&bytes, budget);
        let cached = Cached::get(&mut reader)?;
        reader.is_at_end().then_some(cached)
    }

    /// Writes the file, or gives the reason why that cannot be done, for people.
    ///
    /// # Errors
    /// What is wrong with the place.
    pub(crate) fn store(&self, cached: &Cached) -> Result<(), String> {
        let mut writer = Writer::default();
        cached.put(&mut writer);
        let bytes = writer.into_bytes();
        self.write(&bytes).map_err(|error| {
            format!(
                "the cache {} cannot be written: {error}; the snapshot was read without it",
                self.path.display()
            )
        })
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let (temporary, mut file) = self.temporary()?;
        let written = file
            .write_all(MAGIC)
            .and_then(|()| file.write_all(&self.key))
            .and_then(|()| file.write_all(blake3::hash(bytes).as_bytes()))
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            // A file that cannot be removed does no harm: its name is never searched for.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// A new file beside the cache, under a name that no other process or thread uses.
    fn temporary(&self) -> io::Result<(PathBuf, fs::File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // A recording of a system is for those who may read the recording.
            options.mode(0o600);
        }
        loop {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path: &Path = &self.path;
            let path = path.with_file_name(format!(".{name}.{}.{count}", std::process::id()));
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => return Ok((path, opened?)),
            }
        }
    }
}

/// How much is read at a time, in bytes.
const CHUNK: u64 = 1 << 20;

/// The rest of a file that has this checksum, unless reading is cancelled.
fn read_whole(file: &fs::File, checksum: &[u8], budget: &Budget) -> Option<Vec<u8>> {
    let (mut bytes, mut hash) = (Vec::new(), blake3::Hasher::new());
    loop {
        let before = bytes.len();
        file.take(CHUNK).read_to_end(&mut bytes).ok()?;
        let read = bytes.get(before..).unwrap_or_default();
        if read.is_empty() {
            return (hash.finalize().as_bytes() == checksum).then_some(bytes);
        }
        hash.update(read);
        if budget.is_stopped() || bytes.len() as u64 > budget.allowed() {
            return None;
        }
    }
}
