//! The recommended behaviour, one evaluation at a time, without observations and caps on entities.

mod widening;

use std::collections::{BTreeMap, BTreeSet};

use eog_core::Digest;
use eog_core::contract::{EvidenceQuery, FormerBelief, Notice, Reach};
use eog_core::controller::{AskAgain, Damping, Order, Reason, Wake};
use eog_core::incident::Direction;
use eog_core::{
    Belief, Case, Claim, Config, ContextPacket, Decision, EntityId, EvidenceId, Label, LocalContext,
};

use super::History;
use super::history::Ended;
use crate::drive::Answers;

/// One evaluation.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) entity: EntityId,
    pub(crate) visit: u32,
    pub(crate) how: How,
    /// The digest of the packet, if there was one.
    pub(crate) packet: Option<Digest>,
    pub(crate) belief: Belief,
    pub(crate) notified: Vec<EntityId>,
    /// The entities that were to become active: why, and whether it was refused.
    pub(crate) activations: Vec<(EntityId, Reason, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    Decided,
    Remembered,
    Failed,
}

/// Runs until nothing is active or the hops are used up. Returns the steps, and who was called on by a
/// message and not evaluated with it.
pub(crate) fn run(
    config: &Config,
    case: &Case,
    answers: &mut impl Answers,
) -> (Vec<Step>, Vec<EntityId>) {
    let mut model = Model {
        config,
        history: History::new(case),
        active: Vec::new(),
        nodes: BTreeMap::new(),
        memory: Vec::new(),
        notices: BTreeMap::new(),
        pages: BTreeMap::new(),
        asked: BTreeMap::new(),
        turning: BTreeMap::new(),
        answers: BTreeMap::new(),
        quoted: BTreeMap::new(),
        decided: BTreeMap::new(),
    };
    for seed in &case.seeds {
        if !model.active.contains(&seed.entity) {
            model.active.push(seed.entity.clone());
        }
    }
    let mut steps: Vec<Step> = Vec::new();
    let hops = |steps: &[Step]| steps.iter().filter(|s| s.how != How::Remembered).count() as u64;
    while !model.active.is_empty() && config.budget.hops.is_none_or(|limit| hops(&steps) < limit) {
        let mut step = model.step(case, answers);
        if model.active.is_empty() {
            step.activations.extend(model.widen());
        }
        steps.push(step);
    }
    (steps, model.history.unread_wakes())
}

/// What was shown, with the answer to a query. Pages are still to come as before.
fn with_answer(shown: &LocalContext, answer: &LocalContext) -> LocalContext {
    let mut omitted = shown.omitted.clone();
    omitted.extend(answer.omitted.iter().filter(|it| !shown.omitted.contains(it)).cloned());
    omitted.dedup();
    let both = as_one(shown, answer);
    LocalContext { omitted, pages_left: shown.pages_left, coverage: shown.coverage.clone(), ..both }
}

/// What was shown first, and what followed, as one context.
fn as_one(first: &LocalContext, then: &LocalContext) -> LocalContext {
    let mut whole = LocalContext {
        omitted: then.omitted.clone(),
        pages_left: then.pages_left,
        ..first.clone()
    };
    for finding in &then.findings {
        if !whole.findings.contains(finding) {
            whole.findings.push(finding.clone());
        }
    }
    for route in &then.routes {
        if !whole.routes.contains(route) {
            whole.routes.push(route.clone());
        }
    }
    whole
}

#[derive(Default)]
struct Node {
    belief: Option<Belief>,
    /// Whether the belief came from a decision, not from a failure.
    settled: bool,
    flips: u32,
    damped: bool,
    cited: BTreeSet<EvidenceId>,
    /// How often it was to be evaluated as a dead end, and asked for a second opinion.
    dead_end_visits: u32,
    opinions: u32,
    /// How many of its last decisions found it an origin.
    origin_in_row: u32,
    /// Whether its last evaluation failed.
    failed: bool,
}

struct Model<'m> {
    config: &'m Config,
    history: History,
    active: Vec<EntityId>,
    nodes: BTreeMap<EntityId, Node>,
    memory: Vec<(ContextPacket, Decision)>,
    /// What the packets of repeated evaluations will say.
    notices: BTreeMap<EntityId, Notice>,
    /// What was shown of an entity of which a further page was given or asked for, and how many were
    /// given.
    pages: BTreeMap<EntityId, (LocalContext, u32)>,
    /// How many of these were answers to queries.
    answers: BTreeMap<EntityId, u32>,
    /// How often a further page or a query of each was asked for.
    asked: BTreeMap<EntityId, u32>,
    /// The entities whose next evaluation reads a further page, or the answer to a query.
    turning: BTreeMap<EntityId, Option<EvidenceQuery>>,
    /// Findings of others that the packets of each quoted when it was judged.
    quoted: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
    /// The last decision on each that was taken over.
    decided: BTreeMap<EntityId, Decision>,
}

impl Model<'_> {
    fn step(&mut self, case: &Case, answers: &mut impl Answers) -> Step {
        let entity = self.active.remove(self.next());
        let turning = self.turning.remove(&entity);
        let paged = self.pages.get(&entity).cloned();
        let mut given = paged.as_ref().map_or(0, |(_, given)| *given);
        let answers_before = self.answers.get(&entity).copied().unwrap_or(0);
        let page = if turning.is_some() { given + 2 - answers_before } else { 1 };
        let mut request = self.history.request(&entity, page);
        let query = turning.clone().flatten();
        request.query.clone_from(&query);
        let visit = request.visit;
        let new_from: Vec<EntityId> = request.changed_neighbours.iter().cloned().collect();
        let (inbox, neighbours) = (self.history.inbox(&entity), self.history.neighbours(&entity));
        if !self.config.broadcast {
            // No message will ask for more, so it is shown at once.
            request.visit += 1;
            request.changed_neighbours = neighbours.iter().map(|it| it.entity.clone()).collect();
        }
        let notice = self.notices.remove(&entity);
        let Ok(page) = answers.context(&request) else {
            return self.failed(entity, visit, None);
        };
        let mut context = match paged {
            Some((shown, _)) if query.is_some() => with_answer(&shown, &page),
            Some((shown, _)) if turning.is_some() => as_one(&shown, &page),
            Some((shown, given)) if given > 0 => as_one(&page, &shown),
            _ => page,
        };
        if self.config.briefing.as_ref().map_or(0, |briefing| briefing.pages) == 0 {
            context.pages_left = 0;
        }
        given += u32::from(turning.is_some());
        *self.answers.entry(entity.clone()).or_default() += u32::from(query.is_some());
        if given > 0 {
            self.pages.insert(entity.clone(), (context.clone(), given));
        }
        let window = case.window;
        let briefing = self.config.briefing.clone();
        let is_news = !new_from.is_empty() || notice.is_some();
        let is_former_included = is_news && briefing.as_ref().is_some_and(|it| it.former);
        let node = self.nodes.get(&entity).filter(|node| is_former_included && node.settled);
        let former = node.and_then(|node| node.belief.clone());
        let with_anomalies = self.config.anomalies_in_packets;
        let hints = match &briefing {
            Some(it) if it.hints => self.history.hints(&entity, with_anomalies),
            _ => Vec::new(),
        };
        let most = briefing.as_ref().map_or(0, |it| it.quotes as usize);
        let quoted = self.history.quoted(&entity, &context, most);
        let packet = ContextPacket {
            entity: entity.clone(),
            window,
            context,
            neighbours,
            inbox,
            anomalies: case
                .anomalies
                .iter()
                .filter(|anomaly| self.config.anomalies_in_packets && anomaly.entity == entity)
                .cloned()
                .collect(),
            notice,
            former: former.map(|belief| FormerBelief { belief, new_from }),
            hints,
            quoted,
            reach: briefing.as_ref().filter(|it| it.reach).map(|_| self.reach(case, &entity)),
            case_file: case.case_file.clone(),
            queries_left: briefing
                .as_ref()
                .map_or(0, |it| it.queries)
                .saturating_sub(self.asked.get(&entity).copied().unwrap_or(0)),
        };
        let unchanged = if turning.is_some() { None } else { self.unchanged(&packet) };
        self.history.learn(&entity, &packet.context);
        let remembered = self.memory.iter().find(|(question, _)| *question == packet);
        let (decision, how) = match remembered {
            Some((_, decision)) if self.config.decision_memory => {
                (decision.clone(), How::Remembered)
            }
            _ => match unchanged {
                Some(decision) => (decision, How::Remembered),
                None => match answers.decide(&packet) {
                    Ok(decision) => (decision, How::Decided),
                    Err(_) => return self.failed(entity, visit, Some(&packet)),
                },
            },
        };
        if how == How::Decided {
            self.memory.push((packet.clone(), decision.clone()));
        }
        let asked = self.asked.entry(entity.clone()).or_default();
        let limits = briefing.map_or((0, 0), |briefing| (briefing.pages, briefing.queries));
        let may_query = decision.query.is_some() && *asked < limits.1;
        let may_turn = decision.next_page && *asked < limits.0 && packet.context.pages_left > 0;
        if may_query || may_turn {
            self.pages.insert(entity.clone(), (packet.context.clone(), given));
            let query = decision.query.filter(|_| may_query).map(|query| *query);
            *asked += 1;
            let reason = if query.is_some() { Reason::Query } else { Reason::Page };
            self.turning.insert(entity.clone(), query);
            return self.turned(entity, visit, how, &packet, reason);
        }
        if self.config.ask_again == AskAgain::NewEvidence {
            let quoted = packet.quoted.iter().map(|finding| finding.id().clone());
            self.quoted.entry(entity.clone()).or_default().extend(quoted);
        }
        self.decided.insert(entity.clone(), decision.clone());
        self.commit(entity, visit, how, &packet, &decision)
    }

    /// The last decision, where the packet holds no evidence that the entity was not judged with.
    fn unchanged(&self, packet: &ContextPacket) -> Option<Decision> {
        let entity = &packet.entity;
        let node = self.nodes.get(entity)?;
        let is_always = self.config.ask_again == AskAgain::Always;
        if is_always || node.failed || !node.settled {
            return None;
        }
        let quotes = self.quoted.get(entity);
        let says_worse = |id: &EvidenceId| {
            packet.inbox.iter().any(|message| {
                let label = message.belief.label;
                let is_worse = label == Label::Origin || label == Label::Symptom;
                is_worse && message.belief.cited().contains(id)
            })
        };
        let quoted = packet.quoted.iter().filter(|finding| says_worse(finding.id()));
        let mut shown = packet.context.findings.iter().chain(quoted);
        let is_known = |id: &EvidenceId| {
            self.history.is_local(entity, id) || quotes.is_some_and(|quotes| quotes.contains(id))
        };
        let is_unchanged = shown.all(|finding| is_known(finding.id()));
        is_unchanged.then(|| self.decided.get(entity).cloned()).flatten()
    }

    /// How an entity stands to the anomalies that packets show, by the definition: hop by hop over what neighbours say.
    fn reach(&self, case: &Case, entity: &EntityId) -> Reach {
        let shown = case.anomalies.iter().filter(|_| self.config.anomalies_in_packets);
        let alerting: BTreeSet<&EntityId> = shown.map(|anomaly| &anomaly.entity).collect();
        let mut within = BTreeSet::from([entity.clone()]);
        let (mut hops, mut nearest) = (0, None);
        loop {
            let any = within.iter().any(|one| alerting.contains(one));
            nearest = nearest.or(any.then_some(hops));
            let mut next = within.clone();
            for from in &within {
                let rows = self.history.neighbours(from).into_iter();
                let affected = rows.filter(|row| row.direction != Direction::Upstream);
                next.extend(affected.map(|row| row.entity));
            }
            if next == within {
                break;
            }
            (within, hops) = (next, hops + 1);
        }
        let reached = within.iter().filter(|one| alerting.contains(one)).count();
        Reach { reached: reached as u32, alerting: alerting.len() as u32, hops: nearest }
    }

    /// Of those that have cooled down the first in line, or the one that matters most; else the one
    /// that will have cooled down first.
    fn next(&self) -> usize {
        let others = |u: &EntityId| self.history.others_since(u).unwrap_or(usize::MAX);
        let cooled = (0..self.active.len())
            .filter(|&position| others(&self.active[position]) >= self.config.cooldown as usize);
        let first = match self.config.order {
            Order::Fifo => cooled.min(),
            Order::Priority => cooled.min_by_key(|&position| {
                let entity = &self.active[position];
                let settled = !self.history.has_label_change(entity);
                (settled, self.history.distance(entity), position)
            }),
            Order::Permuted { seed } => cooled.min_by_key(|&position| {
                Digest::of(&(seed, self.history.evaluations(), &self.active[position]))
            }),
        };
        first.unwrap_or_else(|| {
            let most = self.active.iter().map(others).max();
            self.active.iter().position(|u| Some(others(u)) == most).expect("someone is active")
        })
    }

    /// The next page was asked for: nothing else follows, and the entity is the next in line again.
    fn turned(
        &mut self,
        entity: EntityId,
        visit: u32,
        how: How,
        packet: &ContextPacket,
        reason: Reason,
    ) -> Step {
        self.history.finish(&entity, Ended::PageTurned);
        if let Some(notice) = &packet.notice {
            self.notices.insert(entity.clone(), notice.clone());
        }
        self.active.retain(|waiting| *waiting != entity);
        self.active.insert(0, entity.clone());
        let held = self.nodes.get(&entity).and_then(|node| node.belief.clone());
        let asked = if reason == Reason::Query { "a query" } else { "the next page" };
        let none = format!("not judged yet: {asked} was asked for");
        let belief = held.unwrap_or_else(|| Belief::new(Label::Defer, none));
        let activations = vec![(entity.clone(), reason, false)];
        let packet = Some(Digest::of(packet));
        Step { entity, visit, how, packet, belief, notified: Vec::new(), activations }
    }

    fn failed(&mut self, entity: EntityId, visit: u32, packet: Option<&ContextPacket>) -> Step {
        let what = if packet.is_some() { "decision" } else { "context" };
        let node = self.nodes.entry(entity.clone()).or_default();
        let belief = node.belief.get_or_insert_with(|| {
            let summary = format!("not evaluated: no {what} could be had");
            Belief {
                label: Label::Defer,
                summary,
                evidence: Vec::new(),
                claims: Vec::new(),
                since: None,
                explains: None,
                rule: None,
                measures: None,
            }
        });
        let belief = belief.clone();
        node.failed = true;
        self.history.finish(&entity, Ended::Failed);
        let (how, packet) = (How::Failed, packet.map(Digest::of));
        Step { entity, visit, how, packet, belief, notified: Vec::new(), activations: Vec::new() }
    }

    fn commit(
        &mut self,
        entity: EntityId,
        visit: u32,
        how: How,
        packet: &ContextPacket,
        decision: &Decision,
    ) -> Step {
        let mut belief = self.accept(&entity, packet, decision);
        let joined = self.newly_joined(&belief.claims);
        self.history.join(&belief.claims);

        // Count a flip, then damp, then compare.
        let (limit, cap) = (self.config.flip_threshold, self.config.max_evidence as usize);
        let node = self.nodes.entry(entity.clone()).or_default();
        let before = node.belief.clone().filter(|_| node.settled);
        let differs = |belief: &Belief| {
            before.as_ref().is_some_and(|before| before.signature() != belief.signature())
        };
        if differs(&belief) {
            node.flips += 1;
        }
        if node.flips > limit {
            node.damped = true;
            if self.config.damping == Damping::Absorbing {
                belief.label = Label::Defer;
            }
        }
        let mut news = false;
        for id in belief.cited() {
            if self.history.is_local(&entity, &id) && node.cited.len() < cap {
                news |= node.cited.insert(id);
            }
        }
        let recounted =
            visit <= 8 && before.as_ref().is_some_and(|it| it.measures != belief.measures);
        let changed = before.is_none() || differs(&belief) || news || recounted;
        node.belief = Some(belief.clone());
        node.settled = true;
        node.failed = false;
        node.origin_in_row = if belief.label == Label::Origin { node.origin_in_row + 1 } else { 0 };

        // Consequences, in order.
        self.history.finish(&entity, Ended::Judged);
        let mut activations = Vec::new();
        let causes: BTreeSet<EntityId> = belief.claims.iter().map(|c| c.cause.clone()).collect();
        let visited = |model: &Self, u: &EntityId| model.history.visits(u) > 0;
        for cause in causes {
            if !visited(self, &cause) {
                self.activate(cause, Reason::Claim, &mut activations);
            }
        }
        let mut notified = Vec::new();
        if changed && self.config.broadcast {
            notified.extend(self.history.adjacent(&entity));
            self.history.broadcast(&entity, &belief);
        }
        let mut woken: BTreeMap<EntityId, Reason> = BTreeMap::new();
        for neighbour in &notified {
            let before = before.as_ref();
            let wakes = !matches!(self.config.wake, Wake::AtOdds | Wake::Contradicted)
                || self.contradicts(&entity, &belief, before, neighbour);
            self.history.arrive(&entity, neighbour, &belief, wakes);
            if wakes {
                woken.insert(neighbour.clone(), Reason::Wake);
            }
        }
        if self.config.late_messages {
            for (from, to) in joined {
                let from_me_just_now = from == entity && notified.contains(&to);
                if let Some(message) = self.history.last_broadcast(&from)
                    && !from_me_just_now
                {
                    self.history.arrive(&from, &to, &message, true);
                    woken.entry(to).or_insert(Reason::LateMessage);
                }
            }
        }
        let own = woken.remove(&entity);
        for (neighbour, reason) in woken {
            if visited(self, &neighbour) {
                self.activate(neighbour, reason, &mut activations);
            }
        }
        if let Some(reason) = own {
            self.activate(entity.clone(), reason, &mut activations);
        }
        let mut taken: Vec<EntityId> = Vec::new();
        for proposal in &decision.proposals {
            let candidate = &proposal.entity;
            let useless = !self.history.is_known(candidate)
                || visited(self, candidate)
                || self.active.contains(candidate)
                || taken.contains(candidate);
            if !useless && self.config.max_proposals.is_none_or(|cap| taken.len() < cap as usize) {
                taken.push(candidate.clone());
            }
        }
        for candidate in taken {
            self.activate(candidate, Reason::Proposal, &mut activations);
        }
        Step { entity, visit, how, packet: Some(Digest::of(packet)), belief, notified, activations }
    }

    /// The contract checks.
    fn accept(&self, entity: &EntityId, packet: &ContextPacket, decision: &Decision) -> Belief {
        let received: BTreeSet<EvidenceId> =
            packet.inbox.iter().flat_map(|message| message.belief.cited()).collect();
        let quotes = self.quoted.get(entity);
        let was_quoted = |id: &EvidenceId| quotes.is_some_and(|quotes| quotes.contains(id));
        let local = |id: &EvidenceId| self.history.is_local(entity, id);
        let keep = |ids: &[EvidenceId]| -> Vec<EvidenceId> {
            ids.iter()
                .filter(|id| local(id) || received.contains(*id) || was_quoted(id))
                .cloned()
                .collect()
        };
        let mut claims = Vec::new();
        for claim in &decision.claims {
            let known = self.history.is_known(&claim.cause) && self.history.is_known(&claim.effect);
            let touches = claim.cause == *entity || claim.effect == *entity;
            let evidence = keep(&claim.evidence);
            let mut routes = packet.context.routes.iter();
            let follows = routes.any(|route| {
                let hops = route.hops.iter().zip(route.hops.iter().skip(1));
                let mut alike = hops.filter(|hop| *hop == (&claim.cause, &claim.effect));
                evidence.contains(&route.finding) && alike.next().is_some()
            });
            if known && (touches || follows) && claim.cause != claim.effect && !evidence.is_empty()
            {
                claims.push(Claim { evidence, ..claim.clone() });
            }
        }
        let evidence = keep(&decision.evidence);
        let summary = decision.summary.clone();
        let mut belief = Belief {
            label: decision.label,
            summary,
            evidence,
            claims,
            since: None,
            explains: None,
            rule: None,
            measures: decision.measures.as_deref().cloned(),
        };
        if belief.label == Label::Origin && !belief.cited().iter().any(local) {
            belief.label = Label::Defer;
        }
        belief
    }

    /// Both directions of every claim that joins two entities for the first time.
    fn newly_joined(&self, claims: &[Claim]) -> Vec<(EntityId, EntityId)> {
        let mut pairs = Vec::new();
        for claim in claims {
            if !self.history.adjacent(&claim.cause).contains(&claim.effect) {
                for pair in [(&claim.cause, &claim.effect), (&claim.effect, &claim.cause)] {
                    let pair = (pair.0.clone(), pair.1.clone());
                    if !pairs.contains(&pair) {
                        pairs.push(pair);
                    }
                }
            }
        }
        pairs
    }

    fn activate(
        &mut self,
        entity: EntityId,
        reason: Reason,
        activations: &mut Vec<(EntityId, Reason, bool)>,
    ) {
        if self.active.contains(&entity) {
            return;
        }
        let refused = self.may_not(&entity);
        activations.push((entity.clone(), reason, refused));
        if !refused {
            self.active.push(entity);
        }
    }

    /// Whether an entity is damped or has used its visits.
    fn may_not(&self, entity: &EntityId) -> bool {
        let visits = self.history.visits(entity);
        let spent = self.config.max_visits.is_some_and(|limit| visits >= limit);
        spent || self.nodes.get(entity).is_some_and(|node| node.damped)
    }
}
