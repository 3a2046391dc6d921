//! The cases of an installation, in files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog::durable::{self, Disk, RealDisk};
use eog_evidence::near_names;

use crate::case::{ClosedCase, FORMAT, Kept, check_name};
use crate::error::CaseError;
use crate::index::{self, Row};

/// What is known of a case.
pub(crate) const CASE: &str = "case.json";
/// The name of the ledger of a case.
pub const LEDGER: &str = "ledger.jsonl";
/// The name of the packed incident of a case.
pub const INCIDENT: &str = "incident.tar.gz";

/// What folders begin with that are not cases yet, or no more.
const NEW: &str = ".new-";
const OLD: &str = ".old-";

/// Held by the process that writes.
const LOCK: &str = "lock";

/// The largest `case.json`.
const MAX_CASE: u64 = 16 << 20;
/// The largest other file of a case.
pub(crate) const MAX_FILE: u64 = 4 << 30;

/// A folder of cases. It can be read while another process writes.
#[derive(Clone, Debug)]
pub struct CaseFolder {
    path: PathBuf,
}

/// The one process that may write in a folder of cases, as long as it has this.
#[derive(Debug)]
pub struct Writer {
    folder: CaseFolder,
    disk: Arc<dyn Disk>,
    /// Locked until it is dropped.
    _lock: File,
}

/// What a folder holds, in the order of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The cases.
    pub rows: Vec<Row>,
    /// Cases that cannot be read, with the reason.
    pub damaged: Vec<(String, String)>,
}

impl CaseFolder {
    /// A folder that exists.
    ///
    /// # Errors
    /// [`CaseError::NoFolder`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, CaseError> {
        let path = path.into();
        if path.is_dir() { Ok(Self { path }) } else { Err(CaseError::NoFolder { path }) }
    }

    /// Makes the folder if it is missing, and becomes its writer. What an interrupted writer left is put right.
    ///
    /// # Errors
    /// [`CaseError::Busy`] while another process writes; [`CaseError::Write`].
    pub fn write(path: impl Into<PathBuf>) -> Result<Writer, CaseError> {
        Self::write_on(path, Arc::new(RealDisk))
    }

    /// The same on a disk of tests.
    ///
    /// # Errors
    /// As for [`CaseFolder::write`].
    pub fn write_on(path: impl Into<PathBuf>, disk: Arc<dyn Disk>) -> Result<Writer, CaseError> {
        let path = path.into();
        durable::create_folders(&*disk, &path).map_err(CaseError::write(&path))?;
        let at = path.join(LOCK);
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).open(&at);
        let lock = lock.map_err(CaseError::write(&at))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CaseError::Busy { path }),
            Err(TryLockError::Error(error)) => return Err(CaseError::write(&at)(error)),
        }
        let writer = Writer { folder: Self { path }, disk, _lock: lock };
        writer.put_right()?;
        Ok(writer)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all cases, sorted.
    ///
    /// # Errors
    /// [`CaseError::File`].
    pub fn names(&self) -> Result<Vec<String>, CaseError> {
        let entries = self.path.read_dir().map_err(CaseError::file(&self.path))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(CaseError::file(&self.path))?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().into_string().ok();
            let Some(name) = name.filter(|name| is_folder && check_name(name).is_ok()) else {
                continue;
            };
            // An unrelated folder is no case; a case that lost a file is one.
            if [CASE, LEDGER, INCIDENT].iter().any(|file| entry.path().join(file).exists()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// All cases, from the index as far as it goes.
    ///
    /// # Errors
    /// [`CaseError::File`] when the folder cannot be read.
    pub fn list(&self) -> Result<Listed, CaseError> {
        let indexed = index::read(&self.path).into_iter();
        let mut indexed: BTreeMap<String, Row> =
            indexed.map(|row| (row.name.clone(), row)).collect();
        let mut listed = Listed::default();
        for name in self.names()? {
            match indexed.remove(&name) {
                Some(row) => listed.rows.push(row),
                None => match self.case(&name) {
                    Ok(case) => listed.rows.push(Row::of(&case)),
                    // It was removed meanwhile.
                    Err(_) if !self.path.join(&name).exists() => {}
                    Err(error) => listed.damaged.push((name, error.to_string())),
                },
            }
        }
        Ok(listed)
    }

    /// One case.
    ///
    /// # Errors
    /// [`CaseError::Unknown`] with near names; [`CaseError::Damaged`].
    pub fn case(&self, name: &str) -> Result<ClosedCase, CaseError> {
        check_name(name)?;
        let path = self.path.join(name).join(CASE);
        let stored = match read_at_most(&path, MAX_CASE) {
            Ok(stored) => stored,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.has(name) => {
                return Err(self.unknown(name));
            }
            Err(error) => return Err(CaseError::file(&path)(error)),
        };
        let damaged = |reason: String| CaseError::Damaged { path: path.clone(), reason };
        let object = durable::unsealed(&stored).map_err(&damaged)?;
        let case: ClosedCase =
            serde_json::from_slice(&object).map_err(|error| damaged(error.to_string()))?;
        match case {
            case if case.format != FORMAT => Err(damaged(format!(
                "it has format {}; this version of eog reads format {FORMAT}",
                case.format
            ))),
            case if case.name != name => {
                Err(damaged(format!("it is the case {:?}, in a folder of another name", case.name)))
            }
            case => Ok(case),
        }
    }

    /// A file of a case, which must be what was stored.
    ///
    /// # Errors
    /// [`CaseError::Damaged`] when it is another, or the case has no such file.
    pub fn file(&self, case: &ClosedCase, file: &str) -> Result<Vec<u8>, CaseError> {
        let path = self.path.join(&case.name).join(file);
        let damaged =
            |reason: &str| CaseError::Damaged { path: path.clone(), reason: reason.to_owned() };
        let Some(kept) = case.kept.get(file) else {
            return Err(damaged("the case was stored without it"));
        };
        let content = read_at_most(&path, kept.bytes).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged("it is missing"),
            io::ErrorKind::FileTooLarge => damaged("it is longer than what was stored"),
            _ => CaseError::file(&path)(error),
        })?;
        match Kept::of(&content) == *kept {
            true => Ok(content),
            false => Err(damaged("it was changed after it was stored: its checksum differs")),
        }
    }

    /// The case of the investigation with this ledger, whatever it is called.
    ///
    /// # Errors
    /// [`CaseError::File`].
    pub fn of_ledger(&self, case: &ClosedCase) -> Result<Option<String>, CaseError> {
        let digits = case.name.rsplit('-').next().unwrap_or_default();
        let is_alike = |name: &String| name.rsplit('-').next() == Some(digits);
        let is_same = |name: &String| {
            self.case(name).is_ok_and(|known| known.kept.get(LEDGER) == case.kept.get(LEDGER))
        };
        Ok(self.names()?.into_iter().find(|name| is_alike(name) && is_same(name)))
    }

    fn has(&self, name: &str) -> bool {
        self.path.join(name).is_dir()
    }

    fn unknown(&self, name: &str) -> CaseError {
        let names = self.names().unwrap_or_default();
        let near = near_names(names.iter().map(String::as_str), name);
        let near = match near.is_empty() {
            true => String::new(),
            false => format!("; did you mean {}?", near.join(" or ")),
        };
        CaseError::Unknown { folder: self.path.clone(), name: name.to_owned(), near }
    }
}

impl std::ops::Deref for Writer {
    type Target = CaseFolder;

    fn deref(&self) -> &CaseFolder {
        &self.folder
    }
}

impl Writer {
    /// Stores a case with its files: whole, or not at all. With `replace` in place of one of the same name.
    ///
    /// # Errors
    /// [`CaseError::Taken`], [`CaseError::Name`], [`CaseError::Write`].
    pub fn add(
        &self,
        case: &ClosedCase,
        files: &BTreeMap<String, Vec<u8>>,
        replace: bool,
    ) -> Result<(), CaseError> {
        check_name(&case.name)?;
        let (place, temporary, old) = self.places(&case.name);
        if place.exists() && !replace {
            return Err(CaseError::Taken { name: case.name.clone(), how: "" });
        }
        remove(&temporary)?;
        self.disk.create_folder(&temporary).map_err(CaseError::write(&temporary))?;
        let text = stored(case)?;
        let all = files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
        for (name, content) in all.chain([(CASE, text.as_slice())]) {
            let path = temporary.join(name);
            let file = self.disk.create(&path, &[content]).map_err(CaseError::write(&path))?;
            self.disk.sync(&file, &path).map_err(CaseError::write(&path))?;
        }
        self.disk.sync_folder(&temporary).map_err(CaseError::write(&temporary))?;
        self.index_without(&[&case.name])?;
        if place.exists() {
            self.rename(&place, &old)?;
        }
        self.rename(&temporary, &place)?;
        remove(&old)?;
        self.index_all()
    }

    /// Stores another truth of a case.
    ///
    /// # Errors
    /// As for [`Writer::add`].
    pub fn update(&self, case: &ClosedCase) -> Result<(), CaseError> {
        check_name(&case.name)?;
        let (place, ..) = self.places(&case.name);
        let (path, temporary) = (place.join(CASE), place.join(".case.new"));
        self.index_without(&[&case.name])?;
        durable::replace(&*self.disk, &path, &temporary, &[&stored(case)?])
            .map_err(CaseError::write(&path))?;
        self.index_all()
    }

    /// Removes cases.
    ///
    /// # Errors
    /// [`CaseError::Unknown`] before anything is removed; [`CaseError::Write`].
    pub fn forget(&self, names: &[String]) -> Result<(), CaseError> {
        if let Some(unknown) =
            names.iter().find(|name| check_name(name).is_err() || !self.has(name))
        {
            return Err(self.unknown(unknown));
        }
        let gone: Vec<&str> = names.iter().map(String::as_str).collect();
        self.index_without(&gone)?;
        for name in names {
            let (place, _, old) = self.places(name);
            remove(&old)?;
            self.rename(&place, &old)?;
            remove(&old)?;
        }
        self.index_all()
    }

    /// Puts right what was interrupted: a case that was moved away for its successor comes back, what was never finished goes.
    fn put_right(&self) -> Result<(), CaseError> {
        let entries = self.path.read_dir().map_err(CaseError::write(&self.path))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let (mut new, mut old) = (Vec::new(), Vec::new());
        for name in names {
            new.extend(name.strip_prefix(NEW).map(str::to_owned));
            old.extend(name.strip_prefix(OLD).map(str::to_owned));
        }
        for name in old {
            let (place, temporary, old) = self.places(&name);
            // Without a successor it was being forgotten.
            match !place.exists() && temporary.exists() {
                true => self.rename(&old, &place)?,
                false => remove(&old)?,
            }
        }
        new.into_iter().try_for_each(|name| remove(&self.places(&name).1))
    }

    fn places(&self, name: &str) -> (PathBuf, PathBuf, PathBuf) {
        let at = |prefix: &str| self.path.join(format!("{prefix}{name}"));
        (at(""), at(NEW), at(OLD))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), CaseError> {
        self.disk.rename(from, to).map_err(CaseError::write(from))?;
        self.disk.sync_folder(&self.path).map_err(CaseError::write(&self.path))
    }

    /// Takes rows out of the index, before their cases are changed.
    fn index_without(&self, names: &[&str]) -> Result<(), CaseError> {
        let rows = index::read(&self.path);
        let gone: BTreeSet<&str> = names.iter().copied().collect();
        if rows.iter().any(|row| gone.contains(&*row.name)) {
            let rows = rows.into_iter().filter(|row| !gone.contains(&*row.name)).collect();
            index::write(&*self.disk, &self.path, rows)?;
        }
        Ok(())
    }

    fn index_all(&self) -> Result<(), CaseError> {
        index::write(&*self.disk, &self.path, self.list()?.rows)
    }
}

/// `case.json` as it is stored.
fn stored(case: &ClosedCase) -> Result<Vec<u8>, CaseError> {
    let text = serde_json::to_vec(case);
    let text = text.map_err(|error| CaseError::Ledger(format!("the case has no JSON: {error}")))?;
    Ok(durable::sealed(text))
}

fn remove(folder: &Path) -> Result<(), CaseError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CaseError::write(folder)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A file of at most so many bytes.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(most.min(MAX_FILE).saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(content) }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use eog::{Timestamp, Window};

    use super::*;
    use crate::archive::{export, import};
    use crate::case::tests::{concluded, truth};
    use crate::case::{Closing, Truth};
    use crate::grade::Grade;
    use eog_evidence::Observations;

    /// A case of this name whose ledger is its name, and its files.
    pub(crate) fn case(name: &str) -> ClosedCase {
        let at: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let until = "2026-01-01T11:00:00Z".parse().unwrap();
        ClosedCase {
            format: FORMAT,
            name: name.to_owned(),
            incident: "an incident".to_owned(),
            window: Window::new(at, until).unwrap(),
            alerts: vec!["Errors on web".to_owned()],
            closed: Closing { at: until, by: "ada".to_owned(), note: String::new() },
            truth: truth("db"),
            concluded: concluded("db"),
            grade: Grade::Exact,
            observations: Observations::default(),
            kept: files(name).into_iter().map(|(file, it)| (file, Kept::of(&it))).collect(),
            folder: None,
            reproduced: None,
        }
    }

    fn files(name: &str) -> BTreeMap<String, Vec<u8>> {
        BTreeMap::from([(LEDGER.to_owned(), name.as_bytes().to_vec())])
    }

    fn names(listed: &Listed) -> Vec<&str> {
        listed.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn cases_are_stored_listed_changed_and_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("cases");
        assert!(matches!(CaseFolder::open(&path), Err(CaseError::NoFolder { .. })));
        let writer = CaseFolder::write(&path).unwrap();
        assert!(matches!(CaseFolder::write(&path), Err(CaseError::Busy { .. })));
        for name in ["b", "a"] {
            writer.add(&case(name), &files(name), false).unwrap();
        }
        let readers = CaseFolder::open(&path).unwrap();
        assert_eq!(names(&readers.list().unwrap()), ["a", "b"]);
        let again = writer.add(&case("a"), &files("a"), false).unwrap_err();
        assert!(again.to_string().contains("is there already"), "{again}");
        writer.add(&case("a"), &files("a"), true).unwrap();

        let wrong = ClosedCase { grade: Grade::Wrong, truth: truth("web"), ..case("a") };
        writer.update(&wrong).unwrap();
        assert_eq!(readers.list().unwrap().rows[0].grade, Grade::Wrong);
        assert_eq!(readers.case("a").unwrap(), wrong);
        assert_eq!(readers.file(&wrong, LEDGER).unwrap(), b"a");

        let unknown = writer.forget(&["a".to_owned(), "bb".to_owned()]).unwrap_err();
        assert!(unknown.to_string().contains("there is no case \"bb\""), "{unknown}");
        writer.forget(&["a".to_owned()]).unwrap();
        fs::create_dir(path.join("notes")).unwrap();
        assert_eq!(names(&readers.list().unwrap()), ["b"]);
    }

    #[test]
    fn what_was_changed_by_others_is_found() {
        let place = tempfile::tempdir().unwrap();
        let writer = CaseFolder::write(place.path()).unwrap();
        for name in ["a", "b"] {
            writer.add(&case(name), &files(name), false).unwrap();
        }
        let ledger = place.path().join("a").join(LEDGER);
        for (content, reason) in [("x", "its checksum differs"), ("longer", "it is longer")] {
            fs::write(&ledger, content).unwrap();
            let error = writer.file(&case("a"), LEDGER).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("ledger.jsonl"), "{error}");
        }
        fs::remove_file(&ledger).unwrap();
        let error = writer.file(&case("a"), LEDGER).unwrap_err().to_string();
        assert!(error.contains("it is missing"), "{error}");
        let text = fs::read_to_string(place.path().join("b").join(CASE)).unwrap();
        fs::write(place.path().join("b").join(CASE), text.replace("ada", "eve")).unwrap();
        fs::remove_file(place.path().join(index::INDEX)).unwrap();
        let listed = writer.list().unwrap();
        assert_eq!((names(&listed), listed.damaged.len()), (vec!["a"], 1));
        assert!(listed.damaged[0].1.contains("its checksum differs"), "{listed:?}");
    }

    #[test]
    fn an_archive_carries_cases_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let from = CaseFolder::write(place.path().join("from")).unwrap();
        for name in ["a", "b"] {
            from.add(&case(name), &files(name), false).unwrap();
        }
        let archive = place.path().join("cases.tar.gz");
        export(&from, &["a".to_owned(), "b".to_owned()], &archive).unwrap();
        let into = CaseFolder::write(place.path().join("into")).unwrap();
        assert_eq!(import(&into, &archive, false).unwrap().added, ["a", "b"]);
        assert_eq!(import(&into, &archive, false).unwrap().same, ["a", "b"]);
        into.update(&ClosedCase { truth: Truth { path_wrong: true, ..truth("db") }, ..case("a") })
            .unwrap();
        assert!(matches!(import(&into, &archive, false), Err(CaseError::Taken { .. })));
        assert_eq!(import(&into, &archive, true).unwrap().added, ["a"]);

        let whole = fs::read(&archive).unwrap();
        fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(import(&into, &archive, true), Err(CaseError::Archive { .. })));
        let hostile = |path: &str, content: &[u8]| {
            let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let mut archive = tar::Builder::new(gz);
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, content).unwrap();
            archive.into_inner().unwrap().finish().unwrap()
        };
        for path in ["../a/case.json", "/a/case.json", "a/b/case.json", "a/run.sh", ".x/case.json"]
        {
            fs::write(&archive, hostile(path, b"{}")).unwrap();
            let error = import(&into, &archive, true).unwrap_err().to_string();
            assert!(error.contains("no file of a case"), "{path}: {error}");
        }
        fs::write(&archive, hostile("a/case.json", b"{}")).unwrap();
        assert!(matches!(import(&into, &archive, true), Err(CaseError::Archive { .. })));
    }

    /// A disk on which everything fails from some step on, as after a power cut.
    #[derive(Debug)]
    struct Dying(Mutex<usize>);

    impl Dying {
        fn step(&self) -> io::Result<()> {
            let mut left = self.0.lock().unwrap();
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("no power"))?;
            Ok(())
        }
    }

    impl Disk for Dying {
        fn create_folder(&self, path: &Path) -> io::Result<()> {
            self.step()?;
            fs::create_dir(path)
        }

        fn create(&self, path: &Path, content: &[&[u8]]) -> io::Result<File> {
            if let Err(error) = self.step() {
                // Half of it is written.
                let half = content.concat();
                fs::write(path, &half[..half.len() / 2])?;
                return Err(error);
            }
            RealDisk.create(path, content)
        }

        fn sync(&self, _: &File, _: &Path) -> io::Result<()> {
            self.step()
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.step()?;
            fs::rename(from, to)
        }

        fn sync_folder(&self, _: &Path) -> io::Result<()> {
            self.step()
        }
    }

    #[test]
    fn whatever_is_interrupted_leaves_whole_cases() {
        let after = ClosedCase { grade: Grade::Wrong, ..case("a") };
        type Write<'w> = &'w dyn Fn(&Writer) -> Result<(), CaseError>;
        let writes: [(&str, Write<'_>); 4] = [
            ("add", &|writer| writer.add(&case("c"), &files("c"), false)),
            ("replace", &|writer| writer.add(&after, &files("a"), true)),
            ("update", &|writer| writer.update(&after)),
            ("forget", &|writer| writer.forget(&["a".to_owned()])),
        ];
        for (what, write) in writes {
            let mut finished = false;
            for steps in 0..60 {
                let place = tempfile::tempdir().unwrap();
                let writer = CaseFolder::write(place.path()).unwrap();
                for name in ["a", "b"] {
                    writer.add(&case(name), &files(name), false).unwrap();
                }
                drop(writer);
                let disk = Arc::new(Dying(Mutex::new(steps)));
                let died = CaseFolder::write_on(place.path(), disk);
                let died = died.and_then(|writer| write(&writer));
                // The next writer finds the folder in order, and so do readers before it.
                for put_right in [false, true] {
                    if put_right {
                        drop(CaseFolder::write(place.path()).unwrap());
                    }
                    let folder = CaseFolder::open(place.path()).unwrap();
                    let listed = folder.list().unwrap();
                    assert_eq!(listed.damaged, [], "{what} after {steps} steps");
                    for row in &listed.rows {
                        let case = folder.case(&row.name).unwrap();
                        assert_eq!(*row, Row::of(&case), "{what} after {steps} steps");
                        folder.file(&case, LEDGER).unwrap();
                    }
                    let names = names(&listed);
                    let lost = put_right && what != "forget" && !names.contains(&"a");
                    assert!(names.contains(&"b") && !lost, "{what} after {steps} steps: {names:?}");
                }
                let hidden = fs::read_dir(place.path()).unwrap().flatten();
                let hidden = hidden.filter(|it| it.file_name().to_string_lossy().starts_with('.'));
                assert_eq!(hidden.count(), 0, "{what} after {steps} steps");
                finished = died.is_ok();
                if finished {
                    break;
                }
            }
            assert!(finished, "{what} takes more steps");
        }
    }
}
