//! Why an entity has its label: its evaluations, the messages it received in between, and which
//! single findings and messages the last decision depends on.

use std::sync::Arc;
use std::time::Duration;

use eog_core::belief::ClaimEdge;
use eog_core::contract::FailureKind;
use eog_core::controller::{ChangeCause, Evaluation, ReadMessage, Reason};
use eog_core::ledger::{RecordedAnswer, RestoreError};
use eog_core::machine::{Inquiry, Reply, Responder, Response};
use eog_core::{
    AbductivePolicy, Belief, BoxFuture, Claim, ContextPacket, Controller, Decision, EntityId,
    EvidenceId, Failure, Label, Ledger, Replay,
};

use super::packet_before;
use super::unjudged::{Unjudged, why_unjudged};
use crate::engine::Limits;
use crate::engine::call::Caller;

/// At most this many claims of a message are shown.
const MAX_CLAIMS: usize = 3;

/// After so many time-outs in a row, the policy is not asked again.
const GIVE_UP_AFTER: u32 = 2;

/// Why an entity has its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The entity.
    pub entity: EntityId,
    /// The belief about it at the end; `None` if it was never evaluated.
    pub belief: Option<Belief>,
    /// Its evaluations, oldest first.
    pub steps: Vec<Step>,
    /// The decision of the policy on its last packet now.
    pub again: Again,
    /// What its last decision depends on. Empty unless `again` is [`Again::Same`], and where no
    /// single part decides.
    pub hangs_on: Vec<Dependence>,
    /// Parts that the policy could not be asked about: whether the decision depends on them is not
    /// known.
    pub unanswered: Vec<Unanswered>,
}

/// What a policy says of the whole packet of a decision when it is asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// It was not asked: there is no policy, or no packet with a decision.
    NotAsked,
    /// It was not asked: the ledger does not name the policy, and another policy would explain
    /// nothing.
    JudgeUnknown,
    /// The recorded label.
    Same,
    /// Another label than the recorded one. It is not the policy that decided, its answers vary, or
    /// it was changed since; its decisions on parts of the packet explain nothing.
    Other(Label),
    /// It failed, for this reason.
    Failed(String),
}

/// One evaluation of the entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The ledger entry.
    pub entry: u64,
    /// Why it was evaluated.
    pub reason: Reason,
    /// The entry that caused it.
    pub activated_by: u64,
    /// The belief that followed.
    pub belief: Belief,
    /// Why it counts as changed, if it does.
    pub change: Option<ChangeCause>,
    /// The messages that had come since the evaluation before.
    pub received: Vec<Received>,
}

/// A message that reached the entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The entry that sent it.
    pub entry: u64,
    /// The sender.
    pub sender: EntityId,
    /// The sender's label.
    pub label: Label,
    /// The claims of this message, in the sender's order.
    pub claims: Vec<ClaimEdge>,
}

impl Received {
    fn of(read: ReadMessage) -> Self {
        let ReadMessage { message, entry, .. } = read;
        Self {
            entry,
            sender: message.sender,
            label: message.belief.label,
            claims: message.belief.claims.iter().map(Claim::edge).collect(),
        }
    }

    /// The message in words: `processor is a symptom: gateway → processor`. At most 3 claims; those
    /// about the entity first, for it is their loss or gain that can convince it.
    pub fn in_words(&self, about: &EntityId) -> String {
        let mut claims: Vec<&ClaimEdge> = self.claims.iter().collect();
        claims.sort_by_key(|claim| claim.cause != *about && claim.effect != *about);
        let shown = claims.iter().take(MAX_CLAIMS);
        let shown: Vec<String> =
            shown.map(|claim| format!("{} → {}", claim.cause, claim.effect)).collect();
        let said = match claims.len().saturating_sub(MAX_CLAIMS) {
            _ if claims.is_empty() => String::new(),
            0 => format!(": {}", shown.join(", ")),
            more => format!(": {} and {more} more", shown.join(", ")),
        };
        let label = match self.label {
            Label::Healthy => "is healthy",
            Label::Symptom => "is a symptom",
            Label::Origin => "is an origin",
            Label::Defer => "was deferred",
        };
        format!("{} {label}{said}", self.sender)
    }
}

/// A part without which the policy decides otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// What is taken away.
    pub without: Part,
    /// The label that the policy then gives.
    pub label: Label,
    /// Why, in the policy's words.
    pub summary: String,
}

/// A part of a packet that the policy could not be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What was to be taken away.
    pub without: Part,
    /// Why there is no answer.
    pub reason: String,
}

/// A part of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A finding of the local context.
    Finding(EvidenceId),
    /// The message of a neighbour.
    Message(EntityId),
}

/// A ledger that was gone through once, for one entity.
///
/// ```
/// # use eog::travel::{Again, History};
/// # use eog::{Config, Label, Limits};
/// # use eog_testkit::{MemoryContext, entity, healthy, policy_fn, run, seeded, topology};
/// let case = seeded(topology("web calls db"), ["db"]);
/// let policy = policy_fn(healthy);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy);
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let history = History::follow(run.ledger(), &entity("db"))?;
/// assert!(history.unjudged().is_none());
/// let explanation = history.explain(Some(&policy), Limits::default()).await;
/// assert_eq!((explanation.steps.len(), explanation.again), (1, Again::Same));
/// assert_eq!(history.into_controller().belief(&entity("db")).unwrap().label, Label::Healthy);
/// # Ok::<(), eog::ledger::RestoreError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct History<'l> {
    ledger: &'l Ledger,
    entity: EntityId,
    steps: Vec<Step>,
    last_packet: Option<ContextPacket>,
    controller: Controller,
}

impl<'l> History<'l> {
    /// Goes through a ledger. Every entry is derived again, once.
    ///
    /// # Errors
    /// [`RestoreError`] when the ledger does not follow by the rules of this program.
    pub fn follow(ledger: &'l Ledger, entity: &EntityId) -> Result<Self, RestoreError> {
        let mut replay = Replay::<Controller>::new(ledger)?;
        let mut steps: Vec<Step> = Vec::new();
        let mut last_packet = None;
        while let Some(next) = replay.peek() {
            if let Some(evaluation) = next.evaluation().filter(|one| one.entity == *entity) {
                let controller = replay.machine();
                let read = controller.dispatched_with(entity).unwrap_or_default();
                let mut received: Vec<Received> =
                    read.into_iter().filter(|read| read.new).map(Received::of).collect();
                // An inbox is sorted by sender; people read in the order of time.
                received.sort_by_key(|message| message.entry);
                steps.push(step(next.seq, evaluation, received));
                last_packet = packet_before(controller, ledger, evaluation);
            }
            replay.step()?;
        }
        let controller = replay.into_machine();
        Ok(Self { ledger, entity: entity.clone(), steps, last_packet, controller })
    }

    /// The controller as it was after the last entry.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The controller as it was after the last entry.
    pub fn into_controller(self) -> Controller {
        self.controller
    }

    /// Why the entity was never judged. `None` if it was.
    pub fn unjudged(&self) -> Option<Unjudged> {
        self.steps.is_empty().then(|| why_unjudged(self.ledger, &self.controller, &self.entity))
    }

    /// Why the entity has its label. See [`explain`].
    pub async fn explain(
        &self,
        policy: Option<&dyn AbductivePolicy>,
        limits: Limits,
    ) -> Explanation {
        let mut explanation = Explanation {
            entity: self.entity.clone(),
            belief: self.controller.belief(&self.entity).cloned(),
            steps: self.steps.clone(),
            again: Again::NotAsked,
            hangs_on: Vec::new(),
            unanswered: Vec::new(),
        };
        if let (Some(policy), Some(packet)) = (policy, &self.last_packet)
            && let Some(last) = self.steps.last()
            && let Some(label) = decided(self.ledger, last.entry)
        {
            let again = Asking { caller: Caller::new(PolicyAlone(policy), limits), label };
            again.ask(packet, &mut explanation).await;
        }
        explanation
    }
}

/// Explains the label of an entity from a ledger.
///
/// With a policy, its last packet is judged again: first whole, and if that gives the recorded label
/// again, without each finding and each message in turn. Those that decide the label are named. The
/// policy is asked once for each of them, within the limits of any run: time-out, retries, panics. After
/// two time-outs in a row it is not asked again; parts that were not asked about are listed.
///
/// # Errors
/// [`RestoreError`] when the ledger does not follow by the rules of this program.
pub async fn explain(
    ledger: &Ledger,
    entity: &EntityId,
    policy: Option<&dyn AbductivePolicy>,
    limits: Limits,
) -> Result<Explanation, RestoreError> {
    Ok(History::follow(ledger, entity)?.explain(policy, limits).await)
}

/// The label that the policy gave in an evaluation, before the rules made a belief of it.
fn decided(ledger: &Ledger, seq: u64) -> Option<Label> {
    let entry = ledger.entry(seq)?;
    match &entry.evaluation()?.answer {
        RecordedAnswer::Decided(decision) => Some(decision.label),
        RecordedAnswer::Remembered { entry } if *entry < seq => decided(ledger, *entry),
        _ => None,
    }
}

fn step(entry: u64, evaluation: &Evaluation, received: Vec<Received>) -> Step {
    Step {
        entry,
        reason: evaluation.reason,
        activated_by: evaluation.activated_by,
        belief: evaluation.outcome.belief.clone(),
        change: evaluation.outcome.change,
        received,
    }
}

/// Answers decisions alone: packets of a ledger have their contexts.
struct PolicyAlone<'p>(&'p dyn AbductivePolicy);

impl Responder<Inquiry> for PolicyAlone<'_> {
    fn respond<'a>(
        &'a self,
        question: &'a Inquiry,
    ) -> BoxFuture<'a, Result<Response<Reply>, Failure>> {
        Box::pin(async move {
            let Inquiry::Decision(packet) = question else {
                return Err(Failure::context("no context is fetched to explain a decision"));
            };
            let answer = self.0.decide(packet).await.map_err(Failure::of_policy)?;
            Ok(Reply::Decision(answer.decision).into())
        })
    }

    fn timeout(&self, _question: &Inquiry) -> Option<Duration> {
        self.0.timeout()
    }
}

/// Asks the policy about the packet of a decision again.
struct Asking<'p> {
    caller: Caller<PolicyAlone<'p>>,
    /// The label that was given.
    label: Label,
}

impl Asking<'_> {
    /// About the whole packet, then about the packet without each of its parts.
    async fn ask(&self, packet: &ContextPacket, explanation: &mut Explanation) {
        explanation.again = match self.decide(packet.clone()).await {
            Ok(decision) if decision.label == self.label => Again::Same,
            Ok(decision) => Again::Other(decision.label),
            Err(failure) => Again::Failed(failure.to_string()),
        };
        if explanation.again != Again::Same {
            return;
        }
        let findings = packet.context.findings.iter().map(|f| Part::Finding(f.id().clone()));
        let messages = packet.inbox.iter().map(|message| Part::Message(message.sender.clone()));
        let mut time_outs = 0;
        for without in findings.chain(messages) {
            if time_outs == GIVE_UP_AFTER {
                let reason = "the policy had stopped answering in time".to_owned();
                explanation.unanswered.push(Unanswered { without, reason });
                continue;
            }
            match self.decide(less(packet, &without)).await {
                Ok(decision) => {
                    time_outs = 0;
                    if decision.label != self.label {
                        let Decision { label, summary, .. } = decision;
                        explanation.hangs_on.push(Dependence { without, label, summary });
                    }
                }
                Err(failure) => {
                    let timed_out = failure.kind == FailureKind::PolicyTimedOut;
                    time_outs = if timed_out { time_outs + 1 } else { 0 };
                    let reason = failure.to_string();
                    explanation.unanswered.push(Unanswered { without, reason });
                }
            }
        }
    }

    async fn decide(&self, packet: ContextPacket) -> Result<Decision, Failure> {
        let called = self.caller.ask(&Inquiry::Decision(Arc::new(packet))).await;
        match called.result?.answer {
            Reply::Decision(decision) => Ok(decision),
            Reply::Context(_) => Err(Failure::policy("it returned a context, not a decision")),
        }
    }
}

/// A packet without one of its parts.
fn less(packet: &ContextPacket, without: &Part) -> ContextPacket {
    let mut less = packet.clone();
    match without {
        Part::Finding(id) => less.context.findings.retain(|finding| finding.id() != id),
        Part::Message(sender) => less.inbox.retain(|message| message.sender != *sender),
    }
    less
}
