//! Files and folders that are whole, and found again, after the machine lost power.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use eog_core::Digest;

/// The steps of durability, each on the real file system unless a test replaces it: to see their
/// order, or to let one fail.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Creates a new folder.
    ///
    /// # Errors
    /// Those of the system.
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        private_folder().create(path)
    }

    /// Creates a new file, and writes these parts into it.
    ///
    /// # Errors
    /// Those of the system. A part may be written then.
    fn create(&self, path: &Path, content: &[&[u8]]) -> io::Result<File> {
        let mut file = private_file().write(true).create_new(true).open(path)?;
        content.iter().try_for_each(|part| file.write_all(part))?;
        Ok(file)
    }

    /// Makes the content of a file durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self, file: &File, _path: &Path) -> io::Result<()> {
        file.sync_all()
    }

    /// Renames a file, and replaces a file of the new name.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Makes the names in a folder durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Elsewhere folders cannot be opened, and the file system makes names durable.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }
}

/// Options for a file that only its owner may read, where the system knows owners: records of an incident
/// are private.
pub(crate) fn private_file() -> fs::OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The same for a folder.
fn private_folder() -> fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {}

/// What the last field of a sealed object begins with.
const SEAL: &[u8] = b",\"check\":\"";

/// A JSON object with one more field at its end, `check`: the BLAKE3 digest of the bytes without it. Any
/// later change is found by [`unsealed`].
///
/// ```
/// use eog::durable::{sealed, unsealed};
/// let stored = sealed(br#"{"a":1}"#.to_vec());
/// assert_eq!(&*unsealed(&stored)?, br#"{"a":1}"#);
/// assert!(unsealed(&[&stored[..5], b"2", &stored[6..]].concat()).is_err());
/// # Ok::<(), String>(())
/// ```
pub fn sealed(mut object: Vec<u8>) -> Vec<u8> {
    let check = Digest::of_bytes(&object).to_string();
    if object.pop_if(|last| *last == b'}').is_some() {
        object.extend_from_slice(SEAL);
        object.extend_from_slice(check.as_bytes());
        object.extend_from_slice(b"\"}");
    }
    object
}

/// The object that was sealed, checked. One that was stored without a seal, as versions before did, is given as it
/// is.
///
/// # Errors
/// That it is not what was stored.
pub fn unsealed(stored: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    // Digits of the digest, a quote and a brace.
    let Some(at) = stored.len().checked_sub(SEAL.len() + 66) else { return Ok(stored.into()) };
    let (object, seal) = stored.split_at(at);
    let Some(check) = seal.strip_prefix(SEAL).and_then(|rest| rest.strip_suffix(b"\"}")) else {
        return Ok(stored.into());
    };
    let object = [object, b"}"].concat();
    match Digest::of_bytes(&object).to_string().as_bytes() == check {
        true => Ok(object.into()),
        false => Err("it was changed after it was stored: its checksum differs".to_owned()),
    }
}

/// Replaces a file by way of a temporary one in the same folder. When
/// this returns, the content and the name are durable. Whenever it is interrupted, the old file or the
/// new one is there, and whole. Only one caller at a time may use the temporary name.
///
/// # Errors
/// Those of the system. The old file is there unless the new one is already.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    temporary: &Path,
    content: &[&[u8]],
) -> io::Result<()> {
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let replaced =
        disk.create(temporary, content).and_then(|file| publish(disk, &file, temporary, path));
    if replaced.is_err() {
        // It would be removed the next time; until then it only uses space.
        let _ = fs::remove_file(temporary);
    }
    replaced
}

/// Gives a file that was written under a temporary name its own: content first, then the name.
pub(crate) fn publish(
    disk: &dyn Disk,
    file: &File,
    temporary: &Path,
    path: &Path,
) -> io::Result<()> {
    disk.sync(file, temporary)?;
    disk.rename(temporary, path)?;
    sync_name(disk, path)
}

/// Makes the name of a file or folder durable, without which a new one may be gone after a crash.
///
/// # Errors
/// Those of the system.
pub fn sync_name(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    // The folder of a bare file name is named by its absolute path alone.
    std::path::absolute(path)?.parent().map_or(Ok(()), |folder| disk.sync_folder(folder))
}

/// Creates a folder and those above it, as far as they are missing. The names of all that were missing
/// are durable when this returns.
///
/// # Errors
/// Those of the system.
pub fn create_folders(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let missing: Vec<PathBuf> =
        path.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    for folder in missing.iter().rev() {
        match disk.create_folder(folder) {
            // Another process came first, and may not have made the name durable yet.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
        sync_name(disk, folder)?;
    }
    if missing.is_empty() {
        // The process that made it may have died before its name was durable. That it can be used does not say
        // that the folder above can be read.
        let _ = sync_name(disk, &path);
    }
    // Fails where something else has that name.
    fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The real file system, which says what it did, and stops working after some steps.
    #[derive(Debug, Default)]
    struct Watched {
        done: Mutex<Vec<String>>,
        works_for: Option<usize>,
    }

    impl Watched {
        fn step(&self, what: &str, path: &Path) -> io::Result<()> {
            let mut done = self.done.lock().unwrap();
            if self.works_for.is_some_and(|steps| done.len() >= steps) {
                return Err(io::Error::other("no power"));
            }
            done.push(format!("{what} {}", path.file_name().unwrap().display()));
            Ok(())
        }
    }

    impl Disk for Watched {
        fn create_folder(&self, path: &Path) -> io::Result<()> {
            self.step("create folder", path)?;
            RealDisk.create_folder(path)
        }

        fn create(&self, path: &Path, content: &[&[u8]]) -> io::Result<File> {
            self.step("create", path)?;
            RealDisk.create(path, content)
        }

        fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
            self.step("sync", path)?;
            RealDisk.sync(file, path)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.step("rename to", to)?;
            RealDisk.rename(from, to)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            self.step("sync folder", folder)?;
            RealDisk.sync_folder(folder)
        }
    }

    #[test]
    fn content_is_durable_before_its_name_and_the_name_before_it_is_returned() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("state");
        let disk = Watched::default();
        create_folders(&disk, &folder.join("one")).unwrap();
        create_folders(&disk, &folder).unwrap();
        replace(&disk, &folder.join("file"), &folder.join("tmp"), &[b"a", b"b"]).unwrap();
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"ab");
        let above = format!("sync folder {}", all.path().file_name().unwrap().display());
        assert_eq!(
            *disk.done.lock().unwrap(),
            [
                "create folder state",
                &above,
                "create folder one",
                "sync folder state",
                &above,
                "create tmp",
                "sync tmp",
                "rename to file",
                "sync folder state"
            ]
        );
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_file_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, temporary) = (folder.path().join("file"), folder.path().join("tmp"));
        fs::write(&path, "old").unwrap();
        for steps in 0..4 {
            // As a killed process leaves it.
            fs::write(&temporary, "half").unwrap();
            let disk = Watched { works_for: Some(steps), ..Watched::default() };
            replace(&disk, &path, &temporary, &[b"new"]).unwrap_err();
            let found = fs::read(&path).unwrap();
            assert_eq!(found, if steps < 3 { b"old" } else { b"new" }, "after {steps} steps");
            assert!(!temporary.exists());
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(create_folders(&RealDisk, &file).is_err());
        assert!(create_folders(&RealDisk, &file.join("deeper")).is_err());
        create_folders(&RealDisk, folder.path()).unwrap();
    }
}
