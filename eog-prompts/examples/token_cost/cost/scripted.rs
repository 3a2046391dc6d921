//! A model that answers our explore prompt with a given decision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use eog_core::{BoxFuture, Claim, Decision, EvidenceId, Label, Proposal};
use eog_prompts::phases::{ExploreAnswer, ExploreClaim, ExploreInput, ExploreProposal};
use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, ModelInfo};

use super::exchange::Exchanges;

/// Gives the answer that was set last, whatever it is asked, and counts.
pub(crate) struct Scripted {
    info: ModelInfo,
    next: Mutex<String>,
    exchanges: Arc<Exchanges>,
}

impl Scripted {
    pub(crate) fn new(tokenizer: &str, exchanges: Arc<Exchanges>) -> Self {
        let info = ModelInfo {
            name: "mock/scripted".to_owned(),
            context_tokens: 200_000,
            max_output_tokens: 8_192,
            tokenizer: tokenizer.to_owned(),
            timeout: None,
        };
        Self { info, next: Mutex::default(), exchanges }
    }

    /// Sets the next answer.
    pub(crate) fn will_say(&self, answer: &ExploreAnswer) -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(answer)?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = text;
        Ok(())
    }
}

impl ChatModel for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let answer = self.next.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.exchanges.note(request, &answer);
        let response = ChatResponse::complete(&self.info.name, answer);
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// A decision as the answer to a prompt of ours.
pub(crate) fn answer(input: &ExploreInput, decision: &Decision) -> ExploreAnswer {
    let numbers = numbers(input);
    let listed = |ids: &[EvidenceId]| -> Vec<u32> {
        ids.iter().filter_map(|id| numbers.get(id).copied()).collect()
    };
    let claim = |claim: &Claim| ExploreClaim {
        cause: claim.cause.to_string(),
        condition: claim.condition.clone(),
        effect: claim.effect.to_string(),
        evidence: listed(&claim.evidence),
        observed: claim.observed.clone(),
    };
    let proposal = |proposal: &Proposal| ExploreProposal {
        entity: proposal.entity.to_string(),
        reason: proposal.reason.clone(),
    };
    ExploreAnswer {
        other_causes: Vec::new(),
        because: decision.summary.clone(),
        claims: decision.claims.iter().map(claim).collect(),
        evidence: listed(&decision.evidence),
        label: decision.label,
        next_page: false,
        search: Vec::new(),
        proposals: decision.proposals.iter().map(proposal).collect(),
    }
}

/// What each number of a prompt stands for. They are counted from 1 without gaps.
fn numbers(input: &ExploreInput) -> BTreeMap<EvidenceId, u32> {
    let blank = ExploreAnswer {
        other_causes: Vec::new(),
        because: String::new(),
        claims: Vec::new(),
        evidence: Vec::new(),
        label: Label::Healthy,
        next_page: false,
        search: Vec::new(),
        proposals: Vec::new(),
    };
    let meaning = |number: u32| {
        let cited = ExploreAnswer { evidence: vec![number], ..blank.clone() };
        Some((input.decision(&cited).evidence.pop()?, number))
    };
    (1..).map_while(meaning).collect()
}
