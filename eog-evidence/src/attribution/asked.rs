//! What callers measured of the calls that they make: how long callees take, or fail, as seen from there.
//!
//! It says what the callee itself does not: that it is far away, does not get to its work, or measures nothing.
//! Where calls to everybody became slow, though, that is the caller's own trouble.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::PeerRole;
use eog_core::{EntityId, Finding};

use super::burden::{self, Account, Burden, Weight};
use super::{Attribution, Kind, MAX_NAMED, Measured, notes};
use crate::self_time::{Way, belongs_to};
use crate::series::Series;
use crate::shift::MIN_RELATIVE;

/// What stands out of the calls that callers measured, per call.
#[derive(Debug, Default)]
pub(super) struct CallsAsSeen {
    /// By caller and callee, without those that are slow because of their caller.
    calls: BTreeMap<(EntityId, EntityId), Burden>,
    /// The one with most of those to one callee, by callee.
    to: BTreeMap<EntityId, Burden>,
    /// Entities that are called, and measured by a caller.
    measured: BTreeSet<EntityId>,
    /// Excess time of callers that share a callee to which no calls were measured, by that callee.
    shared: BTreeMap<EntityId, BTreeMap<EntityId, Burden>>,
}

impl CallsAsSeen {
    /// Calls of an entity that are slow, or fail, through no fault of its own, by callee.
    pub(super) fn made_by<'s>(
        &'s self,
        entity: &'s EntityId,
    ) -> impl Iterator<Item = (&'s EntityId, &'s Burden)> {
        let of_entity = self.calls.iter().filter(move |((caller, _), _)| caller == entity);
        of_entity.map(|((_, callee), calls)| (callee, calls))
    }

    /// Whether a caller measured its calls to an entity.
    pub(super) fn is_measured(&self, callee: &EntityId) -> bool {
        self.measured.contains(callee)
    }
}

impl Attribution<'_> {
    /// What callers see of an entity, where it stands out and is not their own trouble.
    pub(super) fn seen_by_callers(&self, entity: &EntityId, kind: Kind) -> Option<Burden> {
        let seen = self.calls_as_seen(kind);
        let shared = || {
            let callers = seen.shared.get(entity)?.values();
            callers.max_by(|a, b| a.total().total_cmp(&b.total()))
        };
        seen.to.get(entity).or_else(shared).cloned()
    }

    /// Whether callers measured their calls to an entity, and none of them stands out but for trouble of the caller.
    pub(super) fn is_seen_as_usual(&self, entity: &EntityId, kind: Kind) -> bool {
        let seen = self.calls_as_seen(kind);
        seen.measured.contains(entity) && !seen.to.contains_key(entity)
    }

    /// The share of what an entity has too much of that its own measurements of calls to another account
    /// for, with what these have too much of; nothing where these are not measured or are as usual.
    ///
    /// Per call: how many calls each request makes is not known. A median of calls and a mean of requests do
    /// not add up either. So where the calls make at least a tenth of it, began no later, and grew by a greater
    /// factor than the requests here, they count as all of it: what is added here dilutes what comes from there,
    /// and that both went wrong at once is unlikely.
    pub(super) fn share_by_calls(
        &self,
        entity: &EntityId,
        callee: &EntityId,
        kind: Kind,
    ) -> Option<(f64, Burden)> {
        let seen = self.calls_as_seen(kind);
        if let Some(own) = seen.shared.get(callee).and_then(|callers| callers.get(entity)) {
            return Some((1.0, own.clone()));
        }
        let theirs = seen.calls.get(&(entity.clone(), callee.clone()))?.clone();
        let Account::Burden(own) = self.account(entity, kind, Weight::None) else {
            return Some((0.0, theirs));
        };
        let share = if own.precedes(&theirs) { 0.0 } else { own.share_of(&theirs) };
        let factor = |burden: &Burden| burden.observed / burden.usual.max(f64::MIN_POSITIVE);
        let is_all = share >= MIN_RELATIVE && factor(&theirs) > factor(&own)
            || self.held_up_by(entity).as_ref() == Some(callee);
        Some((if is_all { 1.0 } else { share }, theirs))
    }

    /// Findings on calls of an entity that stand out, and are at least a tenth of what requests here usually take,
    /// though its own measurements are too rough to show it: what its calls take longer, it takes longer.
    pub(super) fn slow_calls(&self, entity: &EntityId, kind: Kind, own: &Burden) -> Vec<Finding> {
        let seen = self.calls_as_seen(kind);
        let is_much =
            |calls: &Burden| calls.observed - calls.usual >= MIN_RELATIVE * own.usual.abs();
        let mut much: Vec<(&EntityId, &Burden)> =
            seen.made_by(entity).filter(|(_, calls)| is_much(calls)).collect();
        much.sort_by(|a, b| b.1.total().total_cmp(&a.1.total()).then_with(|| a.0.cmp(b.0)));
        much.truncate(MAX_NAMED);
        much.into_iter()
            .map(|(callee, calls)| {
                notes::of_calls(entity, callee, kind, calls, self.sources.metrics)
            })
            .collect()
    }

    /// Whether an entity measured that calls which it makes are slow or fail, through no fault of its own.
    pub(super) fn waits_for_calls(&self, entity: &EntityId, kind: Kind) -> bool {
        self.calls_as_seen(kind).calls.keys().any(|(caller, _)| caller == entity)
    }

    pub(super) fn calls_as_seen(&self, kind: Kind) -> std::sync::Arc<CallsAsSeen> {
        let find = |kept: &super::Kept| kept.seen.get(&kind).cloned();
        self.books.or_else(
            &self.periods,
            find,
            || std::sync::Arc::new(self.draw_up_calls(kind)),
            |kept, seen| {
                kept.seen.insert(kind, seen);
            },
        )
    }

    fn draw_up_calls(&self, kind: Kind) -> CallsAsSeen {
        let names = self.ways.names();
        let mut burdens: BTreeMap<(usize, usize), Burden> = BTreeMap::new();
        let mut all: Vec<Way> = Vec::new();
        let mut seen = CallsAsSeen::default();
        for (caller, name) in names.iter().enumerate() {
            let Some(measured) = (self.measured)(name) else { continue };
            for (callee, calls) in calls_by_callee(&measured, kind) {
                let Ok(callee) = names.binary_search(callee) else { continue };
                seen.measured.extend(names.get(callee).cloned());
                let burden = self.burden_of_calls(&calls, kind, name);
                let each = burden.as_ref().map_or(0.0, |burden| burden.observed - burden.usual);
                all.push(Way { caller, callee, each, calls: 1.0 });
                burdens.extend(burden.map(|burden| ((caller, callee), burden)));
            }
        }
        // What a callee waits for itself is not added on the way to it.
        let mut waited: BTreeMap<usize, f64> = BTreeMap::new();
        for way in &all {
            *waited.entry(way.caller).or_default() += way.each;
        }
        let own = |place: usize| {
            let account = names.get(place).map(|name| self.own_account(name, kind, Weight::None));
            match account {
                Some(Account::Burden(own)) if own.stands_out() => own.observed - own.usual,
                _ => 0.0,
            }
        };
        let net = all.iter().map(|way| {
            let within = waited.get(&way.callee).copied().unwrap_or(0.0).max(own(way.callee));
            Way { each: if way.each > 0.0 { (way.each - within).max(0.0) } else { 0.0 }, ..*way }
        });
        // Replicas call as one: what is slow for all of them to everybody is theirs together.
        let of_whole = |place: usize| {
            let whole = names.get(place).and_then(|name| self.whole_of(name));
            whole.and_then(|whole| names.binary_search(whole).ok()).unwrap_or(place)
        };
        let net = net.map(|way| Way { caller: of_whole(way.caller), ..way });
        let owners = belongs_to(&net.collect::<Vec<_>>(), &[]);
        for (way, owner) in all.iter().zip(owners) {
            let burden = burdens.remove(&(way.caller, way.callee));
            let by_caller = owner == Some(of_whole(way.caller));
            let Some(burden) = burden.filter(|_| !by_caller) else { continue };
            let (Some(caller), Some(callee)) = (names.get(way.caller), names.get(way.callee))
            else {
                continue;
            };
            let known = seen.to.get(callee);
            if known.is_none_or(|known| known.total() < burden.total()) {
                seen.to.insert(callee.clone(), burden.clone());
            }
            seen.calls.insert((caller.clone(), callee.clone()), burden);
        }
        if kind == Kind::Time {
            self.add_shared(&mut seen);
        }
        seen
    }

    /// Adds callees that callers who became slow have in common.
    fn add_shared(&self, seen: &mut CallsAsSeen) {
        let shared = self.shared_callees(seen).into_iter().map(|(callee, mut callers)| {
            let names: Vec<&str> = callers.keys().map(EntityId::as_str).take(2).collect();
            let names = names.join(" and ");
            let metric = match callers.len() {
                2 => format!("time of both callers, {names}"),
                all => format!("time of all {all} callers, such as {names}"),
            };
            callers.values_mut().for_each(|own| own.metric.clone_from(&metric));
            (callee, callers)
        });
        seen.shared = shared.collect();
    }

    /// What calls between two entities have too much of, where it stands out.
    fn burden_of_calls(&self, calls: &[Series], kind: Kind, caller: &EntityId) -> Option<Burden> {
        let measured = Measured { series: calls.iter().collect(), events: &[] };
        let control = self.control_end(kind);
        let account = burden::account(&measured, kind, Weight::None, &self.periods, control);
        let Account::Burden(mut burden) = account else { return None };
        burden.metric = format!("{} as seen by {caller}", burden.metric);
        burden.stands_out().then_some(burden)
    }
}

/// The series of one kind about the calls to each callee, as if they were its own.
fn calls_by_callee<'a>(measured: &Measured<'a>, kind: Kind) -> BTreeMap<&'a EntityId, Vec<Series>> {
    let mut calls: BTreeMap<&EntityId, Vec<Series>> = BTreeMap::new();
    for series in measured.series.iter().filter(|series| Kind::of(series.signal) == Some(kind)) {
        let callee = series.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
        if let Some(peer) = callee {
            calls.entry(&peer.entity).or_default().push(Series { peer: None, ..(*series).clone() });
        }
    }
    calls
}
