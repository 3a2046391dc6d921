//! The ways on which changes act: by effects, by load, through the entity that a change names.

use std::collections::BTreeSet;

use crate::names::{Naming, Spoken};
use crate::paths::{MAX_PATH_HOPS, Travel};
use crate::spread::Spread;
use crate::ways::{Lists, Number, Ways};

/// The ways on which one change acts.
#[derive(Clone, Debug)]
pub(super) struct Road {
    pub(super) start: Number,
    /// Whether its load travels, too.
    pub(super) is_demand: bool,
    /// The path to the entity that the change names.
    ///
    /// One for the whole change, not one for each affected entity: next hops of different
    /// entities could otherwise lead in a circle.
    pub(super) named: Option<Vec<Number>>,
}

impl Road {
    /// The path through the named entity that goes on by `onward`, unless it would meet itself or
    /// be too long.
    pub(super) fn through(&self, onward: &[Number]) -> Option<Vec<Number>> {
        let mut path = self.named.clone()?;
        path.extend(onward.iter().skip(1));
        let distinct: BTreeSet<&Number> = path.iter().collect();
        (distinct.len() == path.len() && path.len() <= MAX_PATH_HOPS + 1).then_some(path)
    }

    /// Whether a path through the named entity that goes on by so many edges is short enough.
    pub(super) fn is_near(&self, hops: usize) -> bool {
        self.named.as_ref().is_some_and(|path| path.len() + hops <= MAX_PATH_HOPS + 1)
    }

    pub(super) fn named_entity(&self) -> Option<Number> {
        self.named.as_ref()?.last().copied()
    }
}

/// The shorter of two paths; load's if they are equally long.
pub(super) fn shorter(
    load: Option<Vec<Number>>,
    effects: Option<Vec<Number>>,
) -> Option<Vec<Number>> {
    load.into_iter().chain(effects).min_by_key(Vec::len)
}

/// Finds the entity that a change names best among those that its effects reach.
pub(super) struct Search<'a> {
    onward: &'a Lists,
    /// For each entity the number of the search that reached it last, and from where.
    reached: Vec<(u32, Number)>,
    searches: u32,
}

impl<'a> Search<'a> {
    pub(super) fn new(ways: &'a Ways) -> Self {
        let onward = &ways.lanes(Travel::Effects).onward;
        Self { onward, reached: vec![(0, 0); onward.count()], searches: 0 }
    }

    /// The path to the entity that is named best, of several the nearest, of these the first by
    /// name. Goes no farther than is needed.
    pub(super) fn named(&mut self, start: Number, spoken: &Spoken<'_>) -> Option<Vec<Number>> {
        if spoken.best.words == 0 {
            return None;
        }
        self.searches += 1;
        self.reach(start, start);
        let onward = self.onward;
        let mut best = None;
        let mut front = vec![start];
        for _ in 0..MAX_PATH_HOPS {
            let mut next = Vec::new();
            for from in front {
                for one in onward.of(from) {
                    if self.reach(one, from) {
                        next.push(one);
                    }
                }
            }
            let naming = best.map_or(Naming::default(), |(naming, _)| naming);
            let named = next.iter().map(|one| (spoken.naming(*one), *one));
            // Named better than what is nearer; of equally good ones the smallest number.
            let better = named.filter(|(named, _)| *named > naming);
            best = better.min_by_key(|(named, one)| (std::cmp::Reverse(*named), *one)).or(best);
            if next.is_empty() || best.is_some_and(|(naming, _)| naming == spoken.best) {
                break;
            }
            front = next;
        }
        best.map(|(_, named)| self.path(start, named))
    }

    /// Notes from where an entity is reached. False when it was reached before.
    fn reach(&mut self, entity: Number, from: Number) -> bool {
        let search = self.searches;
        let Some(reached) = self.reached.get_mut(entity as usize) else { return false };
        let is_new = reached.0 != search;
        if is_new {
            *reached = (search, from);
        }
        is_new
    }

    fn path(&self, start: Number, end: Number) -> Vec<Number> {
        let mut path = vec![end];
        let mut at = end;
        while let Some((_, before)) = self.reached.get(at as usize).filter(|_| at != start) {
            path.push(*before);
            at = *before;
        }
        path.reverse();
        path
    }
}

/// How all entities are reached from some changes, for any entity asked about.
#[derive(Debug)]
pub(super) struct Reached {
    /// Where the changes and what they name are, each once.
    sources: Vec<Number>,
    effects: Spread,
    /// Where the changes of demand are, each once.
    loaded: Vec<Number>,
    load: Spread,
}

impl Reached {
    pub(super) fn new<'a>(ways: &Ways, roads: impl Iterator<Item = &'a Road>) -> Self {
        let (mut sources, mut loaded) = (BTreeSet::new(), BTreeSet::new());
        for road in roads {
            sources.insert(road.start);
            sources.extend(road.named_entity());
            loaded.extend(road.is_demand.then_some(road.start));
        }
        let sources: Vec<Number> = sources.into_iter().collect();
        let loaded: Vec<Number> = loaded.into_iter().collect();
        let effects = Spread::from(ways.lanes(Travel::Effects), &sources);
        let load = Spread::from(ways.lanes(Travel::Demand), &loaded);
        Self { sources, effects, loaded, load }
    }

    /// The path of a change to an entity, both inclusive.
    pub(super) fn path(&self, ways: &Ways, road: &Road, end: Number) -> Option<Vec<Number>> {
        if let Some(path) = self.path_through_named(ways, road, end) {
            return Some(path);
        }
        let by_load = if road.is_demand { self.by_load(ways, road.start, end) } else { None };
        shorter(by_load, self.by_effects(ways, road.start, end))
    }

    fn path_through_named(&self, ways: &Ways, road: &Road, end: Number) -> Option<Vec<Number>> {
        let named = road.named_entity()?;
        let place = self.sources.binary_search(&named).ok()?;
        let hops = self.effects.hops(place, end)?;
        if !road.is_near(hops) {
            return None;
        }
        road.through(&self.by_effects(ways, named, end)?)
    }

    fn by_effects(&self, ways: &Ways, start: Number, end: Number) -> Option<Vec<Number>> {
        let place = self.sources.binary_search(&start).ok()?;
        self.effects.path_from(ways.lanes(Travel::Effects), (place, start), end)
    }

    fn by_load(&self, ways: &Ways, start: Number, end: Number) -> Option<Vec<Number>> {
        let place = self.loaded.binary_search(&start).ok()?;
        self.load.path_from(ways.lanes(Travel::Demand), (place, start), end)
    }
}
