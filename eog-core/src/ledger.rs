//! The ledger: an append-only, hash-chained record of everything that decides the result.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::active::Reason;
use crate::belief::{Belief, ClaimEdge};
use crate::case::{Anomaly, Case};
use crate::config::Config;
use crate::contract::Failure;
use crate::digest::Digest;
use crate::ids::{EntityId, EvidenceId};
use crate::packet::{Decision, LocalContext};
use crate::topology::Edge;

/// The version of the ledger's format, recorded in its first entry.
pub const LEDGER_FORMAT: u32 = 1;

/// One record. Its hash covers its number, its body and the hash of the entry before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The number of the entry, counted from 0.
    pub seq: u64,
    /// The hash of the entry before; all zero for the first.
    pub previous: Digest,
    /// The hash of this entry.
    pub hash: Digest,
    /// What happened.
    pub body: EntryBody,
}

impl Entry {
    fn chained(seq: u64, previous: Digest, body: EntryBody) -> Self {
        let hash = Self::hash_of(seq, previous, &body);
        Self { seq, previous, hash, body }
    }

    fn hash_of(seq: u64, previous: Digest, body: &EntryBody) -> Digest {
        Digest::of(&(seq, previous, body))
    }

    /// Whether this may be entry `seq` of a ledger whose entry before has the hash `previous`.
    ///
    /// # Errors
    /// [`LedgerError`] says why not: a format this program does not know, a second opening, or a
    /// number, link or hash that does not fit.
    pub fn follows(&self, seq: u64, previous: Digest) -> Result<(), LedgerError> {
        match &self.body {
            EntryBody::Opened(opened) if opened.format != LEDGER_FORMAT => {
                return Err(LedgerError::UnknownFormat { format: opened.format });
            }
            EntryBody::Opened(_) if seq > 0 => return Err(LedgerError::OpenedAgain { seq }),
            _ => {}
        }
        let expected = Self::hash_of(seq, previous, &self.body);
        if (self.seq, self.previous, self.hash) == (seq, previous, expected) {
            return Ok(());
        }
        Err(LedgerError::BrokenChain { seq, expected, found: self.hash })
    }

    /// The evaluation, if the entry is one.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        match &self.body {
            EntryBody::Evaluated(evaluation) => Some(evaluation),
            _ => None,
        }
    }
}

/// What an entry records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryBody {
    /// The whole input. Always entry 0, and only there.
    Opened(Box<Opened>),
    /// One evaluation of one entity.
    Evaluated(Box<Evaluation>),
    /// Something new about the world.
    Observed(Box<Observed>),
    /// Dispatching had stopped before what follows, for a reason that the chain cannot tell.
    Halted(HaltCause),
    /// Dispatching goes on after a halt that is recorded.
    Resumed,
    /// From here on the investigation takes another course than the one it was copied from.
    Forked(Box<Forked>),
}

/// Why dispatching stopped, where only the outside world knows.
///
/// A halt after which nothing was committed leaves no trace: going on gives the ledger of a run that
/// was never halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltCause {
    /// Time was up.
    Deadline,
    /// The budget of model calls was used up.
    ModelCalls,
    /// The budget of tokens was used up.
    Tokens,
    /// The budget of money was used up.
    Cost,
    /// Somebody cancelled; what was under way was discarded.
    Cancelled,
}

/// A fork: what stands before it was copied from another ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forked {
    /// The hash of the last entry that the parent had, beyond those copied.
    pub parent: Digest,
    /// What is different from here on.
    pub changes: ForkChanges,
}

/// What a fork changes. What it does not name stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkChanges {
    /// Who judges from here on, if somebody else does. Decisions made before are not remembered
    /// then; beliefs stay until their entities are evaluated again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The configuration from here on, if another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
}

/// The whole input of an investigation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// [`LEDGER_FORMAT`] of the writer.
    pub format: u32,
    /// Every choice of the controller.
    pub config: Config,
    /// Topology, seeds, window, anomalies and how they were chosen.
    pub case: Case,
}

/// One evaluation: what was seen, what was answered, what followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The number of the evaluation, counted from 1 in dispatch order.
    pub number: u64,
    /// The evaluated entity.
    pub entity: EntityId,
    /// How often it had been dispatched in this epoch, with this one.
    pub visit: u32,
    /// Why it was active.
    pub reason: Reason,
    /// The entry that activated it.
    pub activated_by: u64,
    /// The local context, unless it could not be had.
    pub context: Option<ContextRecord>,
    /// The digest of the packet, unless there was none.
    pub packet: Option<Digest>,
    /// What came back.
    pub answer: RecordedAnswer,
    /// What was taken out of the decision, and why.
    pub refusals: Vec<Refusal>,
    /// What was accepted with a doubt.
    pub warnings: Vec<Warning>,
    /// What followed for the entity.
    pub outcome: Outcome,
    /// Who became active, and who was refused, in order.
    pub activations: Vec<ActivationRecord>,
}

/// A local context by digest; its body stands in the first entry that saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRecord {
    /// The digest of the context.
    pub digest: Digest,
    /// The context, where this ledger sees it for the first time.
    pub body: Option<LocalContext>,
}

/// The raw answer to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// The policy's decision as it came.
    Decided(Decision),
    /// The packet was unchanged; the decision is that of an earlier entry.
    Remembered {
        /// The entry that holds the decision.
        entry: u64,
    },
    /// No decision could be had.
    Failed(Failure),
}

/// What an evaluation changed about its entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The belief that holds from now on.
    pub belief: Belief,
    /// Why the belief counts as changed, if it does.
    pub change: Option<ChangeCause>,
    /// Flips of this epoch so far.
    pub flips: u32,
    /// Whether the entity is damped for good ([`Damping::Absorbing`](crate::Damping::Absorbing)).
    pub damped: bool,
    /// Whether the belief is older than a failed evaluation.
    pub stale: bool,
    /// Who received the belief.
    pub broadcast_to: Vec<EntityId>,
}

/// Why a belief counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeCause {
    /// It is the entity's first.
    First,
    /// Label or claim edges differ.
    Signature,
    /// It cites local evidence never cited before.
    NewEvidence,
    /// Label or summary text differ (the paper's rule).
    Text,
}

/// A part of a decision that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// An `Origin` that cites nothing of the entity's own contexts; it became `Defer`.
    OriginWithoutLocalEvidence,
    /// A summary, condition or observation of more than 2,000 characters; the rest was cut off.
    TextCut,
    /// A cited id that neither an own context nor the inbox holds.
    UnknownEvidence(EvidenceId),
    /// A claim with no known evidence left.
    ClaimWithoutEvidence(ClaimEdge),
    /// A claim between two other entities.
    ClaimBetweenOthers(ClaimEdge),
    /// A claim from the entity to itself.
    ClaimOnItself(ClaimEdge),
    /// A claim about an entity nobody named.
    ClaimOnUnknownEntity(ClaimEdge),
    /// A claim that would admit one entity too many.
    ClaimBeyondEntityCap(ClaimEdge),
    /// A proposal of an entity nobody named.
    ProposalUnknown(EntityId),
    /// A proposal of an entity already visited.
    ProposalVisited(EntityId),
    /// A proposal of an entity already waiting.
    ProposalQueued(EntityId),
    /// A proposal made twice in one decision.
    ProposalRepeated(EntityId),
    /// A proposal beyond the cap per decision.
    ProposalBeyondCap(EntityId),
}

/// Something accepted with a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The decision cites nothing.
    Uncited,
    /// A `Symptom`, and no live claim says of what.
    SymptomWithoutCause,
}

/// One attempt to make an entity active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivationRecord {
    /// The entity.
    pub entity: EntityId,
    /// Why.
    pub reason: Reason,
    /// Why not, if it was refused.
    pub refused: Option<ActivationRefusal>,
}

/// Why an entity did not become active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationRefusal {
    /// It is damped.
    Damped,
    /// It has used its visits.
    VisitLimit,
    /// One entity too many.
    EntityCap,
}

/// Something new about the world, and whom it woke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// What is new.
    pub observation: Observation,
    /// Who became active, and who was refused, in order.
    pub activations: Vec<ActivationRecord>,
}

/// Something new about the world, fed to a running or finished investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Observation {
    /// A new alert.
    Anomaly(Anomaly),
    /// A dependency came to light or into being.
    EdgeAdded(Edge),
    /// A dependency is gone. Claims stay.
    EdgeRemoved(Edge),
    /// An entity has new local evidence.
    NewEvidence(EntityId),
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<Arc<Entry>>,
    contexts: BTreeSet<Digest>,
    /// What was recorded in place of the next entry, while a ledger is derived again.
    expected: Option<Arc<Entry>>,
}

impl Ledger {
    /// All entries, oldest first.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The evaluations, oldest first.
    pub fn evaluations(&self) -> impl Iterator<Item = &Evaluation> {
        self.entries.iter().filter_map(|entry| entry.evaluation())
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

    /// Every entry as one line of JSON: the bytes of `ledger.jsonl`.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let line = crate::digest::canonical_bytes(entry);
            text.push_str(&String::from_utf8_lossy(&line));
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
            let entry: Entry =
                serde_json::from_str(text).map_err(|error| not_an_entry(error.to_string()))?;
            if crate::digest::canonical_bytes(&entry) != text.as_bytes() {
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
    pub fn push(&mut self, entry: Entry) -> Result<(), LedgerError> {
        entry.follows(self.next_seq(), self.head())?;
        self.take_in(Arc::new(entry));
        Ok(())
    }

    fn take_in(&mut self, entry: Arc<Entry>) {
        if let EntryBody::Evaluated(evaluation) = &entry.body {
            let new = evaluation.context.iter().filter(|context| context.body.is_some());
            self.contexts.extend(new.map(|context| context.digest));
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

    /// Appends a body and returns the entry.
    pub(crate) fn append(&mut self, body: EntryBody) -> Arc<Entry> {
        let (seq, previous) = (self.next_seq(), self.head());
        let is_as_expected = |expected: &Arc<Entry>| {
            (expected.seq, expected.previous) == (seq, previous) && expected.body == body
        };
        let entry = match self.expected.take().filter(is_as_expected) {
            // Its hash was checked when it came into a ledger.
            Some(expected) => expected,
            None => Arc::new(Entry::chained(seq, previous, body)),
        };
        self.entries.push(Arc::clone(&entry));
        entry
    }

    /// Names the recorded entry that the next one appended should equal. If it does, it is taken in
    /// itself: nothing is hashed or held twice.
    pub(crate) fn expect(&mut self, recorded: &Arc<Entry>) {
        self.expected = Some(Arc::clone(recorded));
    }

    /// The evaluation of this number among the entries, if that is one.
    pub(crate) fn evaluation(&self, entry: u64) -> Option<&Evaluation> {
        self.entries.get(usize::try_from(entry).ok()?)?.evaluation()
    }

    /// The decision that this entry holds, if it holds one.
    pub(crate) fn decision(&self, entry: u64) -> Option<&Decision> {
        match &self.evaluation(entry)?.answer {
            RecordedAnswer::Decided(decision) => Some(decision),
            RecordedAnswer::Remembered { .. } | RecordedAnswer::Failed(_) => None,
        }
    }

    /// The record of a context: with its body when it is new to this ledger.
    pub(crate) fn record_context(&mut self, context: &LocalContext) -> ContextRecord {
        let digest = Digest::of(context);
        let body = self.contexts.insert(digest).then(|| context.clone());
        ContextRecord { digest, body }
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
    #[error("the ledger has format {format}, but this program reads format {LEDGER_FORMAT}")]
    UnknownFormat {
        /// The format of the ledger.
        format: u32,
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
        /// The hash it bears.
        found: Digest,
    },
}
