//! What a tree search asks, and what it is answered with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::belief::{Belief, Label};
use eog_core::contract::{ContextPacket, ContextRequest, Decision, LocalContext};
use eog_core::controller::Checks;
use eog_core::evidence::Finding;
use eog_core::incident::{Anomaly, CaseFile};
use eog_core::ledger::RecordedAnswer;
use eog_core::machine::{Judgements, Question, QuestionKind};
use eog_core::{Case, Conclusion, Digest, EntityId, Entry, Seed, Topology, Window};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::body::{Action, Looked, Metadata, PlanAction, Purpose, SearchBody, Verdict};
use crate::chain::{ChainAction, ChainStep, PlanStep};
use crate::id::NodeId;
use crate::lane::{Came, LaneAction, Specialist, ToolAnswer, ToolCall, Turn};
use crate::seek::{Approach, Candidate, Fact, Goal, Progress, Steering, TreeMem};
use crate::tree::Phase;

/// A question of a tree search.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The place in the tree that it is about.
    pub(crate) key: EntityId,
    /// The length of the ledger then.
    pub(crate) after: u64,
    /// The number of the question in its task, where a task asks several of the same role; else 0.
    pub(crate) step: u32,
    /// The question.
    pub role: Role,
}

/// Which role answers what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Role {
    /// A [`ContextContract`](eog_core::ContextContract) for a local context.
    Context(ContextRequest),
    /// An [`AbductivePolicy`](eog_core::AbductivePolicy) for a decision.
    Decide(Arc<ContextPacket>),
    /// For distinct actions at a leaf.
    Propose(Arc<ProposeAsk>),
    /// For the next action of a simulation.
    Act(Arc<ProposeAsk>),
    /// For a score.
    Evaluate(Arc<EvaluateAsk>),
    /// For what to do with the tree.
    Plan(Arc<PlanAsk>),
    /// For what is to be learnt from a trajectory that was not accepted.
    Reflect(Arc<EvaluateAsk>),
    /// For hypotheses, at the root or below another.
    Hypothesize(Arc<HypothesizeAsk>),
    /// A specialist for its next action.
    Investigate(Arc<LaneAsk>),
    /// A [`Toolset`](crate::Toolset) for the answer of a tool.
    Call(Arc<CallAsk>),
    /// For how well the evidence supports a hypothesis.
    Weigh(Arc<WeighAsk>),
    /// For goals with alternative paths.
    Decompose(Arc<DecomposeAsk>),
    /// For a move on each active goal.
    Steer(Arc<SteerAsk>),
    /// For the next step of a path.
    Step(Arc<StepAsk>),
    /// For the outcome of a round.
    Progress(Arc<ProgressAsk>),
    /// The agent of a chain for its next action.
    React(Arc<ReactAsk>),
    /// For a summary of the oldest steps of a chain.
    Compact(Arc<CompactAsk>),
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// A local context.
    Context(LocalContext),
    /// A decision.
    Decision(Decision),
    /// Actions, best first; none where there is nothing left to do.
    Actions(Vec<Action>),
    /// The next action; nothing where the trajectory answers.
    Action(Option<Action>),
    /// A score.
    Verdict(Verdict),
    /// What to do with the tree.
    Plan(Vec<PlanAction>),
    /// What is to be learnt.
    Reflection(String),
    /// What a specialist does next.
    Lane(LaneAction),
    /// The answer of a tool, or why the call was not made.
    Tool(Result<ToolAnswer, String>),
    /// Goals.
    Goals(Vec<Goal>),
    /// Moves on goals.
    Steering(Steering),
    /// The outcome of a round.
    Progress(Progress),
    /// What the agent of a chain does next.
    Chain(ChainAction),
    /// A summary.
    Summary(String),
}

impl Answer {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Context(_) => "context",
            Self::Decision(_) => "decision",
            Self::Actions(_) => "list of actions",
            Self::Action(_) => "action",
            Self::Verdict(_) => "score",
            Self::Plan(_) => "plan",
            Self::Reflection(_) => "reflection",
            Self::Lane(_) => "action of a specialist",
            Self::Tool(_) => "answer of a tool",
            Self::Goals(_) => "list of goals",
            Self::Steering(_) => "list of moves",
            Self::Progress(_) => "report of progress",
            Self::Chain(_) => "action of an agent",
            Self::Summary(_) => "summary",
        }
    }
}

/// What every question is about: the case, as far as it decides what to evaluate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    /// The declared dependency graph.
    pub topology: Topology,
    /// The window under investigation.
    pub window: Window,
    /// What must be explained.
    pub anomalies: Vec<Anomaly>,
    /// Where to start.
    pub seeds: Vec<Seed>,
    /// What stands out as a whole, if packets show it.
    pub case_file: Option<Arc<CaseFile>>,
    /// The prompt for planning roles beside the case, in the words of the caller that began the
    /// search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_prompt: Option<Arc<str>>,
}

impl Scene {
    /// What would be concluded from some evaluations alone, by the rules of every result; a later evaluation of an
    /// entity replaces the one before.
    pub fn conclusion(&self, looks: &[Seen]) -> Conclusion {
        let (topology, anomalies) = (self.topology.clone(), self.anomalies.clone());
        let case = Case {
            seeds: self.seeds.clone(),
            case_file: self.case_file.clone(),
            ..Case::from_anomalies(topology, self.window, anomalies)
        };
        let mut judged = Judgements::new(&case, Checks::Full);
        for seen in looks {
            let (Some(entry), Some(belief)) = (&seen.entry, seen.belief()) else { continue };
            let entity = seen.action.entity();
            if let Some(context) = seen.context() {
                judged.learn(entity, context, entry.seq);
            }
            let scores = seen.decision().map_or(&[][..], |decision| &decision.scores);
            judged.adopt(entity, belief, scores);
        }
        judged.conclusion()
    }

    /// Whether an entity on a path is worth another evaluation: since the last of at most one evaluation of it, an
    /// origin or a symptom was found that neighbours it or claims to explain it, and of which it says nothing.
    pub fn is_concerned(&self, path: &[Seen], entity: &EntityId) -> bool {
        let is_look = |seen: &Seen| seen.action.is_done() && seen.action.entity() == entity;
        let mut looks = (0..path.len()).filter(|at| is_look(&path[*at]));
        let (Some(at), None) = (looks.next(), looks.next()) else { return false };
        let Some(before) = path[at].belief().filter(|it| it.label != Label::Origin) else {
            return false;
        };
        path[at + 1..].iter().any(|seen| {
            let other = seen.action.entity();
            let Some(belief) = seen.belief() else { return false };
            let speaks = matches!(belief.label, Label::Origin | Label::Symptom);
            let is_known = before.claims.iter().any(|claim| claim.cause == *other);
            let claims = || belief.claims.iter().any(|claim| claim.effect == *entity);
            let around = || self.topology.neighbours(entity);
            let neighbours = || around().iter().any(|neighbour| neighbour.entity == *other);
            speaks && !is_known && (claims() || neighbours())
        })
    }
}

/// Which anomalies each origin that a conclusion names explains, by position.
pub(crate) fn explained(conclusion: &Conclusion) -> BTreeMap<&EntityId, BTreeSet<usize>> {
    let mut explained: BTreeMap<&EntityId, BTreeSet<usize>> = BTreeMap::new();
    for group in conclusion.frontier.iter().filter(|group| !group.covers.is_empty()) {
        for origin in &group.origins {
            explained.entry(origin).or_default().extend(&group.covers);
        }
    }
    explained
}

/// One step on the way from the root: the action and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What was done.
    pub action: Arc<Action>,
    /// The entry that records it.
    pub(crate) entry: Option<Arc<Entry<SearchBody>>>,
    /// The entry that holds the context, which is the first that saw it.
    pub(crate) context: Option<Arc<Entry<SearchBody>>>,
    /// The entry that holds the decision, if that is remembered.
    pub(crate) decided: Option<Arc<Entry<SearchBody>>>,
}

impl Seen {
    /// The evaluation, if it was made.
    pub fn look(&self) -> Option<&Looked> {
        looked(self.entry.as_ref()?)
    }

    /// Its outcome, if it was a call of a tool.
    pub fn came(&self) -> Option<&Came> {
        match &self.entry.as_ref()?.body {
            SearchBody::Used(used) => Some(&used.came),
            _ => None,
        }
    }

    /// What is believed of the entity from this evaluation, unless it failed.
    pub fn belief(&self) -> Option<&Belief> {
        let look = self.look()?;
        (!matches!(look.answer, RecordedAnswer::Failed(_))).then_some(&look.belief)
    }

    /// What was decided on the entity, as it came.
    pub fn decision(&self) -> Option<&Decision> {
        let of = |entry| match &looked(entry)?.answer {
            RecordedAnswer::Decided(decision) => Some(decision),
            RecordedAnswer::Remembered { .. } | RecordedAnswer::Failed(_) => None,
        };
        self.entry.as_ref().and_then(of).or_else(|| self.decided.as_ref().and_then(of))
    }

    /// The local context of the entity, if it is available.
    pub fn context(&self) -> Option<&LocalContext> {
        looked(self.context.as_ref()?)?.context.as_ref()?.body.as_ref()
    }

    /// Whether it found an origin.
    pub fn is_origin(&self) -> bool {
        self.belief().is_some_and(|belief| belief.label == Label::Origin)
    }
}

/// What decides an answer: what was done, seen and judged, at any place of a ledger.
impl Serialize for Seen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let came = self.came();
        let mut fields = serializer.serialize_struct("Seen", 4 + usize::from(came.is_some()))?;
        fields.serialize_field("action", &*self.action)?;
        fields.serialize_field("belief", &self.look().map(|look| &look.belief))?;
        fields.serialize_field("decision", &self.decision())?;
        let context = self.look().and_then(|look| look.context.as_ref());
        fields.serialize_field("context", &context.map(|context| context.digest))?;
        if let Some(came) = came {
            fields.serialize_field("came", came)?;
        }
        fields.end()
    }
}

fn looked(entry: &Arc<Entry<SearchBody>>) -> Option<&Looked> {
    match &entry.body {
        SearchBody::Looked(looked) => Some(looked),
        _ => None,
    }
}

/// A question for actions at the end of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposeAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The path, from below the root.
    pub path: Vec<Seen>,
    /// How many actions at most.
    pub at_most: u32,
    /// What the last trajectories that were not accepted taught, oldest first.
    pub reflections: Vec<String>,
    /// Which candidate it is for, where they are drawn apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

/// One of several equal questions, whose answers are to differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Which, counted from 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl Sample {
    /// The temperature at which a model answers, in thousandths (Zhou et al. 2023).
    pub const TEMPERATURE: u16 = 800;
}

/// A question for a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluateAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// What is to be scored: the path of a node, or a whole trajectory.
    pub path: Vec<Seen>,
    /// What for.
    pub purpose: Purpose,
    /// The score from which a result is accepted.
    pub accept: u16,
}

/// A question for what to do with a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// Every node but the root, parents first.
    pub nodes: Vec<PlannedNode>,
    /// Which nodes may be expanded or held, by path; the root may be among them.
    pub expandable: Vec<NodeId>,
    /// How many nodes may be added.
    pub room: u32,
    /// Whether each new node needs a score.
    pub scores: bool,
    /// The score from which a result is accepted.
    pub accept: u16,
    /// Why the answer before was refused.
    pub refused: Option<String>,
}

/// A node as a planner sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedNode {
    /// Its name.
    pub id: NodeId,
    /// Its state.
    pub phase: Phase,
    /// Its score, if it has one.
    pub score: Option<u16>,
    /// Whether it is held.
    pub held: bool,
    /// What its evaluator said beside the score.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// What it did.
    pub seen: Seen,
}

impl PlanAsk {
    /// What was seen on the way to a node, itself included.
    pub fn path(&self, node: &NodeId) -> Vec<Seen> {
        let above = self.nodes.iter().filter(|other| other.id.holds(node));
        above.map(|other| other.seen.clone()).collect()
    }

    /// A node by name; nothing for the root.
    pub fn node(&self, id: &NodeId) -> Option<&PlannedNode> {
        self.nodes.iter().find(|node| node.id == *id)
    }

    /// What the children of a node do, those that failed apart.
    pub fn done_below(&self, node: &NodeId) -> BTreeSet<&EntityId> {
        let children = self.nodes.iter().filter(|other| other.id.parent().as_ref() == Some(node));
        children.map(|child| child.seen.action.entity()).collect()
    }
}

/// A hypothesis that was investigated, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// The hypothesis, and what was decided on the entity that it suspects.
    pub seen: Seen,
    /// The last score that it was given, with reasoning and gaps.
    pub verdict: Option<Verdict>,
}

/// A finding that was recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Known {
    /// The specialist that recorded it.
    pub agent: Specialist,
    /// The finding.
    pub finding: Finding,
}

/// A question for hypotheses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HypothesizeAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The hypotheses on the way to the one that is expanded, itself included; none at the root.
    pub path: Vec<Tested>,
    /// Every other hypothesis, investigated or not: what is to be found besides.
    pub others: Vec<Tested>,
    /// What the last evaluation found missing.
    pub gaps: Vec<String>,
    /// All findings so far, oldest first.
    pub known: Vec<Known>,
    /// How many hypotheses at most.
    pub at_most: u32,
}

/// A question to a specialist: what it does next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The role that is asked.
    pub agent: Specialist,
    /// The hypothesis.
    pub hypothesis: Arc<Action>,
    /// The hypotheses above it.
    pub path: Vec<Tested>,
    /// What every specialist had recorded when the lane began, oldest first.
    pub known: Arc<Vec<Known>>,
    /// What this specialist did, with the outcomes.
    pub turns: Vec<Turn>,
    /// How many calls are left, with this one.
    pub left: u32,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The specialist that calls.
    pub agent: Specialist,
    /// The call.
    pub call: ToolCall,
}

/// A question for how well the evidence supports a hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeighAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The hypotheses on the way to the one that is weighed, itself last.
    pub path: Vec<Tested>,
    /// Every other hypothesis that was investigated.
    pub others: Vec<Tested>,
    /// All findings so far, oldest first.
    pub known: Vec<Known>,
    /// The score from which a result is accepted.
    pub accept: u16,
}

/// A question for goals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecomposeAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// How many goals at most.
    pub goals: u32,
    /// How many paths of a goal at most.
    pub paths: u32,
    /// Why the answer before was refused.
    pub refused: Option<String>,
}

/// The state of a goal or a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A goal that needs others.
    Waiting,
    /// A goal to go on with; a path that can be chosen.
    Open,
    /// A goal that was reached.
    Complete,
    /// A path that is given up.
    Closed,
}

/// A goal with its paths, as roles see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoalView {
    /// Its number, from 1.
    pub goal: u32,
    /// The entity that it is about.
    pub about: EntityId,
    /// What is to be found out.
    pub question: String,
    /// The goals that it needs, by number.
    pub needs: Vec<u32>,
    /// Its state.
    pub status: Status,
    /// The highest ratio that was given, from 0 to 1000.
    pub ratio: u16,
    /// The last summary of it.
    pub summary: String,
    /// Its paths, with those that are closed.
    pub paths: Vec<PathView>,
}

/// A path, as roles see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathView {
    /// Its name.
    pub path: NodeId,
    /// What it is.
    pub approach: Approach,
    /// Open or closed.
    pub status: Status,
    /// Whether it was replaced.
    pub rewritten: bool,
    /// How often it was selected since it made progress.
    pub selected: u32,
    /// The last summary of it.
    pub summary: String,
    /// What is kept at the nodes of the branch, from the path down, each with what is kept.
    pub memory: Vec<(NodeId, TreeMem)>,
    /// What is kept at branches that were given up.
    pub given_up: Vec<(NodeId, TreeMem)>,
    /// The last steps of the branch, at most 5, oldest first.
    pub recent: Vec<Seen>,
}

/// A question for a move on each active goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SteerAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// All goals.
    pub goals: Vec<GoalView>,
    /// The goals that want a move, by number.
    pub active: Vec<u32>,
    /// The paths that may go back.
    pub may_return: Vec<NodeId>,
    /// The facts that stand.
    pub facts: Vec<Fact>,
    /// A candidate answer.
    pub candidates: Vec<Candidate>,
    /// The last evaluation of each entity, by name.
    pub seen: Vec<Seen>,
    /// Why the answer before was refused.
    pub refused: Option<String>,
}

/// A question for the next step of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The goal.
    pub goal: GoalView,
    /// The path, among those of the goal.
    pub path: PathView,
    /// Every entity that the branch evaluated.
    pub been: Vec<EntityId>,
    /// Entities that branches of this path evaluated and that were given up, or could not be evaluated.
    pub given_up: Vec<EntityId>,
    /// Entities that other paths of the goal evaluated.
    pub elsewhere: Vec<EntityId>,
    /// The facts that stand.
    pub facts: Vec<Fact>,
}

/// A question on the outcome of a round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgressAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// All goals.
    pub goals: Vec<GoalView>,
    /// The paths that made a step, or tried to.
    pub ran: Vec<NodeId>,
    /// How many open paths a goal may have.
    pub paths: u32,
    /// The facts that stand.
    pub facts: Vec<Fact>,
    /// The candidate answers so far.
    pub candidates: Vec<Candidate>,
    /// The last evaluation of each entity, by name.
    pub seen: Vec<Seen>,
    /// The ratio from which a goal is complete.
    pub accept: u16,
}

/// A question to the agent of a chain: what it does next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReactAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// The plan, with the steps that are settled.
    pub plan: Vec<PlanStep>,
    /// What is left of the oldest steps; empty as long as all are shown.
    pub summary: String,
    /// The other steps, oldest first.
    pub steps: Vec<ChainStep>,
    /// How many steps are left, with this one; 0 if the agent has to conclude now.
    pub left: u32,
}

/// A question for a summary of the oldest steps of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompactAsk {
    /// The case.
    pub scene: Arc<Scene>,
    /// What is left of the steps before.
    pub summary: String,
    /// The steps, oldest first.
    pub steps: Vec<ChainStep>,
    /// How many characters at most. A longer answer is cut.
    pub at_most: u32,
}

impl Question for Ask {
    type Answer = Answer;

    fn key(&self) -> &EntityId {
        &self.key
    }

    fn about(&self) -> &EntityId {
        match &self.role {
            Role::Context(request) => &request.entity,
            Role::Decide(packet) => &packet.entity,
            _ => &self.key,
        }
    }

    fn kind(&self) -> QuestionKind {
        match self.role {
            Role::Context(_) | Role::Call(_) => QuestionKind::Context,
            _ => QuestionKind::Policy,
        }
    }

    /// Names the question within one run: where it arises, and after how many entries.
    fn digest(&self) -> Digest {
        match self.step {
            0 => Digest::of(&(&self.key, self.after, self.role.name())),
            step => Digest::of(&(&self.key, self.after, self.role.name(), step)),
        }
    }
}

impl Role {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Context(_) => "context",
            Self::Decide(_) => "decide",
            Self::Propose(_) => "propose",
            Self::Act(_) => "act",
            Self::Evaluate(_) => "evaluate",
            Self::Plan(_) => "plan",
            Self::Reflect(_) => "reflect",
            Self::Hypothesize(_) => "hypothesize",
            Self::Investigate(_) => "investigate",
            Self::Call(_) => "call",
            Self::Weigh(_) => "weigh",
            Self::Decompose(_) => "decompose",
            Self::Steer(_) => "steer",
            Self::Step(_) => "step",
            Self::Progress(_) => "progress",
            Self::React(_) => "react",
            Self::Compact(_) => "compact",
        }
    }
}
