//! A snapshot in memory: what was recorded of one incident.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use eog_core::incident::Unusable;
use eog_core::{Timestamp, Topology, Window};
use eog_evidence::FolderHandle;
use jiff::SignedDuration;

use crate::architecture::Architecture;
use crate::cache::{Cache, Cached};
use crate::derived::derived;
use crate::facts::Facts;
use crate::read::{
    self, AlertRecord, EventRecord, Folder, Layout, MetricSeries, Objects, ReadOptions, Records,
    SnapshotError,
};
use crate::store::{Logs, Spans};
use crate::warnings::Warnings;

/// One recorded incident: alerts, events, objects, logs, traces and metrics, bounded, with secrets
/// masked.
///
/// Input that cannot be used (missing files, broken rows, stray files) is reported in
/// [`Snapshot::warnings`] and never stops the reading. No file whose name begins with `ground_truth` is ever opened, nor
/// any file outside of the directory.
///
/// ```
/// use eog_sre::{ReadOptions, Snapshot};
/// let directory = tempfile::tempdir()?;
/// let alert = r#"[{"labels": {"alertname": "HighErrorRate", "service_name": "cart",
///     "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:00:00Z"}]"#;
/// std::fs::create_dir(directory.path().join("alerts"))?;
/// std::fs::write(directory.path().join("alerts/alerts_at_2026-01-01T10-01-00.json"), alert)?;
/// let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
/// let incident = snapshot.incident(&snapshot.graph());
/// assert_eq!(incident.anomalies[0].entity.as_str(), "shop/Service/cart");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) name: String,
    pub(crate) alerts: Vec<AlertRecord>,
    pub(crate) events: Vec<EventRecord>,
    pub(crate) objects: Objects,
    pub(crate) logs: Logs,
    pub(crate) spans: Spans,
    pub(crate) metrics: Vec<MetricSeries>,
    pub(crate) architecture: Option<Architecture>,
    files: Vec<String>,
    warnings: Vec<String>,
    unusable: Vec<Unusable>,
    from_cache: bool,
    /// Computed with the graph of this topology, see [`Snapshot::facts`].
    pub(crate) facts: OnceLock<(Topology, Arc<Facts>)>,
}

impl Snapshot {
    /// Reads a snapshot directory.
    ///
    /// # Errors
    /// [`SnapshotError`] if the path is not a directory, contains none of the known files, or would
    /// not fit into memory; if the table of events, objects, logs or traces lacks a required
    /// column; or if the architecture file cannot be used.
    pub fn open(directory: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, SnapshotError> {
        Self::read(directory.as_ref(), Folder::new(directory.as_ref())?, options)
    }

    /// Reads a snapshot directory that is open already.
    ///
    /// # Errors
    /// As for [`Snapshot::open`].
    pub fn open_from(folder: FolderHandle, options: &ReadOptions) -> Result<Self, SnapshotError> {
        let called = folder.called().to_owned();
        Self::read(&called, Folder::of(folder), options)
    }

    fn read(
        directory: &Path,
        mut folder: Folder,
        options: &ReadOptions,
    ) -> Result<Self, SnapshotError> {
        let mut warnings = Warnings::default();
        let layout = Layout::find(&folder, &mut warnings);
        let missing = layout.missing();
        if missing.len() == Layout::KINDS {
            return Err(SnapshotError::NothingKnown { path: directory.display().to_string() });
        }
        for kind in missing {
            warnings.note(format!("the snapshot has no {kind}"));
        }
        let architecture = options.architecture.as_deref();
        let below = options.architecture_below.as_ref();
        let architecture = architecture.map(|path| Architecture::open(path, below)).transpose()?;
        let budget = read::check_memory(&folder, &layout, options)?;
        folder.set_budget(budget.with_stop(options.stop.clone()));
        let find = |folder: &Folder, warnings: &Warnings| {
            let at = options.cache.as_ref()?;
            Some(Cache::find(at, folder, &layout, options, warnings))
        };
        let cache = find(&folder, &warnings);
        // What an investigation makes of the records must fit, too.
        let fits = |folder: &Folder, records: &Records| {
            let allowed = folder.budget().allowed();
            let path = directory.display().to_string();
            let fits = folder.budget().account().holds(derived(records));
            if folder.budget().is_stopped() {
                return Err(SnapshotError::Cancelled);
            }
            fits.then_some(()).ok_or(SnapshotError::OutOfMemory { path, allowed })
        };
        if let Some(cached) = cache.as_ref().and_then(|cache| cache.load(folder.budget())) {
            fits(&folder, &cached.records)?;
            return Ok(Self::assemble(directory, architecture, cached, true));
        }
        if folder.budget().is_stopped() {
            return Err(SnapshotError::Cancelled);
        }
        if let Some(progress) = &options.progress {
            folder.report_to(progress, &layout);
        }
        let noted = warnings.clone();
        let records = read::read_all(&mut folder, &layout, options, &mut warnings)?;
        fits(&folder, &records)?;
        let cached = Cached {
            records,
            files: folder.opened().to_vec(),
            unusable: warnings.unusable_files(),
            warnings: warnings.into_lines(),
        };
        // What changed while it was read belongs to no state of the files, and is not kept.
        let cache =
            cache.filter(|cache| find(&folder, &noted).is_some_and(|now| now.is_same(cache)));
        let stored = cache.map_or(Ok(()), |cache| cache.store(&cached));
        let mut snapshot = Self::assemble(directory, architecture, cached, false);
        snapshot.warnings.extend(stored.err());
        Ok(snapshot)
    }

    fn assemble(
        directory: &Path,
        architecture: Option<Architecture>,
        cached: Cached,
        from_cache: bool,
    ) -> Self {
        let Cached { records, files, warnings, unusable } = cached;
        let Records { alerts, events, objects, logs, spans, metrics } = records;
        let name = directory.file_name().map_or_else(
            || "snapshot".to_owned(),
            |name| eog_evidence::shorten(&eog_evidence::mask_text(&name.to_string_lossy()), 100),
        );
        Self {
            name,
            alerts,
            events,
            objects,
            logs,
            spans,
            metrics,
            architecture,
            files,
            warnings,
            unusable,
            from_cache,
            facts: OnceLock::new(),
        }
    }

    /// Whether the records were read from [`ReadOptions::cache`].
    pub fn is_from_cache(&self) -> bool {
        self.from_cache
    }

    /// Every file that was opened, relative to the directory, in the order of opening.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// What was missing, skipped or left out, as readable text.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The files of which records could not be used, with the reason and its place. A file that
    /// could not be read as what it should be counts as one record.
    pub fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// The time from the first to just after the last recorded sample; `None` if there is none.
    ///
    /// Events and alerts can be older than the recording and are ignored unless nothing else was
    /// recorded.
    pub fn observed(&self) -> Option<Window> {
        let ends = [self.spans.at.extent(), self.logs.at.extent()];
        let ends = ends.into_iter().flatten().flat_map(|(first, last)| [first, last]);
        let metrics = self.metrics.iter().filter_map(|series| series.points.at.extent());
        let metrics = metrics.flat_map(|(first, last)| [first, last]);
        let dumps = self.objects.dumps.values().flatten().copied();
        let alerts = self.alerts.iter().filter_map(|alert| alert.seen_at);
        let sampled = ends.chain(metrics).chain(dumps).chain(alerts);
        extent(sampled).or_else(|| extent(self.events.iter().map(|event| event.at)))
    }
}

fn extent(times: impl Iterator<Item = Timestamp>) -> Option<Window> {
    let (first, last) = times.fold(None, |span: Option<(Timestamp, Timestamp)>, at| {
        Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
    })?;
    Window::new(first, last.checked_add(SignedDuration::from_secs(1)).ok()?).ok()
}
