//! Who opens, judges and tells the investigations of clients: as for `eog investigate`.

use std::sync::Arc;

use eog::travel::Explanation;
use eog::{AbductivePolicy, BoxFuture, Case, Finished, Limits, Window};
use eog_evidence::{Incident, open_case};
use eog_mcp::server::{self, Policies, Reports, Run};
use eog_prompts::{Material, Narrative};

use crate::judge::{Judge, Models};
use crate::progress::Progress;
use crate::report::{self, Report};

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

    async fn told(&self, finished: &Finished) -> Result<Option<Arc<dyn Reports>>, String> {
        self.must_be_recorded()?;
        let Some(finalizer) = self.judge.finalizer(self.models.as_ref()) else { return Ok(None) };
        let narrative = finalizer.finalize(&Material::of(&finished.machine)).await.narrative;
        self.must_be_recorded()?;
        Ok(Some(Arc::new(Rendered { narrative: Some(narrative) })))
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
    ) -> BoxFuture<'a, Result<Option<Arc<dyn Reports>>, String>> {
        Box::pin(self.told(finished))
    }
}

/// The reports of this program, in the words of a model if there are any.
#[derive(Default)]
pub(super) struct Rendered {
    narrative: Option<Narrative>,
}

impl Rendered {
    fn report(&self, name: &str, finished: &Finished) -> Report {
        let mut report = Report::new(name.to_owned(), finished);
        if let Some(narrative) = &self.narrative {
            report.narrative = narrative.clone();
        }
        report
    }
}

impl Reports for Rendered {
    fn text(&self, name: &str, finished: &Finished) -> String {
        plain(&report::text(&self.report(name, finished), None))
    }

    fn markdown(&self, name: &str, finished: &Finished) -> String {
        report::markdown(&self.report(name, finished))
    }

    fn dot(&self, name: &str, finished: &Finished) -> String {
        report::dot(&self.report(name, finished))
    }

    fn mermaid(&self, name: &str, finished: &Finished) -> String {
        report::mermaid(&self.report(name, finished))
    }

    fn explanation(&self, name: &str, finished: &Finished, explanation: &Explanation) -> String {
        plain(&report::explanation(&self.report(name, finished), explanation, None))
    }
}

/// Without colours, which are for terminals.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
