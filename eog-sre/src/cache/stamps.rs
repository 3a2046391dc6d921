//! What shows that a source file is unchanged since it was read.
//!
//! Name, size, times and number of the file, and a digest of its content: of all of it when the
//! file is small, when it changed a moment ago (a second change within the clock's step would not
//! show), and where the system does not report when a file's content changed; else of its beginning
//! and its end.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

/// Files up to this size are digested whole, in bytes.
const SMALL: u64 = 256 * 1024;

/// How much of the beginning and of the end of others is, in bytes.
const END: u64 = 64 * 1024;

/// How much is read at a time, in bytes.
const CHUNK: usize = 64 * 1024;

/// How long ago a file must have changed for its times to be trusted, in seconds.
const SETTLED: i64 = 2;

/// Adds a source file to a key.
pub(super) fn stamp(key: &mut blake3::Hasher, path: &Path, file: Result<File, String>) {
    let facts_and_digest =
        file.and_then(|file| describe(path, file, false).map_err(|error| error.to_string()));
    match facts_and_digest {
        Ok((facts, digest)) => {
            key.update(format!("\n{facts}").as_bytes());
            key.update(digest.as_bytes());
        }
        Err(reason) => {
            key.update(format!("\n{path:?} cannot be read: {reason}").as_bytes());
        }
    }
}

/// The facts about a file and the digest of its content; `trusted` takes its times as settled.
fn describe(path: &Path, mut file: File, trusted: bool) -> io::Result<(String, blake3::Hash)> {
    let found = file.metadata()?;
    let size = found.len();
    let whole = size <= SMALL || !(trusted || is_settled(&found));
    let mut digest = blake3::Hasher::new();
    if whole {
        absorb(&mut digest, file)?;
    } else {
        absorb(&mut digest, Read::by_ref(&mut file).take(END))?;
        file.seek(SeekFrom::Start(size - END))?;
        absorb(&mut digest, file.take(END))?;
    }
    let modified = found.modified().ok();
    let modified = modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    Ok((format!("{path:?} {size} {modified:?} {} {whole}", identity(&found)), digest.finalize()))
}

/// Adds all of a source to a digest.
fn absorb(digest: &mut blake3::Hasher, mut source: impl Read) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = source.read(&mut buffer)?;
        match buffer.get(..count) {
            Some(bytes) if count > 0 => digest.update(bytes),
            _ => return Ok(()),
        };
    }
}

/// The number of the file, and when its content or its times were last set, which no program can
/// choose.
#[cfg(unix)]
fn identity(found: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{} {} {} {}", found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> String {
    String::new()
}

#[cfg(unix)]
fn is_settled(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed = found.ctime().max(found.mtime());
    i64::try_from(now.as_secs()).is_ok_and(|now| changed.saturating_add(SETTLED) < now)
}

#[cfg(not(unix))]
fn is_settled(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_change_in_the_middle_of_a_large_file_shows_in_one_of_two_ways() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.tsv");
        let mut content = vec![b'x'; 300 * 1024];
        fs::write(&path, &content).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let opened = || File::open(&path).unwrap();
        let (facts, ends) = describe(&path, opened(), true).unwrap();
        let (_, whole) = describe(&path, opened(), false).unwrap();
        assert_ne!(ends, whole);

        // The same size and the same time of change, as a program can choose them.
        std::thread::sleep(std::time::Duration::from_millis(30));
        content[150 * 1024] = b'y';
        fs::write(&path, &content).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let (facts_now, ends_now) = describe(&path, opened(), true).unwrap();
        let (_, whole_now) = describe(&path, opened(), false).unwrap();
        assert_eq!(ends_now, ends, "the ends are the same");
        assert_ne!(whole_now, whole, "a file that changed just now is digested whole");
        if cfg!(unix) {
            assert_ne!(facts_now, facts, "the system says when the content was set");
        }
    }

    #[test]
    fn both_ends_of_a_large_file_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.tsv");
        let digest = |at: usize| {
            let mut content = vec![b'x'; 300 * 1024];
            content[at] = b'y';
            fs::write(&path, &content).unwrap();
            describe(&path, File::open(&path).unwrap(), true).unwrap().1
        };
        let digests = [digest(0), digest(300 * 1024 - 1), digest(150 * 1024)];
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    }
}
