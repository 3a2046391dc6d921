//! Who judges the investigations of a server.

use eog::AbductivePolicy;
use eog_evidence::EvidencePolicy;

/// Who judges the investigations of a server: makes one policy for each run.
///
/// ```
/// use eog::AbductivePolicy;
/// use eog_mcp::server::{Evidence, Policies};
/// let policies: &dyn Policies = &Evidence;
/// let policy: Box<dyn AbductivePolicy> = policies.policy()?;
/// assert_eq!(policies.name(), "evidence");
/// # Ok::<(), String>(())
/// ```
pub trait Policies: Send + Sync {
    /// What ledgers call it. Who goes on with a ledger must have the same name.
    fn name(&self) -> String;

    /// A policy for one run.
    ///
    /// # Errors
    /// Why there is none, in words for the caller, such as a model that cannot be reached.
    fn policy(&self) -> Result<Box<dyn AbductivePolicy>, String>;
}

/// The built-in rules, which need no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence;

impl Policies for Evidence {
    fn name(&self) -> String {
        "evidence".to_owned()
    }

    fn policy(&self) -> Result<Box<dyn AbductivePolicy>, String> {
        Ok(Box::new(EvidencePolicy::default()))
    }
}
