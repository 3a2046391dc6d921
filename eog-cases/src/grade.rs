//! What a conclusion was worth.

use std::collections::BTreeSet;
use std::fmt;

use eog::EntityId;
use serde::{Deserialize, Serialize};

use crate::case::{Concluded, Truth};

/// What a conclusion was worth, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It named entities, and none of them is a cause.
    Wrong,
    /// It named nothing, although there was a cause in the topology.
    Abstained,
    /// It named some of the causes but not all, or innocent entities beside them.
    Partial,
    /// It named the causes, but another change than the true one, or a wrong path.
    PathWrong,
    /// It named the causes and nothing else; where there was none, nothing.
    Exact,
}

impl Grade {
    /// All grades, best first.
    pub const ALL: [Self; 5] =
        [Self::Exact, Self::PathWrong, Self::Partial, Self::Abstained, Self::Wrong];

    /// The grade of what was concluded.
    pub fn of(truth: &Truth, concluded: &Concluded) -> Self {
        let named: BTreeSet<&EntityId> = concluded.entities().collect();
        let causes: BTreeSet<&EntityId> = truth.causes.iter().collect();
        if named.is_empty() {
            return if causes.is_empty() { Self::Exact } else { Self::Abstained };
        }
        if named.is_disjoint(&causes) {
            return Self::Wrong;
        }
        if named != causes {
            return Self::Partial;
        }
        let changes: Vec<_> =
            concluded.named.iter().filter_map(|named| named.change.as_ref()).collect();
        let is_other = !truth.changes.is_empty()
            && !changes.is_empty()
            && changes.iter().all(|change| !truth.changes.contains(*change));
        if is_other || truth.path_wrong { Self::PathWrong } else { Self::Exact }
    }

    /// Whether the entities are right.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Exact | Self::PathWrong)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wrong => "wrong",
            Self::Abstained => "abstained",
            Self::Partial => "partial",
            Self::PathWrong => "path wrong",
            Self::Exact => "exact",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::{concluded, truth};

    #[test]
    fn conclusions_are_graded_against_the_truth() {
        let cases = [
            ("db", "db", Grade::Exact),
            ("db", "db:1", Grade::Exact),
            ("db:1", "db", Grade::Exact),
            ("db:1", "db:1", Grade::Exact),
            ("db:1", "db:2", Grade::PathWrong),
            ("db web", "db", Grade::Partial),
            ("db", "db web", Grade::Partial),
            ("web", "db", Grade::Wrong),
            ("web", "", Grade::Wrong),
            ("", "db", Grade::Abstained),
            ("", "", Grade::Exact),
        ];
        for (said, was, grade) in cases {
            assert_eq!(Grade::of(&truth(was), &concluded(said)), grade, "{said} / {was}");
        }
        let path_wrong = Truth { path_wrong: true, ..truth("db") };
        assert_eq!(Grade::of(&path_wrong, &concluded("db")), Grade::PathWrong);
        assert!(Grade::Exact > Grade::PathWrong && Grade::Abstained > Grade::Wrong);
    }
}
