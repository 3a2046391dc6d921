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
    /// What an origin that it finds rests on.
    pub(super) nature: Nature,
    /// What it proposes, best first; nothing when it does not apply.
    pub(super) propose: fn(&Facts<'_>) -> Vec<Explanation>,
}

/// What an origin rests on: it tells how it stands beside other origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A person says so.
    Stated,
    /// It ran out, fell, or was lost, as more than an alert tells. Load may be behind that, but no failure elsewhere.
    Fails,
    /// It takes up what others rest on, or sends more than ever.
    Takes,
    /// Its work hangs.
    Stuck,
    /// Logs or traces of single requests tell that they begin to fail there, end with its answers, or go no further.
    Traced,
    /// Its callers do worse by its answers.
    Felt,
    /// It does worse, and nobody is known to be the reason. Load may be behind that.
    Inferred,
    /// Something else, such as a change; or the rule finds no origin.
    Other,
}

impl Nature {
    /// Whether the origin does what it does by itself: no failure elsewhere makes it do so.
    pub(super) fn is_by_itself(self) -> bool {
        matches!(self, Self::Fails | Self::Takes | Self::Stuck)
    }

    /// Whether it ran out, fell, takes up what others rest on, or sends more than ever: work that hangs may wait for others.
    pub(super) fn fails_or_takes(self) -> bool {
        matches!(self, Self::Fails | Self::Takes)
    }

    /// Whether the entity may do worse since more is asked of it.
    pub(super) fn may_be_overloaded(self) -> bool {
        matches!(self, Self::Fails | Self::Inferred)
    }
}
