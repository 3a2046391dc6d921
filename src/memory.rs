//! Decision memory: decisions kept across runs, so that no question is paid for twice.

mod error;
mod folder;
mod identity;
mod record;
mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use eog_core::machine::{QuestionKind, Responder, Response};
use eog_core::{
    AbductivePolicy, Answer, BoxFuture, ContextPacket, Digest, EntityId, Failure, Usage,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::MemoryError;
use folder::Folder;
pub use identity::command_identity;
use record::{Question, Record};
pub use store::{DecisionKey, DecisionStore};

/// Decisions that outlive a run. [`Remembering`] puts it in front of a policy.
///
/// They are kept in a folder, unless another [`DecisionStore`] is given. Clones share place and figures.
/// Several processes may share a folder, too: each decision is a file of its own, written whole or not at
/// all. `docs/embedding.md` describes the files.
///
/// ```
/// use eog::{DecisionMemory, Label, Remembering};
/// use eog_testkit::{ask, healthy, packet, policy_fn};
/// let folder = tempfile::tempdir()?;
/// let memory = DecisionMemory::open(folder.path().join("memory"))?;
/// let policy = Remembering::new(policy_fn(healthy), memory.clone(), "optimist 1.0");
///
/// let packet = packet("db").build();
/// assert!(!ask(&policy, &packet)?.remembered);
/// let again = ask(&policy, &packet)?;
/// assert!(again.remembered);
/// assert_eq!(again.decision.label, Label::Healthy);
/// assert_eq!((memory.figures().hits, memory.figures().misses), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecisionMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Box<dyn DecisionStore>,
    tally: Mutex<Tally>,
    /// Questions under way, so that each is asked once.
    turns: Mutex<BTreeMap<Digest, Weak<Turn>>>,
}

/// Reads the file of a question that was never asked.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_any(bytes: &[u8]) {
    let entity = EntityId::new("db").unwrap_or_else(|error| unreachable!("{error}"));
    let question = Question::new("nobody", &entity, &"asked");
    if let Ok(record) = Record::<eog_core::Decision>::read(bytes, &question) {
        let _ = record.into_response();
    }
}

/// Held by who is asking; holds the record of the answer for those who waited.
type Turn = tokio::sync::Mutex<Option<Vec<u8>>>;

#[derive(Debug, Default)]
struct Tally {
    figures: MemoryFigures,
    first_write_error: Option<String>,
    first_damage: Option<String>,
}

/// What a memory was good for since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryFigures {
    /// Questions whose decision was known.
    pub hits: u64,
    /// Questions that were asked of the policy.
    pub misses: u64,
    /// Decisions that were found changed or unreadable. Their questions were asked again.
    pub damaged: u64,
    /// Decisions that could not be stored. They were used all the same.
    pub unstored: u64,
    /// What the known decisions had cost when they were asked for.
    pub saved: Usage,
}

impl DecisionMemory {
    /// Opens a folder, made if absent, and makes sure that it can be written to.
    ///
    /// # Errors
    /// [`MemoryError`] when there is something else of that name, or the folder cannot be made or
    /// written to.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, MemoryError> {
        Ok(Self::on(Folder::open(folder.as_ref())?))
    }

    /// Keeps decisions elsewhere, with the same bytes.
    pub fn on(store: impl DecisionStore + 'static) -> Self {
        let (tally, turns) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { store: Box::new(store), tally, turns }))
    }

    /// The folder, as an absolute path; elsewhere, what messages call the place.
    pub fn path(&self) -> &Path {
        self.0.store.path()
    }

    /// What the memory was good for so far.
    pub fn figures(&self) -> MemoryFigures {
        self.tally().figures
    }

    /// Why the first decision that could not be stored was not, if there is one.
    pub fn first_write_error(&self) -> Option<String> {
        self.tally().first_write_error.clone()
    }

    /// What was wrong with the first decision that was found changed or unreadable, if there is one.
    pub fn first_damage(&self) -> Option<String> {
        self.tally().first_damage.clone()
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.0.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a question, shared by all who ask it now.
    fn turn(&self, question: &Question<'_>) -> Arc<Turn> {
        let mut turns = self.0.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(&question.digest).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Turn::default());
        turns.insert(question.digest, Arc::downgrade(&turn));
        turn
    }

    /// The answer to a question: the one that is known, or else the one that `ask` gives, which is
    /// kept. For responders with questions of their own kind; [`Remembering`] does the same for
    /// policies and responders.
    ///
    /// # Errors
    /// The failure of `ask`, which is never kept.
    pub async fn answer<A: Clone + Serialize + DeserializeOwned>(
        &self,
        identity: &str,
        about: &EntityId,
        asked: &impl Serialize,
        ask: impl Future<Output = Result<Response<A>, Failure>>,
    ) -> Result<Response<A>, Failure> {
        let question = Question::new(identity, about, asked);
        let turn = self.turn(&question);
        let mut answered = turn.lock().await;
        let just_now = answered.as_ref().and_then(|bytes| Record::read(bytes, &question).ok());
        let known = just_now.map(Record::into_response).or_else(|| self.recall(&question));
        if let Some(known) = known {
            let figures = &mut self.tally().figures;
            figures.hits += 1;
            figures.saved += known.usage;
            return Ok(Response { usage: Usage::default(), remembered: true, ..known });
        }
        self.tally().figures.misses += 1;
        let response = ask.await?;
        let bytes = Record::new(&question, &response).to_bytes();
        self.keep(&question, &bytes);
        *answered = Some(bytes);
        Ok(response)
    }

    /// The stored answer to a question, with what it had cost.
    fn recall<A: Clone + Serialize + DeserializeOwned>(
        &self,
        question: &Question<'_>,
    ) -> Option<Response<A>> {
        let key = question.key();
        let bytes = match self.0.store.read(&key) {
            Ok(bytes) => bytes?,
            Err(error) => {
                self.damaged(error.to_string());
                return None;
            }
        };
        match Record::read(&bytes, question) {
            Ok(record) => Some(record.into_response()),
            Err(reason) => {
                let path = self.path().display();
                let question = key.question();
                self.damaged(format!("the decision {question} in {path} is not used: {reason}"));
                None
            }
        }
    }

    fn damaged(&self, reason: String) {
        let mut tally = self.tally();
        tally.figures.damaged += 1;
        tally.first_damage.get_or_insert(reason);
    }

    /// Stores an answer. One that cannot be stored is still an answer.
    fn keep(&self, question: &Question<'_>, bytes: &[u8]) {
        if let Err(error) = self.0.store.write(&question.key(), bytes) {
            let mut tally = self.tally();
            tally.figures.unstored += 1;
            tally.first_write_error.get_or_insert_with(|| error.to_string());
        }
    }
}

/// A policy that is called only for packets that no earlier run has decided.
///
/// A decision is known by the packet and the *identity* of the policy: what decides the answer
/// besides the packet, such as name, version, model and prompt. A change of any of it must
/// change the identity. Failures are never remembered. The same question asked twice at once is
/// asked once.
///
/// A known decision comes back as an [`Answer`] that cost nothing and is marked `remembered`. The
/// ledger is the same byte for byte as if the policy had given it.
///
/// Reading and storing block the thread: storing for the time of a few `fsync`s.
///
/// The example on [`DecisionMemory`] shows one at work.
pub struct Remembering<P> {
    policy: P,
    memory: DecisionMemory,
    identity: String,
}

impl<P> Remembering<P> {
    /// Puts a memory in front of a policy.
    pub fn new(policy: P, memory: DecisionMemory, identity: impl Into<String>) -> Self {
        Self { policy, memory, identity: identity.into() }
    }
}

impl<P: AbductivePolicy> AbductivePolicy for Remembering<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        let ask = async {
            let Answer { decision: answer, usage, model, remembered } =
                self.policy.decide(packet).await?;
            Ok(Response { answer, usage, model, remembered })
        };
        Box::pin(async {
            let response = self.memory.answer(&self.identity, &packet.entity, packet, ask).await?;
            let Response { answer: decision, usage, model, remembered } = response;
            Ok(Answer { decision, usage, model, remembered })
        })
    }

    fn timeout(&self) -> Option<Duration> {
        self.policy.timeout()
    }
}

/// Questions of machines with questions of their own: those for policies are remembered, those for
/// sources of evidence are always asked.
impl<Q, R> Responder<Q> for Remembering<R>
where
    Q: eog_core::machine::Question<Answer: Serialize + DeserializeOwned> + Serialize,
    R: Responder<Q>,
{
    fn respond<'a>(
        &'a self,
        question: &'a Q,
    ) -> BoxFuture<'a, Result<Response<Q::Answer>, Failure>> {
        let ask = self.policy.respond(question);
        match question.kind() {
            QuestionKind::Context => ask,
            QuestionKind::Policy => {
                Box::pin(self.memory.answer(&self.identity, question.key(), question, ask))
            }
        }
    }

    fn timeout(&self, question: &Q) -> Option<Duration> {
        self.policy.timeout(question)
    }
}

impl<P> fmt::Debug for Remembering<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Remembering");
        debug.field("memory", &self.memory).field("identity", &self.identity);
        debug.finish_non_exhaustive()
    }
}
