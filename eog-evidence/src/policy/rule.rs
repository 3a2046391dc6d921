//! What a rule is.

use super::explanation::Explanation;
use super::facts::Facts;

/// A rule: it proposes explanations of one entity, which then compete.
///
/// Adding a rule takes its file in `rules` and its line in the list there.
pub(super) struct Rule {
    /// The name, as decisions carry it.
    pub(super) name: &'static str,
    /// When it applies, for the documentation.
    pub(super) when: &'static str,
    /// What it decides, for the documentation.
    pub(super) decides: &'static str,
    /// What it proposes, best first; nothing when it does not apply.
    pub(super) propose: fn(&Facts<'_>) -> Vec<Explanation>,
}
