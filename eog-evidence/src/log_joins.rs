//! Errors in logs, joined by the request that they belong to: where they begin, and where they are only
//! passed on.
//!
//! Lines of several entities that name one request are lines on one course of events, whatever else happens
//! at the time. The entity whose error line comes first had no error of another to pass on. Where times do not
//! show who was first, the place in the trace does: who is called fails before the caller.

mod ids;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{FindingContent, Peer, PeerRole, Quantity, Signal, Trend};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};
use jiff::SignedDuration;

use crate::line_rates::{ComparedTimes, LineRate, RateChange, line_rates, two_sided};
use crate::onsets::rate_onset;
use crate::shift::during;
use crate::spans::{SpanIds, SpanRecord};
use crate::text::{line_excerpt, rounded};
use ids::comparable;
pub use ids::request_id;

/// Most requests that are joined.
const MAX_REQUESTS: usize = 100_000;

/// Most steps from a span to the first of its trace.
const MAX_DEPTH: usize = 64;

/// Clocks of different machines give no order below this: what NTP keeps in a local network (RFC
/// 5905, section 1).
const CLOCKS: SignedDuration = SignedDuration::from_millis(1);

/// An entity begins errors, or passes them on, when so uneven a division is chance this rarely.
const CHANCE: f64 = 0.01;

/// Longest quoted message, in characters.
const MAX_MESSAGE: usize = 400;

/// A log line of level error that names a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestError<'a> {
    /// The id of the request or trace ([`request_id`]).
    pub request: &'a str,
    /// When it was written.
    pub time: Timestamp,
    /// Its writer.
    pub entity: &'a EntityId,
    /// What it says, or its pattern. Untrusted text.
    pub message: &'a str,
    /// The entity whose failed call it reports, where the record says so: then the error did not begin with the writer.
    pub callee: Option<&'a EntityId>,
}

/// How deep in its trace each entity is: how many spans lie around its deepest span that failed, or is
/// not known to have gone well. Traces by their ids as [`RequestError`] names them.
#[derive(Clone, Debug, Default)]
pub struct Depths {
    by_trace: BTreeMap<String, BTreeMap<EntityId, usize>>,
}

impl Depths {
    /// The depths in some traces.
    pub fn of<'a>(
        spans: impl IntoIterator<Item = &'a SpanRecord>,
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let wanted: BTreeSet<Cow<'a, str>> = wanted.into_iter().map(comparable).collect();
        let mut traces: BTreeMap<String, BTreeMap<&str, (&SpanRecord, &SpanIds)>> = BTreeMap::new();
        if wanted.is_empty() {
            return Self::default();
        }
        for span in spans {
            let Some(ids) = &span.ids else { continue };
            let trace = comparable(&ids.trace);
            if wanted.contains(&trace) {
                traces.entry(trace.into_owned()).or_default().insert(&ids.span, (span, ids));
            }
        }
        let depths = |spans: &BTreeMap<&str, (&SpanRecord, &SpanIds)>| {
            let mut depths: BTreeMap<EntityId, usize> = BTreeMap::new();
            for (span, ids) in spans.values().filter(|(span, _)| span.failed != Some(false)) {
                let parent = |ids: &&SpanIds| {
                    ids.parent.as_ref().and_then(|id| spans.get(id.as_str())).map(|(_, ids)| *ids)
                };
                let above = std::iter::successors(Some(*ids), parent).take(MAX_DEPTH).count();
                let depth = depths.entry(span.entity.clone()).or_default();
                *depth = above.max(*depth);
            }
            depths
        };
        Self { by_trace: traces.iter().map(|(id, spans)| (id.clone(), depths(spans))).collect() }
    }

    /// The depths of failed spans: the trace, who worked on the span, and how many spans lie around it, itself included.
    pub fn of_failed<'a>(
        failed: impl IntoIterator<Item = (&'a str, &'a EntityId, usize)>,
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let wanted: BTreeSet<Cow<'a, str>> = wanted.into_iter().map(comparable).collect();
        let mut by_trace: BTreeMap<String, BTreeMap<EntityId, usize>> = BTreeMap::new();
        for (trace, entity, above) in failed {
            let trace = comparable(trace);
            if wanted.contains(&trace) {
                let depths = by_trace.entry(trace.into_owned()).or_default();
                let depth = depths.entry(entity.clone()).or_default();
                *depth = above.max(*depth);
            }
        }
        Self { by_trace }
    }

    fn of_entity(&self, request: &str, entity: &EntityId) -> Option<usize> {
        self.by_trace.get(request)?.get(entity).copied()
    }
}

/// The first error line of an entity in a request. Of lines of one time those that report a failed call come first: what is
/// said beside them may follow from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said<'a> {
    time: Timestamp,
    is_own: bool,
    message: &'a str,
    /// The entity whose failed call it reports.
    callee: Option<&'a EntityId>,
}

/// The error lines of one request: of each entity the first.
type Course<'a> = BTreeMap<&'a EntityId, Said<'a>>;

/// How many requests show that an error was passed on, by what.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    by_earlier_lines: usize,
    by_failed_calls: usize,
}

impl Passed {
    fn all(self) -> usize {
        self.by_earlier_lines + self.by_failed_calls
    }
}

/// What the requests with error lines of several entities say of one of them.
#[derive(Default)]
struct Place<'a> {
    /// Requests whose errors begin here, and those where they are passed on; by the time of the own line.
    first: Vec<(Timestamp, &'a str)>,
    later: Vec<(Timestamp, &'a str)>,
    /// Where those begin that are passed on: how many earlier lines there show that, and how many own lines, of failed calls.
    from: BTreeMap<&'a EntityId, Passed>,
    /// Requests of which the order is not clear.
    unclear: usize,
}

/// Where the errors of requests begin, by their error lines: one finding for each entity with error lines
/// in requests of which others have some too, if it is mostly first or mostly later there.
///
/// The order of two lines is clear when they are further apart than the times are exact, and than clocks of
/// different machines agree; otherwise by [`Depths`]. An entity whose first line reports a failed call passes on what the callee
/// began, even if the callee writes nothing. The trend is `rising` when there are more such requests
/// than in the usual time ([`line_rates`](crate::line_rates)), or nothing to compare with, else `steady`. The
/// quantity counts requests. The peer of an entity that passes errors on is where most of them begin.
///
/// ```
/// use eog_core::{EntityId, Timestamp};
/// use eog_evidence::{Depths, RequestError, joined_errors};
/// let (web, db) = (EntityId::new("web")?, EntityId::new("db")?);
/// let ids: Vec<String> = (10..30).map(|n| format!("request-{n}")).collect();
/// let at = |n: usize, ms: i64| Timestamp::from_millisecond(60_000 * n as i64 + ms).unwrap();
/// let lines = ids.iter().enumerate().flat_map(|(n, request)| {
///     [(&db, 5, "deadlock"), (&web, 40, "call to db failed")].map(|(entity, ms, message)| {
///         RequestError { request, time: at(n, ms), entity, message, callee: None }
///     })
/// });
/// let found = joined_errors(lines, &Depths::default(), None, "logs.csv");
/// assert_eq!(
///     found[&db][0].excerpt,
///     "of 20 requests with error lines here and elsewhere, 20 have the first one here: deadlock"
/// );
/// assert_eq!(found[&web][0].peer.as_ref().unwrap().entity, db);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn joined_errors<'a>(
    lines: impl IntoIterator<Item = RequestError<'a>>,
    depths: &Depths,
    compared: Option<&ComparedTimes<'_>>,
    source: &str,
) -> BTreeMap<EntityId, Vec<Finding>> {
    let mut courses: BTreeMap<Cow<'a, str>, Course<'a>> = BTreeMap::new();
    let mut unit = Unit::Second;
    for line in lines {
        unit = unit.min(Unit::of(line.time));
        let request = comparable(line.request);
        if courses.len() >= MAX_REQUESTS && !courses.contains_key(&request) {
            continue;
        }
        let callee = line.callee.filter(|callee| *callee != line.entity);
        let (time, message, is_own) = (line.time, line.message, callee.is_none());
        let said = Said { time, is_own, message, callee };
        let first = courses.entry(request).or_default().entry(line.entity).or_insert(said);
        *first = said.min(*first);
    }
    let exact = unit.length().max(CLOCKS);
    let mut places: BTreeMap<&EntityId, Place<'a>> = BTreeMap::new();
    for (request, course) in courses.iter().filter(|(_, course)| course.len() > 1) {
        let begins = beginning(request, course, depths, exact);
        let chain = begins.map(|first| chain_of_calls(first, course)).unwrap_or_default();
        for (entity, said) in course {
            let place = places.entry(entity).or_default();
            let Some(first) = begins else {
                place.unclear += 1;
                continue;
            };
            let at = chain.iter().position(|one| one == entity);
            let called = at.and_then(|at| chain.get(at + 1));
            if at.is_some() && called.is_none() && said.is_own {
                place.first.push((said.time, said.message));
                continue;
            }
            place.later.push((said.time, said.message));
            let passed = place.from.entry(called.copied().unwrap_or(first)).or_default();
            match called {
                Some(_) => passed.by_failed_calls += 1,
                None => passed.by_earlier_lines += 1,
            }
        }
    }
    let found = places.into_iter().filter_map(|(entity, place)| {
        let finding = place.finding(entity, compared, source)?;
        Some((entity.clone(), vec![finding]))
    });
    found.collect()
}

/// The first writer, the callee whose failed call it reports, that one's callee, and so on. A caller that waits no
/// longer writes before its callee.
fn chain_of_calls<'a>(first: &'a EntityId, course: &Course<'a>) -> Vec<&'a EntityId> {
    let mut chain = vec![first];
    let called = |last: &&'a EntityId| course.get(last).and_then(|said| said.callee);
    while let Some(callee) = chain.last().and_then(called).filter(|next| !chain.contains(next)) {
        chain.push(callee);
    }
    chain
}

/// The entity that writes first in a request, if that is clear.
fn beginning<'a>(
    request: &str,
    course: &Course<'a>,
    depths: &Depths,
    exact: SignedDuration,
) -> Option<&'a EntityId> {
    let first = course.values().map(|said| said.time).min()?;
    let early: Vec<&'a EntityId> = course
        .iter()
        .filter(|(_, said)| said.time.duration_since(first) <= exact)
        .map(|(entity, _)| *entity)
        .collect();
    if let [one] = early[..] {
        return Some(one);
    }
    let depth = |entity: &&'a EntityId| depths.of_entity(request, entity);
    let deepest = early.iter().map(depth).collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let mut deepest = early.iter().filter(|entity| depth(entity) == Some(deepest));
    deepest.next().filter(|_| deepest.next().is_none()).copied()
}

impl<'a> Place<'a> {
    fn finding(
        mut self,
        entity: &EntityId,
        compared: Option<&ComparedTimes<'_>>,
        source: &str,
    ) -> Option<Finding> {
        let within = |at: Timestamp| compared.is_none_or(|compared| compared.after.contains(at));
        let count = |said: &[(Timestamp, &str)]| said.iter().filter(|(at, _)| within(*at)).count();
        let (first, later) = (count(&self.first), count(&self.later));
        if two_sided(first as f64, (first + later) as f64, 0.5) > CHANCE {
            return None;
        }
        let begins = first > later;
        self.first.sort_unstable();
        self.later.sort_unstable();
        let said = if begins { &self.first } else { &self.later };
        let times: Vec<Timestamp> = said.iter().map(|(at, _)| *at).collect();
        let rate = compared.and_then(|compared| line_rates(&[&times], compared, false).pop());
        let rises = rate.is_none_or(|rate| rate.change.is_some_and(RateChange::is_more));
        let seen: Vec<_> = said.iter().filter(|(at, _)| within(*at)).collect();
        let (start, message) = **seen.first()?;
        let (end, _) = **seen.last()?;
        let usual = rate.map_or_else(String::new, |LineRate { expected, .. }| {
            format!(" ({} usual)", rounded(expected))
        });
        let all = first + later;
        // Of equals the first by name.
        let from = self.from.iter().rev().max_by_key(|(_, passed)| passed.all());
        let from = from.filter(|_| !begins).map(|(entity, passed)| (*entity, *passed));
        let peer = from.map(|(entity, _)| entity);
        let all_later = self.later.len();
        let order = match from {
            None => format!("{first} have the first one here{usual}"),
            Some((peer, passed)) => {
                let (there, how) = (passed.all(), "did not fail here first");
                let (how, place) = match passed {
                    Passed { by_failed_calls: 0, .. } => ("have an earlier one elsewhere", ""),
                    Passed { by_earlier_lines: 0, .. } => (how, "a call to "),
                    _ => (how, "or in a call to "),
                };
                format!("{later} {how}{usual}, {there} of {all_later} in {place}{peer}")
            }
        };
        let unclear = match self.unclear {
            0 => String::new(),
            count => format!(", {count} more are in no clear order"),
        };
        let message = line_excerpt(message, MAX_MESSAGE);
        let extent = compared.and_then(|compared| {
            Some((compared.before.iter().next()?.start(), compared.after.end()))
        });
        let onset = extent.filter(|_| rises).and_then(|(from, to)| {
            rate_onset(&times, eog_core::Window::new(from, to).ok()?, Trend::Rising)
        });
        Some(Finding::new(FindingContent {
            entity: entity.clone(),
            kind: EvidenceKind::Log,
            signal: Signal::Errors,
            trend: if rises { Trend::Rising } else { Trend::Steady },
            time: during(start, end),
            quantity: Some(Quantity {
                observed: seen.len() as f64,
                baseline: rate.map(|rate| rate.expected),
                unit: "requests".into(),
            }),
            change: None,
            peer: peer.map(|peer| Peer { entity: peer.clone(), role: PeerRole::Mentioned }),
            source: source.to_owned(),
            query: format!("entity={entity} level=error joined by request"),
            excerpt: format!(
                "of {all} requests with error lines here and elsewhere, {order}{unclear}: {message}"
            ),
            onset,
        }))
    }
}

/// How exactly times are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

impl Unit {
    fn of(at: Timestamp) -> Self {
        match at.subsec_nanosecond() {
            0 => Self::Second,
            nanoseconds if nanoseconds % 1_000_000 == 0 => Self::Millisecond,
            nanoseconds if nanoseconds % 1_000 == 0 => Self::Microsecond,
            _ => Self::Nanosecond,
        }
    }

    fn length(self) -> SignedDuration {
        match self {
            Self::Nanosecond => SignedDuration::from_nanos(1),
            Self::Microsecond => SignedDuration::from_micros(1),
            Self::Millisecond => SignedDuration::from_millis(1),
            Self::Second => SignedDuration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests;
