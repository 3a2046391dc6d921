//! Who opens, judges and tells the investigations of clients: as for `eog investigate`.

use std::sync::Arc;

use eog::travel::{Difference, Explanation};
use eog::{AbductivePolicy, BoxFuture, Case, Finished, Ledger, Limits, Window};
use eog_core::Diagnosis;
use eog_evidence::{Incident, open_case};
use eog_mcp::server::{self, Policies, Reports, Run};
use eog_report::Narrative;
use eog_report::page::plain;

use crate::judge::{Judge, Models};
use crate::progress::Progress;
use crate::told;

/// Whoever judges by the command line.
pub(super) struct Judged {
    judge: Arc<Judge>,
    limits: Limits,
}

impl Judged {
    pub(super) fn new(judge: Judge, limits: Limits) -> Self {
        Self { judge: Arc::new(judge), limits }
    }
}

impl Policies for Judged {
    fn name(&self) -> String {
        self.judge.name()
    }

    fn judge(&self, run: Run<'_>) -> Result<Box<dyn server::Judge>, String> {
        let models = self.judge.models(run.recorder, run.spent_before, &Progress::start(true));
        let models = models.map_err(|error| error.to_string())?;
        let (judge, limits) = (Arc::clone(&self.judge), self.limits);
        Ok(Box::new(OfRun { judge, models, limits }))
    }
}

/// The same for one run, with its models.
struct OfRun {
    judge: Arc<Judge>,
    models: Option<Models>,
    limits: Limits,
}

impl OfRun {
    /// Refuses what came of a key that does not fit, or of recorded traffic that lacks an answer.
    fn must_be_recorded(&self) -> Result<(), String> {
        let models = self.models.as_ref();
        models.map_or(Ok(()), Models::must_be_recorded).map_err(|error| error.to_string())
    }

    async fn told(&self, finished: &Finished) -> Result<Option<Narrative>, String> {
        self.must_be_recorded()?;
        let Some(finalizer) = self.judge.finalizer(self.models.as_ref()) else { return Ok(None) };
        let narrative = finalizer.finalize(&finished.diagnosis()).await.narrative;
        self.must_be_recorded()?;
        Ok(Some(narrative))
    }
}

impl server::Judge for OfRun {
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> BoxFuture<'a, Result<Case, String>> {
        Box::pin(async move {
            let opened = match self.judge.opening(self.models.as_ref()) {
                Some(opening) => opening.open(incident, window).await.map(|opened| opened.case),
                None => open_case(incident, window),
            };
            self.must_be_recorded()?;
            opened.map_err(|error| error.to_string())
        })
    }

    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy> {
        self.judge.policy(self.models.as_ref(), case)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn tell<'a>(
        &'a self,
        finished: &'a Finished,
    ) -> BoxFuture<'a, Result<Option<Narrative>, String>> {
        Box::pin(self.told(finished))
    }
}

/// The words of this program.
pub(super) struct InWords;

impl Reports for InWords {
    fn explanation(&self, diagnosis: &Diagnosis, explanation: &Explanation) -> String {
        plain(&told::explanation(diagnosis, explanation, None))
    }

    fn difference(&self, difference: &Difference, first: &Ledger, second: &Ledger) -> String {
        let lines = told::difference(difference, first, second);
        lines.iter().map(|(lead, words)| format!("{lead}{words}")).collect::<Vec<_>>().join("\n")
    }
}
