//! The decision procedure: from observations to a label, claims and numbers.

use eog_core::contract::{ContextPacket, NoticeReason, Term as WeighedTerm};
use eog_core::evidence::{Signal, Verdict};
use eog_core::incident::{Direction, Onset};
use eog_core::{Decision, EntityId, EvidenceKind, Label, Measures};

use super::causes::{Cause, ChangedUpstream, MAX_CLAIMS};
use super::numbers::Numbers;
use super::observation::{Observation, Observed, Trouble, observe};
use super::terms::contributions;
use super::times::{explained, first_of, harm_since, made};
use super::weights::Weights;
use crate::likeness::Observations;

/// Log-odds of what a person says or an experiment did: more than any sum reaches.
const DECIDED: i32 = 20_000;

/// A packet, sorted into what the decision needs.
pub(super) struct Weighed<'a> {
    pub(super) packet: &'a ContextPacket,
    pub(super) weights: &'a Weights,
    pub(super) observed: Vec<Observed<'a>>,
    pub(super) numbers: Numbers,
    /// What each term adds, in the order of the table.
    pub(super) added: Vec<i32>,
    /// What closed cases add, where the table has any.
    pub(super) closed_cases: Option<WeighedTerm>,
    pub(super) log_odds: i32,
    /// Since when it does worse.
    pub(super) since: Option<Onset>,
    /// Changes elsewhere that can have led to what it shows, the strongest first.
    pub(super) changed_upstream: Vec<ChangedUpstream<'a>>,
    harm: i32,
}

/// Judges a packet.
pub(super) fn decide(packet: &ContextPacket, weights: &Weights) -> Decision {
    let weighed = Weighed::of(packet, weights);
    let causes = weighed.causes();
    let label = weighed.label(&causes);
    let mut decision = Decision::new(label, weighed.summary(label, &causes));
    decision.measures = Some(Box::new(weighed.measures(label, &causes)));
    decision.terms = weighed.terms();
    decision.rule = Weighed::main_term(&decision.terms).filter(|_| label == Label::Origin);
    decision.evidence = weighed.cited(label);
    decision.since = weighed.begun(label);
    match label {
        Label::Origin => {
            decision.claims = weighed.claims_on_others(decision.since);
            decision.explains = explained(&packet.anomalies, decision.since);
        }
        Label::Symptom => {
            let claims = causes.iter().take(MAX_CLAIMS);
            decision.claims = claims.filter_map(|cause| weighed.claim_of(cause)).collect();
            let along_routes = weighed.claims_along_routes(&decision.claims);
            decision.claims.extend(along_routes);
        }
        Label::Healthy | Label::Defer => {}
    }
    // Effects can pass through an entity that is well: whatever can reach an alert is read.
    if weighed.numbers.is_within_reach() {
        for (entity, reason) in weighed.unread_upstream() {
            decision = decision.proposing(entity, Direction::Upstream, reason);
        }
    }
    decision
}

impl<'a> Weighed<'a> {
    pub(super) fn of(packet: &'a ContextPacket, weights: &'a Weights) -> Self {
        let observed = observe(packet);
        let since = harm_since(packet, &observed);
        let numbers = Numbers::of(packet, &observed, since);
        let added = contributions(weights, &numbers);
        let log_odds = added.iter().fold(0, |sum: i32, one| sum.saturating_add(*one));
        let harm = (numbers.harm() * 1e3).round() as i32;
        let mut weighed = Self {
            packet,
            weights,
            observed,
            numbers,
            added,
            closed_cases: None,
            log_odds,
            since,
            changed_upstream: Vec::new(),
            harm,
        };
        weighed.add_closed_cases();
        weighed.changed_upstream = weighed.find_changed_upstream();
        weighed
    }

    /// Adds what closed cases say, which is one more term of the sum.
    fn add_closed_cases(&mut self) {
        let Some(closed) = &self.weights.closed_cases else { return };
        let cited = self.cited(Label::Origin);
        let seen = Observations::of_entity(&self.packet.context.findings, &cited, &self.terms());
        self.closed_cases = closed.weigh(self.packet.window, &seen);
        let added = self.closed_cases.as_ref().map_or(0, |term| term.log_odds);
        self.log_odds = self.log_odds.saturating_add(added);
    }

    /// The label. In this order: what a person says or an experiment did; whether the evidence for the entity itself
    /// is strong enough, and stronger than that for its causes; whether it does worse; whether it is measured.
    fn label(&self, causes: &[Cause<'_>]) -> Label {
        match self.verdict() {
            Some(Verdict::Cause) => return Label::Origin,
            None if self.has(&Observation::Experiment) => return Label::Origin,
            Some(Verdict::NotCause) => {}
            None if self.may_be_origin(causes) => return Label::Origin,
            None => {}
        }
        let is_well = !self.is_worse() && self.is_as_usual_for_its_alerts() && causes.is_empty();
        let do_calls_worse = self.observed.iter().any(|one| one.what.is_of_calls());
        let is_passed_on = (do_calls_worse || !self.is_measured()) && !causes.is_empty();
        if self.is_worse() || (self.numbers.has_alert && !is_well) || is_passed_on {
            Label::Symptom
        } else if self.is_measured() && !self.has(&Observation::Change) {
            Label::Healthy
        } else {
            Label::Defer
        }
    }

    fn may_be_origin(&self, causes: &[Cause<'_>]) -> bool {
        let is_unresolved = self.is_asked(NoticeReason::DeadEnd);
        let limit = match is_unresolved {
            true => self.weights.decision.dead_end,
            false => self.weights.decision.origin,
        };
        // The entities that its own findings point to report first, as far as they can.
        let has_reported = causes.iter().all(Cause::has_reported) || is_unresolved;
        let upstream = causes.iter().filter_map(|cause| cause.origin);
        let upstream = upstream.chain(self.changed_upstream.iter().map(|it| it.log_odds)).max();
        has_reported
            && self.log_odds >= limit
            && (self.is_worse() || self.numbers.change > 0.0 || self.is_active())
            && !self.cited(Label::Origin).is_empty()
            && upstream <= Some(self.log_odds)
    }

    /// Whether what its alerts speak of was measured, and did not shift.
    fn is_as_usual_for_its_alerts(&self) -> bool {
        let mut kinds = self.packet.anomalies.iter().map(|alert| match alert.signal {
            Signal::Latency => Some(Trouble::Latency),
            Signal::Errors | Signal::Availability => Some(Trouble::Errors),
            Signal::Saturation => Some(Trouble::Saturation),
            _ => None,
        });
        kinds.all(|kind| kind.is_some_and(|kind| self.numbers.usual.contains(&kind)))
    }

    /// What a person says of the entity: nothing where verdicts contradict each other.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let said = |verdict| self.has(&Observation::Verdict(verdict));
        match (said(Verdict::Cause), said(Verdict::NotCause)) {
            (true, false) => Some(Verdict::Cause),
            (false, true) => Some(Verdict::NotCause),
            _ => None,
        }
    }

    fn has(&self, what: &Observation<'_>) -> bool {
        self.observed.iter().any(|one| one.what == *what)
    }

    pub(super) fn is_asked(&self, reason: NoticeReason) -> bool {
        self.packet.notice.as_ref().is_some_and(|notice| notice.reason == reason)
    }

    pub(super) fn is_worse(&self) -> bool {
        self.harm >= self.weights.decision.harm
    }

    /// Whether it acts on others, although it does no worse itself.
    fn is_active(&self) -> bool {
        let n = &self.numbers;
        self.observed.iter().any(|one| one.what.is_of_others()) || n.attributed >= 0.3
    }

    fn is_measured(&self) -> bool {
        self.packet.context.findings.iter().any(|finding| {
            !matches!(finding.kind, EvidenceKind::Note | EvidenceKind::Alert | EvidenceKind::Change)
        })
    }

    /// Since when the condition holds: for an origin by a change since that was made.
    fn begun(&self, label: Label) -> Option<Onset> {
        if label != Label::Origin {
            return self.since;
        }
        let change = self.timely_changes().first().copied().filter(|_| self.numbers.change > 0.0);
        let others = self.observed.iter().filter(|one| one.what.is_of_others());
        change
            .map(made)
            .or(self.since)
            .or_else(|| first_of(others.filter_map(|one| one.finding.onset)))
    }

    fn measures(&self, label: Label, causes: &[Cause<'_>]) -> Measures {
        let share =
            |(entity, share): (&EntityId, &f64)| (entity.clone(), (share * 1e3).round() as u16);
        // What a person says, or an experiment did, is outweighed by nothing.
        let is_decided = label == Label::Origin
            && (self.verdict() == Some(Verdict::Cause) || self.has(&Observation::Experiment));
        let log_odds = if is_decided { DECIDED } else { self.log_odds };
        Measures {
            log_odds,
            harm: self.harm,
            origin: match label {
                Label::Origin => Some(log_odds),
                Label::Symptom => {
                    let handed = self.changed_upstream.iter().map(|it| it.log_odds);
                    let strongest =
                        causes.iter().filter_map(|cause| cause.origin).chain(handed).max();
                    strongest.map(|origin| origin.saturating_sub(self.weights.decision.hop))
                }
                Label::Healthy | Label::Defer => None,
            },
            shares: self.numbers.shares.iter().map(share).collect(),
            handed: self
                .changed_upstream
                .iter()
                .filter(|_| label == Label::Symptom)
                .map(|it| (it.entity.clone(), it.log_odds))
                .collect(),
        }
    }
}
