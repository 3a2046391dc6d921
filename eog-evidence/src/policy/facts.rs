//! A packet sorted into what the rules ask for.

use eog_core::contract::{Notice, NoticeReason};
use eog_core::evidence::{EvidenceTime, PeerRole, Quantity, Signal, Trend, Verdict};
use eog_core::incident::{CLAIM_RELATION, Direction, Onset};
use eog_core::{
    Anomaly, Belief, Claim, ContextPacket, EntityId, EvidenceId, EvidenceKind, Finding, Label,
    Timestamp,
};
use jiff::SignedDuration;

use super::bearable::{bears_a_little_more, fills_up, is_a_little_more, was_borne};
use super::books::MINOR;
use super::retries::{may_be_tried_again, uses_less};
use super::rules::{accounted_for_by_nobody, does_not_answer, first_in_trouble, own_failure};
use super::times::{before, first_of, made, surely_before};
use crate::effect_map::ABOUT_AS_NEAR;
use crate::paths::DEMAND_RELATIONS;
use crate::signs::{
    MORE, is_executed_experiment, is_more_load, is_real_change, is_surge, is_word, is_worse, role,
};

/// The relation of a sender of messages to who takes them.
const SENDS_LOAD: &str = "sends_load";

/// The relation of a fault experiment to what it makes fail.
const INJECTS: &str = "injects";

/// Series are measured in steps: a surge this much later than a failure may still precede it.
const MEASURING_STEP: SignedDuration = SignedDuration::from_mins(1);

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

    /// Since when the entity does worse, by measured onsets: of trouble of the kind that an alert
    /// here speaks of if there is any, else of what users notice, else of anything. What the entity
    /// itself does worse comes before what its callees do to it: a callee that has failed for long,
    /// and that nobody here noticed, is not the harm that is asked about.
    pub(super) fn harm_since(&self) -> Option<Onset> {
        let alerted: Vec<Signal> = self.alerted().collect();
        let asked = |harm: &Finding| alerted.contains(&harm.signal);
        let noticed = |harm: &Finding| harm.signal != Signal::Saturation;
        let own = |harm: &Finding| role(harm) != Some(PeerRole::Callee);
        let of = |wanted: &dyn Fn(&Finding) -> bool| -> Vec<&Finding> {
            let dated = self.harms.iter().filter(|harm| wanted(harm) && harm.onset.is_some());
            dated.copied().collect()
        };
        let some = |dated: Vec<&'a Finding>| Some(dated).filter(|dated| !dated.is_empty());
        // A line of a log dates trouble where nothing else does: it need not be about the requests that fail.
        let counted = |harm: &Finding| harm.kind != EvidenceKind::Log;
        let dated = some(of(&|harm| asked(harm) && own(harm) && counted(harm)))
            .or_else(|| some(of(&|harm| asked(harm) && own(harm))))
            .or_else(|| some(of(&asked)))
            .or_else(|| some(of(&|harm| noticed(harm) && own(harm))))
            .or_else(|| some(of(&noticed)))
            .or_else(|| some(of(&|_| true)))?;
        let since = first_of(dated.iter().filter_map(|harm| harm.onset))?;
        let since = self.by_alert(since, &dated);
        // An event is recorded when somebody notices: less may have been served before that.
        if dated.iter().any(|harm| harm.kind != EvidenceKind::Event) {
            return Some(since);
        }
        let noticed = Onset::between(before(since.earliest(), ABOUT_AS_NEAR), since.latest());
        let drop = self.drop_of_traffic().and_then(|drop| drop.onset);
        let near = |drop: &Onset| noticed.earliest() <= drop.earliest();
        Some(drop.filter(near).map_or(noticed, |drop| first_of([since, drop]).unwrap_or(noticed)))
    }

    /// When measured harm began, where an alert here tells that it was there before it stood out. An alert of another kind
    /// counts by as much as alerts may be late.
    fn by_alert(&self, since: Onset, dated: &[&Finding]) -> Onset {
        let late = before(since.earliest(), ABOUT_AS_NEAR);
        let is_of_kind = |alert: &Anomaly| dated.iter().any(|harm| harm.signal == alert.signal);
        let told = self.packet.anomalies.iter().flat_map(|alert| {
            let counts = move |at: &Timestamp| is_of_kind(alert) || late <= *at;
            alert.onsets().filter(counts)
        });
        let first = told.min().unwrap_or(since.earliest());
        Onset::between(first.min(since.earliest()), since.latest())
    }

    /// The harm that is dated to have begun first, for each kind that alerts here speak of; without an
    /// alert, for each kind that users notice.
    pub(super) fn dating_harms(&self) -> Vec<&'a Finding> {
        let mut alerted: Vec<Signal> = self.alerted().collect();
        if alerted.is_empty() {
            alerted = vec![Signal::Errors, Signal::Latency, Signal::Availability];
        }
        alerted.sort_unstable();
        alerted.dedup();
        let first = |signal: Signal| {
            let of_kind = self.harms.iter().filter(|harm| harm.signal == signal);
            let dated = of_kind.filter(|harm| role(harm) != Some(PeerRole::Callee));
            let dated = dated.filter_map(|harm| Some((harm.onset?, *harm)));
            let line = |harm: &Finding| harm.kind == EvidenceKind::Log;
            let first =
                dated.min_by_key(|(onset, harm)| (line(harm), onset.latest(), harm.id().clone()));
            first.map(|(_, harm)| harm)
        };
        alerted.into_iter().filter_map(first).collect()
    }

    /// What the alerts on the entity speak of.
    pub(super) fn alerted(&self) -> impl Iterator<Item = Signal> {
        let own = self.packet.anomalies.iter().map(|anomaly| anomaly.signal);
        let alerts = self.harms.iter().filter(|harm| harm.kind == EvidenceKind::Alert);
        own.chain(alerts.map(|alert| alert.signal))
    }

    /// Whether measured calls to another entity show that trouble of a kind does not come from there:
    /// they were looked at, and are as usual. A median as ever hides what befalls few calls: where the callee has a part
    /// of what adds up, it is not cleared.
    pub(super) fn exonerates(&self, callee: &EntityId, kind: Signal) -> bool {
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
    pub(super) fn is_sent_more(&self, callee: &EntityId) -> bool {
        self.findings().iter().any(|finding| {
            let to = finding.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Rising)
                && to.is_some_and(|to| to.entity == *callee)
        })
    }

    /// The note on demand from outside that reaches the entity.
    pub(super) fn demand(&self) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Traffic)
                && role(finding) == Some(PeerRole::Caller)
        })
    }

    /// That the entity sends more than usual: as measured, or by a note where it does so by itself.
    pub(super) fn more_sent(&self) -> impl Iterator<Item = &'a Finding> {
        let is_source = self.callers().is_empty() && self.upstream().is_empty();
        self.findings().iter().filter(move |finding| {
            let is_note = finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Rising);
            role(finding) == Some(PeerRole::Callee)
                && (is_more_load(finding) || is_source && is_note)
        })
    }

    /// Notes on callees that are called less often for each request than before.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(|finding| {
            finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Falling)
                && role(finding) == Some(PeerRole::Callee)
        })
    }

    /// Notes on callees whose answers end requests of this entity.
    pub(super) fn ended_by(&self) -> impl Iterator<Item = &'a Finding> {
        self.endings(PeerRole::Callee)
    }

    /// Notes on callers whose requests end with answers of this entity.
    pub(super) fn ends_others(&self) -> impl Iterator<Item = &'a Finding> {
        self.endings(PeerRole::Caller)
    }

    fn endings(&self, other: PeerRole) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(move |finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Output)
                && role(finding) == Some(other)
        })
    }

    /// Whether somebody asks about the entity: it has an alert, or a neighbour names it.
    pub(super) fn is_concerned(&self) -> bool {
        self.alerted().next().is_some() || !self.accusations.is_empty()
    }

    /// The note that one of those that rest on this entity takes up what it has for all of them.
    pub(super) fn crowded(&self) -> Option<&'a Finding> {
        self.crowding(PeerRole::Mentioned).next()
    }

    /// Notes that this entity takes up what another has for all that rest on it.
    pub(super) fn crowding_out(&self) -> impl Iterator<Item = &'a Finding> {
        self.crowding(PeerRole::NextDownstream)
    }

    /// Notes on callers whose requests wait in front of what calls to this entity fill up.
    pub(super) fn holds_up(&self) -> impl Iterator<Item = &'a Finding> {
        self.crowding(PeerRole::Caller)
    }

    fn crowding(&self, at: PeerRole) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(move |finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Saturation)
                && finding.quantity.is_some()
                && role(finding) == Some(at)
        })
    }

    /// Whether nothing that this entity rests on is known, and somebody that rests on it does worse.
    pub(super) fn bears_others_in_trouble(&self) -> bool {
        let others = self.packet.neighbours.iter().filter(|other| {
            other.direction == Direction::Downstream && other.relation != CLAIM_RELATION
        });
        let is_harmed = |other: &EntityId| self.label_of(other) == Some(Label::Symptom);
        self.upstream().is_empty() && others.map(|other| &other.entity).any(is_harmed)
    }

    /// The shares of one neighbour on an account.
    pub(super) fn sharers_of(&self, other: &EntityId, kind: Signal) -> impl Iterator<Item = f64> {
        let named = move |note: &&&Finding| {
            note.signal == kind && note.peer.as_ref().is_some_and(|peer| peer.entity == *other)
        };
        self.shares.iter().filter(named).map(|note| share_of(note))
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

    /// Whether all whom effects come from have said what they know, or the search ended here.
    pub(super) fn has_heard_upstream(&self) -> bool {
        self.at_dead_end() || self.upstream().iter().all(|other| self.message(other).is_some())
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

    /// Own changes that were not surely made after the harm began.
    pub(super) fn timely_changes(&self) -> impl Iterator<Item = &'a Finding> {
        let since = self.harm_since();
        let late =
            move |change: &Finding| since.is_some_and(|since| surely_before(&since, &made(change)));
        self.changes.iter().copied().filter(move |change| !late(change))
    }

    pub(super) fn finding(&self, id: &EvidenceId) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| finding.id() == id)
    }

    pub(super) fn findings(&self) -> &'a [Finding] {
        &self.packet.context.findings
    }

    pub(super) fn message(&self, sender: &EntityId) -> Option<&'a Belief> {
        self.packet.message_from(sender)
    }

    /// Whether a neighbour's message claims that `cause` explains `effect`.
    pub(super) fn says(&self, sender: &EntityId, cause: &EntityId, effect: &EntityId) -> bool {
        self.message(sender).is_some_and(|belief| {
            belief.claims.iter().any(|claim| claim.cause == *cause && claim.effect == *effect)
        })
    }

    /// Whether a neighbour holds this entity for its cause.
    pub(super) fn blames_me(&self, sender: &EntityId) -> bool {
        self.says(sender, self.entity, sender)
    }

    /// Whether a route comes from somebody who only sends load, and requests here were measured and are
    /// neither more nor fewer than usual: then hardly anything came that way.
    fn comes_by_usual_load(&self, route: &Finding) -> bool {
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

    /// Whether a change of a fault experiment that targets this entity has a path here.
    pub(super) fn is_injected(&self) -> bool {
        let hops = self.routes.iter().filter_map(|route| route.peer.as_ref());
        let injects = |hop: &EntityId| {
            let mut edges = self.packet.neighbours.iter().filter(|edge| edge.entity == *hop);
            edges.any(|edge| !edge.outgoing && edge.relation == INJECTS)
        };
        hops.into_iter().any(|peer| injects(&peer.entity))
    }

    pub(super) fn calls(&self, other: &EntityId) -> bool {
        self.related(other, PeerRole::Callee, true)
    }

    pub(super) fn is_called_by(&self, other: &EntityId) -> bool {
        self.related(other, PeerRole::Caller, false)
    }

    fn related(&self, other: &EntityId, role: PeerRole, outgoing: bool) -> bool {
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
    pub(super) fn upstream(&self) -> Vec<&'a EntityId> {
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

    /// Whoever upstream is hit hardest, each with the note that says so; and who is on the way there.
    pub(super) fn hit_upstream(&self) -> impl Iterator<Item = (&'a EntityId, &'a Finding)> {
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
    pub(super) fn where_to_look(&self) -> Vec<&'a EntityId> {
        let mut order: Vec<&EntityId> = self.hit_upstream().map(|(entity, _)| entity).collect();
        order.extend(self.upstream());
        order.retain(|other| self.label_of(other) != Some(Label::Healthy));
        let mut seen = std::collections::BTreeSet::new();
        order.retain(|other| seen.insert(*other));
        order
    }

    /// Declared callers, by name, each once.
    pub(super) fn callers(&self) -> Vec<&'a EntityId> {
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
    pub(super) fn degraded_upstream(&self) -> Vec<&'a EntityId> {
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
        degraded.sort_by_key(|other| self.standing(other));
        degraded
    }

    /// Whether it is known how much of what the entity shows, of a kind, a neighbour accounts for.
    pub(super) fn is_accounted(&self, other: &EntityId, kind: Signal) -> bool {
        let named = |note: &&Finding| note.peer.as_ref().is_some_and(|peer| peer.entity == *other);
        self.shares.iter().any(|note| named(note) && note.signal == kind)
    }

    /// Whether the entity itself does worse in a way.
    fn suffers(&self, kind: Signal) -> bool {
        let own = |harm: &&Finding| harm.signal == kind && role(harm) != Some(PeerRole::Callee);
        self.harms.iter().copied().any(|harm| own(&harm))
    }

    /// Whether the books of a kind say who has what the entity shows: somebody has a share, or nobody.
    pub(super) fn is_kept(&self, kind: Signal) -> bool {
        let some = |note: &&Finding| note.signal == kind && share_of(note) > 0.0;
        self.shares.iter().any(some) || self.remainders.iter().any(|note| note.signal == kind)
    }

    pub(super) fn label_of(&self, other: &EntityId) -> Option<Label> {
        self.message(other).map(|belief| belief.label)
    }

    /// How likely a neighbour is the cause, by its own word: lower is likelier.
    pub(super) fn standing(&self, other: &EntityId) -> u8 {
        match self.label_of(other) {
            Some(Label::Origin) => 0,
            Some(Label::Symptom) => 1,
            _ => 2,
        }
    }

    /// The first change elsewhere that has a path here and does not come after a finding.
    pub(super) fn route_before(&self, finding: &Finding) -> Option<&'a Finding> {
        self.routes.iter().copied().find(|route| route.time.start() <= begun_by(finding))
    }

    /// Whether the entity failed, and nothing that is known here explains it.
    pub(super) fn fails_by_itself(&self) -> bool {
        let Some(since) = self.failures.iter().map(|failure| failure.time.start()).min() else {
            return false;
        };
        let explained_by_change = self.routes.iter().any(|route| route.time.start() < since);
        let own = |failure: &&Finding| failure.signal != Signal::Availability;
        let explained_by_neighbour =
            !self.failures.iter().any(own) && !self.degraded_upstream().is_empty();
        // An alert says that something is wrong; that it is this needs another sign.
        let is_seen = self.harms.iter().any(|harm| harm.kind != EvidenceKind::Alert);
        is_seen && self.early_surges().is_empty() && !explained_by_change && !explained_by_neighbour
    }

    /// What is measured of the entity's work is all as usual: it shows no harm, nothing fell, and nothing that it does
    /// for others is known to harm them.
    pub(super) fn works_as_usual(&self) -> bool {
        let of_work = |finding: &&Finding| {
            let served = matches!(
                finding.signal,
                Signal::Latency | Signal::Errors | Signal::Traffic | Signal::Output
            );
            let measured = matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span);
            measured && served && role(finding) != Some(PeerRole::Callee)
        };
        let is_harmless = |finding: &Finding| {
            let falls = matches!(finding.signal, Signal::Traffic | Signal::Output);
            finding.trend == Trend::Steady || (finding.trend == Trend::Rising) == falls
        };
        let mut work = self.findings().iter().filter(of_work).peekable();
        let harms_others = self.crowding_out().chain(self.ends_others()).chain(self.holds_up());
        self.harms.is_empty()
            && work.peek().is_some()
            && work.all(is_harmless)
            && harms_others.chain(self.left_out()).chain(self.more_sent()).next().is_none()
    }

    /// The requests of the entity that fail are counted, and are no more than usual.
    pub(super) fn fails_as_usual(&self) -> bool {
        let counted = |finding: &&Finding| {
            finding.signal == Signal::Errors
                && matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span)
                && role(finding) != Some(PeerRole::Callee)
        };
        // What was recorded for too short a time to be compared is not as usual where it is half more.
        let is_usual = |finding: &Finding| {
            let quantity = finding.quantity.as_ref();
            let more =
                |now: &Quantity| now.baseline.is_some_and(|usual| now.observed > MORE * usual);
            finding.trend != Trend::Rising && !quantity.is_some_and(more)
        };
        let mut counted = self.findings().iter().filter(counted).peekable();
        counted.peek().is_some() && counted.all(is_usual)
    }

    /// Requests of which the first error line is the entity's own, more than usual.
    pub(super) fn errors_begun(&self) -> impl Iterator<Item = &'a Finding> {
        self.joined_errors().filter(|joined| joined.peer.is_none())
    }

    /// Requests with an error line here of which somebody else has an earlier one, more than usual; and who.
    pub(super) fn errors_passed_on(&self) -> impl Iterator<Item = (&'a EntityId, &'a Finding)> {
        self.joined_errors().filter_map(|joined| Some((&joined.peer.as_ref()?.entity, joined)))
    }

    fn joined_errors(&self) -> impl Iterator<Item = &'a Finding> {
        let is_joined = |finding: &&Finding| {
            let unit = finding.quantity.as_ref().map(|quantity| quantity.unit.as_str());
            finding.kind == EvidenceKind::Log
                && (finding.signal, finding.trend) == (Signal::Errors, Trend::Rising)
                && unit == Some("requests")
        };
        self.findings().iter().filter(is_joined)
    }

    /// Less is asked of the entity.
    pub(super) fn drop_of_traffic(&self) -> Option<&'a Finding> {
        self.findings().iter().find(|finding| is_drop_of_traffic(finding))
    }

    /// The first sign of harm that begins after an instant.
    pub(super) fn first_harm_after(&self, at: Timestamp) -> Option<&'a Finding> {
        self.harms.iter().copied().find(|harm| begins_after(harm, at))
    }

    pub(super) fn is_degraded(&self) -> bool {
        !self.harms.is_empty()
    }

    /// When the entity began to fail: by its hard failures, else by its fullest resource.
    pub(super) fn overloaded_since(&self) -> Option<Timestamp> {
        let start = |finding: &&Finding| finding.time.start();
        let strained = self.harms.iter().filter(|harm| harm.signal == Signal::Saturation);
        self.failures.iter().map(start).min().or_else(|| strained.map(start).min())
    }

    /// The surges that can have caused the overload: what comes after a failure, such as a storm
    /// of retries, is its effect.
    pub(super) fn early_surges(&self) -> Vec<&'a Finding> {
        let limit = self.overloaded_since().map(|at| at.checked_add(MEASURING_STEP).unwrap_or(at));
        let early = |surge: &&Finding| limit.is_none_or(|limit| surge.time.start() <= limit);
        self.surges.iter().copied().filter(early).collect()
    }

    /// Callees that this entity's load has exhausted: they say so, or they failed by themselves, not surely
    /// before the surge here, without a change of their own, and do not insist that they explain this
    /// entity.
    pub(super) fn exhausted_callees(&self) -> Vec<&'a EntityId> {
        let Some(surge) = first_of(self.surges.iter().filter_map(|surge| surge.onset))
            .map(Some)
            .or_else(|| (!self.surges.is_empty()).then_some(None))
        else {
            return Vec::new();
        };
        let by_itself = [
            own_failure::RULE.name,
            first_in_trouble::RULE.name,
            does_not_answer::RULE.name,
            accounted_for_by_nobody::RULE.name,
        ];
        let failed_before = |belief: &Belief| {
            matches!((belief.since, surge), (Some(failed), Some(surge))
                if surely_before(&failed, &surge))
        };
        let exhausted = |sender: &EntityId, belief: &Belief| {
            let failed_unchanged = belief.label == Label::Origin
                && belief.cited().iter().all(|id| id.kind() != EvidenceKind::Change)
                && belief.rule.as_deref().is_none_or(|rule| by_itself.contains(&rule))
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
    pub(super) fn is_load_on(&self, other: &EntityId) -> bool {
        self.calls(other) || !self.is_called_by(other)
    }

    /// Neighbours that account for a part of what the entity shows on one account, those that
    /// account for most first. Left out: those that are explained by this entity, and those that
    /// found themselves healthy.
    pub(super) fn sharers(&self, signal: Signal) -> Vec<(&'a EntityId, f64, &'a Finding)> {
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
    /// in which the evidence names them.
    pub(super) fn failing_callees(&self) -> Vec<(&'a EntityId, Vec<&'a Finding>)> {
        let mut callees: Vec<(&EntityId, Vec<&Finding>)> = Vec::new();
        for harm in &self.harms {
            let Some(peer) = &harm.peer else { continue };
            if peer.role != PeerRole::Callee || peer.entity == *self.entity {
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

fn is_drop_of_traffic(finding: &Finding) -> bool {
    let measured = !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note);
    let served = role(finding) != Some(PeerRole::Callee);
    measured && served && finding.signal == Signal::Traffic && finding.trend == Trend::Falling
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

/// By when what a finding tells of had begun: where that was measured, the time of a comparison, which
/// is that of its split, does not count.
pub(super) fn begun_by(finding: &Finding) -> Timestamp {
    finding.onset.map_or(finding.time.start(), |onset| onset.latest())
}

/// Whether a finding begins after an instant.
pub(super) fn begins_after(finding: &Finding, at: Timestamp) -> bool {
    finding.time.start() > at
}

/// Whether a sign of harm was still there after an instant although it began before. An alert
/// whose end is not known counts as still active.
pub(super) fn lasts_beyond(finding: &Finding, at: Timestamp) -> bool {
    match finding.time {
        EvidenceTime::During(window) => window.end() > at,
        EvidenceTime::At(_) => finding.kind == EvidenceKind::Alert,
    }
}
