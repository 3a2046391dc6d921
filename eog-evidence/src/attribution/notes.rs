//! Attribution as findings and notes.

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::incident::to_the_second;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};

use super::Kind;
use super::burden::{Burden, Weight};
use super::crowding::Crowding;
use super::demand::Demand;
use super::deviation::Deviation;
use super::held_up::{Full, HeldUp};
use super::replicas::Spread;
use super::trouble::Spot;
use crate::note::Note;
use crate::self_time::{Book, Course, Detail, End, Ending, Part, What};
use crate::shift::during;
use crate::text::{in_unit, rounded, shorten};

/// The source of what is derived from all records.
const SOURCE: &str = "attribution";

/// What an entity has too much of, who accounts for it, and what is left.
pub(super) fn of_account(
    entity: &EntityId,
    kind: Kind,
    own: &Burden,
    shown: bool,
    shares: &[(EntityId, f64, Burden)],
    remainder: bool,
    source: &str,
) -> Vec<Finding> {
    let signal = kind.signal();
    let time = during_burden(own);
    let metric = shorten(&own.metric, 120);
    let query = |rest: &str| format!("entity={entity} metric={metric}{rest}");
    let own_finding = Finding::new(FindingContent {
        entity: entity.clone(),
        kind: EvidenceKind::Metric,
        signal,
        trend: Trend::Rising,
        time,
        quantity: Some(Quantity { observed: own.total(), baseline: None, unit: own.unit.clone() }),
        change: None,
        peer: None,
        source: source.into(),
        query: query(" calls"),
        excerpt: format!(
            "{metric} {} (normally {}); {} above normal",
            in_unit(own.observed, &own.unit),
            in_unit(own.usual, &own.unit),
            amount(own)
        ),
        onset: None,
    });
    let mut findings = Vec::new();
    findings.extend(shown.then_some(own_finding));
    findings.extend(shares.iter().map(|(neighbour, share, theirs)| {
        let excess = amount(theirs);
        // No part of what is not there can be accounted for.
        let excerpt = match shown {
            true => format!(
                "{neighbour} is {excess} above normal, which can account for {} of the excess of {entity}",
                percent(*share)
            ),
            false => format!("{neighbour} is {excess} above normal, while {entity} is not"),
        };
        let time = during_burden(theirs);
        let note = Note::Share { of: signal, upstream: neighbour, fraction: *share };
        finding(note, entity, time, query(&format!(" upstream={neighbour}")), excerpt)
    }));
    if remainder {
        let explained: f64 = shares.iter().map(|(_, share, _)| share).sum();
        let left = (1.0 - explained).max(0.0);
        let much = match explained {
            ..0.005 => "none".to_owned(),
            0.995.. => "all".to_owned(),
            _ => percent(explained),
        };
        let excerpt =
            format!("upstream neighbours, all of them measured, account for {much} of the excess");
        let note = Note::Remainder { of: signal, fraction: left };
        findings.push(finding(note, entity, time, query(" remainder"), excerpt));
    }
    findings
}

/// How much of what a replica has all that share its work have as well.
pub(super) fn of_whole(
    entity: &EntityId,
    whole: &EntityId,
    kind: Kind,
    (spread, share): (Spread, f64),
    time: EvidenceTime,
) -> Finding {
    let others = match spread {
        Spread::Alike => "all replicas of {whole} have the same excess",
        Spread::Uneven => "other replicas of {whole} have a much smaller excess",
    };
    let excerpt = format!(
        "{}: it can account for {} of the excess of {entity}",
        others.replace("{whole}", whole.as_str()),
        percent(share)
    );
    let query = format!("entity={entity} replicas of={whole}");
    let note = Note::Share { of: kind.signal(), upstream: whole, fraction: share };
    finding(note, entity, time, query, excerpt)
}

/// Calls of an entity that are slow or fail, as it measured them.
pub(super) fn of_calls(
    entity: &EntityId,
    callee: &EntityId,
    kind: Kind,
    calls: &Burden,
    source: &str,
) -> Finding {
    let metric = shorten(&calls.metric, 120);
    Finding::new(FindingContent {
        entity: entity.clone(),
        kind: EvidenceKind::Metric,
        signal: kind.signal(),
        trend: Trend::Rising,
        time: during_burden(calls),
        quantity: Some(Quantity {
            observed: calls.observed,
            baseline: Some(calls.usual),
            unit: calls.unit.clone(),
        }),
        change: None,
        peer: Some(Peer { entity: callee.clone(), role: PeerRole::Callee }),
        source: source.into(),
        query: format!("entity={entity} metric={metric} callee={callee}"),
        excerpt: format!(
            "{metric} of calls to {callee}: {} {} (normally {})",
            rounded(calls.observed),
            shorten(&calls.unit, 40),
            rounded(calls.usual)
        ),
        onset: None,
    })
}

/// What an entity has too much of by its traced requests, who accounts for it, and what is left.
pub(super) fn of_traced(
    entity: &EntityId,
    kind: Kind,
    book: &Book,
    shown: bool,
    shares: &[(EntityId, f64, f64)],
    remainder: bool,
    source: &str,
) -> Vec<Finding> {
    let signal = kind.signal();
    let time = during(book.time.0, book.time.1);
    let query = |rest: &str| format!("entity={entity} traced{rest}");
    let own_finding = Finding::new(FindingContent {
        entity: entity.clone(),
        kind: EvidenceKind::Span,
        signal,
        trend: Trend::Rising,
        time,
        quantity: Some(Quantity {
            observed: book.total(),
            baseline: None,
            unit: traced_unit(kind).into(),
        }),
        change: None,
        peer: None,
        source: source.into(),
        query: query(" requests"),
        excerpt: traced_excerpt(kind, book),
        onset: book.onset.filter(|_| book.own_stands_out),
    });
    let mut findings = Vec::new();
    // An entity that fell silent shows nothing itself: its callers say what they see.
    let is_shown = (shown && !book.fell_silent) || remainder;
    findings.extend(is_shown.then_some(own_finding));
    let amount = |part: f64| traced_amount(kind, part);
    findings.extend(shares.iter().map(|(callee, share, part)| {
        let excerpt = match kind {
            Kind::Time if book.each <= 0.0 => format!(
                "over {} requests, {callee} takes {} longer per request, while {entity} does not",
                book.requests,
                amount(*part)
            ),
            Kind::Failures if book.each <= 0.0 => format!(
                "of {} requests, {} more fail at {callee}, and no more at {entity}",
                book.requests,
                amount(*part)
            ),
            Kind::Time => format!(
                "over {} requests, {callee} takes {} longer per request, {entity} {}: it accounts \
                 for {}",
                book.requests,
                amount(*part),
                amount(book.each),
                percent(*share)
            ),
            Kind::Failures => format!(
                "of {} requests, {} more fail at {callee} and {} more at {entity}: it accounts for {}",
                book.requests,
                amount(*part),
                amount(book.each),
                percent(*share)
            ),
        };
        let note = Note::Share { of: signal, upstream: callee, fraction: *share };
        finding(note, entity, time, query(&format!(" upstream={callee}")), excerpt)
    }));
    if remainder {
        let left = book.share(book.own);
        let excerpt = format!(
            "{} of the excess is not in its calls to others ({} of {} per request over {} requests)",
            percent(left),
            amount(book.own),
            amount(book.each),
            book.requests
        );
        let note = Note::Remainder { of: signal, fraction: left };
        findings.push(finding(note, entity, time, query(" remainder"), excerpt));
    }
    findings
}

/// An operation of an entity that stands out, calls that are made again, or requests that wait.
pub(super) fn of_detail(entity: &EntityId, kind: Kind, detail: &Detail, source: &str) -> Finding {
    let amount = |part: f64| traced_amount(kind, part);
    let count = detail.count;
    let (now, usual) = (detail.now, detail.usual);
    let time = during(detail.time.0, detail.time.1);
    let span = |signal, unit: &str| {
        let quantity = Quantity { observed: now, baseline: Some(usual), unit: unit.into() };
        FindingContent {
            trend: Trend::Rising,
            quantity: Some(quantity),
            ..FindingContent::new(entity.clone(), EvidenceKind::Span, signal, time)
        }
    };
    let (content, query, excerpt) = match &detail.what {
        What::Operation(name) => {
            let name = shorten(name, 80);
            let unit = if kind == Kind::Time { "ms" } else { "ratio" };
            let what = match kind {
                Kind::Time => "own work",
                Kind::Failures => "first error in",
            };
            let of = if kind == Kind::Time { "per request over" } else { "of" };
            let excerpt = format!(
                "{name}: {what} {} {of} {count} requests (normally {})",
                amount(now),
                amount(usual)
            );
            let query = format!("operation={name}");
            (span(kind.signal(), unit), query, excerpt)
        }
        What::Retries(callee) => {
            let excerpt = format!(
                "{} of {count} calls to {callee} are retries (normally {})",
                percent(now),
                percent(usual)
            );
            let note = Note::Retries { callee, usual, now };
            (note.content(entity, time), format!("retries callee={callee}"), excerpt)
        }
        What::Waiting => {
            let excerpt = format!(
                "each of {count} messages waits {} ms before processing (normally {} ms)",
                rounded(now),
                rounded(usual)
            );
            (span(Signal::Saturation, "ms"), "waiting".to_owned(), excerpt)
        }
    };
    Finding::new(FindingContent {
        source: source.into(),
        query: format!("entity={entity} traced {query}"),
        excerpt,
        onset: detail.onset,
        ..content
    })
}

/// The part that an entity has of the bad requests of another with an alert: a note on the latter, and on the former.
pub(super) fn of_course(
    to: &EntityId,
    alerting: &EntityId,
    kind: Kind,
    (course, part): (&Course, &Part),
    source: &str,
) -> Finding {
    let &Course { bad, all, whole, .. } = course;
    let bad = bad.map_or_else(|| "none".to_owned(), |bad| bad.to_string());
    let share = percent((part.amount / whole).min(1.0));
    let who = &part.entity;
    let operation = match part.operation.as_str() {
        "" => String::new(),
        name => format!(" ({})", shorten(name, 80)),
    };
    let is_whole = course.bad.is_none();
    let excerpt = match (kind, &part.way_from) {
        (_, way) if is_whole => {
            let place = match way {
                None => format!("work of {who}{operation} on their critical paths"),
                Some(caller) => format!("spent between {caller} and {who}"),
            };
            format!(
                "{share} ({} ms) of the time of {all} requests to {alerting} is {place}; they took {} ms each from the \
                 beginning",
                rounded(part.amount),
                rounded(whole)
            )
        }
        (Kind::Time, None) => format!(
            "the slow requests of {alerting} ({bad} of {all}) each take {} ms longer than normal; {} \
             ms ({share}) of that is work of {who}{operation} on their critical paths",
            rounded(whole),
            rounded(part.amount)
        ),
        (Kind::Time, Some(caller)) => format!(
            "the slow requests of {alerting} ({bad} of {all}) each take {} ms longer than normal; {} \
             ms ({share}) of that is spent between {caller} and {who}",
            rounded(whole),
            rounded(part.amount)
        ),
        (Kind::Failures, None) => format!(
            "of the failed requests of {alerting} ({bad} of {all}), {} more than normal have \
             their first error at {who}{operation}: {share} of the excess",
            rounded(part.amount)
        ),
        (Kind::Failures, Some(caller)) => format!(
            "of the failed requests of {alerting} ({bad} of {all}), {} more than normal have \
             their first error in calls of {caller} to {who} that were not recorded as failed \
             there: {share} of the excess",
            rounded(part.amount)
        ),
    };
    let of = kind.signal();
    let has_baseline = !is_whole;
    let note = match to == alerting {
        false => {
            let fraction = (part.amount / whole).clamp(0.0, 1.0);
            Note::CriticalPath { of, alerting, fraction, has_baseline }
        }
        true if who == alerting => Note::OwnCriticalPath { of, has_baseline },
        true => Note::Lead { of, upstream: who, is_sure: has_baseline },
    };
    let time = during(course.time.0, course.time.1);
    let query = format!("entity={alerting} traced bad requests part={who}");
    let content = content(note, to, time, query, excerpt);
    FindingContent { source: source.into(), ..content }.into()
}

fn traced_unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "ms",
        Kind::Failures => "failed requests",
    }
}

/// An amount for each request: time, or the share of requests that fail.
fn traced_amount(kind: Kind, part: f64) -> String {
    match kind {
        Kind::Time => format!("{} ms", rounded(part)),
        Kind::Failures => percent(part),
    }
}

pub(super) fn traced_excerpt(kind: Kind, book: &Book) -> String {
    let amount = |part: f64| traced_amount(kind, part);
    // What is under way to an entity is no part of what the entity itself records.
    let at_work = (book.each - book.way_here).max(0.0);
    let (here, way_here) = (amount(at_work), amount(book.way_here));
    // The greater part comes first.
    let is_lost_before = book.way_here > at_work;
    let mut text = match (kind, is_lost_before) {
        (Kind::Time, false) => format!("{here} more for each of {} requests", book.requests),
        (Kind::Failures, false) => format!("{here} more of {} requests fail", book.requests),
        (Kind::Time, true) => {
            format!("{way_here} more on the way here for each of {} requests", book.requests)
        }
        (Kind::Failures, true) => {
            format!("{way_here} more of {} requests fail on the way here", book.requests)
        }
    };
    if is_lost_before {
        text += &format!("; here {here} more");
    }
    if book.ways_on > 0.0 {
        text += &format!(", {} of that on the way from here", amount(book.ways_on));
    }
    text += &format!(": {} (normally {})", amount(book.now), amount(book.usual));
    if book.way_here > 0.0 && !is_lost_before {
        text += &match kind {
            Kind::Time => format!("; {way_here} more on the way here"),
            Kind::Failures => format!("; {way_here} more fail on the way here"),
        };
    }
    // Calls that overlap take longer together than the request: then its own work is not known.
    if let Some((usual, now)) = book.own_work.filter(|(usual, now)| *usual >= 0.0 && *now >= 0.0) {
        let own = if kind == Kind::Time { "its own work" } else { "by itself" };
        text += &format!("; {own} {} (normally {})", amount(now), amount(usual));
    }
    text
}

/// The most of what an alerting entity has too much of that another can account for. Unlike the notes
/// on shares it speaks of the entity itself, and is steady: it is no sign of harm.
pub(super) fn of_part(
    entity: &EntityId,
    signal: Signal,
    (alerting, measure): (&EntityId, &str),
    (share, together): (f64, Option<f64>),
    time: EvidenceTime,
) -> Finding {
    let what = if signal == Signal::Latency { "time lost by" } else { "failed requests of" };
    let mut excerpt = format!(
        "contribution bound by {}: at most {} of the {what} {alerting} can come from {entity}",
        shorten(measure, 60),
        percent(share)
    );
    if let Some(together) = together {
        excerpt.push_str(&format!("; with its replicas {}", percent(together)));
    }
    let note = Note::ContributionBound { of: signal, own: share, with_replicas: together };
    finding(note, entity, time, format!("entity={entity} part of={alerting}"), excerpt)
}

/// A callee that is called far more often than before, while the entity itself is not.
pub(super) fn of_sent(
    entity: &EntityId,
    callee: &EntityId,
    [own, theirs]: [f64; 2],
    time: EvidenceTime,
) -> Finding {
    let excerpt = format!(
        "{callee} gets {} times its normal calls, {entity} {} times: more calls per request",
        rounded(theirs),
        rounded(own)
    );
    let note = Note::SendsMore { callee, times: theirs };
    finding(note, entity, time, format!("entity={entity} sent={callee}"), excerpt)
}

/// Demand from outside that reaches an entity.
pub(super) fn of_demand(entity: &EntityId, demand: &Demand) -> Finding {
    let Demand { source, by, sent, asked, onset, shift } = demand;
    let passed_on = match by == source {
        true => String::new(),
        false => format!(
            "; via {by} this reaches {entity}, which gets {} times its normal requests",
            rounded(*asked)
        ),
    };
    let excerpt = format!("{source} sends {} times its normal requests{passed_on}", rounded(*sent));
    let query = format!("entity={entity} demand={source} by={by}");
    let note = Note::MoreDemand { caller: by, times: *asked };
    let time = during(shift.onset(), shift.last());
    FindingContent { onset: *onset, ..content(note, entity, time, query, excerpt) }.into()
}

/// The demand that a source sends to an entity.
pub(super) fn of_demand_sent(to: &EntityId, demand: &Demand) -> Finding {
    let Demand { source, sent, asked, onset, shift, .. } = demand;
    let excerpt =
        format!("{to} gets {} times its normal requests from this source alone", rounded(*sent));
    let query = format!("entity={source} sends to={to}");
    let note = Note::SendsMore { callee: to, times: *asked };
    let time = during(shift.onset(), shift.last());
    FindingContent { onset: *onset, ..content(note, source, time, query, excerpt) }.into()
}

/// A callee that is called less often for each request than usual.
pub(super) fn of_left_out(
    entity: &EntityId,
    callee: &EntityId,
    [usual, now]: [f64; 2],
    time: EvidenceTime,
) -> Finding {
    let note = Note::SkippedCalls { callee, usual, now };
    let excerpt = left_out_excerpt(entity, callee, [usual, now]);
    finding(note, entity, time, format!("entity={entity} left out={callee}"), excerpt)
}

pub(super) fn left_out_excerpt(
    entity: &EntityId,
    callee: &EntityId,
    [usual, now]: [f64; 2],
) -> String {
    format!(
        "{entity} calls {callee} {} times per request (normally {}): it stops before that call",
        rounded(now),
        rounded(usual)
    )
}

/// Requests of a caller that end once a callee has answered, at either of the two.
pub(super) fn of_ending(
    entity: &EntityId,
    caller: &EntityId,
    ending: &Ending,
    time: EvidenceTime,
    source: &str,
) -> Finding {
    let &Ending { ref callee, usual, now, .. } = ending;
    let note = match entity == caller {
        true => Note::EndedBy { callee, usual, now },
        false => Note::EndsRequests { caller, usual, now },
    };
    let query = format!("entity={caller} traced ends after={callee}");
    let content = content(note, entity, time, query, ending_excerpt(caller, ending));
    FindingContent { source: source.into(), ..content }.into()
}

pub(super) fn ending_excerpt(caller: &EntityId, ending: &Ending) -> String {
    let Ending { callee, how, usual, now, requests, .. } = ending;
    let end = match how {
        End::Early => "end",
        End::Failed => "fail by themselves",
    };
    format!(
        "of {requests} requests of {caller} that call {callee}, {} {end} with its answer \
         (normally {}) and make no further calls",
        percent(*now),
        percent(*usual)
    )
}

/// The note on one that takes up what another entity has for all that rest on it, at either of the two.
pub(super) fn of_crowding(entity: &EntityId, one: &Crowding, time: EvidenceTime) -> Finding {
    let percent = |share: f64| format!("{} %", rounded(100.0 * share));
    let Crowding { host, hosts, taker, takers, part } = one;
    let note = match entity == host {
        true => Note::Contended { by: taker, fraction: *part },
        false => Note::Contention { host, fraction: *part },
    };
    let excerpt = format!(
        "{taker} exhausts {host}: {} of {taker} from {} to {}, {} of the increase of \
         everything on {host}; {} of {host} from {} to {}; not explained by more requests",
        shorten(&takers.metric, 60),
        percent(takers.usual),
        percent(takers.now),
        percent(*part),
        shorten(&hosts.metric, 60),
        percent(hosts.usual),
        percent(hosts.now)
    );
    let query = format!("entity={entity} crowded={host} by={taker}");
    let onset = Some(takers.onset);
    FindingContent { onset, ..content(note, entity, time, query, excerpt) }.into()
}

/// A caller whose requests wait in front of what calls to the entity fill up.
pub(super) fn of_holding_up(
    entity: &EntityId,
    caller: &EntityId,
    held: &HeldUp,
    time: EvidenceTime,
) -> Finding {
    let HeldUp { times, since, full, .. } = held;
    let Full { resource, usual, now, time: (begun, _) } = full;
    let excerpt = format!(
        "calls to {entity} hold each request of {caller} {} times as long: {resource} of \
         {caller} is {} in use (normally {}); requests wait there because of these calls",
        rounded(*times),
        percent(*now),
        percent(*usual)
    );
    let note = Note::HoldsUpCallers { caller, usual: *usual, now: *now };
    let onset = since.map(|since| Onset::between(since.min(*begun), *begun));
    let query = format!("entity={caller} held up by={entity}");
    FindingContent { onset, ..content(note, entity, time, query, excerpt) }.into()
}

/// An entity upstream that is hit hard; the peer is that entity, or the neighbour on the way there.
pub(super) fn of_trouble(
    entity: &EntityId,
    peer: &EntityId,
    hit: &EntityId,
    spot: &Spot,
    excerpt: &str,
    time: EvidenceTime,
) -> Finding {
    let note = Note::Lead { of: spot.signal, upstream: peer, is_sure: spot.is_sure };
    let query = format!("entity={entity} trouble={hit} by={peer}");
    finding(note, entity, time, query, shorten(excerpt, 400))
}

/// That an entity deviated before any alert on it.
pub(super) fn of_deviation(entity: &EntityId, own: &Deviation) -> Finding {
    let since = to_the_second(own.onset);
    let excerpt = format!("deviates since {since}: {}", shorten(&own.text, 240));
    let (earliest, latest) = own.between;
    let at = EvidenceTime::At(own.onset);
    let query = format!("entity={entity} {}", own.query);
    FindingContent {
        kind: if own.by_events { EvidenceKind::Event } else { EvidenceKind::Note },
        onset: Some(Onset::between(earliest.min(latest), latest)),
        ..content(Note::EarlyDeviation, entity, at, query, excerpt)
    }
    .into()
}

fn finding(
    note: Note<'_>,
    entity: &EntityId,
    time: EvidenceTime,
    query: String,
    excerpt: String,
) -> Finding {
    content(note, entity, time, query, excerpt).into()
}

fn content(
    note: Note<'_>,
    entity: &EntityId,
    time: EvidenceTime,
    query: String,
    excerpt: String,
) -> FindingContent {
    FindingContent { source: SOURCE.into(), query, excerpt, ..note.content(entity, time) }
}

pub(super) fn during_burden(burden: &Burden) -> EvidenceTime {
    let (first, last) = burden.extent().unwrap_or((Timestamp::MIN, Timestamp::MIN));
    during(burden.onset().unwrap_or(first), last)
}

fn amount(burden: &Burden) -> String {
    match burden.weight {
        Weight::Calls => format!("{} in total", in_unit(burden.total(), &burden.unit)),
        Weight::None => in_unit(burden.observed - burden.usual, &burden.unit),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_part_of_what_is_too_much_comes_first() {
        let at = Timestamp::UNIX_EPOCH;
        let book = |each: f64, way_here: f64| Book {
            requests: 9,
            usual: 35.0,
            now: 35.0 + each - way_here,
            fell_silent: false,
            own_work: None,
            way_here,
            ways_on: 0.0,
            each,
            own: each,
            stands_out: true,
            own_stands_out: true,
            callees: Vec::new(),
            fewer: Vec::new(),
            operations: Vec::new(),
            attempts: Vec::new(),
            onset: None,
            time: (at, at),
        };
        assert_eq!(
            traced_excerpt(Kind::Time, &book(248.0, 248.0)),
            "248 ms more on the way here for each of 9 requests; here 0 ms more: 35 ms (normally 35 ms)"
        );
        assert_eq!(
            traced_excerpt(Kind::Time, &book(60.0, 10.0)),
            "50 ms more for each of 9 requests: 85 ms (normally 35 ms); 10 ms more on the way here"
        );
    }
}
