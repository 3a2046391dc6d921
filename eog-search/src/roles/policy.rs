//! The roles by rules over what a policy decided on single entities.

use eog_core::belief::Label;
use eog_core::incident::Direction;
use eog_core::{EntityId, Measures};

use super::{Reply, Roles, chain, seeker, specialists};
use crate::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, PlannedNode,
    ProgressAsk, ProposeAsk, ReactAsk, Scene, Seen, SteerAsk, StepAsk, WeighAsk, explained,
};
use crate::body::{Action, PlanAction, Verdict};
use crate::chain::ChainAction;
use crate::id::NodeId;
use crate::lane::LaneAction;
use crate::seek::{Goal, Progress, Steering};
use crate::tools::ToolSpec;
use crate::tree::Phase;

/// Plays the roles without a model: fixed rules over the decisions of a policy propose, score, plan and
/// reflect.
///
/// - **Propose:** at the root the seeds of the case; elsewhere the causes that the entity's claims name,
///   then its proposals, then what lies on the path and is concerned by what was found since
///   ([`Scene::is_concerned`]), then its upstream neighbours; nothing else that lies on the path.
/// - **Act:** the first of these; from an origin nothing that is merely upstream.
/// - **Evaluate:** [`PolicyScores`].
/// - **Plan:** expand what has a score above 300, hold what has nothing to propose, prune what is healthy;
///   converge on the best where nothing can be expanded.
/// - **Reflect:** the labels along the path.
/// - **Hypothesize:** the leads of *propose* that no other hypothesis suspects.
/// - **Investigate:** fetch the context of the suspected entity, record what it holds of one's own kinds,
///   finish.
/// - **Decompose:** a goal for each alert, up to four, the fourth of which takes the rest, with paths from the seeds
///   whose effects reach it, from the alert, and from upstream of it; then the fewest origins for all.
/// - **Steer:** go back with a path that may; exploit a path with a score of 700 or more, else explore all;
///   finished once candidates of 700 or more explain all alerts.
/// - **Step:** the first of *propose* that no path of the goal evaluated.
/// - **Progress:** facts are what decisions of the round cite; candidates are origins that explain an alert; a
///   path where nothing is left to do is rewritten to what was named and not evaluated.
/// - **React:** evaluate the newest lead, else the next place to start from; conclude with the first origins that
///   explain an alert, or when nothing is left with those that explain none.
/// - **Compact:** the label of each entity that was evaluated.
/// - **Weigh:** [`PolicyScores`], where what all hypotheses found may make an origin explain an alert; an origin
///   that another one explains counts as a symptom whose cause is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyRoles {
    /// How good a path is.
    pub scores: PolicyScores,
}

/// How good a path is, from 0 to 1000, by what was decided on its last entity. Set before any result was
/// read; docs/controllers.md lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyScores {
    /// Whether the policy's own score of an origin, or else its probability ([`Measures::probability`]), takes the
    /// place of the next.
    ///
    /// [`Measures::probability`]: eog_core::Measures::probability
    pub own: bool,
    /// An origin of which the policy says no more.
    pub origin: u16,
    /// At most so much for an origin that, by what was seen along the path, explains no alert.
    pub unjoined: u16,
    /// A symptom whose cause is named.
    pub symptom_of: u16,
    /// A symptom without a cause.
    pub symptom: u16,
    /// An entity that is not understood, with proposals for the next evaluation.
    pub defer_with_proposals: u16,
    /// An entity that is not understood.
    pub defer: u16,
    /// A healthy entity.
    pub healthy: u16,
    /// A planner expands only what is above this.
    pub expand_above: u16,
    /// A path of a goal with at least this is exploited, and a candidate with it is answer enough.
    pub exploit: u16,
}

impl Default for PolicyScores {
    fn default() -> Self {
        Self {
            own: true,
            origin: 900,
            unjoined: 600,
            symptom_of: 500,
            symptom: 350,
            defer_with_proposals: 320,
            defer: 250,
            healthy: 50,
            expand_above: 300,
            exploit: 700,
        }
    }
}

impl PolicyScores {
    /// The score of a path.
    pub(super) fn of(&self, ask: &EvaluateAsk) -> Verdict {
        let Some(seen) = last_look(&ask.path) else {
            return Verdict::new(0, "nothing was evaluated");
        };
        let entity = seen.action.entity();
        let conclusion = seen.is_origin().then(|| ask.scene.conclusion(&ask.path));
        let explains = conclusion.is_some_and(|it| explained(&it).contains_key(entity));
        let (score, reasoning) = self.of_look(seen, explains);
        let healthy = seen.belief().is_some_and(|belief| belief.label == Label::Healthy);
        Verdict { prune: healthy, ..Verdict::new(score, reasoning) }
    }

    /// The score of what an evaluation found, and why; `explains` is whether the conclusion would be that the entity explains
    /// an alert.
    pub(super) fn of_look(&self, seen: &Seen, explains: bool) -> (u16, String) {
        let entity = seen.action.entity();
        let Some(belief) = seen.belief() else {
            return (0, format!("{entity} could not be judged"));
        };
        match belief.label {
            Label::Origin => {
                let own = seen.decision().into_iter().flat_map(|decision| &decision.scores);
                let own = own.into_iter().find(|score| score.entity == *entity);
                let likely = || belief.measures.as_ref().map(Measures::probability);
                let own = own.map(|own| own.score.min(1000)).or_else(likely);
                let score = own.filter(|_| self.own).unwrap_or(self.origin);
                match explains {
                    true => (score, format!("{entity} is an origin, and explains an alert")),
                    false => (
                        score.min(self.unjoined),
                        format!("{entity} is an origin, and explains no alert so far"),
                    ),
                }
            }
            Label::Symptom if belief.claims.iter().any(|claim| claim.effect == *entity) => {
                (self.symptom_of, format!("{entity} is a symptom, and its cause is named"))
            }
            Label::Symptom => (self.symptom, format!("{entity} is a symptom of an unknown cause")),
            Label::Defer => {
                let proposals = seen.decision().is_some_and(|it| !it.proposals.is_empty());
                let score = if proposals { self.defer_with_proposals } else { self.defer };
                (score, format!("{entity} is not understood"))
            }
            Label::Healthy => (self.healthy, format!("{entity} is healthy")),
        }
    }
}

/// The last evaluation of a path, which calls of tools may follow.
fn last_look(path: &[Seen]) -> Option<&Seen> {
    path.iter().rev().find(|seen| seen.action.is_done())
}

/// Which entities to evaluate after a path, best first.
pub(super) fn leads(scene: &Scene, path: &[Seen]) -> Vec<Action> {
    let mut leads = named(scene, path);
    let Some(seen) = last_look(path) else { return leads };
    for neighbour in scene.topology.neighbours(seen.action.entity()) {
        if neighbour.direction != Direction::Downstream {
            lead(&mut leads, (scene, path), &neighbour.entity, "upstream");
        }
    }
    leads
}

/// The same for searches along one way: from an origin nothing that is merely upstream.
pub(super) fn onward(scene: &Scene, path: &[Seen]) -> Vec<Action> {
    let is_origin = last_look(path).is_some_and(Seen::is_origin);
    if is_origin { named(scene, path) } else { leads(scene, path) }
}

/// Without what is merely upstream: what was named, or what was found concerns.
fn named(scene: &Scene, path: &[Seen]) -> Vec<Action> {
    let mut leads: Vec<Action> = Vec::new();
    let mut add = |entity: &EntityId, why: &str| lead(&mut leads, (scene, path), entity, why);
    let Some(seen) = last_look(path) else {
        scene.seeds.iter().for_each(|seed| add(&seed.entity, &seed.reason));
        return leads;
    };
    let entity = seen.action.entity();
    if let Some(belief) = seen.belief() {
        let causes = belief.claims.iter().filter(|claim| claim.effect == *entity);
        causes.for_each(|claim| add(&claim.cause, &claim.condition));
    }
    if let Some(decision) = seen.decision() {
        decision.proposals.iter().for_each(|proposal| add(&proposal.entity, &proposal.reason));
    }
    for before in path.iter().rev().filter(|seen| seen.action.is_done()) {
        let before = before.action.entity();
        if scene.is_concerned(path, before) {
            add(before, "what was found since concerns it");
        }
    }
    leads
}

/// One more lead, unless it is there already, or lies on the path and nothing found since concerns it.
fn lead(leads: &mut Vec<Action>, (scene, path): (&Scene, &[Seen]), entity: &EntityId, why: &str) {
    let leads_there = |action: &Action| action.entity() == entity;
    let is_done = path.iter().any(|seen| seen.action.is_done() && leads_there(&seen.action));
    if (!is_done || scene.is_concerned(path, entity)) && !leads.iter().any(leads_there) {
        leads.push(Action::look(entity.clone(), why));
    }
}

impl PolicyScores {
    /// What to do with a tree.
    fn plan(&self, ask: &PlanAsk) -> Vec<PlanAction> {
        let best = best(&ask.nodes);
        if let Some(best) = best.filter(|best| best.score >= Some(ask.accept)) {
            return vec![PlanAction::Converge { node: best.id.clone() }];
        }
        let mut room = ask.room as usize;
        let mut actions = Vec::new();
        let mut expandable: Vec<(&NodeId, Option<&PlannedNode>)> =
            ask.expandable.iter().map(|id| (id, ask.node(id))).collect();
        // Where there is not room for all, the best come first.
        expandable.sort_by_key(|(_, node)| std::cmp::Reverse(node.and_then(|node| node.score)));
        for (id, node) in expandable {
            let score = node.and_then(|node| node.score);
            let done = ask.done_below(id);
            let mut leads = leads(&ask.scene, &ask.path(id));
            leads.retain(|lead| !done.contains(lead.entity()));
            let promises = node.is_none() || score > Some(self.expand_above);
            if promises && !leads.is_empty() {
                let taken = leads.len().min(room);
                room -= taken;
                let score = ask.scores.then_some(score.unwrap_or(self.symptom_of));
                actions.extend(leads.into_iter().take(taken).map(|action| PlanAction::Expand {
                    parent: id.clone(),
                    action: action.into(),
                    score,
                }));
            } else {
                let reason =
                    if promises { "nothing is left to propose" } else { "its score is low" };
                actions.push(PlanAction::Hold { node: id.clone(), reason: reason.to_owned() });
            }
        }
        match best {
            Some(best) if actions.is_empty() => {
                vec![PlanAction::Converge { node: best.id.clone() }]
            }
            _ => actions,
        }
    }
}

/// The highest score that is not pruned; of equal ones the first by path.
fn best(nodes: &[PlannedNode]) -> Option<&PlannedNode> {
    let scored = nodes.iter().filter(|node| node.phase == Phase::Scored && node.score.is_some());
    scored.min_by_key(|node| (std::cmp::Reverse(node.score), node.id.clone()))
}

fn ready<'a, T: Send + 'a>(answer: T) -> Reply<'a, T> {
    Box::pin(async { Ok(answer.into()) })
}

impl Roles for PolicyRoles {
    fn propose<'a>(
        &'a self,
        ask: &'a ProposeAsk,
        _tools: &'a [ToolSpec],
    ) -> Reply<'a, Vec<Action>> {
        // Drawn apart, each is the next best.
        let before = ask.sample.map_or(0, |sample| sample.index.saturating_sub(1));
        let leads = leads(&ask.scene, &ask.path).into_iter().skip(before as usize);
        ready(leads.take(ask.at_most as usize).collect())
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk, _tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        ready(onward(&ask.scene, &ask.path).into_iter().next())
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        ready(self.scores.of(ask))
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        ready(self.scores.plan(ask))
    }

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        ready(specialists::hypotheses(ask))
    }

    fn investigate<'a>(
        &'a self,
        ask: &'a LaneAsk,
        _tools: &'a [ToolSpec],
    ) -> Reply<'a, LaneAction> {
        ready(specialists::next(ask))
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        ready(specialists::weigh(&self.scores, ask))
    }

    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        ready(seeker::decompose(ask))
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        ready(seeker::steer(&self.scores, ask))
    }

    fn step<'a>(&'a self, ask: &'a StepAsk, _tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        ready(seeker::step(ask))
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        ready(seeker::progress(&self.scores, ask))
    }

    fn react<'a>(&'a self, ask: &'a ReactAsk, _tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        ready(chain::react(ask))
    }

    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        ready(chain::compact(ask))
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        let labels = ask.path.iter().map(|seen| {
            let label = seen.belief().map_or("not judged".to_owned(), |it| it.label.to_string());
            format!("{}: {label}", seen.action.entity())
        });
        ready(labels.collect::<Vec<_>>().join(", "))
    }
}
