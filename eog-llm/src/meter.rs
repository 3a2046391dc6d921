//! Hard budgets: the most that a call may cost is reserved before it is made.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use eog::purse::{Purse, PurseError, Short};
use eog_core::{BoxFuture, Budget, BudgetKind, Usage};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo, TokenUsage,
};

use crate::{ConfigError, Prices, tokens};

/// Counts what all models use, and refuses requests that might exceed the budget. Clones share
/// their counts.
///
/// It enforces the limits of model calls, tokens and cost, in this process or, with [`Meter::share`], for several. The controller enforces hops.
///
/// ```
/// use eog_core::Budget;
/// use eog_llm::Meter;
/// let meter = Meter::new(Budget { model_calls: Some(100), ..Budget::default() });
/// assert_eq!(meter.spent().model_calls, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Meter {
    budget: Budget,
    counts: Arc<Mutex<Counts>>,
    /// What other processes spend from, too.
    purse: Arc<OnceLock<Arc<dyn Purse>>>,
}

#[derive(Debug, Default)]
struct Counts {
    spent: Usage,
    /// Reserved for calls in progress.
    reserved: Usage,
}

impl Meter {
    /// A meter with this budget and nothing spent.
    pub fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// How much may be spent.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What was spent, without calls in progress. Failed requests count as calls.
    pub fn spent(&self) -> Usage {
        self.counts().spent
    }

    /// Adds what was spent elsewhere, such as by the runs that this one resumes.
    pub fn charge(&self, usage: Usage) {
        self.counts().spent += usage;
    }

    /// Applies the limits to all processes that share this purse: it is asked before each call and notified
    /// afterwards. Its budget replaces this meter's. Holds for all clones, and for models that were built before.
    ///
    /// What was [charged](Self::charge) is not taken from it: the process that spent it has already done so.
    ///
    /// # Errors
    /// The purse, if there is one already.
    pub fn share(&self, purse: Arc<dyn Purse>) -> Result<(), Arc<dyn Purse>> {
        self.purse.set(purse)
    }

    /// Reserves the most that a call can use, or says which limit it might exceed.
    fn reserve(&self, most: Usage) -> Result<Reservation<'_>, Short> {
        let mut counts = self.counts();
        let mut taken = counts.spent;
        taken += counts.reserved;
        if self.purse.get().is_none() {
            Short::check(&self.budget, taken, most)?;
        }
        counts.reserved += most;
        Ok(Reservation { meter: self, most, actual: most })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn all_tokens(usage: Usage) -> u64 {
    usage.tokens_in.saturating_add(usage.tokens_out)
}

/// Why a call that may use so much is not made.
fn refusal(short: Short) -> String {
    let Short { kind, limit, left, most } = short;
    let us_dollars = |micro: u64| micro as f64 / 1e6;
    match kind {
        BudgetKind::Tokens => format!(
            "the request may use {most} tokens, but only {left} of the budget of {limit} are left: \
             raise llm.budget.tokens, or lower max_output_tokens in the capabilities of the model"
        ),
        BudgetKind::Cost => format!(
            "the request may cost {} US dollars, but only {} of the budget of {} are left: raise \
             llm.budget.usd, or lower max_output_tokens in the capabilities of the model",
            us_dollars(most),
            us_dollars(left),
            us_dollars(limit)
        ),
        _ => {
            let requests = if limit == 1 { "request" } else { "requests" };
            format!("the budget of {limit} {requests} is used up: raise llm.budget.calls")
        }
    }
}

/// What is reserved for one call. If the call is cancelled, all of it counts as used: the provider
/// may have done the work.
struct Reservation<'a> {
    meter: &'a Meter,
    most: Usage,
    actual: Usage,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut counts = self.meter.counts();
        let reserved = &mut counts.reserved;
        reserved.model_calls = reserved.model_calls.saturating_sub(self.most.model_calls);
        reserved.tokens_in = reserved.tokens_in.saturating_sub(self.most.tokens_in);
        reserved.tokens_out = reserved.tokens_out.saturating_sub(self.most.tokens_out);
        reserved.cost_micro_usd = reserved.cost_micro_usd.saturating_sub(self.most.cost_micro_usd);
        counts.spent += self.actual;
    }
}

/// A model whose calls are counted by a [`Meter`], and are not made if they might exceed its
/// budget.
///
/// Before a call, its upper bound is reserved: the tokens of the prompt and of the longest answer.
/// Afterwards the usage that the provider reports counts. If the provider reports none, or the
/// answer did not arrive in time or could not be read, the upper bound counts.
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
    /// [`ConfigError`] if cost is limited and the prices of the model are unknown.
    pub fn new(inner: M, meter: Meter, prices: Option<Prices>) -> Result<Self, ConfigError> {
        if meter.budget.cost_micro_usd.is_some() && prices.is_none() {
            let name = &inner.info().name;
            return Err(ConfigError::new(
                format!("llm.models.{name:?}.prices"),
                "cost is limited, but the prices of this model are unknown",
                "set the provider's prices, in US dollars per million tokens: \
                 prices = { input = 1.0, output = 4.0 }",
            ));
        }
        Ok(Self { inner, meter, prices })
    }

    fn most(&self, request: &ChatRequest) -> Usage {
        let info = self.inner.info();
        let tokens_in = tokens::prompt(info, request);
        let tokens_out = u64::from(tokens::output(info, request));
        let most = |prices: Prices| prices.most_micro_usd(tokens_in, tokens_out);
        let cost_micro_usd = self.prices.map_or(0, most);
        Usage { model_calls: 1, tokens_in, tokens_out, cost_micro_usd }
    }

    /// What counts, if the provider reports usage.
    fn known(&self, usage: &TokenUsage) -> Option<Usage> {
        let counted = Usage::from(*usage);
        if all_tokens(counted) == 0 {
            return None;
        }
        let priced = self.prices.map_or(0, |prices| prices.cost_micro_usd(usage));
        let cost_micro_usd = priced.max(counted.cost_micro_usd);
        Some(Usage { model_calls: counted.model_calls.max(1), cost_micro_usd, ..counted })
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let most = self.most(request);
        let mut reservation =
            self.meter.reserve(most).map_err(|short| self.refused(&PurseError::Short(short)))?;
        let purse = self.meter.purse.get();
        if let Some(purse) = purse {
            let taken = purse.take(most).await;
            taken.map_err(|error| {
                reservation.actual = Usage::default();
                self.refused(&error)
            })?;
        }
        let mut answer = self.inner.chat(request).await;
        match &mut answer {
            Ok(response) => {
                if let Some(actual) = self.known(&response.usage) {
                    reservation.actual = actual;
                }
            }
            Err(error) => {
                reservation.actual = self.wasted(error, most);
                // Reports and resumed runs count what the budget counts.
                error.usage.calls = error.usage.calls.max(reservation.actual.model_calls);
            }
        }
        if let Some(purse) = purse {
            // If the purse cannot be reached, the whole reservation counts as spent; the answer stands.
            let _ = purse.settle(most, reservation.actual).await;
        }
        answer
    }

    /// The error of a call that is not made.
    fn refused(&self, error: &PurseError) -> ChatError {
        let (kind, reason) = match error {
            PurseError::Short(short) => (ChatErrorKind::OverBudget(short.kind), refusal(*short)),
            PurseError::Unreachable(_) => (ChatErrorKind::Uncounted, error.to_string()),
        };
        ChatError::new(&self.inner.info().name, kind, reason)
    }

    fn wasted(&self, error: &ChatError, most: Usage) -> Usage {
        if let Some(actual) = self.known(&error.usage) {
            return actual;
        }
        match error.kind {
            // Nothing was sent.
            ChatErrorKind::OverBudget(_)
            | ChatErrorKind::Uncounted
            | ChatErrorKind::NotRecorded => Usage::default(),
            // The provider did no work.
            ChatErrorKind::RateLimited
            | ChatErrorKind::Unavailable
            | ChatErrorKind::Unreachable
            | ChatErrorKind::NotAllowed
            | ChatErrorKind::NotAccepted => Usage { model_calls: 1, ..Usage::default() },
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
