//! More and less that is asked of the entity, and what it takes from others.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::{CLAIM_RELATION, Direction};
use eog_core::{Belief, EntityId, EvidenceKind, Finding, Label, Timestamp};
use jiff::SignedDuration;

use super::Facts;
use crate::policy::rules::nature_of;
use crate::policy::times::{first_of, surely_before};
use crate::signs::{is_more_load, role};

/// The relation of a sender of messages to who takes them.
const SENDS_LOAD: &str = "sends_load";

/// Series are measured in steps: a surge this much later than a failure may still precede it.
const MEASURING_STEP: SignedDuration = SignedDuration::from_mins(1);

impl<'a> Facts<'a> {
    /// The note on demand from outside that reaches the entity.
    pub(in crate::policy) fn demand(&self) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Traffic)
                && role(finding) == Some(PeerRole::Caller)
        })
    }

    /// That the entity sends more than usual: as measured, or by a note where it does so by itself.
    pub(in crate::policy) fn more_sent(&self) -> impl Iterator<Item = &'a Finding> {
        let is_source = self.callers().is_empty() && self.upstream().is_empty();
        self.findings().iter().filter(move |finding| {
            let is_note = finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Rising);
            role(finding) == Some(PeerRole::Callee)
                && (is_more_load(finding) || is_source && is_note)
        })
    }

    /// The note that one of those that rest on this entity takes up what it has for all of them.
    pub(in crate::policy) fn crowded(&self) -> Option<&'a Finding> {
        self.crowding(PeerRole::Mentioned).next()
    }

    /// Notes that this entity takes up what another has for all that rest on it.
    pub(in crate::policy) fn crowding_out(&self) -> impl Iterator<Item = &'a Finding> {
        self.crowding(PeerRole::NextDownstream)
    }

    /// Notes on callers whose requests wait in front of what calls to this entity fill up. Who runs out by itself sees every
    /// call take longer, and is not among them.
    pub(in crate::policy) fn holds_up(&self) -> impl Iterator<Item = &'a Finding> {
        let runs_out = |caller: &EntityId| {
            let said = self.message(caller).filter(|said| said.label == Label::Origin);
            said.is_some_and(|said| nature_of(said.rule.as_deref()).fails_or_takes())
        };
        let held_up = self.crowding(PeerRole::Caller);
        held_up.filter(move |note| !note.peer.as_ref().is_some_and(|peer| runs_out(&peer.entity)))
    }

    pub(super) fn crowding(&self, at: PeerRole) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(move |finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Saturation)
                && finding.quantity.is_some()
                && role(finding) == Some(at)
        })
    }

    /// Whether a route comes from somebody who only sends load, and requests here were measured and are
    /// neither more nor fewer than usual: then hardly anything came that way.
    pub(super) fn comes_by_usual_load(&self, route: &Finding) -> bool {
        let Some(sender) = route.peer.as_ref().map(|peer| &peer.entity) else { return false };
        let mut edges = self
            .packet
            .neighbours
            .iter()
            .filter(|edge| edge.entity == *sender && edge.direction != Direction::Downstream);
        let sends = edges.clone().next().is_some()
            && edges.all(|edge| edge.relation == SENDS_LOAD || edge.relation == CLAIM_RELATION);
        let mut measured = self.findings().iter().filter(|finding| {
            matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span)
                && matches!(finding.signal, Signal::Errors | Signal::Latency | Signal::Traffic)
                && role(finding) != Some(PeerRole::Callee)
        });
        let shifted =
            |finding: &Finding| finding.signal == Signal::Traffic && finding.trend != Trend::Steady;
        sends && measured.clone().next().is_some() && !measured.any(shifted)
    }

    /// Less is asked of the entity.
    pub(in crate::policy) fn drop_of_traffic(&self) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| is_drop_of_traffic(finding))
    }

    /// When the entity began to fail: by its hard failures, else by its fullest resource.
    pub(in crate::policy) fn overloaded_since(&self) -> Option<Timestamp> {
        let start = |finding: &&Finding| finding.time.start();
        let strained = self.harms.iter().filter(|harm| harm.signal == Signal::Saturation);
        self.failures.iter().map(start).min().or_else(|| strained.map(start).min())
    }

    /// The surges that can have caused the overload: what comes after a failure, such as a storm
    /// of retries, is its effect.
    pub(in crate::policy) fn early_surges(&self) -> Vec<&'a Finding> {
        let limit = self.overloaded_since().map(|at| at.checked_add(MEASURING_STEP).unwrap_or(at));
        let early = |surge: &&Finding| limit.is_none_or(|limit| surge.time.start() <= limit);
        self.surges.iter().copied().filter(early).collect()
    }

    /// Callees that this entity's load has exhausted: they say so, or they failed by themselves, not surely
    /// before the surge here, without a change of their own, and do not insist that they explain this
    /// entity.
    pub(in crate::policy) fn exhausted_callees(&self) -> Vec<&'a EntityId> {
        let Some(surge) = first_of(self.surges.iter().filter_map(|surge| surge.onset))
            .map(Some)
            .or_else(|| (!self.surges.is_empty()).then_some(None))
        else {
            return Vec::new();
        };
        let failed_before = |belief: &Belief| {
            matches!((belief.since, surge), (Some(failed), Some(surge))
                if surely_before(&failed, &surge))
        };
        let exhausted = |sender: &EntityId, belief: &Belief| {
            let failed_unchanged = belief.label == Label::Origin
                && belief.cited().iter().all(|id| id.kind() != EvidenceKind::Change)
                && belief
                    .rule
                    .as_deref()
                    .is_none_or(|rule| nature_of(Some(rule)).may_be_overloaded())
                && self.calls(sender)
                && !failed_before(belief)
                && !self.says(sender, sender, self.entity);
            failed_unchanged || (self.blames_me(sender) && self.is_load_on(sender))
        };
        let messages = self.packet.inbox.iter();
        let exhausted = messages.filter(|message| exhausted(&message.sender, &message.belief));
        exhausted.map(|message| &message.sender).collect()
    }

    /// Whether being the cause of a neighbour means having overloaded it. A mere caller that
    /// blames this entity speaks of failures instead.
    pub(in crate::policy) fn is_load_on(&self, other: &EntityId) -> bool {
        self.calls(other) || !self.is_called_by(other)
    }
}

fn is_drop_of_traffic(finding: &Finding) -> bool {
    let measured = !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note);
    let served = role(finding) != Some(PeerRole::Callee);
    measured && served && finding.signal == Signal::Traffic && finding.trend == Trend::Falling
}
