//! All files of a snapshot, on several threads, as if they had been read one after the other.

use super::workers::{Task, run_all};
use super::{
    AlertRecord, EventRecord, Folder, Layout, MetricFile, MetricSeries, Objects, ReadOptions,
    SnapshotError, join_metrics, read_alerts, read_events, read_logs, read_metric_file,
    read_objects, read_traces,
};
use crate::store::{Logs, Spans};
use crate::warnings::Warnings;

/// Everything that the files of a snapshot hold.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) alerts: Vec<AlertRecord>,
    pub(crate) events: Vec<EventRecord>,
    pub(crate) objects: Objects,
    pub(crate) logs: Logs,
    pub(crate) spans: Spans,
    pub(crate) metrics: Vec<MetricSeries>,
}

/// Records of one kind, or of one metric file.
enum Part {
    Alerts(Vec<AlertRecord>),
    Events(Result<Vec<EventRecord>, SnapshotError>),
    Objects(Result<Objects, SnapshotError>),
    Logs(Result<Logs, SnapshotError>),
    Spans(Result<Spans, SnapshotError>),
    Metrics(MetricFile),
}

impl Part {
    /// The place in the order in which files, warnings and errors are told.
    fn rank(&self) -> u8 {
        match self {
            Self::Alerts(_) => 0,
            Self::Events(_) => 1,
            Self::Objects(_) => 2,
            Self::Logs(_) => 3,
            Self::Spans(_) => 4,
            Self::Metrics(_) => 5,
        }
    }
}

/// A part, the files that were opened for it, and what was wrong with them.
type Done = (Part, Folder, Warnings);

/// Reads the files of one part.
type ReadPart<'a> = Box<dyn FnOnce(&mut Folder, &mut Warnings) -> Part + Send + 'a>;

/// Reads every file of the layout.
///
/// # Errors
/// [`SnapshotError`] when a table of events, objects, logs or traces lacks a column or cannot be
/// read, of several the first in this order; and when the budget of the folder is spent.
pub(crate) fn read_all(
    folder: &mut Folder,
    layout: &Layout,
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<Records, SnapshotError> {
    let rows = options.max_rows_per_file;
    let mut done = run_all(tasks(folder, layout, rows));
    if folder.budget().is_stopped() {
        return Err(SnapshotError::Cancelled);
    }
    if folder.budget().is_spent() {
        let path = folder.root().display().to_string();
        return Err(SnapshotError::OutOfMemory { path, allowed: folder.budget().allowed() });
    }
    done.sort_by_key(|(part, _, _)| part.rank());
    let mut records = Records {
        alerts: Vec::new(),
        events: Vec::new(),
        objects: Objects::default(),
        logs: Logs::default(),
        spans: Spans::default(),
        metrics: Vec::new(),
    };
    let mut metrics = Vec::new();
    for (part, opened, noted) in done {
        folder.join(opened);
        warnings.append(noted);
        match part {
            Part::Alerts(alerts) => records.alerts = alerts,
            Part::Events(events) => records.events = events?,
            Part::Objects(objects) => records.objects = objects?,
            Part::Logs(logs) => records.logs = logs?,
            Part::Spans(spans) => records.spans = spans?,
            Part::Metrics(file) => metrics.push(file),
        }
    }
    records.metrics = join_metrics(metrics, warnings);
    Ok(records)
}

/// One task for each kind of records, and one for each metric file. What takes longest is begun
/// first.
fn tasks<'a>(folder: &Folder, layout: &'a Layout, rows: usize) -> Vec<Task<'a, Done>> {
    let task = |read: ReadPart<'a>| {
        let mut folder = folder.fork();
        let task: Task<'a, Done> = Box::new(move || {
            let mut warnings = Warnings::default();
            let part = read(&mut folder, &mut warnings);
            (part, folder, warnings)
        });
        task
    };
    let mut tasks = vec![
        task(Box::new(move |folder, warnings| {
            Part::Spans(read_traces(folder, &layout.traces, rows, warnings))
        })),
        task(Box::new(move |folder, warnings| {
            Part::Objects(read_objects(folder, &layout.objects, rows, warnings))
        })),
        task(Box::new(move |folder, warnings| {
            Part::Logs(read_logs(folder, &layout.logs, rows, warnings))
        })),
        task(Box::new(move |folder, warnings| {
            Part::Events(read_events(folder, &layout.events, rows, warnings))
        })),
        task(Box::new(move |folder, warnings| {
            Part::Alerts(read_alerts(folder, &layout.alerts, warnings))
        })),
    ];
    tasks.extend(layout.metrics.iter().map(|file| {
        task(Box::new(move |folder, warnings| {
            Part::Metrics(read_metric_file(folder, file, rows, warnings))
        }))
    }));
    tasks
}
