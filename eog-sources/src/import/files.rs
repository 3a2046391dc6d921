//! Where imports come from: files, folders, and archives within them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use eog_evidence::is_ground_truth;
use flate2::read::MultiGzDecoder;

/// Longest file that is read at once, in bytes: of those that are no log.
pub(super) const MAX_WHOLE: u64 = 64 << 20;

/// How much of a file is read to recognize its kind, in bytes.
const HEAD: usize = 64 << 10;

/// Most files of an import.
const MAX_FILES: usize = 100_000;

/// Archives within archives are followed so far.
const MAX_DEPTH: usize = 3;

/// One file.
pub(super) struct Input<'a> {
    pub(super) name: String,
    /// When it was written, in milliseconds since 1970, where that is known.
    pub(super) written: Option<i64>,
    reader: BufReader<Box<dyn Read + 'a>>,
}

impl<'a> Input<'a> {
    fn new(name: String, written: Option<i64>, from: impl Read + 'a) -> Self {
        let from: Box<dyn Read + 'a> = Box::new(from);
        Self { name, written, reader: BufReader::with_capacity(HEAD, from) }
    }

    /// The beginning, which stays to be read.
    pub(super) fn head(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    pub(super) fn reader(&mut self) -> &mut dyn BufRead {
        &mut self.reader
    }

    /// All of it; nothing if it is longer.
    pub(super) fn whole(&mut self, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.reader.by_ref().take(most + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }
}

type Then<'t> = &'t mut dyn FnMut(Result<Input<'_>, (String, String)>);

/// Gives each file, those of folders and archives by name.
pub(super) fn each(inputs: &[PathBuf], then: Then<'_>) {
    let mut left = MAX_FILES;
    for path in inputs {
        of_path(path, &mut left, then);
    }
}

fn of_path(path: &Path, left: &mut usize, then: Then<'_>) {
    let name = path.display().to_string();
    let kind = match path.metadata() {
        Ok(kind) => kind,
        Err(error) => return then(Err((name, error.to_string()))),
    };
    if path.file_name().is_some_and(|it| is_ground_truth(&it.to_string_lossy())) {
        return then(Err((
            name,
            "its name says that it holds the answer; it is not read".to_owned(),
        )));
    }
    if kind.is_dir() {
        match path.read_dir() {
            Ok(entries) => {
                let mut inner: Vec<PathBuf> = entries.flatten().map(|it| it.path()).collect();
                inner.sort();
                // A link within a folder may lead anywhere.
                for path in inner {
                    match path.is_symlink() {
                        true => {
                            let reason = "a link within a folder is not followed".to_owned();
                            then(Err((path.display().to_string(), reason)));
                        }
                        false => of_path(&path, left, then),
                    }
                }
            }
            Err(error) => then(Err((name, error.to_string()))),
        }
        return;
    }
    if !kind.is_file() {
        return then(Err((name, "no regular file".to_owned())));
    }
    if *left == 0 {
        return then(Err((name, format!("beyond {MAX_FILES} files"))));
    }
    *left -= 1;
    let written = kind.modified().ok().and_then(|at| {
        let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    });
    match File::open(path) {
        Ok(file) => opened(name, written, file, MAX_DEPTH, left, then),
        Err(error) => then(Err((name, error.to_string()))),
    }
}

/// Reads what is packed.
fn opened(
    name: String,
    written: Option<i64>,
    from: impl Read,
    depth: usize,
    left: &mut usize,
    then: Then<'_>,
) {
    let mut head = vec![0; 512];
    let mut from = from;
    let mut filled = 0;
    while let Some(room) = head.get_mut(filled..).filter(|room| !room.is_empty()) {
        match from.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return then(Err((name, error.to_string()))),
        }
    }
    head.truncate(filled);
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let is_tar = head.get(257..262) == Some(b"ustar");
    let is_other = [&b"PK\x03\x04"[..], b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh"]
        .iter()
        .any(|magic| head.starts_with(magic));
    let whole = Cursor::new(head).chain(from);
    if is_other {
        let reason = "packed in a way that is not read (gzip and tar are); unpack it".to_owned();
        return then(Err((name, reason)));
    }
    if (is_gzip || is_tar) && depth == 0 {
        return then(Err((name, format!("archives within archives, more than {MAX_DEPTH} deep"))));
    }
    if is_gzip {
        let whole: Box<dyn Read + '_> = Box::new(MultiGzDecoder::new(whole));
        return opened(name, written, whole, depth - 1, left, then);
    }
    if !is_tar {
        return then(Ok(Input::new(name, written, whole)));
    }
    let mut archive = tar::Archive::new(whole);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => return then(Err((name, error.to_string()))),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            // What follows a broken entry cannot be found.
            Err(error) => return then(Err((name, format!("the archive breaks off: {error}")))),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let inner = entry.path().map_or_else(|_| "?".to_owned(), |it| it.display().to_string());
        let inner = format!("{name}!{inner}");
        if *left == 0 {
            return then(Err((inner, format!("beyond {MAX_FILES} files"))));
        }
        *left -= 1;
        if inner.rsplit('/').next().is_some_and(is_ground_truth) {
            let reason = "its name says that it holds the answer; it is not read".to_owned();
            then(Err((inner, reason)));
            continue;
        }
        let written = entry.header().mtime().ok().and_then(|at| i64::try_from(at).ok());
        let written = written.and_then(|at| at.checked_mul(1000)).or(written);
        let entry: Box<dyn Read + '_> = Box::new(entry);
        opened(inner, written, entry, depth - 1, left, then);
    }
}
