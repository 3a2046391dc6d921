//! What one entity has too much of for each request, and who accounts for it.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::Onset;
use eog_core::{EntityId, Timestamp, Window};

use super::calls::{Call, Calls};
use super::courses::{Course, course, whole_course};
use super::endings::{Ending, began as requests_began_to_end, endings as endings_of};
use super::ends::{Way, belongs_to};
use super::excess::{Excess, MIN_CALLS, Measured, in_batches, mean_of};
use super::operations::{Detail, operations, own_of, retries_and_waiting};
use super::requests::requests;
use super::roads::{Road, per_call, without_chance};
use super::skipped::{Skipped, skipped};
use super::split::trouble_began;
use crate::onsets::share_onset;
use crate::shift::MIN_RELATIVE;
use crate::stats::{BEYOND_CHANCE, USUAL_PERCENT, percentile};

/// One of so many calls before the trouble, the last, is left out of what dates it.
const CONTROL_LEAVES: usize = 4;

/// Rates count as much higher when they are half higher, here as elsewhere.
const MUCH_LONGER: f64 = 1.5;

/// What is counted of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    /// How long they take, in milliseconds.
    Time,
    /// How many of them fail, of those whose outcome is known.
    Failures,
}

impl Counted {
    pub(super) fn of(self, call: &Call) -> Option<f64> {
        match self {
            Self::Time => Some(call.ms),
            Self::Failures => call.failed.map(|failed| f64::from(u8::from(failed))),
        }
    }

    /// What a call adds to the request that made it: of failures those that became its own.
    fn of_part(self, call: &Call) -> Option<f64> {
        match self {
            Self::Time => Some(call.ms),
            Self::Failures => {
                call.passed_on.or(call.failed).map(|failed| f64::from(u8::from(failed)))
            }
        }
    }
}

/// What one entity has too much of. Numbers are means over its requests (or calls to it, where it records nothing
/// itself): milliseconds, or the share that fails.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Book {
    /// Requests after trouble began.
    pub(crate) requests: usize,
    /// What a request takes, before and after, as far as the entity itself records it.
    pub(crate) usual: f64,
    pub(crate) now: f64,
    /// The entity recorded requests before, and too few since: what is known is what its callers see.
    pub(crate) fell_silent: bool,
    /// What its own work takes, before and after; nothing where the calls that it makes are not traced.
    pub(crate) own_work: Option<(f64, f64)>,
    /// How much longer calls to it are under way, or fail there, which belongs to it.
    pub(crate) way_here: f64,
    /// How much longer calls that it makes are under way, for each request, which belongs to it.
    pub(crate) ways_on: f64,
    /// All that is too much, for each request.
    pub(crate) each: f64,
    /// Of that what is its own, for each request.
    pub(crate) own: f64,
    /// All that is too much stands out from chance.
    pub(crate) stands_out: bool,
    /// What is its own stands out from chance.
    pub(crate) own_stands_out: bool,
    /// Callees with the part that they account for in each request, the greatest first: nothing where it does not
    /// stand out.
    pub(crate) callees: Vec<(EntityId, f64)>,
    /// Callees that are called less often for each request, by more than chance: how often before and after.
    pub(crate) fewer: Vec<(EntityId, f64, f64)>,
    /// Its operations of which the own part stands out, the most first.
    pub(crate) operations: Vec<Detail>,
    /// Calls made again, and waiting, of which there is more than before.
    pub(crate) attempts: Vec<Detail>,
    /// When what is its own began, by single requests.
    pub(crate) onset: Option<Onset>,
    /// From when trouble began to the last request.
    pub(crate) time: (Timestamp, Timestamp),
}

impl Book {
    /// All that is too much, over all requests.
    pub(crate) fn total(&self) -> f64 {
        self.each.max(0.0) * self.requests as f64
    }

    /// The share of what is too much that some part of it makes, from 0 to 1. Parts that do not add up to the whole, since
    /// other parts became faster, are compared with their sum.
    pub(crate) fn share(&self, part: f64) -> f64 {
        let parts = self.own.max(0.0) + self.callees.iter().map(|(_, part)| part).sum::<f64>();
        let whole = self.each.max(parts);
        if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Adds callees that are called less often by single requests, where batches of them are not conclusive.
    fn add_skipped(&mut self, skipped: Vec<Skipped>) {
        for Skipped { callee, usual, now } in skipped {
            if !self.fewer.iter().any(|(known, ..)| *known == callee) {
                self.fewer.push((callee, usual, now));
            }
        }
    }
}

/// The books of all entities whose requests were traced before and after trouble began.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Books {
    books: BTreeMap<EntityId, Book>,
    /// The bad requests of entities with an alert.
    courses: BTreeMap<EntityId, Course>,
    /// After whose answer the requests of entities end.
    endings: BTreeMap<EntityId, Vec<Ending>>,
}

impl Books {
    /// Draws up the books. `upstream` are the entities from which effects reach an alert, `alerting` those that have one.
    pub(crate) fn of(
        calls: &Calls,
        counted: Counted,
        (upstream, alerting): (&BTreeSet<EntityId>, &BTreeSet<&EntityId>),
        alert: Timestamp,
        window: Window,
    ) -> Self {
        let ledger = Ledger::of(calls, counted, upstream, alert, window);
        let books = ledger.names.iter().enumerate();
        let books = books.filter_map(|(place, name)| Some(((*name).clone(), ledger.book(place)?)));
        let mut books: BTreeMap<EntityId, Book> = books.collect();
        // A wrong answer of an alerting entity shows at those who ask it.
        let leads = |name: &&&EntityId| {
            upstream.contains(**name)
                || alerting.contains(**name)
                || calls.callees(name).any(|callee| alerting.contains(callee))
        };
        let mut endings: BTreeMap<EntityId, Vec<Ending>> = BTreeMap::new();
        for name in ledger.names.iter().filter(leads) {
            let requests = requests(calls, name, ledger.end);
            let found = endings_of(&requests, ledger.split);
            if !found.is_empty() {
                endings.insert((*name).clone(), found);
            }
            if let Some(book) = books.get_mut(*name) {
                if calls.are_placed(name) {
                    book.fewer.clear();
                }
                book.add_skipped(skipped(&requests, ledger.split));
            }
        }
        let bad =
            alerting.iter().filter(|name| books.get(**name).is_some_and(|book| book.stands_out));
        let times = (ledger.split, ledger.end);
        let courses =
            bad.filter_map(|name| Some(((*name).clone(), course(calls, counted, name, times)?)));
        Self { courses: courses.collect(), books, endings }
    }

    /// Adds the whole course of the requests of those entities with an alert on latency that take no longer than before.
    pub(crate) fn add_whole_courses(
        &mut self,
        calls: &Calls,
        slow: &BTreeSet<&EntityId>,
        window: Window,
    ) {
        for name in slow {
            let is_as_before = self.books.get(*name).is_none_or(|book| !book.stands_out);
            if let Some(course) = Some(name)
                .filter(|_| is_as_before)
                .and_then(|name| whole_course(calls, name, window))
            {
                self.courses.insert((*name).clone(), course);
            }
        }
    }

    /// The bad requests of entities with an alert whose traces are known.
    pub(crate) fn courses(&self) -> impl Iterator<Item = (&EntityId, &Course)> {
        self.courses.iter()
    }

    /// Entities whose requests end after the answer of a callee, by name.
    pub(crate) fn endings(&self) -> impl Iterator<Item = (&EntityId, &Ending)> {
        self.endings.iter().flat_map(|(caller, all)| all.iter().map(move |one| (caller, one)))
    }

    pub(crate) fn get(&self, entity: &EntityId) -> Option<&Book> {
        self.books.get(entity)
    }
}

/// Values of calls by entity and by way, cut in two.
struct Ledger<'a> {
    calls: &'a Calls,
    names: Vec<&'a EntityId>,
    counted: Counted,
    split: Timestamp,
    end: Timestamp,
    served: Vec<Vec<Measured>>,
    ways: Vec<(usize, usize, Vec<Measured>)>,
    /// The excess of what is served, by entity.
    of_served: Vec<Option<Excess>>,
    /// The excess of calls, by way.
    of_ways: Vec<Option<Excess>>,
    /// What calls take longer on the way.
    roads: Vec<Road>,
}

impl<'a> Ledger<'a> {
    fn of(
        calls: &'a Calls,
        counted: Counted,
        upstream: &BTreeSet<EntityId>,
        alert: Timestamp,
        window: Window,
    ) -> Self {
        let names: Vec<&EntityId> = calls.entities().collect();
        let place = |name: &EntityId| names.binary_search(&name).ok();
        let measured = |calls: &[Call], of: &dyn Fn(&Call) -> Option<f64>| -> Vec<Measured> {
            let calls = calls.iter().filter(|call| call.time < window.end());
            calls.filter_map(|call| Some((call.time, of(call)?))).collect()
        };
        let whole = |call: &Call| counted.of(call);
        let served: Vec<Vec<Measured>> =
            names.iter().map(|name| measured(calls.served(name), &whole)).collect();
        let ways: Vec<(usize, usize, Vec<Measured>)> = calls
            .ways()
            .filter_map(|(caller, callee, made)| {
                // For a callee that records nothing itself, all that its callers see counts.
                let is_silent = !calls.serves(callee);
                let part = |call: &Call| counted.of_part(call);
                let of: &dyn Fn(&Call) -> Option<f64> = if is_silent { &whole } else { &part };
                Some((place(caller)?, place(callee)?, measured(made, of)))
            })
            .collect();
        let is_asked = |place: usize| names.get(place).is_some_and(|name| upstream.contains(*name));
        let of_entities = served.iter().enumerate().filter(|(place, _)| is_asked(*place));
        let of_ways = ways.iter().filter(|(_, callee, _)| is_asked(*callee));
        let lists = of_entities.map(|(_, calls)| calls.as_slice());
        let lists = lists.chain(of_ways.map(|(_, _, calls)| calls.as_slice()));
        let end = window.end();
        let all_requests = || {
            let names = names.iter().copied();
            names
                .flat_map(|name| requests(calls, name, end).into_iter().map(move |one| (name, one)))
        };
        let split = trouble_began(lists, alert)
            .or_else(|| requests_began_to_end(all_requests(), alert))
            .unwrap_or(alert);
        let mut ledger = Self {
            calls,
            names,
            counted,
            split,
            end,
            served,
            ways,
            of_served: Vec::new(),
            of_ways: Vec::new(),
            roads: Vec::new(),
        };
        ledger.of_served = ledger.served.iter().map(|calls| ledger.excess(calls)).collect();
        ledger.of_ways = ledger.ways.iter().map(|(_, _, calls)| ledger.excess(calls)).collect();
        ledger.roads = ledger.roads();
        ledger
    }

    fn cut<'b>(&self, calls: &'b [Measured]) -> (&'b [Measured], &'b [Measured]) {
        let (before, after) = calls.split_at(calls.partition_point(|(at, _)| *at < self.split));
        // Levels drift: where the last minutes before were worse than all before, they are the usual.
        let recent = before.get(before.len() / 2..).unwrap_or(before);
        let is_worse = recent.len() >= MIN_CALLS && mean_of(recent) > mean_of(before);
        (if is_worse { recent } else { before }, after)
    }

    fn excess(&self, calls: &[Measured]) -> Option<Excess> {
        let (before, after) = self.cut(calls);
        Excess::of(before, after)
    }

    /// What calls take longer than their callees work longer, and to which end that belongs.
    fn roads(&self) -> Vec<Road> {
        let ways = self.ways.iter().enumerate();
        let mut roads: Vec<Road> = ways
            .flat_map(|(number, _)| {
                self.timed_roads(number).unwrap_or_else(|| vec![self.road_of_means(number)])
            })
            .collect();
        let ways: Vec<Way> = roads.iter().map(Road::way).collect();
        let own: Vec<f64> =
            (0..self.names.len()).map(|place| self.own_work_in_all(place)).collect();
        for (road, owner) in roads.iter_mut().zip(belongs_to(&ways, &own)) {
            road.owner = owner;
        }
        without_chance(&mut roads);
        roads
    }

    /// The roads of calls of which it is known, one by one, how long they were on the way: one to each who served them.
    /// Nothing where that is not known of most of them.
    fn timed_roads(&self, number: usize) -> Option<Vec<Road>> {
        let (caller, callee, calls) = self.ways.get(number)?;
        if self.counted != Counted::Time {
            return None;
        }
        let (name, to) = (self.names.get(*caller)?, self.names.get(*callee)?);
        let made = self.calls.made_by(name).find(|(one, _)| one == to).map(|(_, made)| made)?;
        let made = made.iter().filter(|call| call.time < self.end);
        let mut served: BTreeMap<usize, Vec<Measured>> = BTreeMap::new();
        for call in made {
            let Some((by, ms)) = self.calls.trees().on_the_way(call.span) else { continue };
            let Ok(by) = self.names.binary_search(&by) else { continue };
            served.entry(by).or_default().push((call.time, ms));
        }
        let known: usize = served.values().map(Vec::len).sum();
        let usual = mean_of(self.cut(calls).0);
        (2 * known > calls.len()).then(|| {
            let road = |(by, ms)| Road::timed((number, *caller, by), ms, self.split, usual);
            served.into_iter().map(road).collect()
        })
    }

    /// The road of calls of which only means are known, on both sides.
    fn road_of_means(&self, number: usize) -> Road {
        let excess = self.of_ways.get(number).copied().flatten();
        let none = (0, 0, Vec::new());
        let (caller, callee, calls) = self.ways.get(number).unwrap_or(&none);
        let (caller, callee) = (*caller, *callee);
        let stands_out = excess.filter(|excess| excess.stands_out(excess.usual));
        let each = stands_out.map_or(0.0, |excess| {
            let at_work = self.of_served.get(callee).copied().flatten();
            let worked = at_work.map_or(0.0, |work| work.each().max(0.0));
            // Callers ask for different things: where the callee works longer, what is left is
            // given for all of them together.
            let asked = match worked > 0.0 && at_work.is_some_and(|w| w.stands_out(w.usual)) {
                true => self.calls_to(callee),
                false => excess.each(),
            };
            (asked - worked).max(0.0)
        });
        let count = excess.map_or(0, |excess| excess.count);
        let calls = if each > 0.0 { calls.clone() } else { Vec::new() };
        Road { way: number, caller, callee, calls, each, count, sigmas: BEYOND_CHANCE, owner: None }
    }

    /// The roads of a way. Roads are in the order of ways.
    fn roads_of(&self, way: usize) -> impl Iterator<Item = &Road> {
        let from = self.roads.partition_point(|road| road.way < way);
        let on = self.roads.get(from..).unwrap_or_default();
        on.iter().take_while(move |road| road.way == way)
    }

    /// How much longer calls to an entity take, over all its callers.
    fn calls_to(&self, entity: usize) -> f64 {
        let to =
            self.ways.iter().zip(&self.of_ways).filter(|((_, callee, _), _)| *callee == entity);
        let all = to.filter_map(|(_, excess)| *excess).map(|one| (one.each(), one.count as f64));
        let (lost, count) = all
            .fold((0.0, 0.0), |(lost, count), (each, calls)| (lost + each * calls, count + calls));
        if count > 0.0 { lost / count } else { 0.0 }
    }

    /// What an entity's own work takes longer, over all requests, where it stands out.
    fn own_work_in_all(&self, entity: usize) -> f64 {
        let own = self.own_work(entity);
        let level = self.of_served.get(entity).copied().flatten().map_or(0.0, |all| all.usual);
        own.filter(|own| own.stands_out(level)).map_or(0.0, |own| own.each() * own.count as f64)
    }

    /// What an entity works by itself, request by request where it is known which calls each of them made.
    fn own_work(&self, entity: usize) -> Option<Excess> {
        let requests = self.calls.served(self.names.get(entity)?).iter();
        let requests = requests.filter(|request| request.time < self.end);
        let by_request: Option<Vec<Measured>> = requests
            .map(|request| Some((request.time, own_of(self.calls, self.counted, request)?)))
            .collect();
        match by_request {
            Some(own) => self.excess(&own),
            None => self.own_work_by_batches(entity),
        }
    }

    /// What an entity works by itself: what it serves less the calls that it makes meanwhile, batch by
    /// batch.
    fn own_work_by_batches(&self, entity: usize) -> Option<Excess> {
        let served = self.served.get(entity)?;
        let (before, after) = self.cut(served);
        let made: Vec<&[Measured]> = self.made_by(entity).map(|(_, calls, _)| calls).collect();
        let own = |part: &[Measured], until: Timestamp| -> Vec<f64> {
            let all: Vec<&[Measured]> = in_batches(part).collect();
            let ends = all.iter().skip(1).filter_map(|batch| Some(batch.first()?.0)).chain([until]);
            let of = |(batch, end): (&&[Measured], Timestamp)| {
                let begin = batch.first().map_or(end, |(at, _)| *at);
                let waited: f64 = made
                    .iter()
                    .map(|calls| {
                        let from = calls.partition_point(|(at, _)| *at < begin);
                        let to = calls.partition_point(|(at, _)| *at < end);
                        let meanwhile = calls.get(from..to).unwrap_or(&[]);
                        meanwhile.iter().map(|(_, value)| value).sum::<f64>()
                    })
                    .sum();
                mean_of(batch) - waited / batch.len().max(1) as f64
            };
            all.iter().zip(ends).map(of).collect()
        };
        if before.len() < MIN_CALLS || after.len() < MIN_CALLS {
            return None;
        }
        let last = before.last().map_or(self.split, |(at, _)| *at);
        let (old, new) = (own(before, last.max(self.split)), own(after, self.end));
        Some(Excess::between(&old, &new, after.len()))
    }

    /// Callees that an entity calls less often for each request that it serves.
    fn fewer_calls(&self, entity: usize) -> Vec<(EntityId, f64, f64)> {
        let served = self.served.get(entity).map_or(&[][..], Vec::as_slice);
        let (before, after) = self.cut(served);
        // A batch lasts until the next one begins: the last of its requests makes its calls after it began.
        let calls = |part: &[Measured], until: Timestamp, calls: &[Measured]| -> Vec<f64> {
            let mut rest = part;
            let of = |batch: &[Measured]| {
                let begin = batch.first()?.0;
                rest = rest.get(batch.len()..).unwrap_or_default();
                let end = rest.first().map_or(until, |next| next.0);
                let from = calls.partition_point(|(at, _)| *at < begin);
                let to = calls.partition_point(|(at, _)| *at < end);
                Some(to.saturating_sub(from) as f64 / batch.len().max(1) as f64)
            };
            in_batches(part).filter_map(of).collect()
        };
        let fewer = self.made_by(entity).filter_map(|(callee, made, _)| {
            let (old, new) = (calls(before, self.split, made), calls(after, self.end, made));
            if old.is_empty() || new.is_empty() {
                return None;
            }
            let each = Excess::of_counts((&old, before.len()), (&new, after.len()));
            let name = self.names.get(callee)?;
            each.is_fewer().then(|| ((*name).clone(), each.usual, each.now))
        });
        fewer.collect()
    }

    /// What stands out of an entity's operations, and of its calls that are made again and requests that wait.
    fn details(&self, entity: usize) -> (Vec<Detail>, Vec<Detail>) {
        let Some(name) = self.names.get(entity) else { return Default::default() };
        let cut = |list: &[Measured]| {
            let until = list.partition_point(|(at, _)| *at < self.end);
            let (before, after) = self.cut(list.get(..until).unwrap_or(list));
            (before.to_vec(), after.to_vec())
        };
        let (calls, counted) = (self.calls, self.counted);
        (operations(calls, counted, name, &cut), retries_and_waiting(calls, name, &cut))
    }

    fn made_by(&self, entity: usize) -> impl Iterator<Item = (usize, &[Measured], usize)> {
        let mine = self.ways.iter().enumerate().filter(move |(_, way)| way.0 == entity);
        mine.map(|(number, (_, callee, calls))| (*callee, calls.as_slice(), number))
    }

    fn book(&self, entity: usize) -> Option<Book> {
        let served = self.of_served.get(entity).copied().flatten();
        let asked = self.asked_of(entity);
        let way_here = self.way_here(entity);
        // An entity that records nothing itself is known by its callers.
        let all = served.or(asked)?;
        let here = if served.is_some() { way_here } else { 0.0 };
        let each = all.each() + here;
        let requests = all.count;
        let mut callees = Vec::new();
        let (mut others, mut ways_on) = (0.0, 0.0);
        for (callee, calls, number) in self.made_by(entity) {
            let (_, after) = self.cut(calls);
            let ratio = after.len() as f64 / requests.max(1) as f64;
            let Some(excess) = self.of_ways.get(number).copied().flatten() else { continue };
            let mine = per_call(self.roads_of(number), entity);
            ways_on += ratio * mine;
            let part = ratio * (excess.each() - mine);
            others += part;
            // A part counts where requests here take a tenth longer for it, or where few of them make the call and
            // it takes half as long again.
            let is_much =
                part > MIN_RELATIVE * all.usual || excess.now > MUCH_LONGER * excess.usual;
            let is_seen = excess.stands_out(excess.usual) && is_much && part > 0.0;
            if let Some(name) = self.names.get(callee) {
                callees.push(((*name).clone(), if is_seen { part } else { 0.0 }));
            }
        }
        callees.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let own_work = if served.is_some() { self.own_work(entity) } else { asked };
        let works_longer = own_work.is_some_and(|own| own.stands_out(all.usual));
        let own = (each - others).max(0.0);
        let is_away = here > 0.0 || ways_on > 0.0;
        let (first, last) = self.extent(entity)?;
        let (operations, attempts) = self.details(entity);
        Some(Book {
            requests,
            usual: all.usual,
            now: all.now,
            fell_silent: served.is_none()
                && self.served.get(entity).is_some_and(|own| !own.is_empty()),
            own_work: own_work.filter(|_| served.is_some()).map(|own| (own.usual, own.now)),
            way_here: here,
            ways_on,
            each,
            own,
            stands_out: all.stands_out(all.usual) || here > 0.0,
            own_stands_out: own > 0.0 && (works_longer || is_away),
            callees,
            fewer: self.fewer_calls(entity),
            operations,
            attempts,
            onset: self.onset(entity, works_longer),
            time: (first, last),
        })
    }

    /// What callers see of the calls to an entity.
    fn asked_of(&self, entity: usize) -> Option<Excess> {
        let mut all: Vec<Measured> = self
            .ways
            .iter()
            .filter(|(_, callee, _)| *callee == entity)
            .flat_map(|(_, _, calls)| calls.iter().copied())
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.excess(&all)
    }

    /// How much longer a call to an entity is under way, of what belongs to it.
    fn way_here(&self, entity: usize) -> f64 {
        per_call(self.roads.iter().filter(|road| road.callee == entity), entity)
    }

    /// The first and last request after trouble began.
    fn extent(&self, entity: usize) -> Option<(Timestamp, Timestamp)> {
        let to = self.ways.iter().filter(|(_, callee, _)| *callee == entity);
        let lists = to.map(|(_, _, calls)| calls).chain(self.served.get(entity));
        let last = lists.filter_map(|calls| calls.last()).map(|(at, _)| *at).max()?;
        Some((self.split, last)).filter(|(first, last)| first <= last)
    }

    /// When more requests than before began to be slow, or to fail: those that the entity serves where it works longer,
    /// else the calls to it.
    fn onset(&self, entity: usize, works_longer: bool) -> Option<Onset> {
        let calls: Vec<Measured> = if works_longer {
            self.served.get(entity)?.clone()
        } else {
            let owned = self.roads.iter().filter(|road| road.owner == Some(entity));
            let mut all: Vec<Measured> =
                owned.flat_map(|road| road.calls.iter().copied()).collect();
            all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            all
        };
        // What begins slowly has begun before it stands out: the last of what came before is no control.
        let before = calls.partition_point(|(at, _)| *at < self.split);
        let control = calls.get(..before - before / CONTROL_LEAVES)?;
        let limit = match self.counted {
            Counted::Time => percentile(control.iter().map(|(_, value)| *value), USUAL_PERCENT)?,
            Counted::Failures => 0.5,
        };
        let bad: Vec<(Timestamp, bool)> =
            calls.iter().map(|(at, value)| (*at, *value > limit)).collect();
        share_onset(&bad)
    }
}
