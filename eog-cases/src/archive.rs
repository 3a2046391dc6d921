//! Cases as one file, to be carried to another machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use eog::durable;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType, Header};

use crate::case::{ClosedCase, FORMAT, Kept, check_name};
use crate::error::CaseError;
use crate::folder::{CASE, CaseFolder, INCIDENT, LEDGER, MAX_FILE, Writer};

/// The files that a case may have.
const FILES: [&str; 3] = [CASE, LEDGER, INCIDENT];

/// Writes cases into an archive, in this order. Damaged cases are refused.
///
/// # Errors
/// [`CaseError`] of a case that cannot be read, or [`CaseError::Write`].
pub fn export(folder: &CaseFolder, names: &[String], into: &Path) -> Result<(), CaseError> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(into).map_err(CaseError::write(into))?;
    let written = write_all(folder, names, &file).and_then(|()| {
        let synced = file.sync_all();
        synced.map_err(CaseError::write(into))
    });
    if written.is_err() {
        let _ = std::fs::remove_file(into);
    }
    written
}

/// The archive of one case. Equal cases have equal bytes.
///
/// # Errors
/// [`CaseError`] of a case that cannot be read.
pub fn packed(folder: &CaseFolder, name: &str) -> Result<Vec<u8>, CaseError> {
    let mut bytes = Vec::new();
    write_all(folder, &[name.to_owned()], &mut bytes)?;
    Ok(bytes)
}

fn write_all(folder: &CaseFolder, names: &[String], into: impl Write) -> Result<(), CaseError> {
    let mut archive = Builder::new(GzEncoder::new(into, Compression::fast()));
    for name in names {
        let case = folder.case(name)?;
        let text = serde_json::to_vec(&case).map_err(|error| CaseError::Damaged {
            path: folder.path().join(name),
            reason: error.to_string(),
        })?;
        let mut files = vec![(CASE.to_owned(), durable::sealed(text))];
        for file in case.kept.keys() {
            files.push((file.clone(), folder.file(&case, file)?));
        }
        for (file, content) in files {
            let mut header = Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o600);
            let added = archive.append_data(&mut header, format!("{name}/{file}"), &*content);
            added.map_err(CaseError::write(folder.path().join(name)))?;
        }
    }
    let finished = archive.into_inner().and_then(GzEncoder::finish).and_then(|mut it| it.flush());
    finished.map_err(CaseError::write(folder.path()))
}

/// What became of the cases of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Stored.
    pub added: Vec<String>,
    /// There already, and the same.
    pub same: Vec<String>,
}

/// Stores the cases of an archive. It may come from anywhere: nothing in it but files of cases with right checksums is
/// taken. A case is stored when it is whole, so that those before an error are.
///
/// # Errors
/// [`CaseError::Archive`], [`CaseError::Taken`] unless `replace`, and those of storing.
pub fn import(writer: &Writer, from: &Path, replace: bool) -> Result<Imported, CaseError> {
    let file = File::open(from).map_err(CaseError::file(from))?;
    import_from(writer, from, io::BufReader::new(file), replace)
}

/// The same from what is read; `from` is what errors call it.
///
/// # Errors
/// As for [`import`].
pub fn import_from(
    writer: &Writer,
    from: &Path,
    reader: impl Read,
    replace: bool,
) -> Result<Imported, CaseError> {
    let refused = |reason: String| CaseError::Archive { path: from.to_owned(), reason };
    let mut archive = Archive::new(GzDecoder::new(reader));
    let unreadable = |error: io::Error| refused(format!("no archive of cases: {error}"));
    let (mut imported, mut seen) = (Imported::default(), BTreeSet::new());
    let mut current: Option<(ClosedCase, BTreeMap<String, Vec<u8>>)> = None;
    for entry in archive.entries().map_err(&unreadable)? {
        let entry = entry.map_err(&unreadable)?;
        let path = entry.path().map_err(&unreadable)?.into_owned();
        let is_file = entry.header().entry_type() == EntryType::Regular;
        let Some((name, file)) = parts(&path).filter(|_| is_file && entry.size() <= MAX_FILE)
        else {
            return Err(refused(format!("{}: it is no file of a case", path.display())));
        };
        let mut content = Vec::new();
        entry.take(MAX_FILE).read_to_end(&mut content).map_err(&unreadable)?;
        if file == CASE {
            if let Some((case, _)) = &current {
                return Err(refused(format!("the case {} is not whole", case.name)));
            }
            let case = read(&content, &name).map_err(refused)?;
            if !seen.insert(name.clone()) {
                return Err(refused(format!("it has the case {name} twice")));
            }
            current = Some((case, BTreeMap::new()));
        } else {
            let of_current = current.as_mut().filter(|(case, _)| case.name == name);
            let Some((case, files)) = of_current else {
                return Err(refused(format!("{}: it is of no case", path.display())));
            };
            if case.kept.get(&file) != Some(&Kept::of(&content)) {
                return Err(refused(format!("{}: its checksum differs", path.display())));
            }
            files.insert(file, content);
        }
        if let Some((case, files)) = current.take_if(|(case, files)| files.len() == case.kept.len())
        {
            store(writer, &case, &files, replace, &mut imported)?;
        }
    }
    match current {
        Some((case, _)) => Err(refused(format!("the case {} is not whole", case.name))),
        None => Ok(imported),
    }
}

fn store(
    writer: &Writer,
    case: &ClosedCase,
    files: &BTreeMap<String, Vec<u8>>,
    replace: bool,
    imported: &mut Imported,
) -> Result<(), CaseError> {
    match writer.case(&case.name) {
        Ok(known) if known == *case => imported.same.push(case.name.clone()),
        Ok(_) if !replace => {
            let (name, how) = (case.name.clone(), " with another truth or of another time");
            return Err(CaseError::Taken { name, how });
        }
        _ => {
            writer.add(case, files, replace)?;
            imported.added.push(case.name.clone());
        }
    }
    Ok(())
}

/// Name and file of a path of an archive.
fn parts(path: &Path) -> Option<(String, String)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let [Component::Normal(name), Component::Normal(file)] = parts.as_slice() else { return None };
    let (name, file) = (name.to_str()?, file.to_str()?);
    (check_name(name).is_ok() && FILES.contains(&file)).then(|| (name.to_owned(), file.to_owned()))
}

fn read(stored: &[u8], name: &str) -> Result<ClosedCase, String> {
    let in_case = |reason: String| format!("{name}/{CASE}: {reason}");
    let object = durable::unsealed(stored).map_err(in_case)?;
    let case: ClosedCase =
        serde_json::from_slice(&object).map_err(|error| in_case(error.to_string()))?;
    let is_fine = case.name == name
        && case.format == FORMAT
        && case.kept.keys().all(|file| FILES[1..].contains(&file.as_str()))
        && case.kept.contains_key(LEDGER);
    if is_fine { Ok(case) } else { Err(in_case("it is not of a case of this name".to_owned())) }
}
