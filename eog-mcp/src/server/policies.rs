//! Who judges the investigations of a server.

use eog::{AbductivePolicy, CallRecorder, Case, Usage};
use eog_evidence::EvidencePolicy;

/// Who judges the investigations of a server: makes one policy for each run.
///
/// ```
/// use eog::{AbductivePolicy, CallRecorder, Case, Topology, Usage, Window};
/// use eog_mcp::server::{Evidence, Policies, Run};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # let recorder = CallRecorder::in_memory();
/// let policies: &dyn Policies = &Evidence;
/// let run = Run { case: &case, recorder: &recorder, spent_before: Usage::default() };
/// let policy: Box<dyn AbductivePolicy> = policies.policy(run)?;
/// assert_eq!(policies.name(), "evidence");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Policies: Send + Sync {
    /// What ledgers call it. Who goes on with a ledger must have the same name.
    fn name(&self) -> String;

    /// A policy for one run.
    ///
    /// # Errors
    /// Why there is none, in words for the caller, such as a model that cannot be reached.
    fn policy(&self, run: Run<'_>) -> Result<Box<dyn AbductivePolicy>, String>;
}

/// What a policy is made for.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The incident.
    pub case: &'a Case,
    /// Stores the answers of models before they are used, so that a resumed run asks none again.
    pub recorder: &'a CallRecorder,
    /// What earlier runs of the investigation have spent.
    pub spent_before: Usage,
}

/// The built-in rules, which need no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence;

impl Policies for Evidence {
    fn name(&self) -> String {
        "evidence".to_owned()
    }

    fn policy(&self, _run: Run<'_>) -> Result<Box<dyn AbductivePolicy>, String> {
        Ok(Box::new(EvidencePolicy::default()))
    }
}
