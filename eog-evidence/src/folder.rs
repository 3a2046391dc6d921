//! An open folder: what is read of it is found from its handle, not by its path.
//!
//! Between checking a path and opening it, another process may put a link in its place. From a handle, the
//! system itself (or `cap-std`, where the system cannot) resolves each name beneath the folder, so that
//! nothing outside of it is ever opened.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// How the names of files and folders begin that are never read: they hold the answer.
const GROUND_TRUTH: &str = "ground_truth";

/// Most links on the way to a file, as systems have it.
const MAX_LINKS: usize = 40;

/// A folder of which regular files are read, and nothing outside. Links within it are followed, if they
/// are relative. Clones share the handle.
///
/// ```
/// use eog_evidence::FolderHandle;
/// let place = tempfile::tempdir()?;
/// std::fs::write(place.path().join("a.csv"), "1")?;
/// let folder = FolderHandle::open(place.path())?;
/// assert_eq!(folder.file("a.csv")?.metadata()?.len(), 1);
/// assert!(folder.file("../a.csv").is_err() && folder.file("/etc/hosts").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FolderHandle {
    called: PathBuf,
    path: PathBuf,
    dir: Arc<Dir>,
    beside: Beside,
}

/// Where the folders beside one are.
#[derive(Clone, Debug)]
enum Beside {
    /// Wherever its path says.
    ByPath,
    /// In this folder.
    In(Arc<Dir>),
    /// They are not to be read.
    Nowhere,
}

/// A file in an open folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The folder.
    pub folder: FolderHandle,
    /// Its path, relative to that.
    pub path: PathBuf,
}

impl FilePlace {
    /// Its whole path, as it was when it was found.
    pub fn full(&self) -> PathBuf {
        self.folder.path().join(&self.path)
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder, and no link to one.
    pub is_folder: bool,
}

impl FolderHandle {
    /// Opens a folder that a trusted person has named. Links on the way are followed.
    ///
    /// # Errors
    /// Why there is no folder, or it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        if real.file_name().is_some_and(|name| is_ground_truth(&name.to_string_lossy())) {
            return Err(ground_truth());
        }
        let dir = Arc::new(Dir::open_ambient_dir(&real, ambient_authority())?);
        Ok(Self { called: path.to_owned(), path: real, dir, beside: Beside::ByPath })
    }

    /// The same, as a root: the folders beside it cannot be read.
    #[must_use]
    pub fn as_root(self) -> Self {
        Self { beside: Beside::Nowhere, ..self }
    }

    /// The folder of a path that is relative to this one. It may not lead out of it, not even on the way.
    ///
    /// # Errors
    /// Why there is no folder, or it may not be read: [`leads_outside`] distinguishes the two.
    pub fn below(&self, path: &Path) -> io::Result<Self> {
        let real = self.real(path)?;
        let Some(name) = real.file_name() else { return Ok(self.clone()) };
        let above = match real.parent().filter(|above| !above.as_os_str().is_empty()) {
            Some(above) => Arc::new(self.dir.open_dir(above)?),
            None => self.dir.clone(),
        };
        let dir = Arc::new(above.open_dir(name)?);
        let path = self.path.join(&real);
        Ok(Self { called: path.clone(), path, dir, beside: Beside::In(above) })
    }

    /// The folder of this name beside this one, unless this one is a root, or it is a link.
    pub fn beside(&self, name: &str) -> Option<Self> {
        let above = match &self.beside {
            Beside::Nowhere => return None,
            Beside::In(above) => above.clone(),
            Beside::ByPath => {
                Arc::new(Dir::open_ambient_dir(self.path.parent()?, ambient_authority()).ok()?)
            }
        };
        // A link that takes its place now leads no further than the folder above.
        let is_folder = above.symlink_metadata(name).ok()?.is_dir() && !is_ground_truth(name);
        let dir = Arc::new(above.open_dir(name).ok().filter(|_| is_folder)?);
        let path = self.path.with_file_name(name);
        Some(Self { called: path.clone(), path, dir, beside: Beside::In(above) })
    }

    /// The name under which it was opened.
    pub fn called(&self) -> &Path {
        &self.called
    }

    /// Its path without links, as it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a relative path leads, without links: relative, too. Whether there is something is not
    /// at.
    ///
    /// # Errors
    /// When it leads outside, even on the way only, or to ground truth.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        // `Dir::canonicalize` opens what it finds, and would wait for the writer of a pipe.
        let parts = |path: &Path| path.components().map(Part::of).rev().collect::<Vec<_>>();
        let (mut real, mut rest, mut links) = (PathBuf::new(), parts(path), 0);
        while let Some(part) = rest.pop() {
            match part {
                Part::Elsewhere => return Err(outside()),
                Part::Up if !real.pop() => return Err(outside()),
                Part::Up | Part::Here => {}
                Part::Name(name) if is_ground_truth(&name.to_string_lossy()) => {
                    return Err(ground_truth());
                }
                Part::Name(name) => match self.dir.read_link_contents(real.join(&name)) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        if let Ok(inside) = target.strip_prefix(&self.path) {
                            return Err(absolute(inside));
                        }
                        rest.extend(parts(&target));
                    }
                    Ok(_) => return Err(outside()),
                    // No link, or nothing.
                    Err(_) => real.push(name),
                },
            }
        }
        Ok(real)
    }

    /// A regular file in it, to be opened later.
    ///
    /// # Errors
    /// As for [`FolderHandle::file`].
    pub fn place(&self, path: impl AsRef<Path>) -> io::Result<FilePlace> {
        self.file(path.as_ref())?;
        Ok(FilePlace { path: self.real(path.as_ref())?, folder: self.clone() })
    }

    /// Opens a regular file. Anything else is refused, and never waited for.
    ///
    /// # Errors
    /// As for [`FolderHandle::below`], and when it is no regular file ([`is_irregular`]).
    pub fn file(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            // Opening a pipe would wait for a writer.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let real = self.real(path.as_ref())?;
        let file =
            self.dir.open_with(real, &options).map_err(|error| match error.raw_os_error() {
                // A socket, or a device without a driver.
                #[cfg(unix)]
                Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => irregular(),
                _ => error,
            })?;
        match file.metadata()?.is_file() {
            true => Ok(file.into_std()),
            false => Err(irregular()),
        }
    }

    /// Whether a name in it is a link, a pipe, a device or a folder: there, and no regular file.
    pub fn has_irregular(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok_and(|found| !found.is_file())
    }

    /// Whether there is something of this name, even a link that leads nowhere.
    pub fn has(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    /// Whether a path leads to a folder in it.
    pub fn has_folder(&self, path: impl AsRef<Path>) -> bool {
        self.dir.is_dir(path)
    }

    /// Whether a path leads to a regular file in it.
    pub fn has_file(&self, path: impl AsRef<Path>) -> bool {
        self.dir.is_file(path)
    }

    /// Size in bytes and time of change of what a path leads to.
    ///
    /// # Errors
    /// As for [`FolderHandle::below`].
    pub fn stamp(&self, path: impl AsRef<Path>) -> io::Result<(u64, Option<SystemTime>)> {
        let found = self.dir.metadata(path)?;
        Ok((found.len(), found.modified().ok().map(cap_std::time::SystemTime::into_std)))
    }

    /// What lies in a folder of it, without names that are no Unicode, in no order.
    ///
    /// # Errors
    /// As for [`FolderHandle::below`].
    pub fn entries(&self, folder: &str) -> io::Result<impl Iterator<Item = Entry> + use<>> {
        let folder = if folder.is_empty() { "." } else { folder };
        let entries = self.dir.read_dir(folder)?;
        Ok(entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            Some(Entry { name: entry.file_name().into_string().ok()?, is_folder })
        }))
    }
}

/// A part of a path.
enum Part {
    Name(OsString),
    Here,
    Up,
    Elsewhere,
}

impl Part {
    fn of(part: Component<'_>) -> Self {
        match part {
            Component::Normal(name) => Self::Name(name.to_owned()),
            Component::CurDir => Self::Here,
            Component::ParentDir => Self::Up,
            Component::RootDir | Component::Prefix(_) => Self::Elsewhere,
        }
    }
}

/// Two are equal if they are called by the same path.
impl PartialEq for FolderHandle {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for FolderHandle {}

/// Whether a file or folder is one that is never read, by its name.
pub fn is_ground_truth(name: &str) -> bool {
    name.get(..GROUND_TRUTH.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(GROUND_TRUTH))
}

/// Why something may not be read.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("ground truth, which must not be read")]
    GroundTruth,
    #[error("an absolute link, or one that leads outside")]
    Outside,
    #[error(
        "an absolute link to {inside:?} of the same folder; make it relative, for instance by `ln -sfr`"
    )]
    Absolute { inside: PathBuf },
    #[error("not a regular file")]
    Irregular,
}

fn ground_truth() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, Refused::GroundTruth)
}

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, Refused::Outside)
}

fn absolute(inside: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, Refused::Absolute { inside: inside.to_owned() })
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, Refused::Irregular)
}

fn refused(error: &io::Error) -> Option<&Refused> {
    error.get_ref()?.downcast_ref()
}

/// Whether a path was refused since it leads out of a folder.
pub fn leads_outside(error: &io::Error) -> bool {
    let by_library =
        error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    match refused(error) {
        Some(why) => matches!(why, Refused::Outside | Refused::Absolute { .. }),
        None => by_library,
    }
}

/// Whether a path was refused for a link that stays inside, and only has to be made relative.
pub fn is_absolute_inside(error: &io::Error) -> bool {
    matches!(refused(error), Some(Refused::Absolute { .. }))
}

/// Whether a path was refused since it leads to no regular file.
pub fn is_irregular(error: &io::Error) -> bool {
    matches!(refused(error), Some(Refused::Irregular))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn place() -> (tempfile::TempDir, FolderHandle) {
        let all = tempfile::tempdir().unwrap();
        for folder in ["root/in/deep", "root/in/ground_truth_x", "out/deep"] {
            std::fs::create_dir_all(all.path().join(folder)).unwrap();
        }
        std::fs::write(all.path().join("root/in/file"), "inside").unwrap();
        std::fs::write(all.path().join("root/in/ground_truth_x/file"), "answer").unwrap();
        std::fs::write(all.path().join("out/file"), "OUTSIDE").unwrap();
        let root = FolderHandle::open(&all.path().join("root")).unwrap().as_root();
        (all, root)
    }

    #[test]
    fn links_are_followed_within_and_refused_beyond() {
        let (all, root) = place();
        let at = |name: &str| all.path().join("root").join(name);
        symlink("in/deep", at("relative")).unwrap();
        symlink(at("in"), at("absolute")).unwrap();
        symlink("../out", at("out")).unwrap();
        symlink("in/ground_truth_x", at("truth")).unwrap();
        assert_eq!(root.below(Path::new("relative")).unwrap().path(), root.path().join("in/deep"));
        for refused in ["absolute", "out", "../out", "in/../../root/in", "/etc"] {
            let error = root.below(Path::new(refused)).unwrap_err();
            assert!(leads_outside(&error), "{refused}: {error}");
        }
        symlink(root.path().join("in/file"), at("here")).unwrap();
        let error = root.file("here").unwrap_err();
        assert!(leads_outside(&error) && is_absolute_inside(&error));
        assert!(error.to_string().contains("\"in/file\" of the same folder; make it relative"));
        for truth in ["truth/file", "in/ground_truth_x/file"] {
            let error = root.file(truth).unwrap_err();
            assert_eq!(error.to_string(), "ground truth, which must not be read", "{truth}");
        }
        assert!(root.file("absent").is_err_and(|error| !leads_outside(&error)));
    }

    #[test]
    fn a_way_out_and_back_does_not_reveal_what_is_there() {
        let (_all, root) = place();
        let refusal = |path: &str| root.below(Path::new(path)).unwrap_err().to_string();
        assert_eq!(refusal("../out/../root/in"), refusal("../absent/../root/in"));
        assert_eq!(refusal("in/../../out/../root/in"), refusal("in/../../absent/../root/in"));
    }

    #[test]
    fn folders_beside_are_those_of_the_same_folder() {
        let (all, root) = place();
        std::fs::create_dir(all.path().join("root/other")).unwrap();
        let inside = root.below(Path::new("in")).unwrap();
        assert_eq!(inside.beside("other").unwrap().path(), root.path().join("other"));
        assert!(root.beside("out").is_none(), "a root has nothing beside it");
        let named = FolderHandle::open(&all.path().join("root")).unwrap();
        assert!(named.beside("out").is_some());
        symlink("../out", all.path().join("root/linked")).unwrap();
        assert!(inside.beside("linked").is_none());
    }

    #[test]
    fn what_is_no_regular_file_is_never_waited_for() {
        let (all, root) = place();
        let pipe = all.path().join("root/pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo is at hand");
        let socket =
            std::os::unix::net::UnixListener::bind(all.path().join("root/socket")).unwrap();
        for name in ["pipe", "socket", "in"] {
            let error = root.file(name).unwrap_err();
            assert!(is_irregular(&error), "{name}: {error}");
        }
        drop(socket);
    }

    /// Says so when it goes, in a panic too.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Swaps a name for a link to the outside and back, while files are opened by it, so often.
    fn race(rounds: usize) -> (usize, usize) {
        let (all, root) = place();
        let is_over = AtomicBool::new(false);
        let at = |name: &str| all.path().join("root").join(name);
        symlink("../out", at("link")).unwrap();
        symlink("../../out/file", at("file-link")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe")).status();
        assert!(pipe.is_ok_and(|status| status.success()));
        let (mut inside, mut outside) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let swap = |one: &str, name: &str| {
                    std::fs::rename(at(name), at("kept")).unwrap();
                    std::fs::rename(at(one), at(name)).unwrap();
                    std::fs::rename(at(name), at(one)).unwrap();
                    std::fs::rename(at("kept"), at(name)).unwrap();
                };
                while !is_over.load(Ordering::Relaxed) {
                    swap("link", "in");
                    swap("file-link", "in/file");
                    swap("pipe", "in/file");
                }
            });
            let _over = Over(&is_over);
            for round in 0..rounds {
                let opened = match round % 2 {
                    0 => root.file("in/file"),
                    _ => root.below(Path::new("in")).and_then(|folder| folder.file("file")),
                };
                let Ok(mut file) = opened else { continue };
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                inside += usize::from(text == "inside");
                outside += usize::from(text != "inside");
            }
        });
        (inside, outside)
    }

    #[test]
    fn no_race_leads_outside() {
        let (inside, outside) = race(2_000);
        assert_eq!(outside, 0, "of {inside} that stayed inside");
        assert!(inside > 0, "some are read");
    }

    /// `cargo test -p eog-evidence --lib -- --ignored --nocapture races_by_the_hundred_thousand`
    #[test]
    #[ignore = "takes long"]
    fn races_by_the_hundred_thousand() {
        let (inside, outside) = race(100_000);
        println!("100000 openings against swaps: {inside} read inside, {outside} outside");
        assert_eq!(outside, 0);
    }
}
