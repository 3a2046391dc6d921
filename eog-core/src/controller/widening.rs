//! Evaluating again before the end: when nothing is active or under way, the first step that can
//! activate anything does so for all it names.

use std::collections::{BTreeMap, BTreeSet};

use super::Controller;
use super::active::{Activation, Reason};
use super::config::Widening;
use super::dead_ends::Explanations;
use super::entry_body::ActivationRecord;
use super::named_origins::{MAX_LISTED, named_origin};
use super::rings::Rings;
use super::unlinked;
use crate::belief::ClaimEdge;
use crate::contract::packet::{NamedOrigin, Notice, NoticeReason};
use crate::diagnosis::OriginGroup;
use crate::diagnosis::conclude::{conclude_from_the_steady, leading_to};
use crate::ids::EntityId;
use crate::incident::onset::Onset;
use crate::state::{Node, State};

/// A chain of explanations may end at an entity for lack of one good answer, so it is asked twice.
pub(super) const DEAD_END_VISITS: u32 = 2;
/// An origin is asked until it says so twice in a row, and three times if it has rivals: at most so
/// often.
pub(super) const OPINIONS: u32 = 3;

/// What the beliefs lead to, as far as it decides what to evaluate again.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    groups: Vec<Group>,
    /// Origins of the frontier that explain no anomaly.
    unlinked: Vec<EntityId>,
    /// By anomaly: the groups that explain it, by position.
    covering: BTreeMap<usize, Vec<usize>>,
    /// Positions of anomalies.
    unexplained: Vec<usize>,
    /// The live claims that lead to these.
    leading: BTreeSet<ClaimEdge>,
    /// Where they end.
    dead_ends: BTreeSet<EntityId>,
}

/// A group of the frontier that explains an anomaly.
#[derive(Clone, Debug)]
struct Group {
    origins: Vec<EntityId>,
    covers: Vec<usize>,
}

impl Outlook {
    fn of(state: &State) -> Self {
        let conclusion = conclude_from_the_steady(state);
        let group = |OriginGroup { origins, covers, .. }| Group { origins, covers };
        let groups = conclusion.frontier.into_iter().map(group);
        let (groups, others): (Vec<Group>, Vec<Group>) =
            groups.partition(|group| !group.covers.is_empty());
        let unlinked = others.into_iter().flat_map(|group| group.origins).collect();
        let mut covering: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (position, group) in groups.iter().enumerate() {
            for &anomaly in &group.covers {
                covering.entry(anomaly).or_default().push(position);
            }
        }
        let unexplained = conclusion.unexplained;
        let leading = leading_to(state, &unexplained);
        let alerting = unexplained.iter().map(|&at| &state.anomalies[at].entity);
        let dead_ends = Explanations::new(&leading).dead_ends(alerting);
        let dead_ends = dead_ends.into_iter().cloned().collect();
        Self { groups, unlinked, covering, unexplained, leading, dead_ends }
    }

    fn named(&self) -> impl Iterator<Item = &EntityId> {
        self.groups.iter().flat_map(|group| &group.origins)
    }

    /// Whether another group explains some of what a group does.
    fn has_rivals(&self, group: &Group) -> bool {
        let covering = group.covers.iter().filter_map(|anomaly| self.covering.get(anomaly));
        covering.into_iter().any(|groups| groups.len() > 1)
    }

    /// The origins of other groups that explain some of what a group does, by name.
    fn rivals(&self, group: &Group) -> Vec<EntityId> {
        let covering = group.covers.iter().filter_map(|anomaly| self.covering.get(anomaly));
        let sharing: BTreeSet<usize> = covering.flatten().copied().collect();
        let others = sharing.into_iter().map(|position| &self.groups[position]);
        let others = others.filter(|other| other.origins != group.origins);
        let names: BTreeSet<&EntityId> = others.flat_map(|other| &other.origins).collect();
        names.into_iter().cloned().collect()
    }
}

/// The entities that a step names, and what their packets say.
type Named = Vec<(EntityId, Option<Notice>)>;

impl Controller {
    /// Activates entities again, if nothing is active or under way and some are left to evaluate.
    /// Returns the records of those that became active; `cause` is the entry that led here.
    /// Entities that are damped, have used their visits or exceed the entity cap are not named.
    ///
    /// Depends on what was committed alone. A budget that has ended keeps no entity from becoming
    /// active, only from being dispatched: what was left out is seen, and a larger budget goes on
    /// with it.
    pub(super) fn widen_at_rest(&mut self, cause: u64) -> Vec<ActivationRecord> {
        let is_at_rest = self.active.is_empty() && self.in_flight.is_empty();
        let Some(widening) = self.config.widening.clone().filter(|_| is_at_rest) else {
            return Vec::new();
        };
        if self.rests_at == Some(cause + 1) {
            return Vec::new();
        }
        let outlook = self.outlook.take().unwrap_or_else(|| Outlook::of(&self.state));
        let mut records = Vec::new();
        for step in
            [Reason::Settle, Reason::Check, Reason::DeadEnd, Reason::Widen, Reason::SecondOpinion]
        {
            let mut named = self.named(step, &outlook, &widening);
            named.retain(|(entity, _)| self.refusal(entity).is_none());
            if !named.is_empty() {
                records = self.activate_named(step, named, cause);
                break;
            }
        }
        self.outlook = Some(outlook);
        if records.is_empty() {
            self.rests_at = Some(cause + 1);
        }
        records
    }

    /// Takes back what waits because of widening, since other settings decide about it anew.
    pub(super) fn withdraw_widening(&mut self) {
        for Activation { entity, reason, .. } in self.active.extract(|one| one.reason.is_widening())
        {
            let node = self.state.node(&entity);
            match reason {
                Reason::DeadEnd => node.dead_ends = node.dead_ends.saturating_sub(1),
                Reason::SecondOpinion => node.opinions = node.opinions.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn activate_named(&mut self, step: Reason, named: Named, cause: u64) -> Vec<ActivationRecord> {
        let mut records = Vec::new();
        for (entity, notice) in named {
            let node = self.state.node(&entity);
            node.dead_ends += u32::from(step == Reason::DeadEnd);
            node.opinions += u32::from(step == Reason::SecondOpinion);
            records.extend(self.activate_with(&entity, step, cause, notice));
        }
        records
    }

    fn named(&mut self, step: Reason, outlook: &Outlook, widening: &Widening) -> Named {
        let plain =
            |names: BTreeSet<EntityId>| names.into_iter().map(|name| (name, None)).collect();
        match step {
            Reason::Settle => plain(self.unsettled(outlook, widening)),
            Reason::Check => plain(self.unchecked(outlook)),
            Reason::DeadEnd => self.dead_ends(outlook, widening),
            Reason::Widen => plain(self.nearest_unvisited(outlook, widening)),
            Reason::SecondOpinion => self.second_opinions(outlook, widening),
            _ => Named::new(),
        }
    }

    /// Visited effects of named origins that have not read the latest messages of these; and, if so configured, origins
    /// that explain no anomaly and have unread messages, since entities that they affect may have sent them afterwards;
    /// entities that weigh numbers and have unread messages; and entities that lead to what nothing explains, and have not
    /// read the latest message of their own cause.
    fn unsettled(&self, outlook: &Outlook, widening: &Widening) -> BTreeSet<EntityId> {
        let others = outlook.unlinked.iter().filter(|_| widening.origins_read);
        let mut behind: BTreeSet<EntityId> =
            others.filter(|origin| self.can_read(origin)).cloned().collect();

        if widening.numbers_read {
            let weighs = |node: &Node| node.belief.as_ref().is_some_and(|it| it.measures.is_some());
            let weighing = self.state.nodes.iter().filter(|(_, node)| weighs(node));
            let weighing = weighing.map(|(entity, _)| entity);
            behind.extend(weighing.filter(|entity| self.can_read(entity)).cloned());
        }
        let is_unread = |cause: &EntityId, effect: &EntityId| {
            let message = self.state.get(effect).and_then(|node| node.inbox.get(cause));
            message.is_some_and(|message| message.new) && self.can_read(effect)
        };
        let mut unread: BTreeSet<ClaimEdge> = BTreeSet::new();
        // What leads to an anomaly may end where one end of a claim knows less than the other.
        let leading = outlook.leading.iter().filter(|_| widening.chains_read);
        let leading = leading.filter(|claim| is_unread(&claim.cause, &claim.effect));
        behind.extend(leading.map(|claim| claim.effect.clone()));
        for origin in outlook.named() {
            let effects = self.state.adjacent(origin).into_iter();
            let effects = effects.filter(|effect| is_unread(origin, effect));
            unread.extend(effects.map(|effect| ClaimEdge { cause: origin.clone(), effect }));
        }
        if !unread.is_empty() {
            let claims = self.state.live_claims();
            behind.extend(unread.intersection(&claims).map(|claim| claim.effect.clone()));
        }
        behind
    }

    /// Whether an entity has messages that another evaluation would read. One whose last evaluation failed has them unread
    /// for that reason, and would fail each time.
    fn can_read(&self, entity: &EntityId) -> bool {
        let node = self.state.get(entity);
        node.is_some_and(|node| node.settled && !node.stale && node.has_unread())
    }

    /// Neighbours of named origins that were never visited.
    fn unchecked(&self, outlook: &Outlook) -> BTreeSet<EntityId> {
        let neighbours = outlook.named().flat_map(|origin| self.state.adjacent(origin));
        neighbours.filter(|neighbour| !self.state.is_visited(neighbour)).collect()
    }

    /// Where explanations of what nothing explains end; and, if so configured, the alerting entities that effects can reach from
    /// an origin: at once if no claim is on them, else when no such end is left to ask.
    fn dead_ends(&self, outlook: &Outlook, widening: &Widening) -> Named {
        let unexplained = || outlook.unexplained.iter().map(|&at| &self.state.anomalies[at]);
        let visits = |entity: &EntityId| {
            let node = self.state.get(entity).filter(|node| node.visited)?;
            let may_be_asked = node.dead_ends < DEAD_END_VISITS && self.refusal(entity).is_none();
            may_be_asked.then_some(node.dead_ends)
        };
        let unlinked = self.unlinked(outlook, widening, &outlook.unexplained);
        let of = |entity| Some((entity, (visits(entity)?, self.reaching(&unlinked, entity))));
        let mut ends: BTreeMap<&EntityId, (u32, Vec<NamedOrigin>)> =
            outlook.dead_ends.iter().filter_map(of).collect();
        // What a claim leads to is asked first.
        let is_over = ends.is_empty();
        let is_claimed =
            |entity: &EntityId| outlook.leading.iter().any(|claim| claim.effect == *entity);
        let alerting: BTreeSet<&EntityId> = unexplained().map(|anomaly| &anomaly.entity).collect();
        let alerting = alerting.into_iter().filter(|entity| is_over || !is_claimed(entity));
        ends.extend(alerting.filter_map(of).filter(|(_, (_, unlinked))| !unlinked.is_empty()));
        if ends.is_empty() {
            return Named::new();
        }
        let explanations = Explanations::new(&outlook.leading);
        let named: BTreeSet<&EntityId> =
            outlook.named().filter(|_| widening.others_named).collect();
        let notice = |(entity, (visits, unlinked)): (&EntityId, (u32, Vec<NamedOrigin>))| {
            let reached = explanations.leads_to(entity);
            let left = unexplained().filter(|anomaly| reached.contains(&anomaly.entity));
            let left: BTreeSet<(EntityId, String)> =
                left.map(|anomaly| (anomaly.entity.clone(), anomaly.name.clone())).collect();
            let notice = Notice {
                reason: NoticeReason::DeadEnd,
                count: visits + 1,
                unexplained: left.into_iter().collect(),
                rivals: Vec::new(),
                others: self.others(&named, &BTreeSet::from([entity])),
                unlinked,
            };
            (entity.clone(), Some(notice))
        };
        ends.into_iter().map(notice).collect()
    }

    /// The nearest ring around unexplained anomalies with entities that were never visited.
    fn nearest_unvisited(&mut self, outlook: &Outlook, widening: &Widening) -> BTreeSet<EntityId> {
        let entity = |&at: &usize| self.state.anomalies[at].entity.clone();
        let centre: BTreeSet<EntityId> = outlook.unexplained.iter().map(entity).collect();
        let kept = self.rings.take().filter(|rings| rings.is_around(&centre));
        let mut rings = kept.unwrap_or_else(|| Rings::around(centre));
        let is_wanted =
            |entity: &EntityId| !self.state.is_visited(entity) && self.refusal(entity).is_none();
        let nearest = rings.nearest(&self.state, widening.radius, is_wanted);
        self.rings = Some(rings);
        nearest.into_iter().collect()
    }

    fn second_opinions(&self, outlook: &Outlook, widening: &Widening) -> Named {
        let lists_others = widening.others_named && outlook.groups.len() > 1;
        let named: BTreeSet<&EntityId> = outlook.named().filter(|_| lists_others).collect();
        let mut asked_again = Named::new();
        for group in &outlook.groups {
            let may_be_asked = |origin: &EntityId| {
                self.state.get(origin).is_some_and(|node| node.opinions < OPINIONS)
            };
            if !group.origins.iter().any(may_be_asked) {
                continue;
            }
            let explained = group.covers.iter().map(|&at| &self.state.anomalies[at].entity);
            let unlinked = self.unlinked(outlook, widening, &group.covers);
            let unlinked = unlinked::reaching(&self.state, &unlinked, explained);
            let enough = if outlook.has_rivals(group) { 3 } else { 2 };
            let is_unsure = |node: &Node| {
                let was_asked = !lists_others && unlinked.is_empty() || node.opinions > 0;
                node.origin_in_row < enough || node.has_unread() || !was_asked
            };
            let wants = |node: &&Node| node.opinions < OPINIONS && is_unsure(node);
            let asked = group.origins.iter().filter_map(|origin| {
                let node = self.state.get(origin).filter(wants)?;
                Some((origin, node.opinions + 1))
            });
            let mut listed: Option<(Vec<EntityId>, Vec<NamedOrigin>)> = None;
            for (origin, count) in asked {
                let listed = listed.get_or_insert_with(|| {
                    let own = group.origins.iter().collect();
                    (outlook.rivals(group), self.others(&named, &own))
                });
                let (rivals, others) = listed.clone();
                let (reason, unexplained) = (NoticeReason::SecondOpinion, Vec::new());
                let unlinked = unlinked.clone();
                let notice = Notice { reason, count, unexplained, rivals, others, unlinked };
                asked_again.push((origin.clone(), Some(notice)));
            }
        }
        asked_again.sort_by(|(a, _), (b, _)| a.cmp(b));
        asked_again
    }

    /// The origins that would be named beside some, by name, and how they were found.
    fn others(&self, named: &BTreeSet<&EntityId>, own: &BTreeSet<&EntityId>) -> Vec<NamedOrigin> {
        named
            .difference(own)
            .take(MAX_LISTED)
            .map(|origin| named_origin(&self.state, origin))
            .collect()
    }

    fn reaching(&self, origins: &BTreeSet<&EntityId>, entity: &EntityId) -> Vec<NamedOrigin> {
        unlinked::reaching(&self.state, origins, [entity])
    }

    /// Origins that explain no anomaly and did not surely begin after the last onset of some of them, if so
    /// configured.
    fn unlinked<'o>(
        &self,
        outlook: &'o Outlook,
        widening: &Widening,
        anomalies: &[usize],
    ) -> BTreeSet<&'o EntityId> {
        let onsets = anomalies.iter().flat_map(|&at| self.state.anomalies[at].onsets());
        let last = onsets.max().map(Onset::at);
        let is_late = |origin: &EntityId| {
            let belief = self.state.get(origin).and_then(|node| node.belief.as_ref());
            let since = belief.and_then(|belief| belief.since);
            matches!((since, last), (Some(since), Some(last)) if !since.can_precede(&last))
        };
        let unlinked = outlook.unlinked.iter().filter(|_| widening.unlinked_named);
        unlinked.filter(|origin| !is_late(origin)).collect()
    }
}
