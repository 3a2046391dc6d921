//! A disk of files and folders that fails and crashes on demand.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::durable::{Disk, RealDisk};

use crate::disk::{Random, SECTOR};

/// What stores whole files by way of a [`Disk`] writes them here in a simulation. The files are real, so that they are
/// read as always; what was not made durable, contents and names, is lost with [`SimFolders::crash`], or a part of it
/// that the seed chooses. Equal seeds choose equally.
///
/// ```
/// use eog::durable::replace;
/// use eog_testkit::SimFolders;
/// # let place = tempfile::tempdir()?;
/// let (disk, file) = (SimFolders::default(), place.path().join("file"));
/// let store = |content: &[u8]| replace(&disk, &file, &place.path().join("tmp"), &[content]);
/// store(b"old")?;
/// disk.cut_power_after(3);
/// assert!(store(b"new").is_err(), "its name is not durable");
/// disk.crash(7);
/// let found = std::fs::read(&file)?;
/// assert!(found == b"old" || found == b"new");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SimFolders(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Files whose content may be lost.
    unsynced: BTreeSet<PathBuf>,
    /// Names that may be lost, in the order in which they were given.
    names: Vec<Name>,
    operations_left: Option<u64>,
    /// Where the next file is written instead.
    stray: Option<PathBuf>,
}

#[derive(Debug)]
enum Name {
    Made(PathBuf),
    /// With what had the name before.
    Moved {
        from: PathBuf,
        to: PathBuf,
        over: Option<Vec<u8>>,
    },
}

impl SimFolders {
    /// The machine crashes and starts again. What was made durable stays. Of the names that were not, the first stay;
    /// of contents that were not, any sectors of 512 bytes do, and the others are zeros.
    ///
    /// # Panics
    /// Where the real files cannot be changed.
    pub fn crash(&self, seed: u64) {
        let mut state = self.lock();
        let mut random = Random(seed);
        let kept = random.up_to(state.names.len() as u64) as usize;
        for name in state.names.split_off(kept).into_iter().rev() {
            match name {
                Name::Made(path) if path.is_dir() => fs::remove_dir_all(path).expect("it is ours"),
                // The program may have removed it.
                Name::Made(path) => drop(fs::remove_file(path)),
                Name::Moved { from, to, over } => {
                    fs::rename(&to, &from).expect("it is ours");
                    if state.unsynced.remove(&to) {
                        state.unsynced.insert(from);
                    }
                    if let Some(content) = over {
                        fs::write(to, content).expect("it is ours");
                    }
                }
            }
        }
        for path in &state.unsynced {
            let Ok(mut content) = fs::read(path) else { continue };
            for sector in content.chunks_mut(SECTOR as usize) {
                if random.up_to(1) == 1 {
                    sector.fill(0);
                }
            }
            fs::write(path, content).expect("it is ours");
        }
        *state = State::default();
    }

    /// The power goes after this many further operations: all later ones fail and change nothing.
    /// [`SimFolders::crash`] brings it back.
    pub fn cut_power_after(&self, operations: u64) {
        self.lock().operations_left = Some(operations);
    }

    /// The content of the next file is written over that of another one, which is as long as before or longer; in its
    /// own place are zeros. Neither is noticed.
    pub fn misdirect(&self, over: &Path) {
        self.lock().stray = Some(over.to_owned());
    }

    /// One bit of a file below a folder changes by itself. Says of which one.
    ///
    /// # Panics
    /// Where there is none.
    pub fn rot(below: &Path, seed: u64) -> PathBuf {
        damage(below, seed, |content, random| {
            let at = random.up_to(content.len() as u64 - 1) as usize;
            content[at] ^= 1 << random.up_to(7);
        })
    }

    /// A sector of a file below a folder is lost: 512 bytes, or what there is, are zeros. Says of which one.
    ///
    /// # Panics
    /// Where there is none.
    pub fn lose_sector(below: &Path, seed: u64) -> PathBuf {
        damage(below, seed, |content, random| {
            let sectors = (content.len() as u64 - 1) / SECTOR;
            let chosen = random.up_to(sectors) as usize;
            content.chunks_mut(SECTOR as usize).nth(chosen).expect("it is there").fill(0);
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One operation, while there is power.
    fn operate(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        match &mut state.operations_left {
            Some(0) => Err(io::Error::other("the power is gone")),
            left => {
                if let Some(left) = left {
                    *left -= 1;
                }
                Ok(state)
            }
        }
    }
}

/// Changes one of the files below a folder that have a content.
fn damage(below: &Path, seed: u64, change: impl FnOnce(&mut [u8], &mut Random)) -> PathBuf {
    let mut files = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is a folder").flatten() {
            let path = entry.path();
            match entry.metadata().expect("it is there") {
                meta if meta.is_dir() => folders.push(path),
                meta if meta.len() > 0 => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let mut random = Random(seed);
    let chosen = files.swap_remove(random.up_to(files.len() as u64 - 1) as usize);
    let mut content = fs::read(&chosen).expect("it is ours");
    change(&mut content, &mut random);
    fs::write(&chosen, content).expect("it is ours");
    chosen
}

impl Disk for SimFolders {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operate()?;
        RealDisk.create_folder(path)?;
        state.names.push(Name::Made(path.to_owned()));
        Ok(())
    }

    fn create(&self, path: &Path, content: &[&[u8]]) -> io::Result<File> {
        let mut state = self.operate()?;
        let file = match state.stray.take() {
            Some(over) => {
                let content = content.concat();
                let mut other = fs::read(&over)?;
                other.resize(other.len().max(content.len()), 0);
                other[..content.len()].copy_from_slice(&content);
                fs::write(over, other)?;
                RealDisk.create(path, &[&vec![0; content.len()]])
            }
            None => RealDisk.create(path, content),
        }?;
        state.unsynced.insert(path.to_owned());
        state.names.push(Name::Made(path.to_owned()));
        Ok(file)
    }

    fn sync(&self, _file: &File, path: &Path) -> io::Result<()> {
        self.operate()?.unsynced.remove(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.operate()?;
        let over = fs::read(to).ok();
        RealDisk.rename(from, to)?;
        if state.unsynced.remove(from) {
            state.unsynced.insert(to.to_owned());
        }
        state.names.push(Name::Moved { from: from.to_owned(), to: to.to_owned(), over });
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let is_elsewhere = |name: &Name| match name {
            Name::Made(path) | Name::Moved { to: path, .. } => path.parent() != Some(folder),
        };
        self.operate()?.names.retain(is_elsewhere);
        Ok(())
    }
}
