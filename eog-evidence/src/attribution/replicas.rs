//! Entities that share the work of another: instances of a service, consumers of a queue.
//!
//! Each of many replicas has little of what their service has too much of, and none of them accounts
//! for it. What all of them wait for does.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::evidence::EvidenceTime;
use eog_core::{EntityId, EvidenceKind, Finding};

use super::burden::{Account, Burden, Weight};
use super::{Attribution, Kind, notes};
use crate::paths::Travel;
use crate::stats::{BEYOND_CHANCE, median};
use crate::ways::Number;

/// Replicas have as much as each other while none has more than so many times what the median has, or less than one part
/// in so many.
const ALIKE: f64 = 2.0;

/// How what a whole has too much of is spread over its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// All of them have as much: what they share has it, none of them alone.
    Alike,
    /// Some of them have far more than others.
    Uneven,
}

impl Attribution<'_> {
    /// Those that share the work of an entity, by name: effects come from them though they are not called, and
    /// they call others or are affected themselves, unlike what the entity rests on. Nothing when it is one alone.
    pub(super) fn replicas(&self, entity: Number) -> Vec<Number> {
        let demand = self.ways.lanes(Travel::Demand);
        let called: BTreeSet<Number> = demand.onward.of(entity).collect();
        let callers: BTreeSet<Number> = demand.back.of(entity).collect();
        let is_affected = |one: Number| self.upstream(one).any(|other| other == entity);
        let works = |one: &Number| demand.onward.of(*one).next().is_some() || is_affected(*one);
        let is_apart = |one: &Number| !called.contains(one) && !callers.contains(one);
        let all: Vec<Number> =
            self.upstream(entity).filter(|one| is_apart(one) && works(one)).collect();
        if all.len() > 1 { all } else { Vec::new() }
    }

    /// The first by name of those of which an entity is a replica.
    pub(super) fn whole_of(&self, entity: &EntityId) -> Option<&EntityId> {
        let number = self.ways.number(entity)?;
        let onward = self.ways.lanes(Travel::Effects).onward.of(number);
        let wholes = onward.filter(|whole| self.replicas(*whole).contains(&number));
        wholes.filter_map(|whole| self.ways.name(whole)).min()
    }

    /// The entity and all who share the same work with it.
    pub(super) fn siblings(&self, entity: &EntityId) -> Vec<&EntityId> {
        let Some(number) = self.ways.number(entity) else { return Vec::new() };
        let onward = self.ways.lanes(Travel::Effects).onward.of(number);
        let shared = onward.map(|whole| self.replicas(whole));
        let all: BTreeSet<Number> =
            shared.filter(|replicas| replicas.contains(&number)).flatten().collect();
        all.into_iter().filter_map(|one| self.ways.name(one)).collect()
    }

    /// How what a whole has too much of is spread over its replicas; nothing where few of them are measured, or none has
    /// too much.
    pub(super) fn spread(&self, whole: Number, kind: Kind) -> Option<Spread> {
        let find = |kept: &super::Kept| kept.spreads.get(&(whole, kind)).copied();
        self.books.or_else(
            &self.periods,
            find,
            || self.find_spread(whole, kind),
            |kept, found| {
                kept.spreads.insert((whole, kind), found);
            },
        )
    }

    fn find_spread(&self, whole: Number, kind: Kind) -> Option<Spread> {
        let replicas = self.replicas(whole);
        let names = replicas.iter().filter_map(|one| self.ways.name(*one));
        let mut weights = BTreeSet::new();
        let mut in_trouble = 0_usize;
        let measured = names.filter_map(|name| match self.account(name, kind, Weight::Calls) {
            Account::Burden(burden) => {
                weights.insert(burden.weight);
                in_trouble += usize::from(burden.stands_out());
                Some(burden.total())
            }
            Account::Usual => Some(0.0),
            Account::Unknown => None,
        });
        let totals: Vec<f64> = measured.collect();
        let is_known = totals.len() > 1 && 2 * totals.len() >= replicas.len();
        if !is_known || weights.len() != 1 || in_trouble == 0 {
            return None;
        }
        let usual = median(totals.iter().copied())?;
        // Of few failures some have twice as many by chance.
        let chance = match kind {
            Kind::Failures => BEYOND_CHANCE * usual.sqrt(),
            Kind::Time => 0.0,
        };
        let most = (ALIKE * usual).max(usual + chance);
        let least = (usual / ALIKE).min(usual - chance);
        let is_alike = totals.iter().all(|total| (least..=most).contains(total));
        let is_common = 2 * in_trouble > totals.len();
        Some(if is_alike && is_common { Spread::Alike } else { Spread::Uneven })
    }

    /// Those of which an entity is a replica, with how what each has too much of is spread over its replicas.
    pub(super) fn wholes(&self, entity: &EntityId, kind: Kind) -> Vec<(Number, Spread)> {
        let Some(number) = self.ways.number(entity) else { return Vec::new() };
        let onward = self.ways.lanes(Travel::Effects).onward.of(number);
        let wholes = onward.filter(|whole| self.replicas(*whole).contains(&number));
        wholes.filter_map(|whole| Some((whole, self.spread(whole, kind)?))).collect()
    }

    /// Entities whose effects reach replicas that are as usual, of wholes of which others are not: they do not explain what
    /// these do not have.
    pub(super) fn shared_with_the_well(
        &self,
        wholes: &[(Number, Spread)],
        kind: Kind,
    ) -> BTreeSet<Number> {
        let uneven = wholes.iter().filter(|(_, spread)| *spread == Spread::Uneven);
        uneven
            .flat_map(|(whole, _)| {
                self.behind_the_well(*whole, kind).iter().copied().collect::<Vec<_>>()
            })
            .collect()
    }

    fn behind_the_well(&self, whole: Number, kind: Kind) -> Arc<BTreeSet<Number>> {
        let find = |kept: &super::Kept| kept.behind_the_well.get(&(whole, kind)).cloned();
        let work_out = || {
            let replicas = self.replicas(whole).into_iter();
            let well = replicas.filter(|one| self.is_well(*one, kind));
            Arc::new(well.flat_map(|one| self.upstream(one).collect::<Vec<_>>()).collect())
        };
        self.books.or_else(&self.periods, find, work_out, |kept, found| {
            kept.behind_the_well.insert((whole, kind), found);
        })
    }

    /// Whether something that an entity rests on, such as a node, bears another entity that is measured and does well: it does
    /// not hold then what the entity has too much of.
    pub(super) fn bears_the_well(&self, base: Number, entity: Number, kind: Kind) -> bool {
        let demand = self.ways.lanes(Travel::Demand);
        let sends_or_serves = demand.onward.of(base).chain(demand.back.of(base)).next().is_some();
        let borne = self.ways.lanes(Travel::Effects).onward.of(base);
        !sends_or_serves && borne.into_iter().any(|one| one != entity && self.is_well(one, kind))
    }

    /// Whether an entity is measured, and has nothing too much.
    fn is_well(&self, entity: Number, kind: Kind) -> bool {
        let account = self.ways.name(entity).map(|name| self.account(name, kind, Weight::Calls));
        match account {
            Some(Account::Usual) => true,
            Some(Account::Burden(burden)) => !burden.stands_out(),
            Some(Account::Unknown) | None => false,
        }
    }

    /// Whether a change of an entity cannot be what alerts report: it is not involved, though it is measured; or it
    /// is one of several replicas, and all have as much, or others have it and this one does not; or it is what they
    /// share, and some of them do not have it.
    pub(crate) fn is_cleared(&self, entity: &EntityId) -> bool {
        let find = |kept: &super::Kept| kept.cleared.get(entity).copied();
        self.books.or_else(
            &self.periods,
            find,
            || self.clear(entity),
            |kept, is_cleared| {
                kept.cleared.insert(entity.clone(), is_cleared);
            },
        )
    }

    fn clear(&self, entity: &EntityId) -> bool {
        let Some(number) = self.ways.number(entity) else { return false };
        let kinds = self.asked.kinds.iter();
        let as_replica = kinds.clone().flat_map(|kind| {
            let wholes = self.wholes(entity, *kind).into_iter();
            wholes.map(|(_, spread)| spread == Spread::Alike || self.is_well(number, *kind))
        });
        let as_whole = kinds.filter_map(|kind| {
            let mut replicas = self.replicas(number).into_iter();
            let spread = self.spread(number, *kind)?;
            Some(spread == Spread::Uneven && replicas.any(|one| self.is_well(one, *kind)))
        });
        let verdicts: Vec<bool> = as_replica.chain(as_whole).collect();
        !verdicts.is_empty() && verdicts.into_iter().all(|is_cleared| is_cleared)
            || self.has_no_part(entity)
    }

    /// How much of what all replicas of an entity have calls of theirs account for: of what each of them says, the middle.
    pub(super) fn share_by_replicas(
        &self,
        replicas: &[Number],
        callee: &EntityId,
        kind: Kind,
    ) -> Option<(f64, Burden)> {
        let names = replicas.iter().filter_map(|one| self.ways.name(*one));
        let mut shares: Vec<(f64, Burden)> =
            names.filter_map(|name| self.share_by_calls(name, callee, kind)).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = shares.len() / 2;
        shares.into_iter().nth(middle)
    }

    /// Adds a note on each of those of which an entity is a replica: what is left of what it has is that of all replicas
    /// where they have it alike, else it is its own.
    pub(super) fn add_wholes(
        &self,
        findings: &mut Vec<Finding>,
        entity: &EntityId,
        kind: Kind,
        (wholes, left): (&[(Number, Spread)], f64),
        time: EvidenceTime,
    ) {
        for (whole, spread) in wholes {
            let Some(name) = self.ways.name(*whole) else { continue };
            let share = if *spread == Spread::Alike { left } else { 0.0 };
            let note = notes::of_whole(entity, name, kind, (*spread, share), time);
            let is_less = |finding: &Finding| {
                let observed = finding.quantity.as_ref().map_or(0.0, |quantity| quantity.observed);
                finding.kind == EvidenceKind::Note && observed < share
            };
            let place = findings.iter().position(is_less).unwrap_or(findings.len());
            findings.insert(place, note);
        }
    }
}
