//! Goals by rules: which to set, how to move on them, where a path goes next, how far a round led.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use eog_core::belief::Label;
use eog_core::incident::Direction;
use eog_evidence::effect_path;

use super::policy::{PolicyScores, leads};
use crate::ask::{
    DecomposeAsk, GoalView, PathView, ProgressAsk, Scene, Seen, Status, SteerAsk, StepAsk,
    explained,
};
use crate::body::Action;
use crate::id::NodeId;
use crate::seek::{
    Approach, Candidate, FactChange, Goal, GoalProgress, Move, MoveKind, PathReport, PlanChange,
    Progress, Signal, Steering, TreeMem,
};

/// Goals for single alerts at most; a further one takes the rest.
const SINGLE: usize = 3;
/// Paths that a goal begins with at most.
const PATHS: usize = 3;
/// Facts of one evaluation at most.
const FACTS: usize = 3;

/// The entities of alerts, or of seeds where nothing alerts, each once, in order.
fn alerting(scene: &Scene) -> Vec<&EntityId> {
    let mut entities: Vec<&EntityId> = Vec::new();
    let alerts = scene.anomalies.iter().map(|anomaly| &anomaly.entity);
    for entity in alerts {
        if !entities.contains(&entity) {
            entities.push(entity);
        }
    }
    if entities.is_empty() {
        entities.extend(scene.seeds.iter().map(|seed| &seed.entity));
        entities.dedup();
    }
    entities
}

/// What each goal is about: an alert each, the fourth all others, the last all of them.
fn groups(scene: &Scene) -> Vec<Vec<&EntityId>> {
    let all = alerting(scene);
    let mut groups: Vec<Vec<&EntityId>> =
        all.iter().take(SINGLE).map(|entity| vec![*entity]).collect();
    let rest: Vec<&EntityId> = all.iter().skip(SINGLE).copied().collect();
    groups.extend((!rest.is_empty()).then_some(rest));
    groups.push(all);
    groups
}

fn approach(start: &EntityId, how: impl Into<String>, success: impl Into<String>) -> Approach {
    Approach { start: start.clone(), approach: how.into(), success: success.into() }
}

/// Where the case says to start, as far as effects travel from there to an entity.
fn seeds_of<'a>(scene: &'a Scene, about: &EntityId) -> Vec<&'a EntityId> {
    let seeds = scene.seeds.iter().map(|seed| &seed.entity);
    seeds.filter(|seed| effect_path(&scene.topology, seed, about).is_some()).collect()
}

/// A goal for each alert, up to four, the fourth of which takes the rest; then the fewest origins for all.
pub(super) fn decompose(ask: &DecomposeAsk) -> Vec<Goal> {
    let groups = groups(&ask.scene);
    let most = PATHS.min(ask.paths as usize);
    let count = groups.len();
    let goal = |(at, group): (usize, &Vec<&EntityId>)| {
        let about = (*group.first()?).clone();
        if at + 1 == count {
            let needs = (1..count).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
            let seeds = ask.scene.seeds.iter().map(|seed| &seed.entity);
            let mut starts: Vec<&EntityId> = Vec::new();
            for start in seeds.chain(group.iter().copied()) {
                if !starts.contains(&start) && starts.len() < most {
                    starts.push(start);
                }
            }
            let path = |start: &&EntityId| {
                approach(
                    start,
                    format!("what {start} has to do with it"),
                    "one origin for all alerts",
                )
            };
            return Some(Goal {
                about,
                question: "the fewest origins that explain all alerts".to_owned(),
                needs: needs.collect(),
                paths: starts.iter().map(path).collect(),
            });
        }
        let mut paths: Vec<Approach> = Vec::new();
        let success = || format!("an origin that explains {about}");
        if group.len() > 1 {
            let own = group.iter().take(ask.paths as usize);
            paths.extend(
                own.map(|it| approach(it, format!("follow the leads from {it}"), success())),
            );
        } else {
            let around = ask.scene.topology.neighbours(&about);
            let upstream = around.iter().filter(|it| it.direction != Direction::Downstream);
            let starts = seeds_of(&ask.scene, &about).into_iter().chain([&about]);
            for start in starts.chain(upstream.map(|neighbour| &neighbour.entity)) {
                if paths.len() < most && !paths.iter().any(|path| path.start == *start) {
                    let how = format!("follow the leads from {start}");
                    paths.push(approach(start, how, success()));
                }
            }
        }
        Some(Goal {
            question: format!("what explains the alerts on {about}"),
            about,
            needs: Vec::new(),
            paths,
        })
    };
    let goals: Vec<Goal> = groups.iter().enumerate().filter_map(goal).collect();
    goals.into_iter().filter(|goal| !goal.paths.is_empty()).collect()
}

/// What is believed of entities, by the last evaluation of each.
struct Known<'a> {
    scores: &'a PolicyScores,
    seen: BTreeMap<&'a EntityId, &'a Seen>,
    /// Which alerts each origin explains, by position.
    explained: BTreeMap<EntityId, BTreeSet<usize>>,
}

impl<'a> Known<'a> {
    fn new(scores: &'a PolicyScores, scene: &'a Scene, seen: &'a [Seen]) -> Self {
        let conclusion = scene.conclusion(seen);
        let explained = explained(&conclusion).into_iter();
        let explained = explained.map(|(origin, alerts)| (origin.clone(), alerts)).collect();
        let seen = seen.iter().map(|seen| (seen.action.entity(), seen)).collect();
        Self { scores, seen, explained }
    }

    fn score(&self, entity: &EntityId) -> (u16, String) {
        let Some(seen) = self.seen.get(entity) else { return (0, "not evaluated".to_owned()) };
        self.scores.of_look(seen, self.explained.contains_key(entity))
    }

    /// Origins that explain an alert, best first; of equal ones the first by name.
    fn origins(&self) -> Vec<&EntityId> {
        let mut best: Vec<&EntityId> = self.explained.keys().collect();
        best.sort_by_key(|entity| (Reverse(self.score(entity).0), *entity));
        best
    }

    /// How far the alerts of some entities are explained: by the alert that is explained worst.
    fn ratio(&self, scene: &Scene, group: &[&EntityId], paths: &[PathView]) -> u16 {
        let alerts = (0..scene.anomalies.len())
            .filter(|alert| group.contains(&&scene.anomalies[*alert].entity));
        let best = |alert: usize| {
            let origins = self.explained.iter().filter(|(_, alerts)| alerts.contains(&alert));
            origins.map(|(origin, _)| self.score(origin).0).max()
        };
        let explained: Option<Vec<u16>> = alerts.map(best).collect();
        let by_paths = || {
            let last = paths.iter().filter_map(|path| path.recent.last());
            let best = last.map(|seen| self.score(seen.action.entity()).0).max().unwrap_or(0);
            best.min(self.scores.unjoined)
        };
        explained.and_then(|all| all.into_iter().min()).unwrap_or_else(by_paths)
    }

    /// On the ways that effects take from origins to alerts, the next entity that was not evaluated: none that is not
    /// evaluated lies before it on any of them, since it shows what affects it by what is known around it. Without an
    /// origin, what alerts.
    fn towards_alerts(&self, scene: &Scene, taken: &BTreeSet<&EntityId>) -> Option<EntityId> {
        let alerts = || scene.anomalies.iter().map(|alert| &alert.entity);
        let origins = self.seen.iter().filter(|(_, seen)| seen.is_origin());
        let mut origins = origins.map(|(origin, _)| *origin).peekable();
        if origins.peek().is_none() {
            let is_new = |it: &&EntityId| !self.seen.contains_key(*it) && !taken.contains(*it);
            return alerts().find(is_new).cloned();
        }
        let ways = origins.flat_map(|origin| {
            alerts().filter_map(move |alert| effect_path(&scene.topology, origin, alert))
        });
        let (mut next, mut later) = (BTreeSet::new(), BTreeSet::new());
        for way in ways {
            let mut left = way.into_iter().filter(|entity| !self.seen.contains_key(entity));
            next.extend(left.next());
            later.extend(left);
        }
        let is_free = |entity: &EntityId| !taken.contains(entity) && !later.contains(entity);
        next.into_iter().find(is_free)
    }

    /// What was not evaluated yet: claimed causes first, then proposals, then whatever is upstream of what is not
    /// healthy; at last who stands between origins and alerts.
    fn further(&self, scene: &Scene, taken: &BTreeSet<&EntityId>) -> Option<Action> {
        let is_new = |entity: &EntityId| !self.seen.contains_key(entity) && !taken.contains(entity);
        let mut best: Option<(u8, Action)> = self.towards_alerts(scene, taken).map(|entity| {
            (4, Action::look(entity, "what was found may lead to the alerts through it"))
        });
        for seen in self.seen.values() {
            let claimed: BTreeSet<&EntityId> = seen
                .belief()
                .into_iter()
                .flat_map(|it| &it.claims)
                .map(|claim| &claim.cause)
                .collect();
            let proposed: BTreeSet<&EntityId> = seen
                .decision()
                .into_iter()
                .flat_map(|it| &it.proposals)
                .map(|proposal| &proposal.entity)
                .collect();
            let healthy = seen.belief().is_some_and(|it| it.label == Label::Healthy);
            for lead in leads(scene, std::slice::from_ref(*seen)) {
                let rank = match lead.entity() {
                    entity if !is_new(entity) => continue,
                    entity if claimed.contains(entity) => 0,
                    entity if proposed.contains(entity) => 1,
                    _ if healthy => 3,
                    _ => 2,
                };
                if best.as_ref().is_none_or(|(other, _)| rank < *other) {
                    best = Some((rank, lead));
                }
            }
        }
        best.map(|(_, lead)| lead)
    }
}

fn open(goal: &GoalView) -> impl Iterator<Item = &PathView> {
    goal.paths.iter().filter(|path| path.status == Status::Open)
}

/// Goes back with a path that may, else exploits one from 700 on, else explores all; finished once the
/// candidates explain all alerts from 700 on.
pub(super) fn steer(scores: &PolicyScores, ask: &SteerAsk) -> Steering {
    let known = Known::new(scores, &ask.scene, &ask.seen);
    let good = ask.candidates.iter().filter(|it| known.score(&it.entity).0 >= scores.exploit);
    let explained: BTreeSet<&usize> =
        good.filter_map(|candidate| known.explained.get(&candidate.entity)).flatten().collect();
    if !ask.candidates.is_empty() && explained.len() == ask.scene.anomalies.len() {
        return Steering { finished: true, moves: Vec::new() };
    }
    let value = |path: &PathView| {
        path.recent.last().map_or((0, "nothing was evaluated".to_owned()), |seen| {
            known.score(seen.action.entity())
        })
    };
    let moves = ask.active.iter().filter_map(|number| {
        let goal = ask.goals.iter().find(|goal| goal.goal == *number)?;
        let returns = open(goal).find(|path| ask.may_return.contains(&path.path));
        let best = open(goal).min_by_key(|path| (Reverse(value(path).0), path.path.clone()));
        let best = best.filter(|path| value(path).0 >= scores.exploit);
        let (kind, paths): (MoveKind, Vec<&PathView>) = match (returns, best) {
            (Some(path), _) => (MoveKind::Backtrack, vec![path]),
            (None, Some(path)) => (MoveKind::Exploit, vec![path]),
            (None, None) => {
                let all: Vec<&PathView> = open(goal).collect();
                let kind = if all.len() > 1 { MoveKind::Explore } else { MoveKind::Exploit };
                (kind, all)
            }
        };
        let signal = |path: &&PathView| {
            let (score, reasoning) = value(path);
            Signal {
                path: path.path.clone(),
                value: format!("{score}: {reasoning}"),
                uncertainty: match path.recent.last() {
                    None => "high: it has not begun".to_owned(),
                    Some(_) if score >= scores.exploit => "low".to_owned(),
                    Some(_) => "high: no origin so far".to_owned(),
                },
                risk: match path.selected {
                    0 => "none yet".to_owned(),
                    times => format!("{times} selections without progress"),
                },
            }
        };
        let signals = paths.iter().map(signal).collect();
        let paths: Vec<NodeId> = paths.iter().map(|path| path.path.clone()).collect();
        Some(Move { goal: *number, kind, paths, signals })
    });
    Steering { finished: false, moves: moves.collect() }
}

/// The start of the path, then the first lead that neither this path nor another of the goal evaluated, unless what
/// was found since concerns it.
pub(super) fn step(ask: &StepAsk) -> Option<Action> {
    let is_new = |entity: &EntityId| {
        !ask.been.contains(entity)
            && !ask.given_up.contains(entity)
            && !ask.elsewhere.contains(entity)
    };
    let start = &ask.path.approach.start;
    if ask.path.recent.is_empty() {
        return is_new(start)
            .then(|| Action::look(start.clone(), ask.path.approach.approach.clone()));
    }
    let recent = &ask.path.recent;
    let is_worth = |entity: &EntityId| is_new(entity) || ask.scene.is_concerned(recent, entity);
    leads(&ask.scene, recent).into_iter().find(|lead| is_worth(lead.entity()))
}

/// Facts are the measured values and changes that decisions of the round cite; candidates are origins that
/// explain an alert; a path where nothing is left to do is rewritten to what was named and not evaluated.
pub(super) fn progress(scores: &PolicyScores, ask: &ProgressAsk) -> Progress {
    let known = Known::new(scores, &ask.scene, &ask.seen);
    let origins = known.origins();
    let mut progress = Progress::default();
    let ran = |path: &&PathView| ask.ran.contains(&path.path);
    for path in ask.goals.iter().flat_map(|goal| &goal.paths).filter(ran) {
        let Some(seen) = path.recent.last() else { continue };
        progress.facts.extend(facts(ask, seen));
        progress.paths.push(report(&known, path, seen));
    }
    let mut said: BTreeSet<String> = BTreeSet::new();
    progress.facts.retain(|fact| said.insert(fact.finding.to_string()));
    progress.candidates = origins
        .iter()
        .map(|origin| Candidate { entity: (*origin).clone(), because: known.score(origin).1 })
        .collect();
    let groups = groups(&ask.scene);
    for (goal, group) in ask.goals.iter().zip(&groups) {
        if goal.status == Status::Complete {
            continue;
        }
        let ratio = known.ratio(&ask.scene, group, &goal.paths);
        let ratio = if origins.is_empty() { ratio.min(scores.unjoined) } else { ratio };
        let summary = match origins.first() {
            Some(origin) => format!("{origin} is the best candidate"),
            None => "no candidate yet".to_owned(),
        };
        progress.goals.push(GoalProgress { goal: goal.goal, ratio, summary });
    }
    let taken: BTreeSet<&EntityId> = ask
        .goals
        .iter()
        .flat_map(open)
        .filter(|path| path.recent.is_empty())
        .map(|path| &path.approach.start)
        .collect();
    // A goal that this answer completes wants no further path.
    let is_reached = |goal: &GoalView| {
        progress.goals.iter().any(|it| it.goal == goal.goal && it.ratio >= ask.accept)
    };
    let mut further: Vec<(NodeId, Action)> = Vec::new();
    for goal in ask.goals.iter().filter(|it| it.status == Status::Open && !is_reached(it)) {
        let closed = goal.paths.iter();
        for path in closed.filter(|path| path.status == Status::Closed && !path.rewritten) {
            let mut without: BTreeSet<&EntityId> = taken.clone();
            without.extend(further.iter().map(|(_, lead)| lead.entity()));
            if let Some(lead) = known.further(&ask.scene, &without) {
                further.push((path.path.clone(), lead));
            }
        }
    }
    progress.plan.extend(further.into_iter().map(|(path, lead)| {
        let start = lead.entity().clone();
        let how = format!("{start}: {}", lead.thought);
        let approach = approach(&start, how, "an origin that explains an alert");
        PlanChange::Rewrite { path, approach }
    }));
    progress
}

/// What was measured or changed, as far as the decision cites it and no fact states it yet.
fn facts(ask: &ProgressAsk, seen: &Seen) -> Vec<FactChange> {
    let (Some(belief), Some(context)) = (seen.belief(), seen.context()) else { return Vec::new() };
    let is_stated = |id: &eog_core::EvidenceId| ask.facts.iter().any(|fact| fact.finding == *id);
    let cited = context.findings.iter().filter(|it| belief.evidence.contains(it.id()));
    let fact = |finding: &eog_core::Finding| {
        let values = match (&finding.change, &finding.quantity) {
            (Some(change), _) => {
                let change = serde_json::to_value(change).ok()?;
                texts(&change)
            }
            (None, Some(quantity)) => {
                let observed = serde_json::to_value(quantity.observed).ok()?;
                vec![observed.to_string(), quantity.unit.clone()]
            }
            (None, None) => return None,
        };
        let values: Vec<String> = values.into_iter().filter(|value| !value.is_empty()).collect();
        let text = format!("{}: {}", finding.entity, values.join(", "));
        Some(FactChange { revises: None, text, finding: finding.id().clone(), values })
    };
    cited.filter(|it| !is_stated(it.id())).filter_map(fact).take(FACTS).collect()
}

fn texts(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(parts) => parts.iter().flat_map(texts).collect(),
        serde_json::Value::Object(parts) => parts.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn report(known: &Known<'_>, path: &PathView, seen: &Seen) -> PathReport {
    let entity = seen.action.entity();
    let (score, reasoning) = known.score(entity);
    let belief = seen.belief();
    let label = belief.map(|belief| belief.label);
    let recent = path.recent.iter().map(|seen| seen.action.entity());
    // What an earlier step called healthy and this one claims as a cause.
    let claimed = belief.into_iter().flat_map(|it| &it.claims).map(|claim| &claim.cause);
    let is_healthy = |other: &&EntityId| {
        let belief = known.seen.get(*other).and_then(|seen| seen.belief());
        belief.is_some_and(|belief| belief.label == Label::Healthy)
    };
    let conflicts = claimed.filter(is_healthy).map(|other| format!("{other} was found healthy"));
    let failures = match label {
        Some(Label::Healthy) => vec![format!("{entity} is healthy")],
        None => vec![format!("{entity} could not be judged")],
        _ => Vec::new(),
    };
    let way: Vec<&str> = recent.map(EntityId::as_str).collect();
    PathReport {
        path: path.path.clone(),
        summary: format!("{}: {reasoning}", way.join(", ")),
        memory: TreeMem {
            evidence: belief.map(|it| it.evidence.to_vec()).unwrap_or_default(),
            uncertainty: match label {
                Some(Label::Defer) => format!("{entity} is not understood"),
                Some(Label::Symptom) => format!("what causes what {entity} shows"),
                _ => String::new(),
            },
            conflicts: conflicts.collect(),
            progress: format!("{score}: {reasoning}"),
            failures,
        },
    }
}
