//! An incident as bytes: a compressed archive of its folder, and the architecture that goes with it. The same
//! files give the same bytes.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use eog_evidence::{FolderHandle, is_ground_truth};
use eog_secrets::StreamMasker;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use tar::{Archive, Builder, Header, HeaderMode};

/// What the folder is in.
pub const FOLDER: &str = "incident";
/// The name of the architecture beside it.
pub const ARCHITECTURE: &str = "architecture.json";
/// Most files, and most bytes that a pack may become for each that it has.
const MAX_FILES: usize = 100_000;
const MAX_GROWTH: u64 = 200;
/// How many bytes every pack may become, and how many none may.
const ALWAYS: u64 = 64 << 20;
const NEVER: u64 = 64 << 30;
/// Most bytes between two files: names, which are read whole.
const MAX_BETWEEN: u64 = 1 << 20;
/// Most folders beside a bundle.
const MAX_BORROWED: usize = 100;

/// A packed incident.
#[derive(Clone, Debug)]
pub struct Packed {
    /// A compressed archive.
    pub bytes: Vec<u8>,
    /// The name of the folder in it.
    pub folder: String,
}

/// An incident that was unpacked.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// The folder of the incident.
    pub folder: PathBuf,
    /// The architecture that goes with it, if any.
    pub architecture: Option<PathBuf>,
}

/// Why an incident cannot be packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A file of it cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It has more bytes than it may have.
    #[error("{}: the packed incident has more than {most} bytes", path.display())]
    TooLarge {
        /// The folder.
        path: PathBuf,
        /// What it may have.
        most: u64,
    },
}

/// Packs a folder into at most so many bytes. Ground truth is left out.
///
/// # Errors
/// [`PackError`] names the file.
pub fn pack(
    folder: &FolderHandle,
    architecture: Option<&Path>,
    most: u64,
) -> Result<Packed, PackError> {
    Packing { most, masks: false }.pack(folder, architecture)
}

/// The same with secrets masked in every file that is text.
///
/// # Errors
/// As for [`pack`].
pub fn pack_masked(
    folder: &FolderHandle,
    architecture: Option<&Path>,
    most: u64,
) -> Result<Packed, PackError> {
    Packing { most, masks: true }.pack(folder, architecture)
}

/// How an incident is packed.
struct Packing {
    most: u64,
    masks: bool,
}

type IntoPack = Builder<GzEncoder<Limited>>;

impl Packing {
    fn pack(
        &self,
        folder: &FolderHandle,
        architecture: Option<&Path>,
    ) -> Result<Packed, PackError> {
        let unusable = |path: &Path, error: io::Error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                PackError::TooLarge { path: path.to_owned(), most: self.most }
            }
            _ => PackError::File { path: path.to_owned(), source: error },
        };
        let called = folder.called();
        let name =
            folder.path().file_name().map_or(FOLDER.into(), OsStr::to_string_lossy).into_owned();
        let into = Limited { bytes: Vec::new(), most: self.most };
        let mut archive = Builder::new(GzEncoder::new(into, Compression::default()));
        archive.mode(HeaderMode::Deterministic);
        let mut whole = 0_u64;
        for (name, folder) in borrowed(folder).into_iter().chain([(name.clone(), folder.clone())]) {
            let called = folder.called();
            for within in files(&folder).map_err(|error| unusable(called, error))? {
                let as_what = Path::new(FOLDER).join(&name).join(&within);
                let added =
                    folder.file(&within).and_then(|file| self.add(&mut archive, &as_what, file));
                whole += added.map_err(|error| unusable(&called.join(&within), error))?;
            }
        }
        if let Some(path) = architecture {
            let added = File::open(path);
            let added = added.and_then(|file| self.add(&mut archive, ARCHITECTURE.as_ref(), file));
            whole += added.map_err(|error| unusable(path, error))?;
        }
        let packed = archive.into_inner().and_then(GzEncoder::finish);
        let packed = packed.map_err(|error| unusable(called, error))?;
        // It could not be unpacked.
        if whole > most_unpacked(packed.bytes.len()) {
            return Err(unusable(called, io::Error::other(too_long())));
        }
        Ok(Packed { bytes: packed.bytes, folder: name })
    }

    /// Adds a file, and says how long it is.
    fn add(&self, archive: &mut IntoPack, as_what: &Path, mut file: File) -> io::Result<u64> {
        if !self.masks {
            archive.append_file(as_what, &mut file)?;
            return Ok(file.metadata()?.len());
        }
        let mut masker = StreamMasker::new();
        let (mut masked, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            masked.extend_from_slice(&masker.push(&piece[..read]));
        }
        masked.extend_from_slice(&masker.finish());
        let mut header = Header::new_gnu();
        header.set_size(masked.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, as_what, masked.as_slice())?;
        Ok(masked.len() as u64)
    }
}

/// Unpacks into an empty folder. Anyone who may submit can send a pack, so it is untrusted.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] where the pack cannot be used; others where this machine cannot store it.
pub fn unpack(bytes: &[u8], folder: &str, into: &Path) -> io::Result<Unpacked> {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    unpack_checked(bytes, folder, into).map_err(|error| match error.kind() {
        StorageFull | PermissionDenied | ReadOnlyFilesystem | QuotaExceeded => error,
        _ => io::Error::new(io::ErrorKind::InvalidData, error),
    })
}

fn unpack_checked(bytes: &[u8], folder: &str, into: &Path) -> io::Result<Unpacked> {
    let refused = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let named = Path::new(folder);
    if !matches!(named.components().collect::<Vec<_>>()[..], [Component::Normal(_)]) {
        return Err(refused(format!("{folder:?} is not a valid folder name")));
    }
    let mut left = most_unpacked(bytes.len());
    let next = Rc::new(Cell::new(MAX_BETWEEN));
    let mut archive = Archive::new(Stepwise { pack: GzDecoder::new(bytes), left: next.clone() });
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        if !entry.header().entry_type().is_file() || !is_of_incident(&path) || count >= MAX_FILES {
            return Err(refused(format!("{}: it is not a file of an incident", path.display())));
        }
        left = left.checked_sub(entry.size()).ok_or_else(|| refused(too_long()))?;
        next.set(entry.size());
        entry.unpack_in(into)?;
        next.set(MAX_BETWEEN);
    }
    let architecture = Some(into.join(ARCHITECTURE)).filter(|path| path.is_file());
    Ok(Unpacked { folder: into.join(FOLDER).join(named), architecture })
}

/// Whether a path of a pack is one that packing makes: below the folder of incidents, or the architecture.
fn is_of_incident(path: &Path) -> bool {
    let parts: Vec<Component<'_>> = path.components().collect();
    match parts.as_slice() {
        [Component::Normal(name)] => *name == ARCHITECTURE,
        [Component::Normal(first), .., Component::Normal(_)] => {
            *first == FOLDER && parts.iter().all(|part| matches!(part, Component::Normal(_)))
        }
        _ => false,
    }
}

/// Most bytes that a pack of so many may become.
fn most_unpacked(packed: usize) -> u64 {
    (packed as u64).saturating_mul(MAX_GROWTH).clamp(ALWAYS, NEVER)
}

fn too_long() -> String {
    format!(
        "unpacked it has more than {MAX_GROWTH} times as many bytes as packed, or more than {} GiB",
        NEVER >> 30
    )
}

/// A pack of which no more can be read at a time than is expected.
struct Stepwise<R> {
    pack: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Stepwise<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !into.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it has data between its files",
            ));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let read = self.pack.read(&mut into[..most])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

/// The folders beside a bundle from which it borrows normal behaviour. The reader of the bundle decides whether
/// they can be used.
fn borrowed(folder: &FolderHandle) -> Vec<(String, FolderHandle)> {
    #[derive(Deserialize)]
    struct Borrowing {
        #[serde(default)]
        baseline_from: Vec<String>,
    }
    let manifest = folder.file("bundle.json").ok().map(BufReader::new);
    let manifest = manifest.and_then(|file| serde_json::from_reader::<_, Borrowing>(file).ok());
    let names = manifest.map(|manifest| manifest.baseline_from).unwrap_or_default();
    let is_name = |name: &String| !name.contains(['/', '\\']) && name != "." && name != "..";
    let names = names.into_iter().filter(is_name).take(MAX_BORROWED);
    names.filter_map(|name| Some((name.clone(), folder.beside(&name)?))).collect()
}

/// Every file of a folder, sorted.
fn files(folder: &FolderHandle) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(next) = open.pop() {
        for entry in folder.entries(&next)? {
            let within = match next.as_str() {
                "" => entry.name.clone(),
                above => format!("{above}/{}", entry.name),
            };
            if is_ground_truth(&entry.name) {
                continue;
            }
            if entry.is_folder {
                open.push(within);
            } else if folder.has_file(&within) {
                found.push(within);
            }
        }
        if found.len() > MAX_FILES {
            return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
        }
    }
    found.sort();
    Ok(found)
}

/// Bytes that are no more than so many.
struct Limited {
    bytes: Vec<u8>,
    most: u64,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_the_same_files_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let incident = folder.path().join("one");
        std::fs::create_dir_all(incident.join("below")).unwrap();
        std::fs::write(incident.join("bundle.json"), "{}").unwrap();
        std::fs::write(incident.join("below/data.tsv"), "a\tb\n").unwrap();
        let architecture = folder.path().join("other.json");
        std::fs::write(&architecture, "[]").unwrap();
        std::fs::write(incident.join("ground_truth.yaml"), "the answer").unwrap();
        let handle = FolderHandle::open(&incident).unwrap();
        let packed = pack(&handle, Some(&architecture), 1 << 20).unwrap();
        let again = pack(&handle, Some(&architecture), 1 << 20).unwrap();
        assert!(packed.bytes == again.bytes);

        let into = folder.path().join("into");
        std::fs::create_dir(&into).unwrap();
        let unpacked = unpack(&packed.bytes, &packed.folder, &into).unwrap();
        assert_eq!(unpacked.folder, into.join("incident/one"));
        assert_eq!(std::fs::read(unpacked.architecture.unwrap()).unwrap(), b"[]");
        assert_eq!(std::fs::read(unpacked.folder.join("below/data.tsv")).unwrap(), b"a\tb\n");
        assert!(!unpacked.folder.join("ground_truth.yaml").exists(), "the answer is not exposed");
        assert!(unpack(&packed.bytes, "../one", &into).is_err());
    }

    #[test]
    fn secrets_are_masked_where_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let incident = folder.path().join("one");
        std::fs::create_dir(&incident).unwrap();
        std::fs::write(incident.join("logs.csv"), "a,ready\nb,password=hunter2\n").unwrap();
        let handle = FolderHandle::open(&incident).unwrap();
        let packed = pack_masked(&handle, None, 1 << 20).unwrap();
        let unpacked = unpack(&packed.bytes, &packed.folder, folder.path()).unwrap();
        let text = std::fs::read_to_string(unpacked.folder.join("logs.csv")).unwrap();
        assert_eq!(text, "a,ready\nb,password=[masked]\n");
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x".repeat(1000)).unwrap();
        let error =
            pack(&FolderHandle::open(folder.path()).unwrap(), None, 20).err().unwrap().to_string();
        assert!(error.contains("more than 20 bytes"), "{error}");
    }

    #[test]
    fn a_pack_that_leads_elsewhere_or_has_links_is_refused() {
        let into = tempfile::tempdir().unwrap();
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        archive.append_link(&mut header, "incident/one/link", "/etc").unwrap();
        let bytes = archive.into_inner().unwrap().finish().unwrap();
        let error = unpack(&bytes, "one", into.path()).err().unwrap();
        assert!(error.to_string().contains("not a file of an incident"), "{error}");
    }

    /// A pack of files, whatever they are called.
    fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, *content).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn files_that_no_incident_has_are_refused() {
        for name in
            [".git/hooks/pre-commit", "Makefile", "incident", "journal", "x/architecture.json"]
        {
            let into = tempfile::tempdir().unwrap();
            let error = unpack(&packed(&[(name, b"x")]), "one", into.path()).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("not a file of an incident"), "{name}: {error}");
            assert!(std::fs::read_dir(into.path()).unwrap().next().is_none(), "{name}");
        }
        let into = tempfile::tempdir().unwrap();
        let good = packed(&[("incident/one/a", b"x"), ("architecture.json", b"[]")]);
        assert!(unpack(&good, "one", into.path()).unwrap().architecture.is_some());
    }

    #[test]
    fn names_that_are_too_long_are_refused_before_they_are_read() {
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        for kind in [tar::EntryType::GNULongName, tar::EntryType::XHeader] {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(8 * MAX_BETWEEN);
            header.set_cksum();
            archive.append(&header, io::repeat(b'a').take(8 * MAX_BETWEEN)).unwrap();
        }
        let bytes = archive.into_inner().unwrap().finish().unwrap();
        let into = tempfile::tempdir().unwrap();
        let error = unpack(&bytes, "one", into.path()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("between its files"), "{error}");
    }

    #[test]
    fn what_is_cut_off_or_no_pack_cannot_be_used() {
        let content: Vec<u8> = (0..50_000_u32).flat_map(|n| (n ^ (n << 7)).to_le_bytes()).collect();
        let whole = packed(&[("incident/one/a", &content), ("incident/one/b", b"x")]);
        for bytes in [&whole[..whole.len() / 2], &whole[..15], b"no pack".as_slice()] {
            let into = tempfile::tempdir().unwrap();
            let error = unpack(bytes, "one", into.path()).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        }
        let into = tempfile::tempdir().unwrap();
        let crossed = packed(&[("incident/one", b"x"), ("incident/one/b", b"x")]);
        let error = unpack(&crossed, "one", into.path()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
}
