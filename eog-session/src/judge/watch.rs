//! What calls to models ran into, for those who must know and are not told by an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::{BoxFuture, BudgetKind};
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo};

/// Remembers what ends a run: the first miss in recorded traffic, a key that is refused where no other
/// model can be asked, and the first budget that did not allow a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    missed: Option<String>,
    over_budget: Option<BudgetKind>,
}

impl Watch {
    /// The same model, watched. `alone`: no other is asked when it has no answer.
    pub(super) fn over(&self, model: Arc<dyn ChatModel>, alone: bool) -> Arc<dyn ChatModel> {
        Arc::new(Watched { model, alone, watch: self.clone() })
    }

    /// The first answer that a cassette did not give or keep, or a refused key, in words.
    pub(super) fn missed(&self) -> Option<String> {
        self.seen().missed.clone()
    }

    /// The first budget that did not allow a call.
    pub(super) fn over_budget(&self) -> Option<BudgetKind> {
        self.seen().over_budget
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an error. A miss then ends the run like a budget does that is used up: nobody
    /// else is asked, and what was missed leaves no entry.
    fn note(&self, error: ChatError, alone: bool) -> ChatError {
        let mut seen = self.seen();
        match error.kind {
            ChatErrorKind::NotAllowed if alone => {
                let ended = format!("{error}; mend that and go on, nothing of it was recorded");
                seen.missed.get_or_insert(ended);
                ChatError { kind: ChatErrorKind::OverBudget(BudgetKind::ModelCalls), ..error }
            }
            ChatErrorKind::NotRecorded => {
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
