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
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) alerts: Vec<AlertRecord>,
    pub(crate) events: Vec<EventRecord>,
    pub(crate) objects: Objects,
    pub(crate) logs: Logs,
    pub(crate) spans: Spans,
    pub(crate) metrics: Vec<MetricSeries>,
}

/// What was read, for its place among all; files of metrics are joined when all are there.
type Put = Box<dyn FnOnce(&mut Records, &mut Vec<MetricFile>) -> Result<(), SnapshotError> + Send>;

/// What was read, with its place in the order in which files, warnings and errors are reported, the files that were
/// opened for it, and what was wrong with them.
type Done = (u8, Put, Folder, Warnings);

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
    done.sort_by_key(|(rank, ..)| *rank);
    let (mut records, mut metrics) = (Records::default(), Vec::new());
    for (_, put, opened, noted) in done {
        folder.join(opened);
        warnings.append(noted);
        put(&mut records, &mut metrics)?;
    }
    records.metrics = join_metrics(metrics, warnings);
    Ok(records)
}

/// One task for each kind of records, and one for each metric file. What takes longest is begun
/// first.
fn tasks<'a>(folder: &Folder, layout: &'a Layout, rows: usize) -> Vec<Task<'a, Done>> {
    type Read<'a> = Box<dyn FnOnce(&mut Folder, &mut Warnings) -> Put + Send + 'a>;
    let task = |(rank, read): (u8, Read<'a>)| {
        let mut folder = folder.fork();
        let task: Task<'a, Done> = Box::new(move || {
            let mut warnings = Warnings::default();
            let put = read(&mut folder, &mut warnings);
            (rank, put, folder, warnings)
        });
        task
    };
    macro_rules! table {
        ($rank:literal, $read:ident, $files:ident, $field:ident) => {
            task((
                $rank,
                Box::new(move |folder, warnings| {
                    let read = $read(folder, &layout.$files, rows, warnings);
                    Box::new(move |records, _| {
                        records.$field = read?;
                        Ok(())
                    })
                }),
            ))
        };
    }
    let alerts: Read<'a> = Box::new(move |folder, warnings| {
        let alerts = read_alerts(folder, &layout.alerts, warnings);
        Box::new(move |records, _| {
            records.alerts = alerts;
            Ok(())
        })
    });
    let mut tasks = vec![
        table!(4, read_traces, traces, spans),
        table!(2, read_objects, objects, objects),
        table!(3, read_logs, logs, logs),
        table!(1, read_events, events, events),
        task((0, alerts)),
    ];
    tasks.extend(layout.metrics.iter().map(|file| {
        let read: Read<'a> = Box::new(move |folder, warnings| {
            let read = read_metric_file(folder, file, rows, warnings);
            Box::new(move |_, metrics| {
                metrics.push(read);
                Ok(())
            })
        });
        task((5, read))
    }));
    tasks
}
