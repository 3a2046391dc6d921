//! The ledger: an append-only, hash-chained record of everything that decides the result.
//!
//! It is the same for every [`Machine`](crate::Machine): what an entry records is a [`Body`] of the
//! machine's own, how entries follow each other is not.

pub(crate) mod body;
mod inert;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod restore_error;

pub use body::{Body, Departure, Look, Opening, Settings};
pub use inert::{escape_json, is_harmful};
pub use record::{
    ContextRecord, ForkChanges, Forked, Observation, Opened, RecordedAnswer, Refusal, Warning,
};
pub use replay::{Replay, fork, restore};
pub use restore_error::{ForkError, RestoreError};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contract::packet::{Decision, LocalContext};
use crate::controller::entry_body::{EntryBody, Evaluation};
use crate::digest::Digest;

/// One record. Its hash covers its number, its body and the hash of the entry before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "B: DeserializeOwned"))]
pub struct Entry<B = EntryBody> {
    /// The number of the entry, counted from 0.
    pub seq: u64,
    /// The hash of the entry before; all zero for the first.
    pub previous: Digest,
    /// The hash of this entry.
    pub hash: Digest,
    /// What happened.
    pub body: B,
}

impl<B: Body> Entry<B> {
    fn chained(seq: u64, previous: Digest, body: B) -> Self {
        let hash = Self::hash_of(seq, previous, &body);
        Self { seq, previous, hash, body }
    }

    fn hash_of(seq: u64, previous: Digest, body: &B) -> Digest {
        Digest::of(&(seq, previous, body))
    }

    /// Whether this may be entry `seq` of a ledger whose entry before has the hash `previous`.
    ///
    /// # Errors
    /// [`LedgerError`] says why not: a format this program does not know, a second opening, or a
    /// number, link or hash that does not fit.
    pub fn follows(&self, seq: u64, previous: Digest) -> Result<(), LedgerError> {
        match self.body.opening() {
            Some(opening) if opening.format != B::FORMAT => {
                return Err(LedgerError::UnknownFormat {
                    format: opening.format,
                    reads: B::FORMAT,
                });
            }
            Some(_) if seq > 0 => return Err(LedgerError::OpenedAgain { seq }),
            _ => {}
        }
        let expected = Self::hash_of(seq, previous, &self.body);
        if (self.seq, self.previous, self.hash) == (seq, previous, expected) {
            return Ok(());
        }
        Err(LedgerError::BrokenChain { seq, expected, found: self.hash })
    }
}

/// An entry as one line of JSON, the bytes that its hash is made of.
fn plain_line<B: Serialize>(entry: &Entry<B>) -> String {
    String::from_utf8_lossy(&crate::digest::canonical_bytes(entry)).into_owned()
}

/// Its number and the first digits of its hash, such as `entry 3 (5d41402a)`.
impl<B> std::fmt::Display for Entry<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entry {} ({:.8})", self.seq, self.hash.to_string())
    }
}

/// The tag of what an entry records, given the entry as JSON: that of the first entry identifies
/// the machine of the ledger ([`Body::OPENING`]). `None` if this is no entry.
///
/// ```
/// let entry = br#"{"seq":0,"previous":"00","hash":"00","body":{"opened":{}}}"#;
/// assert_eq!(eog_core::ledger::opening_tag(entry).as_deref(), Some("opened"));
/// assert_eq!(eog_core::ledger::opening_tag(b"{}"), None);
/// ```
pub fn opening_tag(entry: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Tagged {
        body: BTreeMap<String, serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Tagged>(entry).ok()?.body.into_keys().next()
}

/// The ledger in memory.
///
/// ```
/// use eog_core::{Case, Config, Controller, EntityId, Seed, Topology, Window};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
/// let controller = Controller::new(Config::default(), case);
/// assert_eq!(controller.ledger().entries().len(), 1);
/// controller.ledger().verify()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger<B = EntryBody> {
    entries: Vec<Arc<Entry<B>>>,
    /// The entry that holds the body of each context.
    contexts: BTreeMap<Digest, u64>,
    /// What was recorded in place of the next entry, while a ledger is derived again.
    expected: Option<Arc<Entry<B>>>,
}

impl<B> Default for Ledger<B> {
    fn default() -> Self {
        Self { entries: Vec::new(), contexts: BTreeMap::new(), expected: None }
    }
}

impl<B: Body> Ledger<B> {
    /// All entries, oldest first.
    pub fn entries(&self) -> &[Arc<Entry<B>>] {
        &self.entries
    }

    /// The entry of this number, if there is one.
    pub fn entry(&self, seq: u64) -> Option<&Arc<Entry<B>>> {
        self.entries.get(usize::try_from(seq).ok()?)
    }

    /// The whole input of the investigation, if the ledger has begun.
    pub fn opening(&self) -> Option<Opening<'_>> {
        self.entries.first()?.body.opening()
    }

    /// The body of a context, which stands in the first entry that saw it.
    pub fn context(&self, digest: &Digest) -> Option<&LocalContext> {
        let look = self.entry_of_context(digest)?.body.look()?;
        look.context?.body.as_ref()
    }

    /// The entry that holds the body of a context: the first that saw it.
    pub fn entry_of_context(&self, digest: &Digest) -> Option<&Arc<Entry<B>>> {
        self.entry(*self.contexts.get(digest)?)
    }

    /// The number the next entry will have.
    pub fn next_seq(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The hash of the last entry; all zero when there is none.
    pub fn head(&self) -> Digest {
        self.entries.last().map_or(Digest::ZERO, |entry| entry.hash)
    }

    /// The first entries, without those from number `end` on.
    #[must_use]
    pub fn before(&self, end: u64) -> Self {
        let kept = usize::try_from(end).unwrap_or(usize::MAX).min(self.entries.len());
        let mut ledger = Self::default();
        for entry in &self.entries[..kept] {
            ledger.take_in(Arc::clone(entry));
        }
        ledger
    }

    /// Every entry as one line of JSON: the bytes of `ledger.jsonl`. Characters that could do harm where
    /// the file is shown ([`is_harmful`]) are escaped.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            text.push_str(&escape_json(&plain_line(entry)));
            text.push('\n');
        }
        text
    }

    /// Reads what [`Ledger::to_json_lines`] wrote, and checks the chain. Every byte counts: a line
    /// that says the same in other bytes is refused.
    ///
    /// # Errors
    /// [`LedgerError`] names the first line that is not an entry, a format this program does not
    /// know, or the first broken link.
    pub fn from_json_lines(text: &str) -> Result<Self, LedgerError> {
        let mut ledger = Self::default();
        for (line, text) in (1..).zip(text.split_terminator('\n')) {
            let not_an_entry = |reason: String| LedgerError::NotAnEntry { line, reason };
            // From bytes, as journals are read: a program that reads both has the parser of entries once.
            let entry: Entry<B> = serde_json::from_slice(text.as_bytes())
                .map_err(|error| not_an_entry(unreadable(&error)))?;
            let plain = plain_line(&entry);
            // Older ledgers escaped nothing.
            if plain != text && escape_json(&plain) != text {
                return Err(not_an_entry("it is not written the way a ledger is".to_owned()));
            }
            ledger.push(entry)?;
        }
        Ok(ledger)
    }

    /// Adds an entry that was read from somewhere, if it follows from the last one. Costs no more
    /// the longer the ledger is.
    ///
    /// # Errors
    /// What [`Entry::follows`] says. The ledger is unchanged then.
    pub fn push(&mut self, entry: Entry<B>) -> Result<(), LedgerError> {
        entry.follows(self.next_seq(), self.head())?;
        self.take_in(Arc::new(entry));
        Ok(())
    }

    fn take_in(&mut self, entry: Arc<Entry<B>>) {
        if let Some(record) = entry.body.look().and_then(|look| look.context)
            && record.body.is_some()
        {
            self.contexts.entry(record.digest).or_insert(entry.seq);
        }
        self.entries.push(entry);
    }

    /// Checks numbers, hashes and links of the whole chain.
    ///
    /// # Errors
    /// [`LedgerError`] names the first entry that does not fit.
    pub fn verify(&self) -> Result<(), LedgerError> {
        let mut previous = Digest::ZERO;
        for (seq, entry) in (0..).zip(&self.entries) {
            entry.follows(seq, previous)?;
            previous = entry.hash;
        }
        Ok(())
    }

    /// Appends a body and returns its entry. For machines alone: a ledger that was read from somewhere
    /// grows by [`Ledger::push`].
    pub fn append(&mut self, body: B) -> Arc<Entry<B>> {
        let (seq, previous) = (self.next_seq(), self.head());
        let is_as_expected = |expected: &Arc<Entry<B>>| {
            (expected.seq, expected.previous) == (seq, previous) && expected.body == body
        };
        let entry = match self.expected.take().filter(is_as_expected) {
            // Its hash was checked when it came into a ledger.
            Some(expected) => expected,
            None => Arc::new(Entry::chained(seq, previous, body)),
        };
        self.take_in(Arc::clone(&entry));
        entry
    }

    /// Names the recorded entry that the next one appended should equal. If it does, it is taken in
    /// itself: nothing is hashed or held twice.
    pub fn expect(&mut self, recorded: &Arc<Entry<B>>) {
        self.expected = Some(Arc::clone(recorded));
    }

    /// The record of a context for the next entry: with its body when it is new to this ledger.
    pub fn record_context(&self, context: &LocalContext) -> ContextRecord {
        let digest = Digest::of(context);
        let body = (!self.contexts.contains_key(&digest)).then(|| context.clone());
        ContextRecord { digest, body }
    }
}

impl Entry {
    /// The evaluation, if the entry is one.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        match &self.body {
            EntryBody::Evaluated(evaluation) => Some(evaluation),
            _ => None,
        }
    }
}

impl Ledger {
    /// The evaluations, oldest first.
    pub fn evaluations(&self) -> impl Iterator<Item = &Evaluation> {
        self.entries().iter().filter_map(|entry| entry.evaluation())
    }

    /// The evaluation of this number among the entries, if that is one.
    pub(crate) fn evaluation(&self, entry: u64) -> Option<&Evaluation> {
        self.entry(entry)?.evaluation()
    }

    /// The decision that this entry holds, if it holds one.
    pub(crate) fn decision(&self, entry: u64) -> Option<&Decision> {
        match &self.evaluation(entry)?.answer {
            RecordedAnswer::Decided(decision) => Some(decision),
            RecordedAnswer::Remembered { .. } | RecordedAnswer::Failed(_) => None,
        }
    }

    /// The decision of this entry, whether it holds it or remembers it.
    pub(crate) fn decided(&self, entry: u64) -> Option<&Decision> {
        match &self.evaluation(entry)?.answer {
            RecordedAnswer::Remembered { entry } => self.decision(*entry),
            RecordedAnswer::Decided(decision) => Some(decision),
            RecordedAnswer::Failed(_) => None,
        }
    }
}

/// Why a line is no entry. The parser sees this one line alone, so that its own number of it, always 1, would be
/// beside the number in the file.
fn unreadable(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "it ends in the middle of an entry, as when a file was cut off; take a whole copy, or remove this \
                line to go on with those before it"
            .to_owned();
    }
    let (whole, column) = (error.to_string(), error.column());
    match whole.strip_suffix(&format!(" at line {} column {column}", error.line())) {
        Some(reason) => format!("{reason}, at column {column}"),
        None => whole,
    }
}

/// A ledger that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A line is not an entry of a known format.
    #[error("line {line} is not a ledger entry: {reason}")]
    NotAnEntry {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The ledger was written in a format that this program does not know.
    #[error("the ledger has format {format}, but this program reads format {reads}")]
    UnknownFormat {
        /// The format of the ledger.
        format: u32,
        /// The format that this program reads.
        reads: u32,
    },
    /// An entry holds the input of an investigation, and is not the first.
    #[error("entry {seq} opens the ledger again; only the first entry may")]
    OpenedAgain {
        /// The entry.
        seq: u64,
    },
    /// An entry does not follow from the one before.
    #[error("entry {seq} breaks the chain: its hash should be {expected}, but it is {found}")]
    BrokenChain {
        /// The entry.
        seq: u64,
        /// The hash that follows from its content and predecessor.
        expected: Digest,
        /// The recorded hash.
        found: Digest,
    },
}
