//! What the entries of a tree search record.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use eog_core::belief::Belief;
use eog_core::contract::Failure;
use eog_core::ledger::{
    Body, ContextRecord, Forked, Look, Opened, RecordedAnswer, Refusal, Warning,
};
use eog_core::{Digest, EntityId, EvidenceId};
use serde::{Deserialize, Serialize};

use crate::chain::{Called, Compacted, Reacted};
use crate::config::SearchConfig;
use crate::id::{NodeId, Place};
use crate::lane::{Came, LaneEnd, Specialist, ToolCall, Turn};
use crate::seek::{Approach, Goal, Progress, RefusedPart, Steering, Taken, Try};

/// What an entry of a tree search records: each question with its answer, and nothing that follows
/// from it by rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SearchBody {
    /// The whole input. Always entry 0, and only there.
    SearchOpened(Box<Opened<SearchConfig>>),
    /// Actions were proposed at a leaf.
    Proposed(Box<Proposed>),
    /// The next action of a simulation was chosen.
    Acted(Box<Acted>),
    /// An entity was evaluated.
    Looked(Box<Looked>),
    /// A node or a trajectory was given a score.
    Scored(Box<Scored>),
    /// A specialist investigated a hypothesis.
    Investigated(Box<Investigated>),
    /// A planner expanded, pruned or converged.
    Planned(Box<Planned>),
    /// A trajectory that was not accepted was reflected on.
    Reflected(Box<Reflected>),
    /// A tool was called at a node, or at a step of a simulation.
    Used(Box<Used>),
    /// Goals were set.
    Decomposed(Box<Decomposed>),
    /// Moves were made on goals.
    Steered(Box<Steered>),
    /// The next step of a path was chosen.
    Stepped(Box<Acted>),
    /// A round was assessed.
    Progressed(Box<Progressed>),
    /// The agent of a chain acted.
    Reacted(Box<Reacted>),
    /// The agent of a chain called a tool.
    Called(Box<Called>),
    /// The oldest steps of a chain became a summary.
    Compacted(Box<Compacted>),
    /// The search ended by itself.
    Ended(Ended),
    /// From here on the search takes another course than the one it was copied from.
    Forked(Box<Forked<SearchConfig>>),
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Why. Untrusted text.
    pub thought: String,
    /// What.
    pub call: Call,
}

/// What an action calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Call {
    /// An evaluation of an entity: its local context, and a decision on what that means.
    Look(EntityId),
    /// An investigation of a hypothesis by specialists, and a decision on what they found.
    Test(Hypothesis),
    /// A goal, whose paths stand below it. Nothing is done at the node itself.
    Goal(Goal),
    /// A way to reach a goal, whose steps stand below it. Nothing is done at the node itself.
    Path(Approach),
    /// A call of a tool. No policy decides on its answer.
    Use {
        /// The entity that the call names, else the one that was evaluated last, else the first seed.
        about: EntityId,
        /// The call.
        call: ToolCall,
    },
}

/// What may have caused an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// The entity in which the cause is suspected.
    pub cause: EntityId,
    /// What is to be found out, for the specialists. Untrusted text.
    pub focus: String,
    /// What kind of cause is suspected, if that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CauseKind>,
    /// Which specialists investigate it, and what each is to find out; all of them by the focus if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialists: Vec<Assignment>,
}

/// What a specialist is to find out about a hypothesis.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The specialist.
    pub agent: Specialist,
    /// What it is asked. Untrusted text.
    pub focus: String,
}

/// Kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// Something was changed: a release, a setting, a schedule.
    Change,
    /// A resource ran out: memory, a pool, a disk, a quota.
    Exhaustion,
    /// Load was higher than usual.
    Load,
    /// A dependency failed.
    Dependency,
    /// The connection between two entities failed.
    Network,
    /// Its input or its data is wrong.
    Data,
    /// A machine or a part of one failed.
    Hardware,
    /// Another kind.
    Other,
}

impl CauseKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Exhaustion => "exhaustion",
            Self::Load => "load",
            Self::Dependency => "dependency",
            Self::Network => "network",
            Self::Data => "data",
            Self::Hardware => "hardware",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Hypothesis {
    /// Whether two suspect the same: the same kind of cause in one entity, whatever they ask of specialists; without
    /// kinds, the same question about it.
    pub fn is_same(&self, other: &Self) -> bool {
        let asks_same = self.kind.is_some() || self.focus == other.focus;
        self.cause == other.cause && self.kind == other.kind && asks_same
    }

    /// The specialists who investigate it, in the order in which they begin.
    pub fn agents(&self) -> Vec<Specialist> {
        let is_asked = |agent: &Specialist| {
            let mut named = self.specialists.iter();
            self.specialists.is_empty() || named.any(|it| it.agent == *agent)
        };
        Specialist::ALL.into_iter().filter(is_asked).collect()
    }

    /// Whether a specialist is named twice, or one who investigates no hypotheses.
    fn misassigns(&self) -> bool {
        let agents = self.specialists.iter().map(|it| it.agent);
        let distinct: BTreeSet<Specialist> = agents.collect();
        let is_known = |agent: &Specialist| Specialist::ALL.contains(agent);
        distinct.len() < self.specialists.len() || !distinct.iter().all(is_known)
    }
}

impl Action {
    /// An evaluation of an entity.
    pub fn look(entity: EntityId, thought: impl Into<String>) -> Self {
        Self { thought: thought.into(), call: Call::Look(entity) }
    }

    /// A hypothesis: where the cause is suspected, what is to be found out, and why it is plausible.
    pub fn test(cause: EntityId, focus: impl Into<String>, rationale: impl Into<String>) -> Self {
        let (focus, kind, specialists) = (focus.into(), None, Vec::new());
        let call = Call::Test(Hypothesis { cause, focus, kind, specialists });
        Self { thought: rationale.into(), call }
    }

    /// A call of a tool, about an entity.
    pub fn call(about: EntityId, call: ToolCall, thought: impl Into<String>) -> Self {
        Self { thought: thought.into(), call: Call::Use { about, call } }
    }

    /// A hypothesis with the kind of cause that it suspects.
    #[must_use]
    pub fn of_kind(mut self, suspected: CauseKind) -> Self {
        if let Call::Test(Hypothesis { kind, .. }) = &mut self.call {
            *kind = Some(suspected);
        }
        self
    }

    /// A hypothesis that one more specialist investigates, who is asked this; those who are not named do not.
    #[must_use]
    pub fn asking(mut self, agent: Specialist, focus: impl Into<String>) -> Self {
        if let Call::Test(Hypothesis { specialists, .. }) = &mut self.call {
            specialists.push(Assignment { agent, focus: focus.into() });
        }
        self
    }

    /// The entity that it evaluates, or in which the cause is suspected.
    pub fn entity(&self) -> &EntityId {
        match &self.call {
            Call::Look(entity)
            | Call::Test(Hypothesis { cause: entity, .. })
            | Call::Goal(Goal { about: entity, .. })
            | Call::Path(Approach { start: entity, .. })
            | Call::Use { about: entity, .. } => entity,
        }
    }

    /// Whether an entity is judged: not so for goals, paths and calls of tools.
    pub fn is_done(&self) -> bool {
        matches!(self.call, Call::Look(_) | Call::Test(_))
    }

    /// The call of a tool, if it is one.
    pub fn tool(&self) -> Option<&ToolCall> {
        match &self.call {
            Call::Use { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Whether something comes of it: not so for goals and paths.
    pub(crate) fn is_step(&self) -> bool {
        self.is_done() || self.tool().is_some()
    }

    /// The hypothesis, if it is one.
    pub fn hypothesis(&self) -> Option<&Hypothesis> {
        match &self.call {
            Call::Test(hypothesis) => Some(hypothesis),
            _ => None,
        }
    }

    /// What specialists are to find out; nothing where it is no hypothesis.
    pub fn focus(&self) -> Option<&str> {
        Some(&self.hypothesis()?.focus)
    }

    /// What one specialist is to find out; nothing where it is no hypothesis.
    pub fn focus_of(&self, agent: Specialist) -> Option<&str> {
        let Hypothesis { focus, specialists, .. } = self.hypothesis()?;
        let own = specialists.iter().find(|it| it.agent == agent && !it.focus.is_empty());
        Some(own.map_or(focus, |own| &own.focus))
    }

    /// Whether it does what another does, however they say it.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.hypothesis(), other.hypothesis()) {
            (Some(own), Some(other)) => own.is_same(other),
            _ => self.call == other.call,
        }
    }

    /// Why specialists cannot investigate it, if they cannot.
    pub(crate) fn unfit_for_specialists(&self) -> Option<RefusedAction> {
        match self.hypothesis() {
            None => Some(RefusedAction::NoHypothesis),
            Some(it) if it.misassigns() => Some(RefusedAction::Misassigned),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look(entity) => write!(f, "look at {entity}"),
            Self::Test(Hypothesis { cause, focus, kind: None, .. }) => {
                write!(f, "suspect {cause}: {focus}")
            }
            Self::Test(Hypothesis { cause, focus, kind: Some(kind), .. }) => {
                write!(f, "suspect {cause}, {kind}: {focus}")
            }
            Self::Goal(goal) => write!(f, "{}", goal.question),
            Self::Path(path) => write!(f, "{}", path.approach),
            Self::Use { call, .. } => write!(f, "{} {}", call.tool, call.arguments),
        }
    }
}

/// Actions that were proposed at a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// The leaf.
    pub node: NodeId,
    /// Which round, counted from 1; 0 for the first hypotheses.
    pub round: u32,
    /// The answer, unless the call failed.
    pub actions: Option<Vec<Arc<Action>>>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Where candidates were drawn apart: what each draw gave, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// Which of them became no children, by position, each with the reason.
    pub refused: Vec<(u32, RefusedAction)>,
}

/// One of the draws of which actions came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// How many of the actions it gave.
    pub actions: u32,
    /// Why it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Why an action is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedAction {
    /// Its node's parent has such a child already.
    EqualSibling,
    /// It was done on the way there.
    EqualAncestor,
    /// The entity is unknown.
    UnknownEntity,
    /// There are enough.
    TooMany,
    /// It says nothing that specialists could find out.
    NoHypothesis,
    /// It names a specialist twice, or one who investigates no hypotheses.
    Misassigned,
    /// It is neither an evaluation nor a call.
    NoLook,
}

impl fmt::Display for RefusedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EqualSibling => "a sibling does the same",
            Self::EqualAncestor => {
                "it was done on the way there, and nothing found since is a reason to do it again"
            }
            Self::UnknownEntity => "the entity is unknown",
            Self::TooMany => "there are enough",
            Self::NoHypothesis => "it is no hypothesis",
            Self::Misassigned => "it names a specialist twice, or one who investigates nothing",
            Self::NoLook => "it is neither an evaluation nor a call",
        })
    }
}

/// The next action of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acted {
    /// The step.
    pub at: Place,
    /// The answer; `None` where the trajectory answers.
    pub action: Option<Arc<Action>>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Why the action is not taken; the trajectory ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedAction>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Used {
    /// Where in the tree.
    pub at: Place,
    /// The call.
    pub call: ToolCall,
    /// Its outcome.
    pub came: Came,
}

/// An evaluation of an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// Where in the tree.
    pub at: Place,
    /// The entity.
    pub entity: EntityId,
    /// The local context, unless it is not available.
    pub context: Option<ContextRecord>,
    /// The digest of the packet, unless there was none.
    pub packet: Option<Digest>,
    /// The answer.
    pub answer: RecordedAnswer,
    /// What was taken out of the decision, and why.
    pub refusals: Vec<Refusal>,
    /// What was accepted with a doubt.
    pub warnings: Vec<Warning>,
    /// What is believed of the entity from this evaluation.
    pub belief: Belief,
}

/// The whole lane of a specialist on a hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Investigated {
    /// The hypothesis.
    pub node: NodeId,
    /// The number of the round, from 1.
    pub round: u32,
    /// The specialist.
    pub agent: Specialist,
    /// What it did, with the outcomes, oldest first.
    pub turns: Vec<Turn>,
    /// How it ended.
    pub end: LaneEnd,
}

/// A score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// What was scored: a node, or the simulation from it up to a step.
    pub at: Place,
    /// What for.
    pub purpose: Purpose,
    /// In which round, counted from 1, where there are rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The answers that could not be used, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The score, unless the call failed.
    pub verdict: Option<Verdict>,
}

/// What a score is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The value of a node, before any simulation.
    Value,
    /// The reward of a whole trajectory.
    Reward,
    /// The judgement of a node that ran.
    Judgement,
    /// How well the evidence supports a hypothesis that was just investigated.
    Evidence,
    /// The same again, since findings came in.
    Again,
}

/// The answer of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// From 0 to 1000.
    pub score: u16,
    /// Why. Untrusted text.
    pub reasoning: String,
    /// Whether the node is not to be followed any further.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prune: bool,
    /// The findings that a score of a hypothesis rests on, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_evidence: Vec<EvidenceId>,
    /// What is missing for a higher score of a hypothesis. Untrusted text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// What else a planning role may use, such as how strong the evidence is. Untrusted.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Texts and numbers by name, at most [`Metadata::MOST`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(pub BTreeMap<String, MetadataValue>);

/// A text or a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetadataValue {
    /// A number.
    Number(serde_json::Number),
    /// A text.
    Text(String),
}

impl Metadata {
    /// Most entries.
    pub const MOST: usize = 8;
    /// Most characters of a name.
    pub const LONGEST_NAME: usize = 40;
    /// Most characters of a text.
    pub const LONGEST_TEXT: usize = 200;

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is wrong with it, if it is too much.
    pub fn problem(&self) -> Option<String> {
        let Self(entries) = self;
        if entries.len() > Self::MOST {
            return Some(format!(
                "metadata: {} entries are more than {}",
                entries.len(),
                Self::MOST
            ));
        }
        entries.iter().find_map(|(name, value)| {
            let (length, text) = (name.chars().count(), value.to_string().chars().count());
            if length == 0 || length > Self::LONGEST_NAME {
                Some(format!(
                    "metadata: a name has {length} characters, not 1 to {}",
                    Self::LONGEST_NAME
                ))
            } else if text > Self::LONGEST_TEXT {
                Some(format!(
                    "metadata: {name} has {text} characters, more than {}",
                    Self::LONGEST_TEXT
                ))
            } else {
                None
            }
        })
    }
}

impl fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Verdict {
    /// A score with its reason, that prunes nothing, cites nothing and finds nothing missing.
    pub fn new(score: u16, reasoning: impl Into<String>) -> Self {
        let (key_evidence, gaps, metadata) = (Vec::new(), Vec::new(), Metadata::default());
        Self { score, reasoning: reasoning.into(), prune: false, key_evidence, gaps, metadata }
    }
}

/// The result of asking a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The number of the plan, from 1.
    pub iteration: u32,
    /// Which nodes the beam cut before, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<NodeId>,
    /// The answers, oldest first. The last is applied if it was not refused.
    pub tries: Vec<PlanTry>,
}

/// One answer of a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanTry {
    /// It was applied, all of it.
    Applied(Vec<PlanAction>),
    /// None of it was applied.
    Refused {
        /// The answer.
        actions: Vec<PlanAction>,
        /// Why.
        reason: String,
    },
    /// The call failed.
    Failed(Failure),
}

/// One action of a planner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanAction {
    /// A new node.
    Expand {
        /// Below which.
        parent: NodeId,
        /// What it does.
        action: Arc<Action>,
        /// What the planner expects of it, from 0 to 1000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<u16>,
    },
    /// A node that needs no children: it stays in the result, and its level is not kept open for it.
    Hold {
        /// Which.
        node: NodeId,
        /// Why. Untrusted text.
        reason: String,
    },
    /// A node that is not followed any further, with all below it.
    Prune {
        /// Which.
        node: NodeId,
        /// Why. Untrusted text.
        reason: String,
    },
    /// The result.
    Converge {
        /// The node.
        node: NodeId,
    },
}

/// A reflection on a trajectory that was not accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reflected {
    /// The end of the trajectory.
    pub at: Place,
    /// The answer. Untrusted text.
    pub text: Option<String>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Goals, with alternative paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decomposed {
    /// The answers, oldest first. The last is applied if it was not refused.
    pub tries: Vec<Try<Vec<Goal>>>,
}

/// Moves on goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steered {
    /// The number of the round, from 1.
    pub round: u32,
    /// The answers, oldest first; empty where moves are drawn at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<Try<Steering>>,
    /// Whether the search is finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// What was done with each active goal, and who chose it.
    pub taken: Vec<Taken>,
}

/// The outcome of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progressed {
    /// The number of the round, from 1.
    pub round: u32,
    /// The failures, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The answer, unless the call failed.
    pub progress: Option<Progress>,
    /// Which parts of it do not count, by name and position, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(String, RefusedPart)>,
}

/// Why a search ended by itself, and what it found best.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Why.
    pub reason: End,
    /// The best node, or the end of the best trajectory.
    pub best: Option<Place>,
    /// Its score.
    pub score: Option<u16>,
}

/// Why a search ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// A score is high enough.
    Accepted,
    /// The planner chose a node.
    Converged,
    /// The last round or plan was made.
    Rounds,
    /// There is nothing left to expand.
    Exhausted,
    /// The tree is as large as it may get.
    Settled,
    /// No answer of the planner could be applied.
    PlannerFailed,
    /// The candidate answers suffice.
    Finished,
    /// All goals are complete.
    Completed,
    /// The agent of a chain concluded.
    Concluded,
    /// The agent of a chain gave no answer.
    Unanswered,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted: a score is high enough",
            Self::Converged => "converged: the planner chose a node",
            Self::Rounds => "all rounds were made",
            Self::Exhausted => "exhausted: nothing is left to expand",
            Self::Settled => "settled: the tree is as large as it may get",
            Self::PlannerFailed => "no answer of the planner could be applied",
            Self::Finished => "finished: the candidate answers are answer enough",
            Self::Completed => "all goals are complete",
            Self::Concluded => "concluded: the agent named its causes",
            Self::Unanswered => "the agent gave no answer",
        })
    }
}

impl Body for SearchBody {
    type Settings = SearchConfig;

    const FORMAT: u32 = 1;
    const OPENING: &'static str = "search_opened";

    fn opened(&self) -> Option<&Opened<SearchConfig>> {
        if let Self::SearchOpened(opened) = self { Some(opened) } else { None }
    }

    fn look(&self) -> Option<Look<'_>> {
        let Self::Looked(looked) = self else { return None };
        let Looked { at, entity, context, packet, answer, refusals, belief, .. } = looked.as_ref();
        let (key, context, packet) = (at.key(), context.as_ref(), *packet);
        Some(Look { key, entity, context, packet, answer, refusals, belief, notified: &[] })
    }

    fn forked(&self) -> Option<&Forked<SearchConfig>> {
        if let Self::Forked(forked) = self { Some(forked) } else { None }
    }
}
