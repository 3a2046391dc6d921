//! A judge for recorded incidents that errs at a stated rate, and whose questions are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use eog::belief::Claim;
use eog::contract::Answer;
use eog::incident::Direction;
use eog::{
    AbductivePolicy, BoxFuture, Case, ContextPacket, Decision, Digest, EntityId, Failure, Label,
};
use eog_evidence::EvidencePolicy;
use eog_session::judge::{ForRun, Judge, JudgeError, Policies};
use eog_simulate::{RandomSeed, Stream};

/// The share of errors that take an origin for a symptom, or something else for an origin.
const SWAPPED: f64 = 0.5;

/// The share that take harm for health, or health for a symptom. In the rest nothing is decided.
const MISSED: f64 = 0.25;

/// The built-in rules, which are replaced by an error with a stated probability.
///
/// The right label of each entity of a recording is not known. So an error is not what is wrong, but what
/// the rules do not say: an origin becomes a symptom of a declared neighbour upstream, a symptom or a healthy
/// entity an origin (half of the errors); harm becomes health, and health a symptom (a quarter); or nothing is
/// decided (a quarter). Messages do not change the rate. Equal questions of a run get equal answers; another
/// label in the inbox makes another question.
#[derive(Clone, Debug)]
pub(super) struct ErringRules {
    rules: EvidencePolicy,
    wrong: f64,
    seed: RandomSeed,
    shown: Arc<AtomicU64>,
}

impl ErringRules {
    pub(super) fn new(wrong: f64, seed: RandomSeed) -> Self {
        let (rules, shown) = (EvidencePolicy::default(), Arc::default());
        Self { rules, wrong, seed, shown }
    }

    /// How many characters of packets it was shown, as JSON.
    pub(super) fn shown(&self) -> u64 {
        self.shown.load(Ordering::Relaxed)
    }

    fn err(&self, packet: &ContextPacket, right: Decision) -> Decision {
        let said: Vec<(&EntityId, Label)> =
            packet.inbox.iter().map(|message| (&message.sender, message.belief.label)).collect();
        let question = Digest::of(&(&packet.entity, said, &packet.notice));
        let mut draw = self.seed.about("errs", &question, 1);
        if !draw.chance(self.wrong) {
            return right;
        }
        let at = draw.share();
        let findings = &packet.context.findings;
        match right.label {
            // What cannot be judged cannot be misjudged.
            Label::Defer => right,
            _ if at >= SWAPPED + MISSED => {
                Decision::new(Label::Defer, "the evidence says too little")
            }
            Label::Origin if at < SWAPPED => blame(packet, &right, &mut draw),
            Label::Healthy if at >= SWAPPED => blame(packet, &right, &mut draw),
            Label::Symptom | Label::Healthy if at < SWAPPED => {
                Decision::new(Label::Origin, "it failed by itself").citing(findings)
            }
            Label::Origin | Label::Symptom | Label::Healthy => {
                Decision::new(Label::Healthy, "nothing unusual").citing(findings)
            }
        }
    }
}

/// A symptom of a declared neighbour that the rules do not blame.
fn blame(packet: &ContextPacket, right: &Decision, draw: &mut Stream) -> Decision {
    let is_blamed = |entity: &EntityId| right.claims.iter().any(|claim| claim.cause == *entity);
    let innocent: Vec<&EntityId> = packet
        .neighbours
        .iter()
        .filter(|neighbour| neighbour.direction == Direction::Upstream)
        .map(|neighbour| &neighbour.entity)
        .filter(|entity| !is_blamed(entity))
        .collect();
    let Some(&blamed) = draw.pick(&innocent) else {
        return Decision::new(Label::Defer, "the evidence says too little");
    };
    let findings = &packet.context.findings;
    let condition = format!("{blamed} fails or is slow");
    let claim = Claim::new(blamed, &packet.entity, condition, "it fails or is slow");
    Decision::new(Label::Symptom, format!("suffers from {blamed}"))
        .citing(findings)
        .claiming(claim.citing_ids(findings.iter().map(eog::Finding::id)))
}

impl AbductivePolicy for ErringRules {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let length = serde_json::to_string(packet).map_or(0, |text| text.chars().count());
            self.shown.fetch_add(length as u64, Ordering::Relaxed);
            let answer = self.rules.decide(packet).await?;
            let decision = self.err(packet, answer.decision.clone());
            Ok(Answer { decision, ..answer })
        })
    }
}

impl Judge for ErringRules {
    fn policy(&self, _case: &Case) -> Box<dyn AbductivePolicy> {
        Box::new(self.clone())
    }
}

impl Policies for ErringRules {
    fn name(&self) -> String {
        "evidence".to_owned()
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(self.clone()))
    }
}
