//! One investigation with one controller and one kind of prompt.

use std::sync::{Arc, Mutex, PoisonError};

use eog_core::{
    AbductivePolicy, Answer, BoxFuture, Claim, Config, ContextContract, ContextPacket,
    ContextRequest, Decision, Failure, LocalContext,
};
use eog_prompts::phases::{ExploreInput, Frame};
use eog_prompts::{ChatModel, ChatRequest, LlmPolicy, PacketCut, Prompter, TokenCounter};
use eog_testkit::try_run;

use super::exchange::{Cost, Exchanges};
use super::incidents::Incident;
use super::scripted::Scripted;
use super::{Failed, literal, scripted};

/// What all tokens are counted with.
pub(crate) const TOKENIZER: &str = "o200k_base";

/// Most tokens of a prompt that is not read in chunks, by the paper and by us.
pub(crate) const MAX_PROMPT_TOKENS: u64 = 80_000;

/// What a model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// What [`LlmPolicy`] shows.
    Ours,
    /// Everything on the entity, and the whole inbox, as JSON.
    Literal,
    /// The same, and the object behind the entity, which the reference's contract gives, too.
    WithSpecs,
    /// The first page of its context and the whole inbox, as JSON without spaces.
    Spare,
}

/// Investigates an incident. Fails when an answer is not taken as it was meant.
pub(crate) fn measure(
    incident: &Incident,
    config: Config,
    prompts: Prompts,
) -> Result<Cost, Failed> {
    let exchanges = Arc::new(Exchanges::new(TOKENIZER));
    let model = Arc::new(Scripted::new(TOKENIZER, Arc::clone(&exchanges)));
    let chain = vec![Arc::clone(&model) as Arc<dyn ChatModel>];
    let prompter = Prompter::new(Arc::new(incident.pack.clone()), chain);
    let asker = Asker {
        incident,
        prompts,
        frame: Frame::of(&incident.case),
        policy: LlmPolicy::new(prompter).for_case(&incident.case),
        model,
        exchanges: Arc::clone(&exchanges),
        request: Mutex::default(),
        failed: Mutex::default(),
    };
    let ended = try_run(config, incident.case.clone(), &asker, &asker)?;
    if let Some(failure) = asker.failed.lock().unwrap_or_else(PoisonError::into_inner).first() {
        return Err(format!("{}: {failure}", incident.name).into());
    }
    let groups = ended.conclusion().frontier.into_iter();
    let explaining = groups.filter(|group| !group.covers.is_empty());
    Ok(Cost {
        evaluations: ended.ledger().evaluations().count() as u64,
        frontier: explaining.flat_map(|group| group.origins).collect(),
        ..exchanges.cost()
    })
}

/// Contract and policy of one investigation.
struct Asker<'i> {
    incident: &'i Incident,
    prompts: Prompts,
    frame: Frame,
    policy: LlmPolicy,
    model: Arc<Scripted>,
    exchanges: Arc<Exchanges>,
    /// What the controller last asked the contract. One entity at a time is under way.
    request: Mutex<Option<ContextRequest>>,
    failed: Mutex<Vec<String>>,
}

impl Asker<'_> {
    async fn judge(&self, packet: &ContextPacket) -> Result<Answer, Failure> {
        let decision = self.incident.judge.decide(packet, self.incident.last_onset())?;
        match self.prompts {
            Prompts::Ours => self.ask_ours(packet, &decision).await,
            Prompts::Literal | Prompts::WithSpecs => {
                let request = self.request.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let request = request.ok_or_else(|| Failure::policy("no context was asked for"))?;
                let whole = self.incident.whole(&request).await?;
                let wanted = self.prompts == Prompts::WithSpecs;
                let spec = wanted.then(|| self.incident.spec(&packet.entity)).flatten();
                self.take(literal::question(packet, whole, spec), decision)
            }
            Prompts::Spare => self.take(literal::spare_question(packet), decision),
        }
    }

    async fn ask_ours(
        &self,
        packet: &ContextPacket,
        decision: &Decision,
    ) -> Result<Answer, Failure> {
        let input = ExploreInput::new(&self.frame, packet, &PacketCut::whole(packet));
        let meant = scripted::answer(&input, decision);
        self.model.will_say(&meant).map_err(|error| Failure::policy(error.to_string()))?;
        let calls = self.exchanges.cost().calls;
        let answer = self.policy.decide(packet).await?;
        let asked = self.exchanges.cost().calls - calls;
        // What needs no model is decided without the judge, too.
        let is_unasked = asked == 0 && answer.decision.rule.is_some();
        let is_meant = asked == 1 && substance(&answer.decision) == substance(decision);
        if !is_unasked && !is_meant {
            let (got, entity) = (&answer.decision, &packet.entity);
            return Err(Failure::policy(format!(
                "{entity}: {asked} calls, meant {decision:?}, got {got:?}"
            )));
        }
        Ok(answer)
    }

    /// Notes a question in the paper's manner, and its answer.
    fn take(
        &self,
        question: Result<ChatRequest, serde_json::Error>,
        decision: Decision,
    ) -> Result<Answer, Failure> {
        let question = question.map_err(|error| Failure::policy(error.to_string()))?;
        self.exchanges.note(&question, &literal::answer(&decision));
        Ok(decision.into())
    }
}

/// All of a decision that the controller acts upon but the evidence.
fn substance(decision: &Decision) -> impl PartialEq + use<> {
    let claims: Vec<_> = decision.claims.iter().map(Claim::edge).collect();
    let proposals: Vec<_> =
        decision.proposals.iter().map(|proposal| proposal.entity.clone()).collect();
    (decision.label, claims, proposals)
}

impl AbductivePolicy for Asker<'_> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let answer = self.judge(packet).await;
            if let Err(failure) = &answer {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push(format!("{}: {}", packet.entity, failure.message));
            }
            answer
        })
    }
}

impl ContextContract for Asker<'_> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.clone());
        self.incident.contract.get_context(request)
    }
}

/// Tokens that are the same in each question, schema included: the paper's manner, and ours.
pub(crate) fn fixed_tokens(incident: &Incident) -> Result<[u64; 2], Failed> {
    let counter = TokenCounter::new(TOKENIZER);
    let empty = eog_testkit::packet("db").build();
    let policy = LlmPolicy::new(Prompter::new(Arc::new(incident.pack.clone()), Vec::new()));
    let fixed = |mut request: ChatRequest| {
        request.messages.truncate(1);
        counter.request(&request)
    };
    Ok([fixed(literal::spare_question(&empty)?), fixed(policy.prompt(&empty)?)])
}
