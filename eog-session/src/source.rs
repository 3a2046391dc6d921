//! Where an incident is read from: a bundle, a snapshot, live sources, or MCP servers.
//!
//! [`open`] recognises the kind of a source by its content. A further kind is one implementation of
//! [`Source`] and one line in [`open`].

mod again;
mod bundle;
mod error;
mod files;
mod later;
mod library;
mod live;
mod notes;
#[cfg(feature = "mcp")]
mod servers;
#[cfg(not(feature = "mcp"))]
#[path = "source/no_servers.rs"]
mod servers;
mod snapshot;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog::incident::CaseFile;
use eog::{
    BoxFuture, Case, ContextContract, ContextRequest, EntityId, Failure, Finding, LocalContext,
    Window,
};
use eog_evidence::{Chart, Incident, StartError, case_file, entities_of_case_file, open_case};
use eog_search::Toolset;
use eog_sre::tools::{MetricFamily, Toolbox};
use serde_json::Value;

use crate::tools::SreTools;

pub use again::find_again;
pub use bundle::OfBundle;
pub use eog::evidence::Verdict;
pub use eog_evidence::{FilePlace, FolderHandle};
pub use eog_sre::ReadOptions;
pub use error::{AskError, OpenError};
pub use files::Files;
pub use later::Later;
pub use library::Library;
pub use live::{Capturing, OfLive};
pub use notes::{SharedWords, Supplemented, Word, Words, keep_words};
pub use servers::OfServers;
pub use snapshot::OfSnapshot;

/// Of at most so many entities contexts are read for a case file.
pub const MAX_FILED: usize = 1_000;

/// What makes a folder a bundle.
const MANIFEST: &str = "bundle.json";

/// What an incident offers to an investigation.
pub trait Source: Send + Sync {
    /// What the start of an investigation needs: alerts, topology, changes, and what the readers had
    /// to say.
    fn incident(&self) -> &Incident;

    /// The local evidence on one entity.
    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>>;

    /// The measured points behind a finding of such a context, if it is about a series that is at hand.
    fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        let _ = (finding, window);
        None
    }

    /// The tools over it, if it is a snapshot.
    fn toolbox(&self) -> Option<&Toolbox> {
        None
    }

    /// Asks a tool by its name, such as `event_analysis` ([`eog_sre::tools`]). The answer is indented
    /// JSON in the form of the tool, whatever is asked. Blocks while the answer is worked out.
    ///
    /// # Errors
    /// [`AskError`] when the source has no tools, or not this one, or an argument cannot be used.
    fn ask(&self, tool: &str, arguments: Value) -> Result<String, AskError> {
        let toolbox = self.toolbox().ok_or(AskError::NoTools)?;
        Ok(toolbox.call_text(tool, arguments)?)
    }

    /// Every metric that it has, by name; none where that is not known.
    fn metrics(&self) -> Vec<MetricFamily> {
        self.toolbox().map(Toolbox::metric_families).unwrap_or_default()
    }

    /// Tools for the specialists of a tree search, beside those over its contexts.
    fn toolsets(&self) -> Vec<Arc<dyn Toolset>> {
        let of_snapshot =
            |toolbox: &Toolbox| -> Arc<dyn Toolset> { Arc::new(SreTools::new(toolbox.clone())) };
        self.toolbox().map(of_snapshot).into_iter().collect()
    }

    /// What stands out in the incident as a whole, from the contexts of up to [`MAX_FILED`] entities. A context that fails is
    /// skipped: it is requested again when its entity is evaluated.
    fn case_file<'a>(&'a self, case: &'a Case) -> BoxFuture<'a, CaseFile> {
        Box::pin(async move {
            let incident = self.incident();
            let mut contexts = Vec::new();
            for entity in entities_of_case_file(case, incident, MAX_FILED) {
                let edges = case.topology.edges_at(&entity);
                let ends = edges.flat_map(|edge| [edge.source.clone(), edge.target.clone()]);
                let around: Vec<EntityId> = ends.filter(|other| *other != entity).collect();
                let request = ContextRequest::whole(entity, case.window, around);
                let context = self.context(&request).await.ok();
                contexts.extend(context.map(|context| (request.entity, context)));
                // A cancellation takes effect between two of them.
                tokio::task::yield_now().await;
            }
            case_file(case, incident, contexts)
        })
    }

    /// Chooses window and seeds by rule.
    ///
    /// # Errors
    /// [`StartError`] when there is nothing to start from.
    fn case(&self, window: Option<Window>) -> Result<Case, StartError> {
        open_case(self.incident(), window)
    }
}

/// A source that was opened, and where. Clones share it.
#[derive(Clone)]
pub struct Opened {
    path: PathBuf,
    source: Arc<dyn Source>,
}

impl Opened {
    /// A source that is in memory, called by a path.
    pub fn new(path: impl Into<PathBuf>, source: impl Source + 'static) -> Self {
        Self { path: path.into(), source: Arc::new(source) }
    }

    /// What was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, unless records of it could not be used.
    ///
    /// # Errors
    /// [`OpenError::Unusable`], with the file, the place and the reason.
    pub fn all_usable(self) -> Result<Self, OpenError> {
        let parts = &self.incident().unusable;
        match parts.first().cloned() {
            None => Ok(self),
            Some(first) => {
                let others = parts.len() - 1;
                Err(OpenError::Unusable { path: self.path, first: Box::new(first), others })
            }
        }
    }

    /// Whether two are the same source in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }

    /// Whether it is still the incident that an investigation began with: the same topology and the
    /// same alerts.
    pub fn is_case(&self, began: &Case) -> bool {
        // A source in which nothing can be started in that window is another input, too.
        let now = self.case(Some(began.window));
        now.is_ok_and(|now| now.topology == began.topology && now.anomalies == began.anomalies)
    }
}

impl std::ops::Deref for Opened {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        &*self.source
    }
}

impl ContextContract for Opened {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.source.context(request)
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a path holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder with `bundle.json`.
    Bundle,
    /// Any other folder: a snapshot, unless reading it says otherwise.
    Snapshot,
    /// A file that names MCP servers, such as `source.toml`.
    Servers,
    /// A file that names live sources, such as `source.toml`.
    Live,
}

impl Kind {
    /// The kind of what a path leads to, detected from its content.
    ///
    /// # Errors
    /// [`OpenError`] when it can be none.
    pub fn of(path: &Path) -> Result<Self, OpenError> {
        match path.metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(OpenError::Absent { path: path.to_owned() });
            }
            Err(error) => return Err(OpenError::not_readable(path, &error)),
        }
        if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
            return Ok(live::kind_of(path));
        }
        if !path.is_dir() {
            return Err(OpenError::NotAFolder { path: path.to_owned() });
        }
        // Of a folder that cannot be listed, nothing can be said.
        std::fs::read_dir(path).map_err(|error| OpenError::not_readable(path, &error))?;
        let manifest = path.join("bundle.json");
        if let Err(error) = manifest.metadata()
            && error.kind() == std::io::ErrorKind::PermissionDenied
        {
            return Err(OpenError::not_readable(&manifest, &error));
        }
        Self::of_folder(&handle(path)?)
    }

    /// The kind of a folder that is open.
    ///
    /// # Errors
    /// As for [`Kind::of`].
    pub fn of_folder(folder: &FolderHandle) -> Result<Self, OpenError> {
        match folder.has_file(MANIFEST) {
            true => Ok(Self::Bundle),
            false if folder.has(MANIFEST) => {
                Err(OpenError::NoManifest { path: folder.called().to_owned() })
            }
            false => Ok(Self::Snapshot),
        }
    }
}

/// Opens whatever a path leads to. Folders are read in one go, which blocks; MCP servers are started
/// and asked, and work on the tokio runtime that this is called on. Live sources are captured into a
/// temporary folder up to now ([`OfLive::open`] leaves that to its caller).
///
/// # Errors
/// [`OpenError`] says what cannot be used, and why.
pub async fn open(path: &Path, options: &ReadOptions) -> Result<Opened, OpenError> {
    let path = path.to_owned();
    match Kind::of(&path)? {
        Kind::Servers => {
            let source = OfServers::open(&path, options).await?;
            Ok(Opened::new(path, source))
        }
        Kind::Live => {
            let now = eog::Timestamp::now();
            let capturing = Capturing { window: None, now, into: None, progress: &|_| {} };
            let source = OfLive::open(&path, options, capturing).await?;
            Ok(Opened::new(path, source))
        }
        Kind::Bundle | Kind::Snapshot => open_folder(&path, options),
    }
}

/// Opens a folder: a bundle or a snapshot.
///
/// # Errors
/// [`OpenError`] says what cannot be used, and why.
pub fn open_folder(path: &Path, options: &ReadOptions) -> Result<Opened, OpenError> {
    match Kind::of(path)? {
        Kind::Bundle | Kind::Snapshot => open_from(&handle(path)?, options),
        Kind::Servers | Kind::Live => Err(OpenError::NotAFolder { path: path.to_owned() }),
    }
}

/// Opens what a folder holds that is open: a bundle or a snapshot.
///
/// # Errors
/// [`OpenError`] says what cannot be used, and why.
pub fn open_from(folder: &FolderHandle, options: &ReadOptions) -> Result<Opened, OpenError> {
    let path = folder.called();
    match Kind::of_folder(folder)? {
        Kind::Bundle => Ok(Opened::new(path, OfBundle::open_from(folder, options)?)),
        _ => Ok(Opened::new(path, OfSnapshot::open_from(folder, options)?)),
    }
}

/// The folder at a path.
fn handle(path: &Path) -> Result<FolderHandle, OpenError> {
    FolderHandle::open(path)
        .map_err(|source| OpenError::Unreadable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
