//! Why an entity has its label: its evaluations, what it heard in between, and which single
//! findings and messages the last decision hangs on.

use eog_core::{
    AbductivePolicy, Belief, ChangeCause, Claim, ClaimEdge, ContextPacket, Controller, EntityId,
    Evaluation, EvidenceId, Label, Ledger, Reason, RecordedAnswer, RestoreError,
};

use super::packet_of;

/// At most this many claims of a message are told.
const MAX_CLAIMS: usize = 3;

/// Why an entity has its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The entity.
    pub entity: EntityId,
    /// What is believed about it at the end; nothing if it was never evaluated.
    pub belief: Option<Belief>,
    /// Its evaluations, oldest first.
    pub steps: Vec<Step>,
    /// What the policy says of its last packet now.
    pub again: Again,
    /// What its last decision hangs on. Empty unless `again` is [`Again::Same`], and where no single
    /// thing decides.
    pub hangs_on: Vec<Dependence>,
}

/// What a policy says of the whole packet of a decision when it is asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// It was not asked: there is no policy, or no packet with a decision.
    NotAsked,
    /// The recorded label.
    Same,
    /// Another label than the recorded one. It is not the policy that decided, it wavers, or it was
    /// changed since; what it says of parts of the packet explains nothing.
    Other(Label),
    /// Nothing: it failed, for this reason.
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
    pub heard: Vec<Heard>,
}

/// A message that reached the entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The entry that sent it.
    pub entry: u64,
    /// The sender.
    pub sender: EntityId,
    /// The sender's label.
    pub label: Label,
    /// What this message says explains what, in the sender's order.
    pub claims: Vec<ClaimEdge>,
}

impl Heard {
    /// What was heard, in words: `processor is Symptom: gateway → processor`. At most 3 claims;
    /// those about the entity first, for it is their loss or gain that can convince it.
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
        format!("{} is {}{said}", self.sender, self.label)
    }
}

/// Something without which the policy decides otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// What is taken away.
    pub without: Part,
    /// The label that the policy then gives.
    pub label: Label,
    /// Why, in the policy's words.
    pub summary: String,
}

/// A part of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A finding of the local context.
    Finding(EvidenceId),
    /// The message of a neighbour.
    Message(EntityId),
}

/// Explains the label of an entity from a ledger.
///
/// With a policy, its last packet is judged again: first whole, and if that gives the recorded label
/// again, without each finding and each message in turn. Those that decide the label are named. The
/// policy is asked once for each of them.
///
/// # Errors
/// [`RestoreError`] when the ledger does not follow by the rules of this program.
pub async fn explain(
    ledger: &Ledger,
    entity: &EntityId,
    policy: Option<&dyn AbductivePolicy>,
) -> Result<Explanation, RestoreError> {
    let controller = Controller::restore(ledger)?;
    let mut steps: Vec<Step> = Vec::new();
    let mut heard: Vec<Heard> = Vec::new();
    for entry in ledger.entries() {
        let Some(evaluation) = entry.evaluation() else { continue };
        if evaluation.entity == *entity {
            steps.push(step(entry.seq, evaluation, std::mem::take(&mut heard)));
        } else if evaluation.outcome.broadcast_to.contains(entity) {
            heard.retain(|earlier| earlier.sender != evaluation.entity);
            heard.push(Heard {
                entry: entry.seq,
                sender: evaluation.entity.clone(),
                label: evaluation.outcome.belief.label,
                claims: evaluation.outcome.belief.claims.iter().map(Claim::edge).collect(),
            });
        }
    }
    let (mut again, mut hangs_on) = (Again::NotAsked, Vec::new());
    if let (Some(policy), Some(last)) = (policy, steps.last())
        && let Some(label) = decided(ledger, last.entry)
        && let Some(packet) = packet_of(ledger, last.entry)?
    {
        again = match policy.decide(&packet).await {
            Ok(answer) if answer.decision.label == label => Again::Same,
            Ok(answer) => Again::Other(answer.decision.label),
            Err(failure) => Again::Failed(failure.to_string()),
        };
        if again == Again::Same {
            hangs_on = dependences(&packet, label, policy).await;
        }
    }
    Ok(Explanation {
        entity: entity.clone(),
        belief: controller.belief(entity).cloned(),
        steps,
        again,
        hangs_on,
    })
}

/// The label that the policy gave in an evaluation, before the rules made a belief of it.
fn decided(ledger: &Ledger, seq: u64) -> Option<Label> {
    let entry = ledger.entries().iter().find(|entry| entry.seq == seq)?;
    match &entry.evaluation()?.answer {
        RecordedAnswer::Decided(decision) => Some(decision.label),
        RecordedAnswer::Remembered { entry } if *entry < seq => decided(ledger, *entry),
        _ => None,
    }
}

fn step(entry: u64, evaluation: &Evaluation, heard: Vec<Heard>) -> Step {
    Step {
        entry,
        reason: evaluation.reason,
        activated_by: evaluation.activated_by,
        belief: evaluation.outcome.belief.clone(),
        change: evaluation.outcome.change,
        heard,
    }
}

/// Asks the policy about the packet without each of its parts.
async fn dependences(
    packet: &ContextPacket,
    label: Label,
    policy: &dyn AbductivePolicy,
) -> Vec<Dependence> {
    let findings = packet.context.findings.iter().map(|f| Part::Finding(f.id().clone()));
    let messages = packet.inbox.iter().map(|message| Part::Message(message.sender.clone()));
    let mut dependences = Vec::new();
    for without in findings.chain(messages) {
        let mut less = packet.clone();
        match &without {
            Part::Finding(id) => less.context.findings.retain(|finding| finding.id() != id),
            Part::Message(sender) => less.inbox.retain(|message| message.sender != *sender),
        }
        // A policy that fails on a packet says nothing about it.
        let Ok(answer) = policy.decide(&less).await else { continue };
        if answer.decision.label != label {
            let (label, summary) = (answer.decision.label, answer.decision.summary);
            dependences.push(Dependence { without, label, summary });
        }
    }
    dependences
}
