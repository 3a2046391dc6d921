//! A packet sorted into what the rules ask for.

mod harm;
mod load;
mod neighbours;
mod requests;

use eog_core::contract::{Notice, NoticeReason};
use eog_core::evidence::{PeerRole, Signal, Trend, Verdict};
use eog_core::{Claim, ContextPacket, EntityId, EvidenceId, EvidenceKind, Finding, Label};

use super::bearable::{bears_a_little_more, fills_up, is_a_little_more, was_borne};
use super::retries::{may_be_tried_again, uses_less};
use super::times::surely_before;
use crate::signs::{is_executed_experiment, is_real_change, is_surge, is_word, is_worse, role};

pub(super) use harm::{begins_after, begun_by, lasts_beyond};

/// What a packet says, by meaning. Lists keep the packet's order: strongest first.
#[derive(Clone)]
pub(super) struct Facts<'a> {
    pub(super) packet: &'a ContextPacket,
    pub(super) entity: &'a EntityId,
    /// Why the entity is looked at a second time.
    pub(super) notice: Option<&'a Notice>,
    /// Own changes, restarts left out.
    pub(super) changes: Vec<&'a Finding>,
    /// Changes elsewhere that have a path here; changes of demand apart. Left out are those that
    /// were surely made after the harm began.
    pub(super) routes: Vec<&'a Finding>,
    pub(super) demand_routes: Vec<&'a Finding>,
    /// Anomalies that an own change precedes and reaches.
    pub(super) impacts: Vec<&'a Finding>,
    /// Every sign that the entity does worse than usual, its calls to others included.
    pub(super) harms: Vec<&'a Finding>,
    /// Those of the harms that are hard failures of its own: ran out, crashed, was made to fail.
    pub(super) failures: Vec<&'a Finding>,
    /// More load comes in.
    pub(super) surges: Vec<&'a Finding>,
    /// Notes on upstream neighbours that account for a part of what the entity shows.
    pub(super) shares: Vec<&'a Finding>,
    /// Notes that nobody upstream accounts for the rest.
    pub(super) remainders: Vec<&'a Finding>,
    /// Notes on how much of what alerts elsewhere show this entity can account for.
    pub(super) parts: Vec<&'a Finding>,
    /// Neighbours that claim this entity as their cause, with the claim.
    pub(super) accusations: Vec<(&'a EntityId, &'a Claim)>,
    /// A second opinion is asked of what was found where the search ended.
    pub(super) still_ends: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn of(packet: &'a ContextPacket) -> Self {
        let entity = &packet.entity;
        let pick = |wanted: &dyn Fn(&Finding) -> bool| -> Vec<&'a Finding> {
            packet.context.findings.iter().filter(|finding| wanted(finding)).collect()
        };
        let note = |signal| {
            move |finding: &Finding| finding.kind == EvidenceKind::Note && finding.signal == signal
        };
        let (demand_routes, routes) =
            pick(&note(Signal::Route)).into_iter().partition(|route| route.trend == Trend::Rising);
        let (shares, remainders) =
            pick(&|finding| is_attribution(finding) && !is_note_on_a_part(finding))
                .into_iter()
                .partition(|note| note.peer.is_some());
        // An alert says that something is wrong, not where; a measurement that is as usual says
        // that it is not here.
        let measured_as_usual = packet.context.findings.iter().any(|finding| {
            finding.kind == EvidenceKind::Metric
                && finding.signal == Signal::Availability
                && finding.trend == Trend::Steady
                && finding.peer.is_none()
        });
        let is_failure = |finding: &Finding| {
            let alert = finding.kind == EvidenceKind::Alert;
            if alert && finding.signal == Signal::Availability && measured_as_usual {
                return false;
            }
            let hard = matches!(finding.signal, Signal::Exhaustion | Signal::Availability);
            is_executed_experiment(finding)
                || (hard && is_worse(finding) && role(finding) != Some(PeerRole::Callee))
        };
        let accusations = packet
            .inbox
            .iter()
            .flat_map(|message| message.belief.claims.iter().map(|claim| (&message.sender, claim)))
            .filter(|(_, claim)| claim.cause == *entity && claim.effect != *entity)
            .collect();
        let mut facts = Self {
            packet,
            entity,
            notice: packet.notice.as_ref(),
            changes: pick(&is_real_change),
            routes,
            demand_routes,
            impacts: pick(&note(Signal::Impact)),
            harms: pick(&|finding| is_worse(finding) || is_executed_experiment(finding)),
            failures: pick(&is_failure),
            surges: pick(&is_surge),
            shares,
            remainders,
            parts: pick(&is_note_on_a_part),
            accusations,
            still_ends: false,
        };
        let is_bearable = bears_a_little_more(packet, &facts.harms);
        let has_less_in_use = packet.context.findings.iter().any(uses_less);
        let has_room = has_less_in_use || !packet.context.findings.iter().any(fills_up);
        let since = facts.harm_since().filter(|_| has_room);
        let is_demand = |surge: &&Finding| {
            !(may_be_tried_again(surge, &facts.harms, has_less_in_use)
                || is_bearable && is_a_little_more(surge)
                || since.is_some_and(|since| was_borne(surge, since)))
        };
        let surges = facts.surges.iter().copied().filter(is_demand).collect();
        facts.surges = surges;
        if let Some(since) = facts.harm_since() {
            let late =
                |route: &&Finding| route.onset.is_some_and(|made| surely_before(&since, &made));
            facts.routes.retain(|route| !late(route));
        }
        // What leads here through a neighbour that is well does not get here.
        let is_well = |route: &&Finding| {
            let hop = route.peer.as_ref();
            hop.is_some_and(|hop| facts.label_of(&hop.entity) == Some(Label::Healthy))
        };
        let barred: Vec<&Finding> =
            facts.routes.iter().copied().filter(|one| is_well(one)).collect();
        facts.routes.retain(|route| !barred.contains(route));
        let mut routes = std::mem::take(&mut facts.routes);
        routes.sort_by_key(|route| facts.comes_by_usual_load(route));
        facts.routes = routes;
        facts
    }

    /// Whether what explains an anomaly ends here.
    pub(super) fn at_dead_end(&self) -> bool {
        self.dead_ends() > 0
    }

    /// How often the search ended here.
    pub(super) fn dead_ends(&self) -> u32 {
        match self.notice {
            Some(notice) if notice.reason == NoticeReason::DeadEnd => notice.count.max(1),
            _ => u32::from(self.still_ends),
        }
    }

    /// What a person says of the entity.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = (Verdict, &'a Finding)> {
        self.findings().iter().filter_map(|finding| Some((finding.verdict()?, finding)))
    }

    /// Whether a person says that the entity is not the cause.
    pub(super) fn is_cleared(&self) -> bool {
        self.verdicts().any(|(verdict, _)| verdict == Verdict::NotCause)
    }

    /// Whether a person says that the entity is the cause.
    pub(super) fn is_stated(&self) -> bool {
        self.verdicts().any(|(verdict, _)| verdict == Verdict::Cause)
    }

    /// What to say of own changes where none explains the trouble.
    pub(super) fn no_change(&self) -> &'static str {
        if self.changes.is_empty() { "no change" } else { "no change that fits" }
    }

    pub(super) fn finding(&self, id: &EvidenceId) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| finding.id() == id)
    }

    pub(super) fn findings(&self) -> &'a [Finding] {
        &self.packet.context.findings
    }
}

/// A note of attribution: who accounts for what the entity shows, or what is left.
fn is_attribution(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Note
        && !is_word(finding)
        && !matches!(finding.signal, Signal::Route | Signal::Impact)
        // What a person said gives no share, and accounts for nothing.
        && finding.quantity.is_some()
        && matches!(role(finding), None | Some(PeerRole::NextUpstream))
}

/// A note on how much of what alerts elsewhere show this entity can account for.
fn is_note_on_a_part(finding: &Finding) -> bool {
    is_attribution(finding) && finding.trend == Trend::Steady
}

/// The share that a note of attribution gives, 0 to 1.
pub(super) fn share_of(note: &Finding) -> f64 {
    note.quantity.as_ref().map_or(0.0, |quantity| quantity.observed.clamp(0.0, 1.0))
}
