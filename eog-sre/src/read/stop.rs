//! Cancelling the reading of a snapshot.

use std::fmt;
use std::sync::Arc;

/// Says whether a snapshot should be read on. Asked about once for every 64 KiB that are kept, from several
/// threads, so it should be quick. A snapshot that is not read on is
/// [`SnapshotError::Cancelled`](crate::SnapshotError::Cancelled), and is not cached.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use eog_sre::{ReadOptions, Stop};
/// let is_gone = Arc::new(AtomicBool::new(false));
/// let asked = Arc::clone(&is_gone);
/// let stop = Stop::when(move || asked.load(Ordering::Relaxed));
/// let options = ReadOptions { stop: Some(stop), ..Default::default() };
/// // When its client has disconnected:
/// is_gone.store(true, Ordering::Relaxed);
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Ends the reading as soon as this says so.
    pub fn when(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_wanted))
    }

    /// Whether it should end.
    pub fn is_wanted(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}

/// Copies of one are equal.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stop {}
