//! What several callers have in common: a callee to which no calls were measured, and whose callers all became slow.
//!
//! An entity that records nothing of its calls takes longer itself where they do. Of one caller the two look the same; where
//! all callers of one callee became slow, and nothing else that they call did, it is likelier that one thing happened than several.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;

use super::asked::CallsAsSeen;
use super::burden::{Account, Burden, Weight};
use super::{Attribution, Kind};
use crate::paths::Travel;
use crate::ways::Number;

/// What befalls each call to one callee alike makes requests longer by as much as they make such calls: commonly one or
/// two.
const ALIKE: f64 = 3.0;

/// A callee, and what its callers have too much of.
type Shared<'a> = (&'a EntityId, BTreeMap<&'a EntityId, Burden>);

impl Attribution<'_> {
    /// Callees that all who call them have in common, each with what these have. Of two that the same callers have in common
    /// neither is noted.
    pub(super) fn shared_callees(
        &self,
        seen: &CallsAsSeen,
    ) -> Vec<(EntityId, BTreeMap<EntityId, Burden>)> {
        let names = self.ways.names().iter();
        let found: Vec<Shared<'_>> = names.filter_map(|name| self.shared(name, seen)).collect();
        let is_alone = |(callee, callers): &&Shared<'_>| {
            found.iter().all(|(other, others)| {
                other == callee
                    || others.len() < callers.len()
                    || others.keys().all(|one| !callers.contains_key(one))
            })
        };
        let owned = |(callee, callers): &Shared<'_>| {
            let callers = callers.iter().map(|(one, burden)| ((*one).clone(), burden.clone()));
            ((*callee).clone(), callers.collect())
        };
        found.iter().filter(is_alone).map(owned).collect()
    }

    fn shared<'a>(&'a self, callee: &'a EntityId, seen: &CallsAsSeen) -> Option<Shared<'a>> {
        let number = self.ways.number(callee)?;
        if seen.is_measured(callee) || self.own_excess(callee).is_some() {
            return None;
        }
        let lanes = self.ways.lanes(Travel::Demand);
        let mut callers: BTreeMap<&EntityId, Burden> = BTreeMap::new();
        for caller in lanes.back.of(number) {
            let name = self.ways.name(caller)?;
            let own = match self.own_account(name, Kind::Time, Weight::None) {
                Account::Unknown => continue,
                Account::Burden(own) if own.stands_out() => own,
                Account::Burden(_) | Account::Usual => return None,
            };
            if self.waits_for_another(caller, number, seen) {
                return None;
            }
            callers.insert(name, own);
        }
        // Replicas share their code: they are one caller.
        let different: BTreeSet<&EntityId> =
            callers.keys().map(|caller| self.first_replica(caller)).collect();
        let longer = || callers.values().map(|own| own.observed - own.usual);
        let (least, most) = (longer().fold(f64::INFINITY, f64::min), longer().fold(0.0, f64::max));
        (different.len() > 1 && most <= ALIKE * least).then_some((callee, callers))
    }

    /// The first by name of those who do the same for the same others.
    fn first_replica<'a>(&'a self, entity: &'a EntityId) -> &'a EntityId {
        let work = |one: &EntityId| -> Option<[BTreeSet<Number>; 2]> {
            let number = self.ways.number(one)?;
            let onward = |travel| self.ways.lanes(travel).onward.of(number).collect();
            Some([Travel::Effects, Travel::Demand].map(onward))
        };
        let own = work(entity);
        self.siblings(entity).into_iter().find(|one| work(one) == own).unwrap_or(entity)
    }

    /// Whether a caller calls another entity that takes longer.
    fn waits_for_another(&self, caller: Number, callee: Number, seen: &CallsAsSeen) -> bool {
        let mut others =
            self.ways.lanes(Travel::Demand).onward.of(caller).filter(|other| *other != callee);
        let Some(name) = self.ways.name(caller) else { return true };
        others.any(|other| {
            self.ways.name(other).is_some_and(|other| {
                self.own_excess(other).is_some() || seen.made_by(name).any(|(one, _)| one == other)
            })
        })
    }

    /// What an entity by its own measurements takes longer, where it stands out.
    fn own_excess(&self, entity: &EntityId) -> Option<Burden> {
        match self.own_account(entity, Kind::Time, Weight::None) {
            Account::Burden(own) if own.stands_out() => Some(own),
            _ => None,
        }
    }
}
