//! Progress of reading a snapshot.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// After how many bytes there is news.
const STEP: u64 = 1024 * 1024;

/// Progress of reading a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// The file being read; several are read at a time.
    pub file: &'a str,
    /// Bytes read so far, over all files.
    pub done: u64,
    /// Total bytes of all files.
    pub total: u64,
}

/// Receives progress updates while a snapshot is read: called about once per megabyte, from several
/// threads, so it should be quick. It has no effect on what is read.
///
/// ```
/// use eog_sre::{Progress, ReadOptions};
/// let progress = Progress::new(|reading| {
///     eprintln!("{} ({} of {} bytes)", reading.file, reading.done, reading.total);
/// });
/// let options = ReadOptions { progress: Some(progress), ..Default::default() };
/// assert!(options.progress.is_some());
/// ```
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Reading<'_>) + Send + Sync>);

impl Progress {
    /// Calls a function at each update.
    pub fn new(report: impl Fn(Reading<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// Copies of one are equal.
impl PartialEq for Progress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Progress {}

/// Counts what is read of all files.
#[derive(Debug)]
pub(super) struct Meter {
    progress: Progress,
    done: AtomicU64,
    total: u64,
}

impl Meter {
    pub(super) fn new(progress: Progress, total: u64) -> Self {
        Self { progress, done: AtomicU64::new(0), total }
    }

    fn add(&self, file: &str, count: usize) {
        let count = count as u64;
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        let done = before.saturating_add(count);
        if before / STEP != done / STEP {
            // Parts that are read again count again.
            let done = done.min(self.total);
            (self.progress.0)(Reading { file, done, total: self.total });
        }
    }
}

/// A file of a snapshot, counted as it is read.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    name: String,
    meter: Option<Arc<Meter>>,
}

impl Source {
    pub(super) fn new(file: File, name: &str, meter: Option<Arc<Meter>>) -> Self {
        Self { file, name: name.to_owned(), meter }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if let Some(meter) = &self.meter {
            meter.add(&self.name, count);
        }
        Ok(count)
    }
}
