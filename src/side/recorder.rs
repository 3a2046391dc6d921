//! Calls outside the loop, asked once and recorded before their answer is used.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eog_core::{Digest, Failure, Timestamp, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::{Durability, SideError, SideFile, SideRecord, SideRecords};

/// Makes calls outside the loop of an investigation (its window, filters, bootstrap, finalize) and
/// records their answers, so that a resumed run asks none of them again. Clones share everything.
///
/// Two calls are the same when name and key material are, by their JSON: key material must not
/// hold hash maps. The answer that is returned has gone through JSON once, whether it is new or
/// recorded. Storing it blocks the thread for the time of one `fsync`.
///
/// ```
/// use eog::{CallRecorder, Usage};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let recorder = CallRecorder::in_memory();
/// for _ in 0..2 {
///     let ask = async || Ok(("summary".to_owned(), Usage { model_calls: 1, ..Usage::default() }));
///     assert_eq!(recorder.call("finalize", &"frontier", ask).await?, "summary");
/// }
/// assert_eq!(recorder.take_usage().model_calls, 1, "asked once");
/// # Ok::<(), eog::side::RecordError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallRecorder {
    shared: Arc<Shared>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Shared {
    side: Option<Mutex<SideFile>>,
    answers: Mutex<BTreeMap<Digest, Arc<OnceCell<Value>>>>,
    spending: Mutex<Spending>,
}

#[derive(Debug, Default)]
struct Spending {
    /// Not yet taken.
    usage: Usage,
    /// Calls that are under way, and since when at least one is.
    under_way: usize,
    since: Option<Instant>,
    /// How long calls were under way before that.
    wall: Duration,
}

/// A call outside the loop without an answer that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The call failed. It is not recorded, and asked again next time.
    #[error("the call {name:?} failed: {source}")]
    Failed {
        /// The name of the call.
        name: String,
        /// Why.
        source: Failure,
    },
    /// Key material or an answer cannot be written as JSON: a defect of the caller.
    #[error("the {what} of the call {name:?} cannot be written as JSON: {reason}")]
    NotJson {
        /// The name of the call.
        name: String,
        /// `key` or `answer`.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// The recorded answer is not of the type that is asked for.
    #[error(
        "the recorded answer of the call {name:?} cannot be used: {reason}; another program may \
         have asked: remove the line with the key {key} from the side file to ask again"
    )]
    Unreadable {
        /// The name of the call.
        name: String,
        /// The key of the record.
        key: Digest,
        /// What is wrong with it.
        reason: String,
    },
    /// The answer could not be stored, or could not have been, so it was not asked for.
    #[error(transparent)]
    NotStored(#[from] SideError),
}

impl CallRecorder {
    /// A recorder for one run alone: it forgets when its last clone is dropped.
    pub fn in_memory() -> Self {
        Self { shared: Arc::default(), clock: Clock::default() }
    }

    /// A recorder that keeps answers in a side file and knows those that it holds already.
    pub fn on(side: SideFile, records: &SideRecords) -> Self {
        let mut answers = BTreeMap::new();
        for record in &records.records {
            if let SideRecord::Outside { key, answer, .. } = record {
                let first = || Arc::new(OnceCell::new_with(Some(answer.clone())));
                answers.entry(*key).or_insert_with(first);
            }
        }
        let (side, answers) = (Some(Mutex::new(side)), Mutex::new(answers));
        let shared = Shared { side, answers, spending: Mutex::default() };
        Self { shared: Arc::new(shared), clock: Clock::default() }
    }

    /// A recorder that keeps answers beside a journal, in a file that is created if there is none.
    ///
    /// # Errors
    /// Those of [`SideFile::beside`].
    pub fn beside(journal: impl AsRef<Path>) -> Result<(Self, SideRecords), SideError> {
        let (side, records) = SideFile::beside(journal)?;
        Ok((Self::on(side, &records), records))
    }

    /// Takes the times of records from this clock in place of the system's.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Clock(Arc::new(now));
        self
    }

    /// The answer of a call: the recorded one, or that of `ask`, stored before it is returned.
    /// Equal calls at the same time ask once; if that one fails, the next asks.
    ///
    /// # Errors
    /// [`RecordError::Failed`] when `ask` fails; the others say what to fix.
    pub async fn call<T, F>(
        &self,
        name: &str,
        key: &impl Serialize,
        ask: F,
    ) -> Result<T, RecordError>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce() -> Result<(T, Usage), Failure>,
    {
        let key = Self::key(name, key)?;
        let cell = Arc::clone(lock(&self.shared.answers).entry(key).or_default());
        let answer = cell.get_or_try_init(|| self.ask(name, key, ask)).await?;
        read(name, key, answer)
    }

    /// The key under which a call is recorded.
    ///
    /// # Errors
    /// [`RecordError::NotJson`] for key material that JSON cannot express.
    pub fn key(name: &str, key: &impl Serialize) -> Result<Digest, RecordError> {
        // As text: the digest of a value would panic on what is no JSON.
        let text = serde_json::to_string(key).map_err(|error| not_json(name, "key", &error))?;
        Ok(Digest::of(&(name, text)))
    }

    /// Adds figures to the side file. Without one, they are forgotten.
    ///
    /// # Errors
    /// Those of [`SideFile::append`].
    pub fn append(&self, records: &[SideRecord], durability: Durability) -> Result<(), SideError> {
        match &self.shared.side {
            Some(side) => lock(side).append(records, durability),
            None => Ok(()),
        }
    }

    /// What calls have cost since this was last asked, failed ones included. What earlier runs have
    /// paid is in [`SideRecords::usage_so_far`].
    pub fn take_usage(&self) -> Usage {
        std::mem::take(&mut lock(&self.shared.spending).usage)
    }

    /// How long calls of this run were under way. Calls at the same time count once.
    pub fn wall(&self) -> Duration {
        let spending = lock(&self.shared.spending);
        spending.wall + spending.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The time on the clock of records.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn ask<T, F>(&self, name: &str, key: Digest, ask: F) -> Result<Value, RecordError>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce() -> Result<(T, Usage), Failure>,
    {
        // Better no answer than one that is paid for and cannot be kept.
        if let Some(side) = &self.shared.side {
            lock(side).ready()?;
        }
        let at = self.clock.now();
        let began = Instant::now();
        let under_way = UnderWay::new(&self.shared.spending);
        let result = ask().await;
        drop(under_way);
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (answer, usage) = match result {
            Ok(answered) => answered,
            Err(source) => {
                self.waste(source.usage);
                return Err(RecordError::Failed { name: name.to_owned(), source });
            }
        };
        lock(&self.shared.spending).usage += usage;
        let answer =
            serde_json::to_value(answer).map_err(|error| not_json(name, "answer", &error))?;
        // What could not be read again is not recorded.
        read::<T>(name, key, &answer)?;
        let name = name.to_owned();
        let record = SideRecord::Outside { key, name, answer: answer.clone(), usage, took_us, at };
        self.append(&[record], Durability::Synced)?;
        Ok(answer)
    }

    fn waste(&self, usage: Usage) {
        if usage != Usage::default() {
            lock(&self.shared.spending).usage += usage;
            // The failure says more; the next call reports a side file that takes nothing.
            let _ = self.append(&[SideRecord::Wasted { calls: 1, usage }], Durability::Lazy);
        }
    }
}

/// Counts a call as long as it is not dropped: it may be cancelled.
struct UnderWay<'a>(&'a Mutex<Spending>);

impl<'a> UnderWay<'a> {
    fn new(spending: &'a Mutex<Spending>) -> Self {
        let mut counts = lock(spending);
        counts.under_way += 1;
        counts.since.get_or_insert_with(Instant::now);
        drop(counts);
        Self(spending)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut counts = lock(self.0);
        counts.under_way -= 1;
        if counts.under_way == 0 {
            let since = counts.since.take();
            counts.wall += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}

#[derive(Clone)]
struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(Timestamp::now))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

fn read<T: DeserializeOwned>(name: &str, key: Digest, answer: &Value) -> Result<T, RecordError> {
    T::deserialize(answer).map_err(|error| RecordError::Unreadable {
        name: name.to_owned(),
        key,
        reason: error.to_string(),
    })
}

fn not_json(name: &str, what: &'static str, error: &serde_json::Error) -> RecordError {
    RecordError::NotJson { name: name.to_owned(), what, reason: error.to_string() }
}

/// Everything behind these locks is whole at any time, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
