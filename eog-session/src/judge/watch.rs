//! Errors of model calls that the run must know about, beyond what answers say.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::{BoxFuture, BudgetKind};
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo};

/// Remembers what ends a run: the first miss in recorded traffic, a rejected key if no other model can
/// be asked, and the first budget that prevented a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    missed: Option<String>,
    over_budget: Option<BudgetKind>,
}

impl Watch {
    /// Watches a model. `alone`: there is no fallback.
    pub(super) fn over(&self, model: Arc<dyn ChatModel>, alone: bool) -> Arc<dyn ChatModel> {
        Arc::new(Watched { model, alone, watch: self.clone() })
    }

    /// The first failed replay or recording of a cassette, or a rejected key, in words.
    pub(super) fn missed(&self) -> Option<String> {
        self.seen().missed.clone()
    }

    /// The first budget that prevented a call.
    pub(super) fn over_budget(&self) -> Option<BudgetKind> {
        self.seen().over_budget
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an error. A miss then ends the run like a used-up budget: no further calls are made,
    /// and the unanswered question leaves no entry.
    fn note(&self, error: ChatError, alone: bool) -> ChatError {
        let mut seen = self.seen();
        match error.kind {
            ChatErrorKind::NotAllowed if alone => {
                let ended =
                    format!("{error}; fix this and try again; the failure was not recorded");
                seen.missed.get_or_insert(ended);
                ChatError { kind: ChatErrorKind::OverBudget(BudgetKind::ModelCalls), ..error }
            }
            ChatErrorKind::NotRecorded | ChatErrorKind::Uncounted => {
                seen.missed.get_or_insert_with(|| error.message.clone());
                ChatError { kind: ChatErrorKind::OverBudget(BudgetKind::ModelCalls), ..error }
            }
            ChatErrorKind::OverBudget(which) => {
                seen.over_budget.get_or_insert(which);
                error
            }
            _ => error,
        }
    }
}

struct Watched {
    model: Arc<dyn ChatModel>,
    alone: bool,
    watch: Watch,
}

impl ChatModel for Watched {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async {
            let answer = self.model.chat(request).await;
            answer.map_err(|error| self.watch.note(error, self.alone))
        })
    }
}
