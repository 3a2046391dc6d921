//! Machines: controllers behind one interface, so that engine, journal, replay and reports serve each
//! of them.
//!
//! A machine decides what to evaluate next and what follows from each answer. It performs no I/O, reads no
//! clock and draws no random number that it does not record. The caller feeds it one [`Input`],
//! then drains [`Machine::poll`] until it returns [`Output::Idle`] or [`Output::Done`].

pub(crate) mod emission;
pub(crate) mod exchange;
pub(crate) mod inquiry;
pub(crate) mod judgements;
mod plain;
pub(crate) mod question;
pub(crate) mod responder;

pub use emission::Emission;
pub use exchange::{Input, InputError, Output, Ticket};
pub use inquiry::{ContextAndPolicy, Inquiry, Reply};
pub use judgements::{Judged, Judgements};
pub use plain::{PlainError, drive};
pub use question::{Question, QuestionKind};
pub use responder::{Responder, Response};

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Serialize;

use crate::belief::Message;
use crate::budget::Spent;
use crate::contract::{AbductivePolicy, ContextContract};
use crate::diagnosis::Diagnosis;
use crate::diagnosis::conclude::Conclusion;
use crate::ids::EntityId;
use crate::incident::case::Case;
use crate::ledger::body::{Body, Settings};
use crate::ledger::record::Forked;
use crate::ledger::restore_error::RestoreError;
use crate::ledger::{Entry, Ledger};
use crate::stop::StopReason;

/// A deterministic controller: [`Controller`](crate::Controller) is the one of *Explanations over
/// Graphs*, [`Linear`](crate::Linear) a loop that evaluates, notes and goes on.
///
/// The methods come in five groups:
///
/// - **Ask:** [`by_policy`](Machine::by_policy).
/// - **Drive:** [`open`](Machine::open), [`poll`](Machine::poll), [`handle`](Machine::handle).
/// - **Inspect:** [`ledger`](Machine::ledger), [`spent`](Machine::spent), [`stop`](Machine::stop),
///   [`conclusion`](Machine::conclusion), [`diagnosis`](Machine::diagnosis); at any time.
/// - **Look ahead:** [`upcoming`](Machine::upcoming) and [`follow_up`](Machine::follow_up), for
///   callers that ask questions before their turn.
/// - **Repeat:** [`reopen`](Machine::reopen), [`repeat`](Machine::repeat) and
///   [`depart`](Machine::depart), which [`Replay`](crate::Replay) and [`fork`](crate::ledger::fork) drive.
///
/// Driving a machine is the same for each of them:
///
/// ```
/// use eog_core::{Case, Config, Controller, Decision, EntityId, Input, Label, Linear, LinearConfig, LocalContext, Machine, Output, Seed, StopReason, Topology, Usage, Window};
/// use eog_core::machine::{Inquiry, Reply};
///
/// /// Every entity is well.
/// fn run<M: Machine<Question = Inquiry>>(mut machine: M) -> Result<StopReason, Box<dyn std::error::Error>> {
///     loop {
///         let input = match machine.poll() {
///             Output::Append(entry) => Input::Appended(entry.seq),
///             Output::Ask { ticket, question } => {
///                 let answer = match question {
///                     Inquiry::Context(_) => Reply::Context(LocalContext::default()),
///                     Inquiry::Decision(_) => {
///                         Reply::Decision(Decision::new(Label::Healthy, "nothing unusual"))
///                     }
///                 };
///                 Input::Answer(ticket, answer, Usage::default())
///             }
///             Output::Done(stop) => return Ok(stop),
///             Output::Idle => return Err("a loop that answers at once is never waited for".into()),
///         };
///         machine.handle(input)?;
///     }
/// }
///
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
/// let converged = StopReason::Converged { refused_wakes: 0 };
/// assert_eq!(run(Controller::open(Config::default(), case.clone()))?, converged);
/// assert_eq!(run(Linear::open(LinearConfig::default(), case))?, converged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Machine: Clone + fmt::Debug + Send + Sized + 'static {
    /// What its ledger entries record.
    type Body: Body + OfMachine<Machine = Self>;
    /// What it asks.
    type Question: Question;
    /// Every choice that it leaves to its user.
    type Settings: Settings + Clone + PartialEq + Serialize + OfMachine<Machine = Self>;
    /// What answers its questions by a contract and a policy alone.
    type ByPolicy<C: ContextContract, P: AbductivePolicy>: Responder<Self::Question>;

    /// What users call it, such as `eog` or `linear`.
    const NAME: &'static str;

    /// Lets a contract and a policy answer all that it asks.
    fn by_policy<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
    ) -> Self::ByPolicy<C, P>;

    /// Opens an investigation: the case becomes entry 0.
    fn open(settings: Self::Settings, case: Case) -> Self;

    /// What to do next: entries first, in order; then questions; then `Idle` or `Done`.
    #[must_use]
    fn poll(&mut self) -> Output<Self::Body, Self::Question>;

    /// Takes one input.
    ///
    /// # Errors
    /// [`InputError`] when the input does not fit; nothing has changed then.
    fn handle(&mut self, input: Input<AnswerOf<Self>>) -> Result<(), InputError>;

    /// The ledger so far.
    fn ledger(&self) -> &Ledger<Self::Body>;

    /// The choices that hold now.
    fn settings(&self) -> &Self::Settings;

    /// What was used so far.
    fn spent(&self) -> Spent;

    /// Why the investigation has ended; `None` while something is left to do.
    fn stop(&self) -> Option<StopReason>;

    /// What follows from the beliefs held now.
    fn conclusion(&self) -> Conclusion;

    /// The data of reports and scores. Linear in the ledger.
    fn diagnosis(&self) -> Diagnosis;

    /// The messages that an entity has received, by sender; true marks those that it was not judged with
    /// yet. Empty where entities send each other none.
    fn inbox(&self, entity: &EntityId) -> Vec<(Message, bool)> {
        let _ = entity;
        Vec::new()
    }

    /// How many questions or evaluations are under way.
    fn in_flight(&self) -> u32;

    /// What will probably be asked next, the likeliest first; at most `limit`. Changes nothing.
    fn upcoming(&self, limit: NonZeroU32) -> Vec<Self::Question> {
        let _ = limit;
        Vec::new()
    }

    /// What would be asked after this answer to one of the [`upcoming`](Machine::upcoming)
    /// questions. Nothing where it needs no answer, such as one that is remembered.
    fn follow_up(
        &self,
        question: &Self::Question,
        answer: &AnswerOf<Self>,
    ) -> Option<Self::Question> {
        let _ = (question, answer);
        None
    }

    /// Opens the investigation that an entry opens. The entry counts as stored.
    ///
    /// # Errors
    /// [`RestoreError`] when it is not the first entry of a ledger of this machine.
    fn reopen(first: &Arc<Entry<Self::Body>>) -> Result<Self, RestoreError>;

    /// Derives the recorded entry that comes next again from what it records, and compares. The
    /// entry counts as stored. `next` is the entry after it, if there is one: it is needed to
    /// recognize a halt.
    ///
    /// # Errors
    /// [`RestoreError`] when the entry does not follow by the rules of this program.
    fn repeat(
        &mut self,
        entry: &Arc<Entry<Self::Body>>,
        next: Option<&Arc<Entry<Self::Body>>>,
    ) -> Result<(), RestoreError>;

    /// Takes another course from here on: drops what is under way, records the fork, and hands out
    /// every entry to be stored anew.
    fn depart(&mut self, forked: Forked<Self::Settings>);

    /// The state after the last entry in bytes, for [`Machine::restore_from`]. None where there is no
    /// such thing.
    fn to_checkpoint(&self) -> Option<Vec<u8>> {
        None
    }

    /// Rebuilds the machine that wrote a ledger from a checkpoint of it, and says how many entries
    /// that stands for. None if anything about the checkpoint is wrong: the ledger alone will do.
    fn restore_from(checkpoint: &[u8], ledger: &Ledger<Self::Body>) -> Option<(Self, u64)> {
        let _ = (checkpoint, ledger);
        None
    }
}

/// What belongs to one machine: the bodies of its entries and its settings. So callers with a ledger or
/// settings need not name the machine.
pub trait OfMachine {
    /// The machine.
    type Machine: Machine;
}

/// What the questions of a machine are answered with.
pub type AnswerOf<M> = <<M as Machine>::Question as Question>::Answer;
