//! What an investigation may use, and what it has used.

use serde::{Deserialize, Serialize};

/// When to stop before everything is settled. Wall-clock time comes as an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Policy calls. A correction belongs to its call; answers from memory are free.
    pub hops: Option<u64>,
    /// Calls of models: one policy call may take several, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_calls: Option<u64>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Cost in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

impl Budget {
    /// A budget of policy calls alone.
    pub fn hops(hops: u64) -> Self {
        Self { hops: Some(hops), ..Self::default() }
    }

    /// The budget that leaves no room for one more policy call, after so many calls and this usage.
    pub fn exhausted(&self, hops: u64, usage: Usage) -> Option<BudgetKind> {
        let tokens = usage.tokens_in.saturating_add(usage.tokens_out);
        let limits = [
            (self.hops, hops, BudgetKind::Hops),
            (self.model_calls, usage.model_calls, BudgetKind::ModelCalls),
            (self.tokens, tokens, BudgetKind::Tokens),
            (self.cost_micro_usd, usage.cost_micro_usd, BudgetKind::Cost),
        ];
        let used_up =
            limits.iter().find(|(limit, used, _)| limit.is_some_and(|most| *used >= most));
        used_up.map(|(_, _, which)| *which)
    }
}

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Policy calls.
    Hops,
    /// Calls of models.
    ModelCalls,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
}

impl std::fmt::Display for BudgetKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Hops => "policy-call",
            Self::ModelCalls => "model-call",
            Self::Tokens => "token",
            Self::Cost => "cost",
        })
    }
}

/// What calls cost. Operational: kept beside the ledger's chain, never in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Calls of a model.
    pub model_calls: u64,
    /// Tokens read by models.
    pub tokens_in: u64,
    /// Tokens written by models.
    pub tokens_out: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micro_usd: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.model_calls = self.model_calls.saturating_add(other.model_calls);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(other.cost_micro_usd);
    }
}

/// What an investigation has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Committed evaluations.
    pub evaluations: u64,
    /// Policy calls, with failed ones.
    pub hops: u64,
    /// Evaluations answered from memory.
    pub remembered: u64,
    /// Evaluations without a context or decision.
    pub failures: u64,
    /// Tokens and cost.
    pub usage: Usage,
}

/// How an evaluation was answered.
#[derive(Clone, Copy)]
pub(crate) enum AnsweredBy {
    Policy,
    Memory,
    None,
}

impl Spent {
    /// Counts one committed evaluation, without what its answer cost.
    pub(crate) fn count(&mut self, by: AnsweredBy) {
        self.evaluations += 1;
        match by {
            AnsweredBy::Policy => self.hops += 1,
            AnsweredBy::Memory => self.remembered += 1,
            AnsweredBy::None => {
                self.hops += 1;
                self.failures += 1;
            }
        }
    }
}
