//! Hard budgets: what a call may cost at most is set aside before it is made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog_core::{BoxFuture, BudgetKind};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo, TokenUsage,
};

use crate::{ConfigError, Prices, tokens};

/// Amounts that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Requests that were sent, failed ones included.
    pub calls: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

impl Amounts {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tokens: self.tokens.saturating_add(other.tokens),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(other.calls),
            tokens: self.tokens.saturating_sub(other.tokens),
            micro_usd: self.micro_usd.saturating_sub(other.micro_usd),
        }
    }
}

/// How much may be spent at most. What is not limited is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Requests.
    pub calls: Option<u64>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

/// Counts what models spend together. Clones count together.
///
/// ```
/// use eog_llm::{Budget, Meter};
/// let meter = Meter::new(Budget { calls: Some(100), ..Budget::default() });
/// assert_eq!(meter.spent().calls, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Meter {
    budget: Budget,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    spent: Amounts,
    /// Set aside for calls under way.
    reserved: Amounts,
}

impl Meter {
    /// A meter with this budget, and nothing spent.
    pub fn new(budget: Budget) -> Self {
        Self { budget, counts: Arc::default() }
    }

    /// How much may be spent.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What was spent, without calls under way.
    pub fn spent(&self) -> Amounts {
        self.counts().spent
    }

    /// Counts what was spent elsewhere, such as by the runs that this one resumes.
    pub fn charge(&self, amounts: Amounts) {
        let mut counts = self.counts();
        counts.spent = counts.spent.plus(amounts);
    }

    /// Sets amounts aside, or says what they do not fit.
    fn reserve(&self, most: Amounts) -> Result<Reservation<'_>, (BudgetKind, String)> {
        let mut counts = self.counts();
        let taken = counts.spent.plus(counts.reserved);
        let after = taken.plus(most);
        let left = |limit: u64, taken: u64| limit.saturating_sub(taken);
        if let Some(limit) = self.budget.calls.filter(|limit| after.calls > *limit) {
            let requests = if limit == 1 { "request" } else { "requests" };
            let reason = format!(
                "the budget of {limit} {requests} is used up: raise llm.budget.calls \
                 (--max-model-calls)"
            );
            return Err((BudgetKind::ModelCalls, reason));
        }
        if let Some(limit) = self.budget.tokens.filter(|limit| after.tokens > *limit) {
            let reason = format!(
                "the request may take {} tokens, and of the budget of {limit} there are {} left: \
                 raise llm.budget.tokens (--max-tokens), or lower max_output_tokens in the \
                 capabilities of the model",
                most.tokens,
                left(limit, taken.tokens)
            );
            return Err((BudgetKind::Tokens, reason));
        }
        if let Some(limit) = self.budget.micro_usd.filter(|limit| after.micro_usd > *limit) {
            let reason = format!(
                "the request may cost {} US dollars, and of the budget of {} there are {} left: \
                 raise llm.budget.usd (--max-usd), or lower max_output_tokens in the capabilities \
                 of the model",
                us_dollars(most.micro_usd),
                us_dollars(limit),
                us_dollars(left(limit, taken.micro_usd))
            );
            return Err((BudgetKind::Cost, reason));
        }
        counts.reserved = counts.reserved.plus(most);
        Ok(Reservation { meter: self, most, actual: most })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn us_dollars(micro: u64) -> f64 {
    micro as f64 / 1e6
}

/// What is set aside for one call. If nobody says what the call took (it was cancelled), it counts
/// as taking all of it: the provider may have done the work.
struct Reservation<'a> {
    meter: &'a Meter,
    most: Amounts,
    actual: Amounts,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut counts = self.meter.counts();
        counts.reserved = counts.reserved.minus(self.most);
        counts.spent = counts.spent.plus(self.actual);
    }
}

/// A model whose calls are counted by a [`Meter`], and are not made when they might not fit its
/// budget.
///
/// Before a call, its upper bound is set aside: the tokens of the prompt and the longest answer.
/// After it, what the provider says it took counts. If the provider does not say, or the answer
/// did not come in time or was not readable, the upper bound counts.
#[derive(Debug)]
pub struct Metered<M> {
    inner: M,
    meter: Meter,
    prices: Option<Prices>,
}

impl<M: ChatModel> Metered<M> {
    /// Counts the calls of a model.
    ///
    /// # Errors
    /// [`ConfigError`] when money is limited and the prices of the model are not known.
    pub fn new(inner: M, meter: Meter, prices: Option<Prices>) -> Result<Self, ConfigError> {
        if meter.budget.micro_usd.is_some() && prices.is_none() {
            let name = &inner.info().name;
            return Err(ConfigError::new(
                format!("llm.models.{name:?}.prices"),
                "money is limited, and what this model costs is not known",
                "write the provider's prices, in US dollars per million tokens: \
                 prices = { input = 1.0, output = 4.0 }",
            ));
        }
        Ok(Self { inner, meter, prices })
    }

    fn most(&self, request: &ChatRequest) -> Amounts {
        let info = self.inner.info();
        let input = tokens::prompt(info, request);
        let output = u64::from(tokens::output(info, request));
        let micro_usd = self.prices.map_or(0, |prices| prices.most_micro_usd(input, output));
        Amounts { calls: 1, tokens: input + output, micro_usd }
    }

    /// What usage comes to. None is not known usage.
    fn amounts(&self, usage: &TokenUsage) -> Option<Amounts> {
        let tokens = usage.input.saturating_add(usage.output);
        if tokens == 0 {
            return None;
        }
        let priced = self.prices.map_or(0, |prices| prices.cost_micro_usd(usage));
        let micro_usd = priced.max(usage.cost_micro_usd);
        Some(Amounts { calls: usage.calls.max(1), tokens, micro_usd })
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let mut reservation =
            self.meter.reserve(self.most(request)).map_err(|(kind, reason)| {
                ChatError::new(&self.inner.info().name, ChatErrorKind::OverBudget(kind), reason)
            })?;
        let mut answer = self.inner.chat(request).await;
        match &mut answer {
            Ok(response) => {
                if let Some(actual) = self.amounts(&response.usage) {
                    reservation.actual = actual;
                }
            }
            Err(error) => {
                reservation.actual = self.wasted(error, reservation.most);
                // Reports and resumed runs count what the budget counts.
                error.usage.calls = error.usage.calls.max(reservation.actual.calls);
            }
        }
        answer
    }

    fn wasted(&self, error: &ChatError, most: Amounts) -> Amounts {
        if let Some(actual) = self.amounts(&error.usage) {
            return actual;
        }
        match error.kind {
            // Nothing was sent.
            ChatErrorKind::OverBudget(_) | ChatErrorKind::NotRecorded => Amounts::default(),
            // The provider said that it did nothing.
            ChatErrorKind::RateLimited
            | ChatErrorKind::Unavailable
            | ChatErrorKind::Unreachable
            | ChatErrorKind::NotAllowed
            | ChatErrorKind::NotAccepted => Amounts { calls: 1, ..Amounts::default() },
            _ => most,
        }
    }
}

impl<M: ChatModel> ChatModel for Metered<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(self.ask(request))
    }
}
