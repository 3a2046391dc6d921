//! How much of what alerts show an entity upstream can account for.
//!
//! Time spent and requests failed add up along calls, over any number of hops: what an entity has
//! too much of is contained in the excess of those that wait for it. So a measured entity that has far less
//! than an alerting entity cannot explain it, whatever was changed there.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{EvidenceTime, Signal};
use eog_core::{EntityId, Finding};

use super::burden::{Account, Weight};
use super::{Attribution, Kind, MINOR, notes};
use crate::paths::{MAX_PATH_HOPS, Travel};

/// The most of what one alerting entity has that an entity can account for.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    alerting: &'a EntityId,
    kind: Kind,
    share: f64,
    /// The same of the entity and all who share the same work, where there are such.
    together: Option<f64>,
}

impl Attribution<'_> {
    /// A note for each kind of alert that the entity can reach: the greatest part of what one alerting
    /// entity has too much of that this entity has too. Nothing where it reaches an alert that no account
    /// covers, or where one of them is not measured; nor where one is about trouble that is not measured there, and the
    /// entity surely has it.
    ///
    /// Failures come of failures and of lost time, since callers give up; time is lost to lost time
    /// alone.
    pub(super) fn parts(&self, entity: &EntityId) -> Vec<Finding> {
        let mut greatest: BTreeMap<Signal, Option<Part<'_>>> = BTreeMap::new();
        let Some(alerting) = self.alerting_downstream(entity) else { return Vec::new() };
        for (alerting, kind) in alerting {
            let part = self.part(entity, alerting, kind).map(|share| {
                let together = self.together(entity, alerting, kind, share);
                Part { alerting, kind, share, together }
            });
            let known = greatest.entry(kind.signal());
            known
                .and_modify(|known| {
                    *known = match (known.take(), part.as_ref()) {
                        (Some(known), Some(part)) => {
                            let both = [known.together, part.together].into_iter().flatten();
                            let together = both.reduce(f64::max);
                            let most = if part.share <= known.share { known } else { *part };
                            Some(Part { together, ..most })
                        }
                        _ => None,
                    };
                })
                .or_insert(part);
        }
        // Where the amount at the alert is unknown, an excess here that is beyond chance may be any part of it.
        let is_open = |signal: &Signal, part: &Option<Part<'_>>| {
            let mut kinds = self.asked.kinds.iter().filter(|kind| kind.signal() == *signal);
            let is_hit = |kind| self.spot_of_account(entity, kind).is_some_and(|spot| spot.is_sure);
            part.is_none() && kinds.any(|kind| is_hit(*kind))
        };
        if greatest.iter().any(|(signal, part)| is_open(signal, part)) {
            return Vec::new();
        }
        let time = EvidenceTime::During(self.periods.window);
        let note = |(signal, part): (Signal, Option<Part<'_>>)| {
            let Part { alerting, kind, share, together } = part?;
            let measure = self.measure(alerting, kind);
            let of = (alerting, measure.as_str());
            Some(notes::of_part(entity, signal, of, (share, together), time))
        };
        greatest.into_iter().filter_map(note).collect()
    }

    /// What tells how much an alerting entity has: one of its metrics, or its traced requests.
    fn measure(&self, alerting: &EntityId, kind: Kind) -> String {
        match self.account(alerting, kind, Weight::Calls) {
            Account::Burden(burden) => burden.metric,
            Account::Usual | Account::Unknown => "traced requests".to_owned(),
        }
    }

    /// Whether next to nothing of what alerts show can have come from an entity, or passed through it, and it takes nothing
    /// from others.
    pub(super) fn has_no_part(&self, entity: &EntityId) -> bool {
        let parts = self.parts(entity);
        let passed = |note: &Finding| {
            let quantity = note.quantity.as_ref();
            quantity.map_or(1.0, |quantity| {
                quantity.observed.max(quantity.baseline.unwrap_or_default())
            })
        };
        !parts.is_empty()
            && parts.iter().all(|note| passed(note) < MINOR)
            && self.crowding(entity).is_empty()
            && self.endings(entity).is_empty()
            && self.holds_up(entity).is_empty()
    }

    /// Other entities with an alert, by name, which effects of the entity reach; nothing when there is
    /// an alert on no account among them.
    fn alerting_downstream(&self, entity: &EntityId) -> Option<BTreeSet<(&EntityId, Kind)>> {
        let mut reached = BTreeSet::new();
        let mut edge: Vec<_> = self.ways.number(entity).into_iter().collect();
        let mut seen = BTreeSet::from_iter(edge.iter().copied());
        for _ in 0..MAX_PATH_HOPS {
            let onward = edge.iter().flat_map(|at| self.ways.lanes(Travel::Effects).onward.of(*at));
            let next: BTreeSet<_> = onward.filter(|to| !seen.contains(to)).collect();
            seen.extend(&next);
            edge = next.into_iter().collect();
            reached.extend(edge.iter().filter_map(|at| self.ways.name(*at)));
        }
        let others = self.anomalies.iter().filter(|alert| alert.entity != *entity);
        let alerts = others.filter(|alert| reached.contains(&alert.entity));
        let asked = alerts.map(|alert| {
            let kind = Kind::of(alert.signal).filter(|kind| self.asked.kinds.contains(kind))?;
            Some((&alert.entity, kind))
        });
        asked.collect()
    }

    /// The same together with those who share the same work and have some of it as well: each of many replicas
    /// has little. An entity that has none of it is not in trouble with the others.
    fn together(
        &self,
        entity: &EntityId,
        alerting: &EntityId,
        kind: Kind,
        own: f64,
    ) -> Option<f64> {
        let mut others = self.siblings(entity);
        others.retain(|other| *other != entity && *other != alerting);
        if own <= 0.0 || others.is_empty() {
            return None;
        }
        let others = others.into_iter().filter_map(|other| self.part(other, alerting, kind));
        Some(others.fold(own, |sum, part| sum + part).min(1.0))
    }

    /// The part of what an alerting entity has that another can account for; nothing where that is
    /// not known.
    fn part(&self, entity: &EntityId, alerting: &EntityId, kind: Kind) -> Option<f64> {
        let of_time = self.part_of_account(entity, alerting, Kind::Time);
        match kind {
            Kind::Time => of_time,
            Kind::Failures => {
                let of_failures = self.part_of_account(entity, alerting, Kind::Failures)?;
                if !self.may_time_out(alerting) {
                    return Some(of_failures);
                }
                Some(of_failures.max(of_time?))
            }
        }
    }

    /// Whether what fails at an entity can be calls that took too long: then each has lost at least the
    /// time that a request usually takes, since shorter limits would be hit all the time.
    fn may_time_out(&self, entity: &EntityId) -> bool {
        if let Some(may) = self.traced_may_time_out(entity) {
            return may;
        }
        let time = match self.account(entity, Kind::Time, Weight::Calls) {
            Account::Usual => return false,
            Account::Unknown => return true,
            Account::Burden(time) => time,
        };
        let Account::Burden(failures) = self.account(entity, Kind::Failures, Weight::Calls) else {
            return true;
        };
        if !time.stands_out() {
            return false;
        }
        if [time.weight, failures.weight] != [Weight::Calls; 2] {
            return true;
        }
        time.total() >= failures.total() * time.usual
    }

    /// Beside its own part an entity has those of all that its slow calls hold up: what waits there is owed to it.
    fn part_of_account(&self, entity: &EntityId, alerting: &EntityId, kind: Kind) -> Option<f64> {
        let own = self.part_by_itself(entity, alerting, kind)?;
        let held_up = self.all_held_up().into_iter().filter_map(|(one, by)| {
            let of = |entity: &EntityId, of: &EntityId, kind| match entity == of {
                true => Some(1.0),
                false => self.part_by_itself(entity, of, kind),
            };
            Some(of(&one, alerting, kind)? * of(entity, &by, Kind::Time)?)
        });
        Some(held_up.fold(own, f64::max))
    }

    /// Which callers are held up by calls to which callees.
    fn all_held_up(&self) -> Vec<(EntityId, EntityId)> {
        let pair = |name: &EntityId| Some((name.clone(), self.held_up_by(name)?));
        self.ways.names().iter().filter_map(pair).collect()
    }

    fn part_by_itself(&self, entity: &EntityId, alerting: &EntityId, kind: Kind) -> Option<f64> {
        // What was traced and what was measured each bound it: the greater bound is the safe one.
        match self.part_of_traced(entity, alerting, kind) {
            Some(None) => None,
            Some(Some(traced)) => {
                let measured = self.part_of_measured(entity, alerting, kind);
                Some(measured.map_or(traced, |measured| measured.max(traced)))
            }
            None => self.part_of_measured(entity, alerting, kind),
        }
    }

    fn part_of_measured(&self, entity: &EntityId, alerting: &EntityId, kind: Kind) -> Option<f64> {
        let Account::Burden(theirs) = self.account(alerting, kind, Weight::Calls) else {
            return None;
        };
        // Where an alert came too late to stand out from its own control, no part of it is known.
        if !theirs.stands_out() {
            return None;
        }
        let own = match self.account(entity, kind, Weight::Calls) {
            Account::Unknown => return None,
            Account::Usual => return Some(0.0),
            Account::Burden(own) => own,
        };
        if !own.stands_out() {
            // Its own measurements may be too rough to show what it waits for.
            return (!self.waits_for_calls(entity, kind)).then_some(0.0);
        }
        if own.weight == theirs.weight {
            return Some(theirs.share_of(&own));
        }
        match (self.account(entity, kind, Weight::None), self.account(alerting, kind, Weight::None))
        {
            (Account::Burden(own), Account::Burden(theirs)) => Some(theirs.share_of(&own)),
            _ => None,
        }
    }
}
