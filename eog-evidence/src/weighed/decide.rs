//! The decision procedure: from observations to a label, claims and numbers.

use std::collections::BTreeMap;

use eog_core::contract::{ContextPacket, NoticeReason, Term as WeighedTerm};
use eog_core::evidence::Verdict;
use eog_core::incident::{Direction, Onset};
use eog_core::{
    Belief, Claim, Decision, EntityId, EvidenceId, EvidenceKind, Finding, Label, Measures,
};

use super::numbers::{Numbers, is_upstream};
use super::observation::{Observation, Observed, observe};
use super::terms::{TERMS, WEIGHTS, contributions};
use super::times::{explained, first_of, harm_since, made, surely_before};
use crate::signs::is_worse;
use crate::text::shorten;

/// At most so many ids for a label or a claim.
const MAX_CITED: usize = 6;
/// At most so many neighbours are claimed as causes.
const MAX_CLAIMS: usize = 16;
/// So many of the largest terms are given as the explanation.
const MAX_TERMS: usize = 5;
/// Longest quotation of a finding, in characters.
const MAX_QUOTE: usize = 160;
/// Longest summary, in characters.
const MAX_SUMMARY: usize = 600;
/// Terms that say where an entity stands, and nothing of what is on record of it.
const OF_PLACE: [&str; 3] = ["reach", "distance", "reaches no alert"];

/// A packet, sorted into what the decision needs.
struct Weighed<'a> {
    packet: &'a ContextPacket,
    observed: Vec<Observed<'a>>,
    numbers: Numbers,
    /// What each term adds, by its place.
    added: Vec<i32>,
    log_odds: i32,
    harm: i32,
    /// Since when it does worse.
    since: Option<Onset>,
}

/// Judges a packet.
pub(super) fn decide(packet: &ContextPacket) -> Decision {
    let weighed = Weighed::of(packet);
    let causes = weighed.causes();
    let label = weighed.label(&causes);
    let mut decision = Decision::new(label, weighed.summary(label, &causes));
    decision.measures = Some(Box::new(weighed.measures()));
    decision.terms = weighed.terms();
    decision.rule = decision
        .terms
        .iter()
        .find(|term| !OF_PLACE.contains(&&*term.name))
        .map(|term| term.name.clone());
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
        }
        Label::Healthy | Label::Defer => {}
    }
    if label != Label::Healthy {
        for (entity, reason) in weighed.unread_upstream() {
            decision = decision.proposing(entity, Direction::Upstream, reason);
        }
    }
    decision
}

/// Somebody who may explain the entity.
#[derive(Clone, Debug)]
struct Cause<'a> {
    entity: &'a EntityId,
    said: Option<&'a Belief>,
    /// What own findings say of it.
    seen: Vec<&'a Finding>,
    /// Log-odds of being an origin, by its own message or the notice.
    log_odds: Option<i32>,
    share: f64,
    since: Option<Onset>,
}

impl Cause<'_> {
    fn is_origin(&self) -> bool {
        self.said.is_none_or(|said| said.label == Label::Origin) && self.log_odds.is_some()
    }
}

impl<'a> Weighed<'a> {
    fn of(packet: &'a ContextPacket) -> Self {
        let observed = observe(packet);
        let numbers = Numbers::of(packet, &observed);
        let added = contributions(&numbers);
        let log_odds = added.iter().fold(0, |sum: i32, one| sum.saturating_add(*one));
        let harm = (numbers.harm() * 1e3).round() as i32;
        let since = harm_since(packet, &observed);
        Self { packet, observed, numbers, added, log_odds, harm, since }
    }

    /// The label. In this order: what a person says or an experiment did; whether the evidence for the entity itself
    /// is strong enough, and stronger than for who may explain it; whether it does worse; whether it is measured.
    fn label(&self, causes: &[Cause<'_>]) -> Label {
        let verdict = self.observed.iter().find_map(|one| match one.what {
            Observation::Verdict(verdict) => Some(verdict),
            _ => None,
        });
        let is_injected = self.observed.iter().any(|one| one.what == Observation::Experiment);
        let is_at_dead_end = self.is_asked(NoticeReason::DeadEnd);
        let limit = match is_at_dead_end {
            true => WEIGHTS.decision.dead_end,
            false => WEIGHTS.decision.origin,
        };
        let is_outdone = causes
            .iter()
            .filter(|cause| cause.is_origin())
            .any(|cause| cause.log_odds > Some(self.log_odds));
        let has_evidence = !self.cited(Label::Origin).is_empty();
        if verdict == Some(Verdict::Cause) || is_injected && verdict != Some(Verdict::NotCause) {
            return Label::Origin;
        }
        let may_be = verdict != Some(Verdict::NotCause) && has_evidence && !is_outdone;
        if may_be
            && self.log_odds >= limit
            && (self.is_worse() || self.numbers.change > 0.0 || self.is_active())
        {
            return Label::Origin;
        }
        if self.is_worse() || self.numbers.has_alert || (!self.is_measured() && !causes.is_empty())
        {
            return Label::Symptom;
        }
        let has_open_change = self.observed.iter().any(|one| one.what == Observation::Change);
        if self.is_measured() && !has_open_change { Label::Healthy } else { Label::Defer }
    }

    fn is_asked(&self, reason: NoticeReason) -> bool {
        self.packet.notice.as_ref().is_some_and(|notice| notice.reason == reason)
    }

    fn is_worse(&self) -> bool {
        self.harm >= WEIGHTS.decision.harm
    }

    /// Whether it does something to others, although it does no worse itself.
    fn is_active(&self) -> bool {
        let n = &self.numbers;
        n.contention
            || n.holds_up
            || n.ends_requests > 0.0
            || n.sends_more > 0.0
            || n.is_first_to_deviate
            || n.attributed >= 0.3
            || n.remainder.is_some()
            || n.critical_path > 0.0
            || n.first_errors > 0.0
    }

    fn is_measured(&self) -> bool {
        self.packet.context.findings.iter().any(|finding| {
            !matches!(finding.kind, EvidenceKind::Note | EvidenceKind::Alert | EvidenceKind::Change)
        })
    }

    /// Who may explain the entity: upstream neighbours that are in trouble by their own word, that own findings point
    /// to, and, where the search ends, origins found elsewhere whose effects reach here. Most likely first.
    fn causes(&self) -> Vec<Cause<'a>> {
        let mut seen: BTreeMap<&'a EntityId, Vec<&'a Finding>> = BTreeMap::new();
        for one in &self.observed {
            if let Some(other) = one.what.points_to().filter(|other| **other != self.packet.entity)
            {
                seen.entry(other).or_default().push(one.finding);
            }
        }
        for message in &self.packet.inbox {
            if is_upstream(self.packet, &message.sender) {
                seen.entry(&message.sender).or_default();
            }
        }
        let mut causes: Vec<Cause<'a>> =
            seen.into_iter().filter_map(|(entity, seen)| self.cause(entity, seen)).collect();
        causes.extend(self.found_elsewhere());
        causes.sort_by(|a, b| {
            let rank = |it: &Cause<'_>| (it.is_origin(), it.log_odds, (it.share * 1e3) as i64);
            rank(b).cmp(&rank(a)).then_with(|| a.entity.cmp(b.entity))
        });
        causes.dedup_by(|a, b| a.entity == b.entity);
        causes
    }

    fn cause(&self, entity: &'a EntityId, seen: Vec<&'a Finding>) -> Option<Cause<'a>> {
        let said = self.packet.message_from(entity);
        let share = self.numbers.shares.get(entity).copied().unwrap_or(0.0);
        let measures = said.and_then(|said| said.measures.as_ref());
        let harm = measures.map_or(0, |measures| measures.harm);
        let is_suspect = match said.map(|said| said.label) {
            Some(Label::Origin) => true,
            // A change somewhere has no effect here by a neighbour that is well.
            Some(Label::Healthy) => false,
            Some(Label::Symptom) => {
                harm >= WEIGHTS.decision.harm || !seen.is_empty() || has_cause(said)
            }
            Some(Label::Defer) | None => !seen.is_empty(),
        };
        // Who is put down to this entity by its own word is its effect.
        let blames_me = said.is_some_and(|said| {
            let by_me =
                |claim: &Claim| claim.cause == self.packet.entity && claim.effect == *entity;
            said.label != Label::Origin && said.claims.iter().any(by_me)
        });
        let is_too_small = self.numbers.shares.contains_key(entity) && share < MINOR;
        let since = said.and_then(|said| said.since);
        let is_too_late = matches!((self.since, since), (Some(own), Some(theirs)) if surely_before(&own, &theirs));
        if !is_suspect
            || blames_me
            || is_too_late
            || is_too_small && said.is_none_or(|said| said.label != Label::Origin)
        {
            return None;
        }
        let log_odds = measures.map(|measures| measures.log_odds);
        Some(Cause { entity, said, seen, log_odds, share, since })
    }

    /// Origins of which a notice says that they explain no alert although their effects reach here.
    fn found_elsewhere(&self) -> impl Iterator<Item = Cause<'a>> {
        let notice =
            self.packet.notice.as_ref().filter(|notice| notice.reason == NoticeReason::DeadEnd);
        let others = notice.into_iter().flat_map(|notice| &notice.unlinked);
        let in_time = |since: Option<Onset>| !matches!((self.since, since), (Some(own), Some(theirs)) if surely_before(&own, &theirs));
        others.filter(move |other| in_time(other.since)).map(|other| Cause {
            entity: &other.entity,
            said: None,
            seen: Vec::new(),
            log_odds: Some(other.log_odds.unwrap_or(0)),
            share: 0.0,
            since: other.since,
        })
    }

    fn claim_of(&self, cause: &Cause<'_>) -> Option<Claim> {
        let condition = match cause.said {
            Some(said) => shorten(&said.summary, MAX_QUOTE),
            None => cause
                .seen
                .first()
                .map_or_else(|| "an origin found elsewhere".to_owned(), |seen| quote(seen)),
        };
        let own = self.own_harms();
        let observed =
            cause.seen.first().or(own.first()).map_or_else(String::new, |finding| quote(finding));
        let said = cause.said.into_iter().flat_map(|said| said.evidence.iter());
        let ids = cause.seen.iter().chain(&own).map(|finding| finding.id()).take(4);
        let evidence = few(ids.chain(said));
        if evidence.is_empty() {
            return None;
        }
        let (entity, effect) = (cause.entity.clone(), self.packet.entity.clone());
        Some(Claim {
            cause: entity,
            effect,
            condition,
            observed,
            evidence,
            cause_since: cause.since,
            effect_since: self.since,
            explains: explained(&self.packet.anomalies, cause.since),
        })
    }

    /// An origin claims the next hop on the way of its change to an alert, and who holds it for the cause.
    fn claims_on_others(&self, since: Option<Onset>) -> Vec<Claim> {
        let mut claims: Vec<Claim> = Vec::new();
        for one in &self.observed {
            let Observation::Impact(Some(next)) = one.what else { continue };
            if claims.iter().any(|claim| claim.effect == *next) || claims.len() >= MAX_CLAIMS {
                continue;
            }
            let change = self.observed.iter().find(|other| other.what == Observation::Change);
            let condition = change.map_or_else(String::new, |change| quote(change.finding));
            let cited = change.iter().map(|change| change.finding.id()).chain([one.finding.id()]);
            let evidence = few(cited);
            claims.push(Claim {
                cause: self.packet.entity.clone(),
                effect: next.clone(),
                condition,
                observed: quote(one.finding),
                evidence,
                cause_since: since,
                effect_since: self.packet.message_from(next).and_then(|said| said.since),
                explains: None,
            });
        }
        claims
    }

    /// Findings that the label rests on, best first.
    fn cited(&self, label: Label) -> Vec<EvidenceId> {
        let of = |wanted: &dyn Fn(&Observation<'a>) -> bool| -> Vec<&'a EvidenceId> {
            self.observed
                .iter()
                .filter(|one| wanted(&one.what))
                .map(|one| one.finding.id())
                .collect()
        };
        let verdicts =
            of(&|what| matches!(what, Observation::Verdict(_) | Observation::Experiment));
        let harms = self.own_harms();
        let harms = harms.iter().map(|finding| finding.id());
        let points = of(&|what| what.points_to().is_some());
        let numbers = of(&|what| {
            matches!(
                what,
                Observation::Remainder(_)
                    | Observation::EndsRequests(_)
                    | Observation::Contention
                    | Observation::HoldsUpCallers
                    | Observation::SendsMore(_)
                    | Observation::FirstToDeviate
                    | Observation::CriticalPath(_)
                    | Observation::FirstErrors(_)
            )
        });
        let dating = self.dating_harms();
        match label {
            Label::Origin => {
                let changes: Vec<&EvidenceId> =
                    self.timely_changes().map(Finding::id).take(2).collect();
                let alert = of(&|what| *what == Observation::Alert);
                few(verdicts
                    .into_iter()
                    .chain(changes)
                    .chain(dating)
                    .chain(numbers)
                    .chain(harms)
                    .chain(alert))
            }
            Label::Symptom => few(verdicts
                .into_iter()
                .chain(dating)
                .chain(points)
                .chain(harms)
                .chain(of(&|what| *what == Observation::Alert))),
            Label::Healthy | Label::Defer => few(verdicts
                .into_iter()
                .chain(self.packet.context.findings.iter().map(Finding::id))
                .take(3)),
        }
    }

    /// Own changes that can have been made before the harm began, nearest first.
    fn timely_changes(&self) -> impl Iterator<Item = &'a Finding> {
        let changes = self.observed.iter().filter(|one| one.what == Observation::Change);
        changes
            .map(|one| one.finding)
            .filter(|change| self.since.is_none_or(|since| !surely_before(&since, &made(change))))
    }

    /// The first dated own harm of each kind: the onset counts for others only with the finding that measured it.
    fn dating_harms(&self) -> Vec<&'a EvidenceId> {
        let mut first: BTreeMap<_, (Onset, &'a Finding)> = BTreeMap::new();
        for finding in self.own_harms() {
            let Some(onset) = finding.onset.filter(|_| finding.kind != EvidenceKind::Log) else {
                continue;
            };
            let held = first.entry(finding.signal).or_insert((onset, finding));
            if onset.latest() < held.0.latest() {
                *held = (onset, finding);
            }
        }
        first.into_values().map(|(_, finding)| finding.id()).collect()
    }

    /// Own findings that say that it does worse, alerts last.
    fn own_harms(&self) -> Vec<&'a Finding> {
        let of = |one: &&Observed<'a>| match one.what {
            Observation::Alert => true,
            Observation::Worse(..) => is_worse(one.finding),
            Observation::Failure { .. }
            | Observation::ErrorLines { .. }
            | Observation::CallWorse(..) => true,
            _ => false,
        };
        let mut harms: Vec<&Finding> =
            self.observed.iter().filter(of).map(|one| one.finding).collect();
        harms.sort_by_key(|finding| finding.kind == EvidenceKind::Alert);
        harms
    }

    /// Since when the condition holds: for an origin by a change since that was made.
    fn begun(&self, label: Label) -> Option<Onset> {
        match label {
            Label::Origin => {
                let change = self.timely_changes().next().filter(|_| self.numbers.change > 0.0);
                let noted = || {
                    first_of(
                        self.observed
                            .iter()
                            .filter(|one| is_of_others(&one.what))
                            .filter_map(|one| one.finding.onset),
                    )
                };
                change.map(made).or(self.since).or_else(noted)
            }
            _ => self.since,
        }
    }

    fn measures(&self) -> Measures {
        let share =
            |(entity, share): (&EntityId, &f64)| (entity.clone(), (share * 1e3).round() as u16);
        Measures {
            log_odds: self.log_odds,
            harm: self.harm,
            shares: self.numbers.shares.iter().map(share).collect(),
        }
    }

    /// The largest terms, each with the finding that says most of it.
    fn terms(&self) -> Vec<WeighedTerm> {
        let weights = WEIGHTS.terms.iter();
        let named = TERMS.iter().zip(weights).zip(&self.added).filter(|(_, added)| **added != 0);
        let mut terms: Vec<WeighedTerm> = named
            .map(|((term, weight), added)| WeighedTerm {
                name: term.name.to_owned(),
                log_odds: *added,
                text: shorten(&weight.meaning, MAX_QUOTE),
                evidence: Vec::new(),
            })
            .collect();
        terms.sort_by_key(|term| std::cmp::Reverse(term.log_odds.abs()));
        terms.truncate(MAX_TERMS);
        terms
    }

    fn summary(&self, label: Label, causes: &[Cause<'_>]) -> String {
        let first = self.own_harms().first().map(|finding| quote(finding));
        let change = self.timely_changes().next().map(quote);
        let text = match label {
            Label::Origin => match (&change, &first) {
                (Some(change), Some(harm)) if self.numbers.change > 0.0 => {
                    format!("changed: {change}; {harm}")
                }
                (Some(change), None) if self.numbers.change > 0.0 => {
                    format!("changed: {change}")
                }
                (_, Some(harm)) => harm.clone(),
                _ => {
                    self.notes().next().unwrap_or_else(|| "no harm of its own on record".to_owned())
                }
            },
            Label::Symptom => {
                let of = causes.first().map_or_else(
                    || "no upstream neighbour explains it".to_owned(),
                    |cause| format!("explained by {}", cause.entity),
                );
                match first {
                    Some(harm) => format!("{of}: {harm}"),
                    None => of,
                }
            }
            Label::Healthy => {
                match self.packet.context.findings.iter().find(|it| it.kind != EvidenceKind::Note) {
                    Some(finding) => format!("nothing unusual: {}", quote(finding)),
                    None => "nothing unusual".to_owned(),
                }
            }
            Label::Defer => match (change, self.packet.context.findings.is_empty()) {
                (Some(change), _) => format!("changed, with no effect on record: {change}"),
                (None, true) => format!(
                    "no findings: nothing is known about {} in the window",
                    self.packet.entity
                ),
                (None, false) => "nothing on record that can be judged".to_owned(),
            },
        };
        shorten(&text, MAX_SUMMARY)
    }

    /// What notes say of the entity, in words.
    fn notes(&self) -> impl Iterator<Item = String> {
        self.observed.iter().filter(|one| is_of_others(&one.what)).map(|one| quote(one.finding))
    }

    /// Upstream neighbours that were not read yet, those that findings point to first.
    fn unread_upstream(&self) -> Vec<(EntityId, String)> {
        let is_read = |entity: &EntityId| self.packet.message_from(entity).is_some();
        let pointed = self
            .observed
            .iter()
            .filter_map(|one| Some((one.what.points_to()?, quote(one.finding))));
        let rows =
            self.packet.neighbours.iter().filter(|row| row.direction != Direction::Downstream);
        let rows =
            rows.map(|row| (&row.entity, "an upstream neighbour that was not read".to_owned()));
        let mut unread: Vec<(EntityId, String)> = Vec::new();
        for (entity, reason) in pointed.chain(rows) {
            if !is_read(entity) && unread.iter().all(|(known, _)| known != entity) {
                unread.push((entity.clone(), reason));
            }
        }
        unread
    }
}

/// What has less than a tenth of it has no part that could be told from noise.
const MINOR: f64 = 0.1;

/// Whether a neighbour names a cause itself: effects pass through it.
fn has_cause(said: Option<&Belief>) -> bool {
    said.is_some_and(|said| said.claims.iter().any(|claim| claim.cause != claim.effect))
}

/// Whether an observation is about what the entity does to others.
fn is_of_others(what: &Observation<'_>) -> bool {
    matches!(
        what,
        Observation::Contention
            | Observation::HoldsUpCallers
            | Observation::EndsRequests(_)
            | Observation::SendsMore(_)
            | Observation::FirstToDeviate
            | Observation::CriticalPath(_)
            | Observation::FirstErrors(_)
            | Observation::Remainder(_)
    )
}

fn quote(finding: &Finding) -> String {
    shorten(&finding.excerpt, MAX_QUOTE)
}

/// The first few ids, each once.
fn few<'a>(ids: impl IntoIterator<Item = &'a EvidenceId>) -> Vec<EvidenceId> {
    let mut kept: Vec<EvidenceId> = Vec::new();
    for id in ids {
        if kept.len() < MAX_CITED && !kept.contains(id) {
            kept.push(id.clone());
        }
    }
    kept
}
