//! Whom the entity calls and rests on, who calls it, and what they say and account for.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::{CLAIM_RELATION, Direction};
use eog_core::{Belief, EntityId, EvidenceKind, Finding, Label};

use super::{Facts, share_of};
use crate::paths::DEMAND_RELATIONS;
use crate::policy::books::MINOR;
use crate::signs::{is_word, role};

/// The relation of a fault experiment to what it makes fail.
const INJECTS: &str = "injects";

/// The relations of a whole to its parts, and of what serves a service to that.
const PARTS: [(&str, bool); 2] = [("runs_as", true), ("backs", false)];

/// The relation of a node to what runs on it, and the other way round.
const HOSTS: [(&str, bool); 2] = [("hosts", false), ("runs_on", true)];

impl<'a> Facts<'a> {
    /// Whether measured calls to another entity show that trouble of a kind does not come from there:
    /// they were looked at, and are as usual. A median as ever hides what befalls few calls: where the callee has a part
    /// of what adds up, it is not cleared.
    pub(in crate::policy) fn exonerates(&self, callee: &EntityId, kind: Signal) -> bool {
        if self.sharers_of(callee, kind).any(|share| share >= MINOR) {
            return false;
        }
        let mut calls = self
            .findings()
            .iter()
            .filter(|finding| {
                let to = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
                let measured = matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span);
                measured && finding.signal == kind && to.is_some_and(|to| to.entity == *callee)
            })
            .peekable();
        calls.peek().is_some() && calls.all(|finding| finding.trend != Trend::Rising)
    }

    /// Whether a callee is called more often for each request than before.
    pub(in crate::policy) fn is_sent_more(&self, callee: &EntityId) -> bool {
        self.findings().iter().any(|finding| {
            let to = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Rising)
                && to.is_some_and(|to| to.entity == *callee)
        })
    }

    /// Whether nothing that this entity rests on is known, and somebody that rests on it does worse.
    pub(in crate::policy) fn bears_others_in_trouble(&self) -> bool {
        let others = self.packet.neighbours.iter().filter(|other| {
            other.direction == Direction::Downstream && other.relation != CLAIM_RELATION
        });
        let is_harmed = |other: &EntityId| self.label_of(other) == Some(Label::Symptom);
        self.upstream().is_empty() && others.map(|other| &other.entity).any(is_harmed)
    }

    /// The shares of one neighbour on an account.
    pub(in crate::policy) fn sharers_of(
        &self,
        other: &EntityId,
        kind: Signal,
    ) -> impl Iterator<Item = f64> {
        let named = move |note: &&&Finding| {
            note.signal == kind && note.peer.as_ref().is_some_and(|peer| peer.entity == *other)
        };
        self.shares.iter().filter(named).map(|note| share_of(note))
    }

    /// Whether all whom effects come from have said what they know, or the search ended here.
    pub(in crate::policy) fn has_heard_upstream(&self) -> bool {
        self.at_dead_end() || self.upstream().iter().all(|other| self.message(other).is_some())
    }

    pub(in crate::policy) fn message(&self, sender: &EntityId) -> Option<&'a Belief> {
        self.packet.message_from(sender)
    }

    /// Whether a neighbour's message claims that `cause` explains `effect`.
    pub(in crate::policy) fn says(
        &self,
        sender: &EntityId,
        cause: &EntityId,
        effect: &EntityId,
    ) -> bool {
        self.message(sender).is_some_and(|belief| {
            belief.claims.iter().any(|claim| claim.cause == *cause && claim.effect == *effect)
        })
    }

    /// Whether a neighbour holds this entity for its cause.
    pub(in crate::policy) fn blames_me(&self, sender: &EntityId) -> bool {
        self.says(sender, self.entity, sender)
    }

    /// Whether a change of a fault experiment that targets this entity has a path here.
    pub(in crate::policy) fn is_injected(&self) -> bool {
        let hops = self.routes.iter().filter_map(|route| route.peer.as_ref());
        let injects = |hop: &EntityId| {
            let mut edges = self.packet.neighbours.iter().filter(|edge| edge.entity == *hop);
            edges.any(|edge| !edge.outgoing && edge.relation == INJECTS)
        };
        hops.into_iter().any(|peer| injects(&peer.entity))
    }

    pub(in crate::policy) fn calls(&self, other: &EntityId) -> bool {
        self.related(other, PeerRole::Callee, true)
    }

    pub(in crate::policy) fn is_called_by(&self, other: &EntityId) -> bool {
        self.related(other, PeerRole::Caller, false)
    }

    pub(super) fn related(&self, other: &EntityId, role: PeerRole, outgoing: bool) -> bool {
        let named = self.findings().iter().filter_map(|finding| finding.peer.as_ref());
        let by_evidence = named.into_iter().any(|peer| peer.entity == *other && peer.role == role);
        by_evidence
            || self.packet.neighbours.iter().any(|neighbour| {
                neighbour.entity == *other
                    && neighbour.outgoing == outgoing
                    && DEMAND_RELATIONS.contains(&neighbour.relation.as_str())
            })
    }

    /// Declared neighbours that effects come from, by name, each once.
    pub(in crate::policy) fn upstream(&self) -> Vec<&'a EntityId> {
        let upstream = |direction| matches!(direction, Direction::Upstream | Direction::Both);
        let mut names: Vec<&EntityId> = self
            .packet
            .neighbours
            .iter()
            .filter(|neighbour| {
                upstream(neighbour.direction) && neighbour.relation != CLAIM_RELATION
            })
            .map(|neighbour| &neighbour.entity)
            .collect();
        names.dedup();
        names
    }

    /// What the entity runs on, by name.
    pub(in crate::policy) fn hosts(&self) -> impl Iterator<Item = &'a EntityId> {
        let edges = self.packet.neighbours.iter();
        let hosts = edges.filter(|edge| HOSTS.contains(&(edge.relation.as_str(), edge.outgoing)));
        hosts.map(|edge| &edge.entity)
    }

    /// Whoever upstream is hit hardest, each with the note that says so; and who is on the way there.
    pub(in crate::policy) fn hit_upstream(
        &self,
    ) -> impl Iterator<Item = (&'a EntityId, &'a Finding)> {
        let is_hint = |finding: &&Finding| {
            finding.kind == EvidenceKind::Note
                && finding.quantity.is_none()
                && !is_word(finding)
                && !matches!(finding.signal, Signal::Route | Signal::Impact)
                && role(finding) == Some(PeerRole::NextUpstream)
        };
        let hints = self.findings().iter().filter(is_hint);
        hints.filter_map(|hint| Some((&hint.peer.as_ref()?.entity, hint)))
    }

    /// Whom to look at, in this order: whoever upstream is hit hardest, who is on the way there, the upstream neighbours.
    /// Those that found themselves healthy are left out.
    pub(in crate::policy) fn where_to_look(&self) -> Vec<&'a EntityId> {
        let mut order: Vec<&EntityId> = self.hit_upstream().map(|(entity, _)| entity).collect();
        order.extend(self.upstream());
        order.retain(|other| self.label_of(other) != Some(Label::Healthy));
        let mut seen = BTreeSet::new();
        order.retain(|other| seen.insert(*other));
        order
    }

    /// Declared callers, by name, each once.
    pub(in crate::policy) fn callers(&self) -> Vec<&'a EntityId> {
        let mut names: Vec<&EntityId> = self
            .packet
            .neighbours
            .iter()
            .filter(|neighbour| {
                !neighbour.outgoing && DEMAND_RELATIONS.contains(&neighbour.relation.as_str())
            })
            .map(|neighbour| &neighbour.entity)
            .collect();
        names.dedup();
        names
    }

    /// Upstream neighbours that say they are symptom or origin, do not blame this entity, and of
    /// which it is not known how much they account for: origins first, then by name.
    pub(in crate::policy) fn degraded_upstream(&self) -> Vec<&'a EntityId> {
        let mut degraded = self.upstream();
        // Of trouble that does not show here nothing can be accounted for.
        let suffered = [Signal::Latency, Signal::Errors];
        let suffered = suffered.into_iter().filter(|signal| self.suffers(*signal));
        let suffered: Vec<Signal> = suffered.collect();
        let is_accounted = |other| suffered.iter().any(|signal| self.is_accounted(other, *signal));
        degraded.retain(|other| !self.blames_me(other) && !is_accounted(other));
        degraded
            .retain(|other| matches!(self.label_of(other), Some(Label::Origin | Label::Symptom)));
        // Who answers as fast and as well as ever is not what is felt here.
        let is_as_ever = |other| {
            [Signal::Latency, Signal::Errors].iter().all(|kind| self.exonerates(other, *kind))
        };
        degraded.retain(|other| !is_as_ever(other));
        // Nor is what a neighbour merely writes, while calls to it do not fail, and are not slow if that is what is felt.
        let merely_writes = |other: &&EntityId| {
            let said = self.message(other).filter(|said| said.label == Label::Symptom);
            let said = said.map_or(&[][..], |said| said.evidence.as_slice());
            !said.is_empty()
                && said.iter().all(|id| id.kind() == EvidenceKind::Log)
                && suffered
                    .iter()
                    .chain([&Signal::Errors])
                    .all(|kind| self.exonerates(other, *kind))
        };
        degraded.retain(|other| !merely_writes(other));
        // That a mere caller does worse comes from here, if at all; only its load may be felt.
        let is_mere_caller = |other| self.is_called_by(other) && !self.calls(other);
        degraded
            .retain(|other| self.label_of(other) == Some(Label::Origin) || !is_mere_caller(other));
        degraded.sort_by_key(|other| self.standing(other));
        degraded
    }

    /// The other cause that most parts of the entity name, such as its instances or pods.
    pub(in crate::policy) fn named_by_most_parts(&self) -> Option<&'a EntityId> {
        let parts: BTreeSet<&EntityId> = self.parts_of_it().collect();
        let mut named: BTreeMap<&EntityId, BTreeSet<&EntityId>> = BTreeMap::new();
        for part in &parts {
            let claims = self.message(part).map_or(&[][..], |belief| belief.claims.as_slice());
            for claim in claims.iter().filter(|claim| claim.effect == **part) {
                named.entry(&claim.cause).or_default().insert(*part);
            }
        }
        named.remove(self.entity);
        let most = |by: &BTreeSet<&EntityId>| 2 * by.len() > parts.len();
        named.into_iter().find(|(_, by)| most(by)).map(|(cause, _)| cause)
    }

    /// What the entity acts through, such as instances or pods.
    fn parts_of_it(&self) -> impl Iterator<Item = &'a EntityId> {
        let edges = self.packet.neighbours.iter();
        let parts = edges.filter(|edge| PARTS.contains(&(edge.relation.as_str(), edge.outgoing)));
        parts.map(|edge| &edge.entity)
    }

    /// Whether effects of the entity can reach a neighbour, as declared, or that is a part of it.
    pub(in crate::policy) fn affects(&self, other: &EntityId) -> bool {
        let onward = |to: Direction| matches!(to, Direction::Downstream | Direction::Both);
        let mut edges = self.packet.neighbours.iter();
        let is_affected = edges.any(|edge| {
            edge.entity == *other && edge.relation != CLAIM_RELATION && onward(edge.direction)
        });
        is_affected || self.parts_of_it().any(|part| part == other)
    }

    /// Whether it is known how much of what the entity shows, of a kind, a neighbour accounts for.
    pub(in crate::policy) fn is_accounted(&self, other: &EntityId, kind: Signal) -> bool {
        let named = |note: &&Finding| note.peer.as_ref().is_some_and(|peer| peer.entity == *other);
        self.shares.iter().any(|note| named(note) && note.signal == kind)
    }

    /// Whether the books of a kind say who has what the entity shows: somebody has a share, or nobody.
    pub(in crate::policy) fn is_kept(&self, kind: Signal) -> bool {
        let some = |note: &&Finding| note.signal == kind && share_of(note) > 0.0;
        self.shares.iter().any(some) || self.remainders.iter().any(|note| note.signal == kind)
    }

    pub(in crate::policy) fn label_of(&self, other: &EntityId) -> Option<Label> {
        self.message(other).map(|belief| belief.label)
    }

    /// How likely a neighbour is the cause, by its own word: lower is likelier.
    pub(in crate::policy) fn standing(&self, other: &EntityId) -> u8 {
        match self.label_of(other) {
            Some(Label::Origin) => 0,
            Some(Label::Symptom) => 1,
            _ => 2,
        }
    }

    /// Neighbours that account for a part of what the entity shows on one account, those that
    /// account for most first. Left out: those that are explained by this entity, and those that
    /// found themselves healthy.
    pub(in crate::policy) fn sharers(
        &self,
        signal: Signal,
    ) -> Vec<(&'a EntityId, f64, &'a Finding)> {
        let on_account = self.shares.iter().filter(|note| note.signal == signal);
        let with_peer = on_account
            .filter_map(|note| Some((&note.peer.as_ref()?.entity, share_of(note), *note)));
        with_peer
            .filter(|(_, share, _)| *share > 0.0)
            .filter(|(peer, _, _)| !self.blames_me(peer))
            .filter(|(peer, _, _)| self.label_of(peer) != Some(Label::Healthy))
            .collect()
    }

    /// Entities that this one calls in vain or slowly, with the findings that say so, in the order
    /// in which the evidence names them. Lines about failed calls that are also written at usual times, only less often, say nothing where no
    /// more calls are measured to fail.
    pub(in crate::policy) fn failing_callees(&self) -> Vec<(&'a EntityId, Vec<&'a Finding>)> {
        let mut callees: Vec<(&EntityId, Vec<&Finding>)> = Vec::new();
        for harm in &self.harms {
            let Some(peer) = &harm.peer else { continue };
            let is_callee = peer.role == PeerRole::Callee && peer.entity != *self.entity;
            let is_talk = || {
                let usual = harm.quantity.as_ref().and_then(|lines| lines.baseline);
                (harm.kind, harm.signal) == (EvidenceKind::Log, Signal::Errors)
                    && usual.is_some_and(|usual| usual > 0.0)
                    && self.exonerates(&peer.entity, Signal::Errors)
            };
            if !is_callee || is_talk() {
                continue;
            }
            match callees.iter_mut().find(|(callee, _)| *callee == &peer.entity) {
                Some((_, findings)) => findings.push(harm),
                None => callees.push((&peer.entity, vec![harm])),
            }
        }
        callees
    }
}
