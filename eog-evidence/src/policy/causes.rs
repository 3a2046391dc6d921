//! Which upstream entities may explain an entity, and what is claimed of them.

use std::collections::BTreeMap;

use eog_core::contract::{NoticeReason, Route};
use eog_core::evidence::Trend;
use eog_core::incident::{Direction, Onset};
use eog_core::{Belief, Claim, EntityId, Finding, Label};

use super::decide::Weighed;
use super::explain::{MAX_QUOTE, few, quote};
use super::numbers::{is_upstream, nearness};
use super::observation::Observation;
use super::terms::weight_of_change;
use super::times::{explained, made, surely_before};
use crate::text::shorten;

/// At most so many neighbours are claimed as causes.
pub(super) const MAX_CLAIMS: usize = 16;

/// An entity that may explain the one that is judged.
#[derive(Clone, Debug)]
pub(super) struct Cause<'a> {
    pub(super) entity: &'a EntityId,
    said: Option<&'a Belief>,
    /// What own findings say of it.
    seen: Vec<&'a Finding>,
    /// How strongly evidence speaks for the origin that it leads to, itself included, by its message or the notice.
    pub(super) origin: Option<i32>,
    share: f64,
    since: Option<Onset>,
}

/// A change of another entity that can have led to what this one shows.
#[derive(Clone, Debug)]
pub(super) struct ChangedUpstream<'a> {
    pub(super) entity: &'a EntityId,
    /// How strongly what this entity shows speaks for that change: its own sum, and the weight of a change as near to its
    /// harm.
    pub(super) log_odds: i32,
    route: &'a Route,
    /// The finding about it.
    finding: &'a Finding,
}

impl Cause<'_> {
    /// Whether it has said anything of itself.
    pub(super) fn has_reported(&self) -> bool {
        self.said.is_some() || self.origin.is_some()
    }
}

impl<'a> Weighed<'a> {
    /// What may explain the entity: upstream neighbours that are in trouble by their own word, that own findings point
    /// to, and, where the search ends, origins found elsewhere whose effects reach here. Most likely first.
    pub(super) fn causes(&self) -> Vec<Cause<'a>> {
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
            let rank = |it: &Cause<'_>| (it.origin, (it.share * 1e3) as i64);
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
                harm >= self.weights.decision.harm || !seen.is_empty() || has_cause(said)
            }
            Some(Label::Defer) | None => !seen.is_empty(),
        };
        // What names this entity as its own cause is an effect of it.
        let blames_me = said.is_some_and(|said| {
            let by_me =
                |claim: &Claim| claim.cause == self.packet.entity && claim.effect == *entity;
            said.label != Label::Origin && said.claims.iter().any(by_me)
        });
        let is_too_small = self.numbers.shares.contains_key(entity) && share < MINOR;
        let since = said.and_then(|said| said.since);
        if !is_suspect
            || blames_me
            || self.is_too_late(since)
            || is_too_small && said.is_none_or(|said| said.label != Label::Origin)
        {
            return None;
        }
        let origin = measures.and_then(|measures| measures.origin);
        Some(Cause { entity, said, seen, origin, share, since })
    }

    /// Changes of others with a way here that were made before the harm, and nearer to it than any change of its own. The
    /// place of the harm is the same whatever was changed, so that its evidence speaks for them as well.
    pub(super) fn find_changed_upstream(&self) -> Vec<ChangedUpstream<'a>> {
        let Some(since) = self.since.filter(|_| self.is_worse()) else { return Vec::new() };
        let place =
            self.log_odds.saturating_sub(weight_of_change(self.weights, self.numbers.change));
        let mut found: Vec<ChangedUpstream<'a>> = Vec::new();
        for route in &self.packet.context.routes {
            let (Some(entity), Some(last)) = (route.hops.first(), route.hops.last()) else {
                continue;
            };
            let cited = self.observed.iter().find(|one| *one.finding.id() == route.finding);
            let cited = cited.filter(|one| matches!(one.what, Observation::Route(_)));
            let Some(finding) = cited.map(|one| one.finding) else { continue };
            let made = made(finding);
            let near = nearness(since.latest().duration_since(made.latest()).as_secs_f64());
            let counts = *last == self.packet.entity
                && *entity != self.packet.entity
                && made.can_precede(&since)
                && near > self.numbers.change;
            if counts && found.iter().all(|known| known.entity != entity) {
                let log_odds = place.saturating_add(weight_of_change(self.weights, near));
                found.push(ChangedUpstream { entity, log_odds, route, finding });
            }
        }
        found.sort_by_key(|it| (std::cmp::Reverse(it.log_odds), it.entity));
        found
    }

    /// Claims along the way of the strongest change elsewhere, hop by hop, but for those that are among `claims`.
    pub(super) fn claims_along_routes(&self, claims: &[Claim]) -> Vec<Claim> {
        let Some(best) = self.changed_upstream.first() else { return Vec::new() };
        let own = self.own_harms();
        let is_claimed = |cause: &EntityId, effect: &EntityId| {
            claims.iter().any(|claim| claim.cause == *cause && claim.effect == *effect)
        };
        let hops = best.route.hops.windows(2).filter_map(|hop| {
            let [cause, effect] = hop else { return None };
            if is_claimed(cause, effect) {
                return None;
            }
            let is_here = *effect == self.packet.entity;
            let observed = own.first().filter(|_| is_here);
            let ids = observed.map(|finding| finding.id());
            Some(Claim {
                cause: cause.clone(),
                effect: effect.clone(),
                condition: quote(best.finding),
                observed: observed.map_or_else(String::new, |finding| quote(finding)),
                evidence: few([best.finding.id()].into_iter().chain(ids)),
                cause_since: (cause == best.entity).then(|| made(best.finding)),
                effect_since: self.since.filter(|_| is_here),
                explains: None,
                outside: false,
            })
        });
        hops.collect()
    }

    /// Origins of which a notice says that they explain no alert although their effects reach here.
    fn found_elsewhere(&self) -> impl Iterator<Item = Cause<'a>> {
        let notice =
            self.packet.notice.as_ref().filter(|notice| notice.reason == NoticeReason::DeadEnd);
        let others = notice.into_iter().flat_map(|notice| &notice.unlinked);
        others.filter(move |other| !self.is_too_late(other.since)).map(|other| Cause {
            entity: &other.entity,
            said: None,
            seen: Vec::new(),
            origin: Some(other.log_odds.unwrap_or(0)),
            share: 0.0,
            since: other.since,
        })
    }

    /// An effect does not precede its cause.
    fn is_too_late(&self, cause: Option<Onset>) -> bool {
        self.since.zip(cause).is_some_and(|(own, theirs)| surely_before(&own, &theirs))
    }

    pub(super) fn claim_of(&self, cause: &Cause<'_>) -> Option<Claim> {
        let condition = match cause.said {
            // What it is affected by is said where that is judged.
            Some(said) if said.label == Label::Symptom && has_cause(Some(said)) => {
                let first = said.claims.first().map(|claim| claim.cause.as_str());
                format!("affected by {}", first.unwrap_or_default())
            }
            Some(said) => shorten(&said.summary, MAX_QUOTE),
            None => cause
                .seen
                .first()
                .map_or_else(|| "an origin found elsewhere".to_owned(), |seen| quote(seen)),
        };
        let own = self.own_harms();
        let observed =
            own.first().or(cause.seen.first()).map_or_else(String::new, |finding| quote(finding));
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
            outside: false,
        })
    }

    /// An origin claims the next hop on the way of its change to an alert, and the alerting entities whose time it has had from
    /// the beginning.
    pub(super) fn claims_on_others(&self, since: Option<Onset>) -> Vec<Claim> {
        let mut claims: Vec<Claim> = Vec::new();
        for one in &self.observed {
            let (next, by_change) = match one.what {
                Observation::Impact(Some(next)) => (next, true),
                // What was always so shows nowhere on the way: no neighbour there does worse than usual.
                Observation::CriticalPath(alerting, share)
                    if share >= MINOR && one.finding.trend == Trend::Steady =>
                {
                    (alerting, false)
                }
                _ => continue,
            };
            if claims.iter().any(|claim| claim.effect == *next) || claims.len() >= MAX_CLAIMS {
                continue;
            }
            let changes = self.timely_changes();
            let change = changes.first().filter(|_| by_change);
            let condition = match by_change {
                true => change.map_or_else(String::new, |change| quote(change)),
                false => quote(one.finding),
            };
            let cited = change.iter().map(|change| change.id()).chain([one.finding.id()]);
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
                outside: false,
            });
        }
        claims
    }

    /// Upstream neighbours that were not read yet, those that findings point to first.
    pub(super) fn unread_upstream(&self) -> Vec<(EntityId, String)> {
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

/// What has less than a tenth of it has no part that could be distinguished from noise.
const MINOR: f64 = 0.1;

/// Whether a neighbour names a cause itself: effects pass through it.
fn has_cause(said: Option<&Belief>) -> bool {
    said.is_some_and(|said| said.claims.iter().any(|claim| claim.cause != claim.effect))
}
