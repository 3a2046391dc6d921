//! The entities that a message wakes, and what is evaluated again before the end: word by word.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::belief::ClaimEdge;
use eog_core::contract::{NamedOrigin, Notice, NoticeReason};
use eog_core::controller::{Reason, Wake};
use eog_core::incident::Direction;
use eog_core::{Belief, EntityId, Label, Timestamp};

use super::Model;
use crate::frontier::{by_definition, without_outweighed};

impl Model<'_> {
    /// Whether the message `new` of `v`, which believed `old` before, contradicts what `n` believes.
    pub(super) fn contradicts(
        &self,
        v: &EntityId,
        new: &Belief,
        old: Option<&Belief>,
        n: &EntityId,
    ) -> bool {
        let Some(theirs) = self.nodes.get(n).and_then(|node| node.belief.as_ref()) else {
            return false;
        };
        let says = |belief: &Belief, cause: &EntityId, effect: &EntityId| {
            belief
                .signature()
                .claims
                .contains(&ClaimEdge { cause: cause.clone(), effect: effect.clone() })
        };
        let undecided = |label: Label| label == Label::Healthy || label == Label::Defer;
        let says_nothing = self.config.wake == Wake::Contradicted
            && new.label == Label::Defer
            && new.claims.is_empty()
            && new.evidence.is_empty();
        let denies = undecided(new.label) && !says_nothing;
        if says(theirs, v, n) && (denies || says(new, n, v)) {
            return true;
        }
        if says(new, v, n) && !says(theirs, v, n) {
            return true;
        }
        let new_claim = old.is_none_or(|old| !says(old, n, v));
        let new_label = old.is_none_or(|old| old.label != new.label);
        if says(new, n, v) && (new_claim || new_label) && undecided(theirs.label) {
            return true;
        }
        let withdrawn = old.is_some_and(|old| says(old, n, v)) && !says(new, n, v);
        if withdrawn && theirs.label == Label::Origin {
            return true;
        }
        let pairs = [(new, v, n), (new, n, v), (theirs, v, n), (theirs, n, v)];
        let silent = pairs.into_iter().all(|(belief, cause, effect)| !says(belief, cause, effect));
        let upstream = self
            .history
            .neighbours(n)
            .into_iter()
            .any(|row| row.entity == *v && row.direction != Direction::Downstream);
        let harmed = new.label == Label::Symptom || new.label == Label::Origin;
        silent && upstream && harmed && theirs.label != Label::Symptom
    }

    /// When nothing is active: the first step that finds any entities, and these.
    pub(super) fn widen(&mut self) -> Vec<(EntityId, Reason, bool)> {
        let Some(widening) = &self.config.widening else { return Vec::new() };
        let mut claims: BTreeSet<ClaimEdge> = BTreeSet::new();
        let mut labels = BTreeMap::new();
        for (entity, node) in &self.nodes {
            if let Some(belief) = &node.belief {
                claims.extend(belief.signature().claims);
                // An entity that changed too often is no origin as long as there is one left to
                // evaluate.
                let label = if node.damped { Label::Defer } else { belief.label };
                labels.insert(entity.clone(), label);
            }
        }
        let alerting = self.history.alerting();
        let measures =
            || self.nodes.values().filter_map(|node| node.belief.as_ref()?.measures.as_ref());
        let weighed = self.nodes.iter().filter_map(|(entity, node)| {
            let own = node.belief.as_ref()?.measures.as_ref()?.log_odds;
            let handed = measures().filter_map(|it| it.handed.get(entity)).copied();
            Some((entity.clone(), handed.fold(own, i32::max)))
        });
        let expected =
            without_outweighed(by_definition(&labels, &claims, &alerting), &weighed.collect());
        // Each named origin with the groups that explain something of the same.
        let mut named: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
        for (group, covers) in expected.groups.iter().zip(&expected.covers) {
            let mut rivals = BTreeSet::new();
            for (other, theirs) in expected.groups.iter().zip(&expected.covers) {
                if other != group && theirs.iter().any(|anomaly| covers.contains(anomaly)) {
                    rivals.extend(other.iter().cloned());
                }
            }
            for origin in group.iter().filter(|_| !covers.is_empty()) {
                named.insert(origin.clone(), rivals.clone());
            }
        }
        let unexplained: BTreeSet<EntityId> =
            expected.unexplained.iter().map(|&at| alerting[at].clone()).collect();

        let mut again: BTreeMap<EntityId, Option<Notice>> = BTreeMap::new();
        // 1. Settle.
        for ClaimEdge { cause, effect } in &claims {
            let unread = self.history.unread(effect).contains(cause);
            if named.contains_key(cause) && unread && self.history.last_succeeded(effect) {
                again.insert(effect.clone(), None);
            }
        }
        for (group, covers) in expected.groups.iter().zip(&expected.covers) {
            let counts = widening.origins_read && covers.is_empty();
            for origin in group.iter().filter(|_| counts) {
                if !self.history.unread(origin).is_empty() && self.history.last_succeeded(origin) {
                    again.insert(origin.clone(), None);
                }
            }
        }
        let back = |from: &EntityId| closure(from, &claims, true);
        let leading: BTreeSet<EntityId> = unexplained.iter().flat_map(back).collect();
        for ClaimEdge { cause, effect } in claims.iter().filter(|_| widening.chains_read) {
            let unread = self.history.unread(effect).contains(cause);
            if leading.contains(effect) && unread && self.history.last_succeeded(effect) {
                again.insert(effect.clone(), None);
            }
        }
        for (entity, node) in self.nodes.iter().filter(|_| widening.numbers_read) {
            let weighs = node.belief.as_ref().is_some_and(|belief| belief.measures.is_some());
            let is_behind = !self.history.unread(entity).is_empty();
            if weighs && is_behind && self.history.last_succeeded(entity) {
                again.insert(entity.clone(), None);
            }
        }
        if let Some(found) = self.all_of(Reason::Settle, again) {
            return found;
        }
        // 2. Check.
        let mut again = BTreeMap::new();
        for origin in named.keys() {
            for neighbour in self.history.adjacent(origin) {
                if self.history.visits(&neighbour) == 0 {
                    again.insert(neighbour, None);
                }
            }
        }
        if let Some(found) = self.all_of(Reason::Check, again) {
            return found;
        }
        // 3. DeadEnd.
        let forth = |from: &EntityId| closure(from, &claims, false);
        let ends: BTreeSet<EntityId> =
            leading.iter().filter(|end| back(end).is_subset(&forth(end))).cloned().collect();
        let mut asked = ends.clone();
        for ClaimEdge { cause, effect } in &claims {
            if ends.contains(cause) && leading.contains(effect) {
                asked.insert(effect.clone());
            }
        }
        let unlinked: BTreeSet<EntityId> = expected
            .groups
            .iter()
            .zip(&expected.covers)
            .filter(|(_, covers)| covers.is_empty() && widening.unlinked_named)
            .flat_map(|(group, _)| group.iter().cloned())
            .collect();
        let left_to_ask = |entity: &EntityId| {
            let again = self.nodes.get(entity).map_or(0, |node| node.dead_end_visits);
            self.history.visits(entity) > 0 && again < 2 && !self.may_not(entity)
        };
        let any_left = asked.iter().any(left_to_ask);
        for entity in &unexplained {
            let alone = BTreeSet::from([entity.clone()]);
            if any_left && claims.iter().any(|claim| claim.effect == *entity) {
                continue;
            }
            if !self.unlinked_reaching(&unlinked, &alone, &expected.unexplained).is_empty() {
                asked.insert(entity.clone());
            }
        }
        let all_named: BTreeSet<EntityId> =
            named.keys().filter(|_| widening.others_named).cloned().collect();
        let mut again = BTreeMap::new();
        for entity in asked {
            let before = self.nodes.get(&entity).map_or(0, |node| node.dead_end_visits);
            if self.history.visits(&entity) > 0 && before < 2 {
                let reached = forth(&entity);
                let left = expected.unexplained.iter().map(|&at| self.history.anomaly(at));
                let left: BTreeSet<(EntityId, String)> =
                    left.filter(|(alerting, _)| reached.contains(alerting)).collect();
                let notice = Notice {
                    reason: NoticeReason::DeadEnd,
                    count: before + 1,
                    unexplained: left.into_iter().collect(),
                    rivals: Vec::new(),
                    others: all_named
                        .iter()
                        .filter(|other| **other != entity)
                        .take(16)
                        .map(|other| self.named_origin(other))
                        .collect(),
                    unlinked: self.unlinked_reaching(
                        &unlinked,
                        &BTreeSet::from([entity.clone()]),
                        &expected.unexplained,
                    ),
                };
                again.insert(entity, Some(notice));
            }
        }
        if let Some(found) = self.all_of(Reason::DeadEnd, again) {
            return found;
        }
        // 4. Widen.
        let mut within = unexplained;
        for _ in 0..=widening.radius.unwrap_or(100) {
            let unvisited = within.iter().filter(|entity| self.history.visits(entity) == 0);
            let again = unvisited.map(|entity| (entity.clone(), None)).collect();
            if let Some(found) = self.all_of(Reason::Widen, again) {
                return found;
            }
            let further: Vec<EntityId> =
                within.iter().flat_map(|entity| self.history.adjacent(entity)).collect();
            within.extend(further);
        }
        // 5. SecondOpinion.
        let mut again = BTreeMap::new();
        let covering: Vec<_> = expected
            .groups
            .iter()
            .zip(&expected.covers)
            .filter(|(_, covers)| !covers.is_empty())
            .collect();
        for (origin, rivals) in named {
            let beside = covering.iter().filter(|(group, _)| !group.contains(&origin));
            let mut others: Vec<NamedOrigin> = Vec::new();
            for (group, _) in beside.filter(|_| widening.others_named) {
                others.extend(group.iter().map(|other| self.named_origin(other)));
            }
            others.sort_by(|a, b| a.entity.cmp(&b.entity));
            others.truncate(16);
            let explained: BTreeSet<EntityId> = covering
                .iter()
                .filter(|(group, _)| group.contains(&origin))
                .flat_map(|(_, covers)| covers.iter().map(|&at| alerting[at].clone()))
                .collect();
            let covers = covering.iter().filter(|(group, _)| group.contains(&origin));
            let covers: Vec<usize> =
                covers.flat_map(|(_, covers)| covers.iter().copied()).collect();
            let unlinked = self.unlinked_reaching(&unlinked, &explained, &covers);
            let Some(node) = self.nodes.get(&origin) else { continue };
            let sure = node.origin_in_row >= if rivals.is_empty() { 2 } else { 3 };
            let unread = !self.history.unread(&origin).is_empty();
            let is_news = !others.is_empty() || !unlinked.is_empty();
            let uninformed = is_news && node.opinions == 0;
            if node.opinions < 3 && (!sure || unread || uninformed) {
                let notice = Notice {
                    reason: NoticeReason::SecondOpinion,
                    count: node.opinions + 1,
                    unexplained: Vec::new(),
                    rivals: rivals.into_iter().collect(),
                    others,
                    unlinked,
                };
                again.insert(origin, Some(notice));
            }
        }
        self.all_of(Reason::SecondOpinion, again).unwrap_or_default()
    }

    fn named_origin(&self, origin: &EntityId) -> NamedOrigin {
        let belief = self.nodes.get(origin).and_then(|node| node.belief.clone());
        let log_odds = belief.as_ref().and_then(|it| Some(it.measures.as_ref()?.log_odds));
        let (rule, since) = belief.map_or((None, None), |belief| (belief.rule, belief.since));
        NamedOrigin { entity: origin.clone(), rule, since, until: None, log_odds }
    }

    /// The first 16 of some origins, by name, from which another of these is reached over declared directions.
    fn unlinked_reaching(
        &self,
        origins: &BTreeSet<EntityId>,
        entities: &BTreeSet<EntityId>,
        anomalies: &[usize],
    ) -> Vec<NamedOrigin> {
        let mut last: Option<Timestamp> = None;
        for &at in anomalies {
            last = last.max(self.history.last_onset(at));
        }
        let in_time = |origin: &&EntityId| {
            let since = self.nodes.get(*origin).and_then(|node| node.belief.clone()?.since);
            match (since, last) {
                (Some(since), Some(last)) => since.earliest() <= last,
                _ => true,
            }
        };
        let reach = |origin: &&EntityId| {
            let mut reached = BTreeSet::new();
            let mut before = usize::MAX;
            while before != reached.len() {
                before = reached.len();
                for edge in self.history.edges() {
                    for (from, to) in [(&edge.source, &edge.target), (&edge.target, &edge.source)] {
                        if edge.carries(from, to) && (from == *origin || reached.contains(from)) {
                            reached.insert(to.clone());
                        }
                    }
                }
            }
            entities.iter().any(|entity| entity != *origin && reached.contains(entity))
        };
        origins
            .iter()
            .filter(in_time)
            .filter(reach)
            .take(16)
            .map(|origin| {
                let belief = self.nodes.get(origin).and_then(|node| node.belief.clone());
                let cited = belief.map(|belief| belief.evidence).unwrap_or_default();
                let until = self.history.last_seen(origin, &cited);
                NamedOrigin { until, ..self.named_origin(origin) }
            })
            .collect()
    }

    /// Activates those that may be; empty if none may.
    fn all_of(
        &mut self,
        reason: Reason,
        again: BTreeMap<EntityId, Option<Notice>>,
    ) -> Option<Vec<(EntityId, Reason, bool)>> {
        let mut found = Vec::new();
        for (entity, notice) in again {
            if self.may_not(&entity) {
                continue;
            }
            let node = self.nodes.entry(entity.clone()).or_default();
            match reason {
                Reason::DeadEnd => node.dead_end_visits += 1,
                Reason::SecondOpinion => node.opinions += 1,
                _ => {}
            }
            self.notices.extend(notice.map(|notice| (entity.clone(), notice)));
            self.active.push(entity.clone());
            found.push((entity, reason, false));
        }
        (!found.is_empty()).then_some(found)
    }
}

/// All that is reached over claims, or that reaches; itself included.
fn closure(from: &EntityId, claims: &BTreeSet<ClaimEdge>, backward: bool) -> BTreeSet<EntityId> {
    let mut reached = BTreeSet::from([from.clone()]);
    loop {
        let before = reached.len();
        for ClaimEdge { cause, effect } in claims {
            let (near, far) = if backward { (effect, cause) } else { (cause, effect) };
            if reached.contains(near) {
                reached.insert(far.clone());
            }
        }
        if reached.len() == before {
            return reached;
        }
    }
}
