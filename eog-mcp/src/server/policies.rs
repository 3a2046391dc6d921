//! Who opens, judges and tells the investigations of a server.

use eog::{AbductivePolicy, BoxFuture, CallRecorder, Case, Finished, Limits, Usage, Window};
use eog_evidence::{EvidencePolicy, Incident, open_case};
use eog_report::Narrative;

/// Who judges the investigations of a server: makes one [`Judge`] for each run.
///
/// ```
/// use eog::{CallRecorder, Usage};
/// use eog_mcp::server::{Evidence, Judge, Policies, Run};
/// let recorder = CallRecorder::in_memory();
/// let policies: &dyn Policies = &Evidence;
/// let run = Run { recorder: &recorder, spent_before: Usage::default() };
/// let judge: Box<dyn Judge> = policies.judge(run)?;
/// assert_eq!(policies.name(), "evidence");
/// # let _ = judge;
/// # Ok::<(), String>(())
/// ```
pub trait Policies: Send + Sync {
    /// What ledgers call it. Who goes on with a ledger must have the same name.
    fn name(&self) -> String;

    /// The judge of one run.
    ///
    /// # Errors
    /// Why there is none, in words for the caller, such as a model that cannot be reached.
    fn judge(&self, run: Run<'_>) -> Result<Box<dyn Judge>, String>;
}

/// What a judge is made for.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Stores the answers of models before they are used, so that a resumed run asks none again.
    pub recorder: &'a CallRecorder,
    /// What earlier runs of the investigation have spent.
    pub spent_before: Usage,
}

/// Who works on one run: chooses where to start, judges, and tells the result.
pub trait Judge: Send + Sync {
    /// Chooses the window, unless one is given, and where to start. By rule unless implemented.
    ///
    /// Dropped when the call is cancelled or its time is up. It is asked anew when the run is
    /// resumed; answers that the recorder of the [`Run`] holds are not lost.
    ///
    /// # Errors
    /// Why nothing can be begun, in words for the caller.
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> BoxFuture<'a, Result<Case, String>> {
        let case = open_case(incident, window).map_err(|error| error.to_string());
        Box::pin(std::future::ready(case))
    }

    /// The policy for a case.
    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy>;

    /// How long its calls may take, and how often they are tried. The deadline is that of the server.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Looks at a run that has ended, and may tell its result in words of its own: then these take the
    /// place of those of the rules. Dropped when the call is cancelled.
    ///
    /// # Errors
    /// Why the result says nothing, in words for the caller, such as a key that was refused.
    fn tell<'a>(
        &'a self,
        finished: &'a Finished,
    ) -> BoxFuture<'a, Result<Option<Narrative>, String>> {
        let _ = finished;
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A policy beside rules that choose where to start, and tell.
///
/// ```
/// use eog_evidence::EvidencePolicy;
/// use eog_mcp::server::{Alone, Judge};
/// let judge: Box<dyn Judge> = Box::new(Alone(EvidencePolicy::default()));
/// # let _ = judge;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Alone<P>(pub P);

impl<P: AbductivePolicy + Clone + 'static> Judge for Alone<P> {
    fn policy(&self, _case: &Case) -> Box<dyn AbductivePolicy> {
        Box::new(self.0.clone())
    }
}

/// The built-in rules, which need no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence;

impl Policies for Evidence {
    fn name(&self) -> String {
        "evidence".to_owned()
    }

    fn judge(&self, _run: Run<'_>) -> Result<Box<dyn Judge>, String> {
        Ok(Box::new(Alone(EvidencePolicy::default())))
    }
}
