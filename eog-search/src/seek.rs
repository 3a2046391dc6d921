//! What a search by goals says: goals with alternative paths, moves on them, and the outcome of a
//! round.

use std::fmt;

use eog_core::contract::Failure;
use eog_core::{EntityId, EvidenceId};
use serde::{Deserialize, Serialize};

use crate::id::NodeId;

/// What is to be found out, with alternative ways to do it: one success completes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The entity that it is about.
    pub about: EntityId,
    /// What is to be found out. Untrusted text.
    pub question: String,
    /// Goals without whose result it cannot start, by number from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<u32>,
    /// Alternative ways.
    pub paths: Vec<Approach>,
}

/// One way to reach a goal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approach {
    /// Where it starts.
    pub start: EntityId,
    /// How it goes about it. Untrusted text.
    pub approach: String,
    /// What success is. Untrusted text.
    pub success: String,
}

/// What is done with a goal in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// One path goes on.
    Exploit,
    /// Several paths go on at once.
    Explore,
    /// A path goes back to where it last made progress.
    Backtrack,
}

impl MoveKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Exploit, Self::Explore, Self::Backtrack];
}

impl fmt::Display for MoveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exploit => "exploit",
            Self::Explore => "explore",
            Self::Backtrack => "backtrack",
        })
    }
}

/// Arguments for and against a path. Untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The path.
    pub path: NodeId,
    /// Its value so far.
    pub value: String,
    /// Its uncertainty.
    pub uncertainty: String,
    /// Its risk.
    pub risk: String,
}

/// The move on a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The goal, by number from 1.
    pub goal: u32,
    /// What.
    pub kind: MoveKind,
    /// With which paths.
    pub paths: Vec<NodeId>,
    /// Why: the signals of at least these paths.
    pub signals: Vec<Signal>,
}

/// The moves of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steering {
    /// Whether the candidate answers suffice, over all goals; moves are ignored then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// One move for each active goal.
    pub moves: Vec<Move>,
}

/// The move that was made on a goal in a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The goal, by number from 1.
    pub goal: u32,
    /// What.
    pub kind: MoveKind,
    /// With which paths.
    pub paths: Vec<NodeId>,
    /// The author.
    pub by: By,
}

/// The author of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The role that was asked.
    Role,
    /// The controller, since no admissible move came: the least selected open path goes on.
    Default,
    /// The controller, since the paths went on for too long without progress.
    Forced,
    /// Drawn at random.
    Random,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Role => "as asked for",
            Self::Default => "for want of an admissible move",
            Self::Forced => "forced",
            Self::Random => "by lot",
        })
    }
}

/// An answer that had to be admissible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Try<T> {
    /// It is.
    Applied(T),
    /// It is not, or not all of it.
    Refused {
        /// The answer.
        answer: T,
        /// Why.
        reason: String,
    },
    /// The call failed.
    Failed(Failure),
}

/// The outcome of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// New and revised facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactChange>,
    /// All current candidate answers, best first.
    pub candidates: Vec<Candidate>,
    /// How far goals are.
    pub goals: Vec<GoalProgress>,
    /// What the paths that made a step report.
    pub paths: Vec<PathReport>,
    /// Replacements of blocked paths, and further paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanChange>,
}

/// A fact that is new or revised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactChange {
    /// The fact that it replaces, by number from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<u32>,
    /// In words. Untrusted text.
    pub text: String,
    /// The finding that it rests on.
    pub finding: EvidenceId,
    /// Exact values, each as it stands in the finding.
    pub values: Vec<String>,
}

/// A fact. Its values stand in its finding, to the letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Its number, from 1.
    pub number: u32,
    /// In words. Untrusted text.
    pub text: String,
    /// The finding that it rests on.
    pub finding: EvidenceId,
    /// Exact values, each as it stands in the finding.
    pub values: Vec<String>,
    /// The fact that replaced it.
    pub revised_by: Option<u32>,
}

/// A candidate answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// An evaluated entity.
    pub entity: EntityId,
    /// Why. Untrusted text.
    pub because: String,
}

/// How far a goal is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalProgress {
    /// The goal, by number from 1.
    pub goal: u32,
    /// From 0 to 1000.
    pub ratio: u16,
    /// Over all its paths. Untrusted text.
    pub summary: String,
}

/// What a path reports after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathReport {
    /// The path.
    pub path: NodeId,
    /// Its result so far. Untrusted text.
    pub summary: String,
    /// What is kept at the node that it reached.
    pub memory: TreeMem,
}

/// What is kept at a node of a path. All text is untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeMem {
    /// Findings that matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// Open questions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uncertainty: String,
    /// Contradictions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// How far the path is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub progress: String,
    /// Signs of a blocked path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// A change of the plan. Goals stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanChange {
    /// Another path in place of one; that one is closed, if it is not already.
    Rewrite {
        /// Which.
        path: NodeId,
        /// The other one.
        approach: Approach,
    },
    /// A further path.
    Add {
        /// The goal, by number from 1.
        goal: u32,
        /// The path.
        approach: Approach,
    },
}

/// Why a part of the outcome of a round does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedPart {
    /// No evaluation showed the finding.
    UnknownFinding,
    /// A value does not stand in the finding.
    ValueNotInFinding,
    /// There is no such fact, or it was replaced.
    UnknownFact,
    /// There are enough.
    TooMany,
    /// The entity was not evaluated, or is unknown.
    UnknownEntity,
    /// There is no such goal, or it is complete.
    UnknownGoal,
    /// Ratios go from 0 to 1000.
    Ratio,
    /// There is no such path, or it made no step.
    UnknownPath,
    /// It was replaced by another path already.
    Rewritten,
    /// The goal has as many open paths as it may have.
    Full,
}

impl fmt::Display for RefusedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownFinding => "no evaluation showed the finding",
            Self::ValueNotInFinding => "a value does not stand in the finding",
            Self::UnknownFact => "there is no such fact",
            Self::TooMany => "there are enough",
            Self::UnknownEntity => "the entity was not evaluated",
            Self::UnknownGoal => "no such goal is left",
            Self::Ratio => "ratios go from 0 to 1000",
            Self::UnknownPath => "no such path made a step",
            Self::Rewritten => "another path took its place already",
            Self::Full => "the goal has enough paths",
        })
    }
}
