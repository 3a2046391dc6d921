//! A folder of investigations, as a server keeps it: one folder for each.
//!
//! Each has its journal, how it began (`investigation.json`), how its last run ended (`ended.json`), what
//! people said (`people.json`), and what its last run left: ledger, report, graphs.

mod error;
mod id;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eog::durable::{self, Disk, RealDisk};
use eog::journal::JournalError;
use eog::side::SideFile;
use eog::{Config, EntityId, Timestamp, Usage, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::controllers::{AnyLedger, AnySettings};
use crate::source::{Verdict, Word, Words};

pub use error::StoreError;
pub use id::InvestigationId;

/// The version of the files of this module.
const VERSION: u32 = 1;

/// The most bytes of a file that says how an investigation began or ended.
const MAX_RECORD: u64 = 4 << 20;

/// How the name of a folder begins that is being removed.
const GONE: &str = ".gone-";

/// How the name of a folder begins that has no number yet.
const NEW: &str = ".new-";

/// The file that says how an investigation began.
const BEGINNING: &str = "investigation.json";

/// After how long without a change a folder that has no beginning counts as left behind. Writing it takes a
/// moment, and another server may be about it.
const ABANDONED: Duration = Duration::from_secs(600);

/// Numbers the folders that this process makes.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// How an investigation began.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Began {
    /// The version of the file.
    pub version: u32,
    /// What the incident is called.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The architecture that goes with it.
    pub architecture: Option<PathBuf>,
    /// The settings, with the name of the policy.
    pub config: AnySettings,
    /// The window that was asked for.
    pub window: Option<Window>,
    /// When it was begun; not known of one that an earlier version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Whether the folder was recorded after the investigation had begun: it holds what was observed since,
    /// too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_renewed: bool,
}

impl Began {
    /// Now, with default rules, and no window asked for.
    pub fn new(name: String, folder: PathBuf, architecture: Option<PathBuf>) -> Self {
        let (config, window) = (Config::default().into(), None);
        let at = Some(Timestamp::now());
        Self { version: VERSION, name, folder, architecture, config, window, at, is_renewed: false }
    }
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The version of the file.
    pub version: u32,
    /// Why it ended, in words.
    pub stop: String,
    /// Whether `resume` can find out more.
    pub is_unfinished: bool,
    /// How sure the result is.
    pub confidence: String,
    /// The origins that explain an alert.
    pub origins: Vec<String>,
    /// Committed evaluations.
    pub evaluations: u64,
}

impl Ended {
    /// The version that this program writes.
    pub const VERSION: u32 = VERSION;
}

/// What people were asked, and what they said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct People {
    /// Entities that people were asked about.
    pub asked: BTreeSet<EntityId>,
    /// What was supplied: a remark, or why a verdict is given.
    pub notes: BTreeMap<EntityId, String>,
    /// The verdicts among it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub verdicts: BTreeMap<EntityId, Verdict>,
}

impl People {
    /// Adds what a person said; the last word on an entity counts.
    pub fn add(&mut self, entity: EntityId, word: Word) {
        match word.verdict {
            Some(verdict) => self.verdicts.insert(entity.clone(), verdict),
            None => self.verdicts.remove(&entity),
        };
        self.notes.insert(entity, word.text);
    }

    /// All that was said.
    pub fn words(&self) -> Words {
        let word = |(entity, text): (&EntityId, &String)| {
            let verdict = self.verdicts.get(entity).copied();
            (entity.clone(), Word { verdict, text: text.clone() })
        };
        self.notes.iter().map(word).collect()
    }
}

/// The files of one investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every step, one JSON object a line.
    Ledger,
    /// The report as Markdown.
    Report,
    /// The causal graph for Graphviz.
    Dot,
    /// The causal graph for Mermaid.
    Mermaid,
    /// The tree as text, of a tree search alone.
    Tree,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ledger, Self::Report, Self::Dot, Self::Mermaid, Self::Tree];

    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Ledger => "ledger.jsonl",
            Self::Report => "report.md",
            Self::Dot => "graph.dot",
            Self::Mermaid => "graph.mmd",
            Self::Tree => "tree.txt",
        }
    }
}

/// The state folder.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    disk: Box<dyn Disk>,
}

impl Store {
    /// Opens a state folder that lies below none of the roots, which are without links. Nothing is
    /// made otherwise.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(folder: &Path, roots: &[PathBuf]) -> Result<Self, StoreError> {
        Self::on(Box::new(RealDisk), folder, roots)
    }

    fn on(disk: Box<dyn Disk>, folder: &Path, roots: &[PathBuf]) -> Result<Self, StoreError> {
        let unusable = |source| StoreError::Unusable { path: folder.to_owned(), source };
        let outside = |real: PathBuf| match roots.iter().find(|root| real.starts_with(root)) {
            Some(root) => Err(StoreError::InRoot { state: real, root: root.clone() }),
            None => Ok(real),
        };
        outside(to_be(folder).map_err(unusable)?)?;
        let made = durable::create_folders(&*disk, folder).and_then(|()| folder.canonicalize());
        // Once more, as it really is.
        let real = outside(made.map_err(unusable)?)?;
        tempfile_in(&real).map_err(unusable)?;
        let store = Self { path: real, disk };
        store.clear();
        Ok(store)
    }

    /// A new folder under the next number. Giving it its name is what gives the number away, so servers
    /// that share the state folder never give the same. It holds by then how the investigation began, so
    /// a server that is killed leaves none without. Both survive a power loss from here on: so does the
    /// journal that comes next, and it cannot be resumed without them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(&self, began: &Began) -> Result<InvestigationId, StoreError> {
        let what = "a new investigation";
        let beginning = json(&what, BEGINNING, began)?;
        self.begin(&beginning).map_err(|error| cannot_store(&what, &error))
    }

    fn begin(&self, beginning: &[u8]) -> io::Result<InvestigationId> {
        let new = self.create_new()?;
        let written = self.write_in(&new, BEGINNING, beginning);
        let begun = written.and_then(|()| self.number(&new));
        if begun.is_err() {
            // It is useless.
            let _ = std::fs::remove_dir_all(new);
        }
        begun
    }

    /// A folder with a unique name. Another machine may have a process of the same number,
    /// and a killed one may have left a folder behind.
    fn create_new(&self) -> io::Result<PathBuf> {
        loop {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let new = self.path.join(format!("{NEW}{}-{number}", std::process::id()));
            match self.disk.create_folder(&new) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| new),
            }
        }
    }

    /// Gives a new folder the next free number.
    fn number(&self, new: &Path) -> io::Result<InvestigationId> {
        let mut number = self.ids().last().map_or(0, InvestigationId::number);
        loop {
            number += 1;
            let id = InvestigationId::numbered(number);
            let folder = self.folder(&id);
            // Renaming replaces an empty folder, as earlier versions left them. None that this one makes
            // is ever empty, so another process that takes the name from here on is not replaced.
            if is_there(&folder) {
                continue;
            }
            match self.disk.rename(new, &folder) {
                Ok(()) => return self.make_durable(id),
                // Another process was faster. Systems report that in different ways.
                Err(_) if is_there(&folder) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn make_durable(&self, id: InvestigationId) -> io::Result<InvestigationId> {
        let folder = self.folder(&id);
        let named = durable::sync_name(&*self.disk, &folder);
        if named.is_err() {
            // It is useless, and it would count.
            self.remove_folder(&folder);
        }
        named.map(|()| id)
    }

    /// The investigation that a client names.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn find(&self, text: &str) -> Result<InvestigationId, StoreError> {
        let found = InvestigationId::parse(text).filter(|id| self.folder(id).is_dir());
        found.ok_or_else(|| StoreError::Unknown {
            id: eog_evidence::shorten(text, 60),
            nearest: self.ids().iter().rev().take(3).map(ToString::to_string).collect(),
        })
    }

    /// Every investigation, oldest first.
    pub fn ids(&self) -> Vec<InvestigationId> {
        let entries = self.path.read_dir().into_iter().flatten().flatten();
        let id = |entry: std::fs::DirEntry| InvestigationId::parse(entry.file_name().to_str()?);
        let mut ids: Vec<_> = entries.filter_map(id).collect();
        ids.sort();
        ids
    }

    /// Removes the oldest investigations until so many are left. `runs` says which ones this server
    /// works on; what another one works on is known by the lock on its journal.
    pub fn prune(&self, keep: usize, runs: impl Fn(&InvestigationId) -> bool) {
        let ids = self.ids();
        let mut excess = ids.len().saturating_sub(keep);
        for id in ids {
            if excess == 0 {
                return;
            }
            if !runs(&id) && self.remove(&id) {
                excess -= 1;
            }
        }
    }

    /// Removes an investigation unless a process works on it. Returns whether it is gone.
    pub fn remove(&self, id: &InvestigationId) -> bool {
        // Held until it is gone. One that cannot be read is useless; one that has no
        // journal may be about to get it.
        let journal = match AnyLedger::open_journal(&self.journal(id)) {
            Err(JournalError::Locked { .. }) => return false,
            Err(_) if !self.journal(id).exists() => return false,
            journal => journal,
        };
        let gone = self.put_away(&self.folder(id));
        drop(journal);
        // What stays is cleared by the next server.
        gone.map(std::fs::remove_dir_all).is_ok()
    }

    /// Gives a folder that is to be removed another name first: half of one is never found.
    fn put_away(&self, folder: &Path) -> io::Result<PathBuf> {
        let name = folder.file_name().unwrap_or_default();
        let gone = self.path.join(format!("{GONE}{}", name.display()));
        std::fs::rename(folder, &gone).map(|()| gone)
    }

    /// Removes a folder that no process works on.
    fn remove_folder(&self, folder: &Path) {
        // A full disk may have no room for another name.
        let gone = self.put_away(folder).unwrap_or_else(|_| folder.to_owned());
        let _ = std::fs::remove_dir_all(gone);
    }

    /// Removes an investigation that came to nothing, as on a full disk: one without an entry, for which
    /// nothing was paid. It would count among those that are kept. Whether it came to nothing.
    pub fn discard(&self, id: &InvestigationId) -> bool {
        let journal = self.journal(id);
        let side = SideFile::path_beside(&journal);
        let is_free = match SideFile::read(&side) {
            Ok(records) => records.usage_so_far() == Usage::default(),
            Err(_) => !side.exists(),
        };
        let is_empty = match AnyLedger::open_journal(&journal) {
            Ok((ledger, ..)) => ledger.is_empty(),
            Err(_) => !journal.exists(),
        };
        if is_free && is_empty {
            // No other process works on it: its name was never given out.
            self.remove_folder(&self.folder(id));
        }
        is_free && is_empty
    }

    /// Removes what servers left behind that were killed while they removed or began an investigation.
    fn clear(&self) {
        for entry in self.path.read_dir().into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(GONE) {
                let _ = std::fs::remove_dir_all(path);
            } else if is_unbegun(name, &path) && is_abandoned(&entry) {
                // A server that was only asleep finds none, rather than half of one to give a number to.
                let _ = self.put_away(&path).map(std::fs::remove_dir_all);
            }
        }
    }

    /// The journal of an investigation.
    pub fn journal(&self, id: &InvestigationId) -> PathBuf {
        self.folder(id).join("journal")
    }

    /// How an investigation began.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn began(&self, id: &InvestigationId) -> Result<Began, StoreError> {
        self.read_json(id, BEGINNING)
    }

    /// Stores that an investigation goes on with another folder.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set_began(&self, id: &InvestigationId, began: &Began) -> Result<(), StoreError> {
        self.write_json(id, BEGINNING, began)
    }

    /// How the last run ended; nothing if it was killed or is still under way.
    pub fn ended(&self, id: &InvestigationId) -> Option<Ended> {
        self.read_json(id, "ended.json").ok()
    }

    /// Stores how a run ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set_ended(&self, id: &InvestigationId, ended: &Ended) -> Result<(), StoreError> {
        self.write_json(id, "ended.json", ended)
    }

    /// A run is under way: what the one before left is no longer the result.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn forget_end(&self, id: &InvestigationId) -> Result<(), StoreError> {
        let files = Part::ALL.map(Part::file).into_iter().chain(["ended.json"]);
        for file in files {
            match std::fs::remove_file(self.folder(id).join(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot_store(id, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What people were asked, and what they said.
    pub fn people(&self, id: &InvestigationId) -> People {
        self.read_json(id, "people.json").unwrap_or_default()
    }

    /// Stores what people said.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set_people(&self, id: &InvestigationId, people: &People) -> Result<(), StoreError> {
        self.write_json(id, "people.json", people)
    }

    /// A part as the last run left it, if a run has ended since the journal changed.
    pub fn part(&self, id: &InvestigationId, part: Part) -> Option<String> {
        std::fs::read_to_string(self.folder(id).join(part.file())).ok()
    }

    /// How long a part is, if a run has left it.
    pub fn part_bytes(&self, id: &InvestigationId, part: Part) -> Option<u64> {
        self.folder(id).join(part.file()).metadata().ok().map(|meta| meta.len())
    }

    /// Stores a part.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set_part(&self, id: &InvestigationId, part: Part, text: &str) -> Result<(), StoreError> {
        self.write(id, part.file(), text.as_bytes())
    }

    fn folder(&self, id: &InvestigationId) -> PathBuf {
        self.path.join(id.to_string())
    }

    fn write_json(
        &self,
        id: &InvestigationId,
        file: &str,
        value: &impl Serialize,
    ) -> Result<(), StoreError> {
        self.write(id, file, &json(id, file, value)?)
    }

    fn read_json<T: DeserializeOwned>(
        &self,
        id: &InvestigationId,
        file: &str,
    ) -> Result<T, StoreError> {
        let path = self.folder(id).join(file);
        let unusable =
            |reason: String| StoreError::File(format!("{id}: cannot read {file}: {reason}"));
        let bytes = path.metadata().map_err(|error| unusable(error.to_string()))?.len();
        if bytes > MAX_RECORD {
            return Err(unusable(format!("it is longer than {MAX_RECORD} bytes")));
        }
        let text = std::fs::read(&path).map_err(|error| unusable(error.to_string()))?;
        let text = durable::unsealed(&text).map_err(unusable)?;
        serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))
    }

    fn write(&self, id: &InvestigationId, file: &str, content: &[u8]) -> Result<(), StoreError> {
        let written = self.write_in(&self.folder(id), file, content);
        written.map_err(|error| cannot_store(id, &error))
    }

    /// Writes a file whole or not at all. It is durable when this returns.
    fn write_in(&self, folder: &Path, file: &str, content: &[u8]) -> io::Result<()> {
        let temporary = folder.join(temporary(file));
        durable::replace(&*self.disk, &folder.join(file), &temporary, &[content])
    }
}

/// What a file is called while it is written.
fn temporary(file: &str) -> String {
    format!(".{file}.tmp")
}

fn json(
    what: &impl fmt::Display,
    file: &str,
    value: &impl Serialize,
) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec_pretty(value)
        .map(durable::sealed)
        .map_err(|error| StoreError::File(format!("{what}: cannot write {file}: {error}")))
}

fn cannot_store(what: &impl fmt::Display, error: &io::Error) -> StoreError {
    StoreError::File(format!("{what}: cannot write to the server's state folder: {error}"))
}

/// Whether something has this name, if only a link to nothing.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a folder has no number yet or, as earlier versions left them, has one and no beginning.
fn is_unbegun(name: &str, folder: &Path) -> bool {
    name.starts_with(NEW)
        || InvestigationId::parse(name).is_some()
            && !is_there(&folder.join(BEGINNING))
            && is_blank(folder)
}

/// Whether a folder holds nothing but a beginning that was not written to its end.
fn is_blank(folder: &Path) -> bool {
    let unfinished = temporary(BEGINNING);
    let is_nothing = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name() == *unfinished)
    };
    folder.read_dir().is_ok_and(|mut entries| entries.all(is_nothing))
}

/// Whether a folder has not changed for long.
fn is_abandoned(folder: &std::fs::DirEntry) -> bool {
    let changed = folder.metadata().and_then(|meta| meta.modified());
    let age = changed.ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > ABANDONED)
}

/// Where a folder is or would be, without the links that lead there.
fn to_be(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    let known = folder.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, mut real)) = known else { return Ok(folder) };
    // There are no links in what is not there yet.
    for part in folder.strip_prefix(above).unwrap_or(Path::new("")).components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
    }
    Ok(real)
}

/// Makes sure that files can be made in a folder. Servers in containers often have the same process id, so the
/// name is not made of it.
fn tempfile_in(folder: &Path) -> io::Result<()> {
    let mut probe = tempfile::Builder::new().prefix(".eog-write-test-").tempfile_in(folder)?;
    probe.write_all(b"x")?;
    probe.close()
}

#[cfg(test)]
mod tests;
