//! Requests with their traces: critical paths, first errors, operations, further attempts, waiting.

use std::collections::BTreeSet;

use eog_core::evidence::{Peer, PeerRole};
use eog_core::{EntityId, Timestamp, Window};

use crate::self_time::*;
use crate::spans::{SpanIds, SpanRecord};

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

/// Spans of requests, one a second for ten minutes; trouble begins at 500.
#[derive(Default)]
struct Traces(Vec<SpanRecord>);

/// A span: who, its callee, its id and its parent's, and from when to when in milliseconds within the second.
type Spec<'a> = (&'a str, Option<&'a str>, &'a str, Option<&'a str>, (i64, i64));

impl Traces {
    fn add(
        &mut self,
        second: i64,
        operation: &str,
        failed: bool,
        (who, callee, span, parent, (from, to)): Spec<'_>,
    ) {
        self.0.push(SpanRecord {
            time: Timestamp::from_millisecond(second * 1000 + from).unwrap(),
            entity: id(who),
            duration_ms: (to - from) as f64 + (second % 7) as f64 * 0.01,
            failed: Some(failed),
            peer: callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee }),
            operation: Some(operation.to_owned()),
            ids: Some(SpanIds {
                trace: second.to_string(),
                span: span.to_owned(),
                parent: parent.map(str::to_owned),
            }),
        });
    }

    fn books(&self, counted: Counted) -> Books {
        let upstream: BTreeSet<EntityId> = self.0.iter().map(|span| span.entity.clone()).collect();
        let web = id("web");
        let window =
            Window::new(Timestamp::UNIX_EPOCH, Timestamp::from_second(600).unwrap()).unwrap();
        let alert = Timestamp::from_second(540).unwrap();
        let calls = Calls::of(self.0.iter());
        Books::of(&calls, counted, (&upstream, &BTreeSet::from([&web])), alert, window)
    }
}

/// The shares of the course of `web`, as `db 80` or `web>db 80`.
fn parts(books: &Books) -> Vec<String> {
    let Some((_, course)) = books.courses().next() else { return Vec::new() };
    let part = |part: &Part| match &part.way_from {
        Some(caller) => format!("{caller}>{} {:.0}", part.entity, part.amount),
        None => format!("{} {:.0}", part.entity, part.amount),
    };
    course.parts.iter().filter(|one| one.amount >= 1.0).map(part).collect()
}

#[test]
fn the_critical_path_of_bad_requests_leads_past_those_who_only_wait() {
    // One request in four asks the shop, of which the database becomes slow; the others are as usual. The clock of the
    // database is a minute behind.
    let mut traces = Traces::default();
    for second in 0..600 {
        let slow = if second < 500 { 20 } else { 320 };
        if second % 4 > 0 {
            traces.add(second, "GET /", false, ("web", None, "r", None, (0, 50)));
            continue;
        }
        traces.add(second, "POST /", false, ("web", None, "r", None, (0, 60 + slow)));
        traces.add(second, "POST /", false, ("web", Some("shop"), "c", Some("r"), (10, 50 + slow)));
        traces.add(second, "buy", false, ("shop", None, "s", Some("c"), (15, 45 + slow)));
        traces.add(second, "select", false, ("shop", Some("db"), "q", Some("s"), (20, 25 + slow)));
        traces.add(
            second,
            "select",
            false,
            ("db", None, "d", Some("q"), (22 - 60_000, 22 + slow - 60_000)),
        );
        // Side by side, and never waited for.
        traces.add(second, "send", false, ("shop", Some("mail"), "m", Some("s"), (20, 30)));
    }
    let books = traces.books(Counted::Time);
    assert_eq!(parts(&books), ["db 300"]);
    let (_, course) = books.courses().next().unwrap();
    assert_eq!(course.bad, Some(25));
    assert_eq!(course.parts[0].operation, "select");
    let operations: Vec<_> = books.get(&id("web")).unwrap().operations.clone();
    assert!(operations.is_empty(), "its own work is as usual: {operations:?}");
}

#[test]
fn an_operation_that_works_longer_is_separated() {
    let mut traces = Traces::default();
    for second in 0..600 {
        let slow = if second < 500 || second % 2 > 0 { 20 } else { 120 };
        let operation = if second % 2 > 0 { "GET /" } else { "POST /" };
        traces.add(second, operation, false, ("web", None, "r", None, (0, slow)));
        traces.add(second, "-", false, ("web", Some("db"), "c", Some("r"), (5, 10)));
    }
    let books = traces.books(Counted::Time);
    let operations = &books.get(&id("web")).unwrap().operations;
    assert_eq!(operations.len(), 1, "{operations:?}");
    assert_eq!((&operations[0].what, operations[0].count), (&What::Operation("POST /".into()), 50));
    assert!(
        (operations[0].usual - 15.0).abs() < 0.1 && (operations[0].now - 115.0).abs() < 0.1,
        "{operations:?}"
    );
}

#[test]
fn an_error_begins_where_nothing_deeper_failed_for_good() {
    let mut traces = Traces::default();
    for second in 0..600 {
        let late = second >= 500;
        traces.add(second, "GET /", late, ("web", None, "r", None, (0, 100)));
        // A call that fails and is made again, well the second time: the request fails for its own reason.
        traces.add(second, "read", late, ("web", Some("db"), "1", Some("r"), (10, 20)));
        traces.add(second, "read", late, ("db", None, "a", Some("1"), (12, 18)));
        if late {
            traces.add(second, "read", false, ("web", Some("db"), "2", Some("r"), (30, 40)));
            traces.add(second, "read", false, ("db", None, "b", Some("2"), (32, 38)));
        }
    }
    let books = traces.books(Counted::Failures);
    assert_eq!(parts(&books), ["web 100"]);
    let web = books.get(&id("web")).unwrap();
    assert!(web.own_stands_out && web.share(web.own) > 0.99, "{web:?}");
    assert_eq!(web.attempts.len(), 1, "{:?}", web.attempts);
    let again = &web.attempts[0];
    assert_eq!((&again.what, again.usual, again.now), (&What::Retries(id("db")), 0.0, 0.5));

    // Without the second attempt the database is where it begins.
    let mut passed = traces;
    passed.0.retain(|span| {
        let ids = span.ids.as_ref().unwrap();
        !["2", "b"].contains(&ids.span.as_str())
    });
    assert_eq!(parts(&passed.books(Counted::Failures)), ["db 100"]);
    // What never got there begins on the way.
    passed
        .0
        .retain(|span| span.entity != id("db") || span.time < Timestamp::from_second(500).unwrap());
    assert_eq!(parts(&passed.books(Counted::Failures)), ["web>db 100"]);
}

#[test]
fn messages_wait_until_they_are_worked_on() {
    let mut traces = Traces::default();
    for second in 0..600 {
        let begin = if second < 500 { 20 } else { 820 };
        traces.add(second, "GET /", false, ("web", None, "r", None, (0, 10)));
        traces.add(second, "publish", false, ("web", Some("queue"), "p", Some("r"), (5, 6)));
        traces.add(second, "work", false, ("worker", None, "w", Some("p"), (begin, begin + 30)));
    }
    let books = traces.books(Counted::Time);
    let waiting = &books.get(&id("worker")).unwrap().attempts;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0].what, What::Waiting);
    assert!(waiting[0].usual > 13.0 && waiting[0].now > 813.0, "{waiting:?}");
    assert_eq!(parts(&books), Vec::<String>::new(), "no caller waits for it");
}

#[test]
fn spans_that_claim_each_other_end() {
    let mut traces = Traces::default();
    for second in 0..600 {
        let slow = if second < 500 { 20 } else { 320 };
        traces.add(second, "a", true, ("web", None, "1", Some("2"), (0, slow)));
        traces.add(second, "b", true, ("web", Some("web"), "2", Some("1"), (0, slow)));
        traces.add(second, "c", true, ("web", None, "3", Some("3"), (0, slow)));
    }
    for counted in [Counted::Time, Counted::Failures] {
        traces.books(counted);
    }
}

#[test]
fn time_on_the_way_is_found_call_by_call() {
    // What is asked for takes from 10 to 210 ms, and one call in five asks the second replica; the way to that one takes
    // 30 ms more.
    let mut traces = Traces::default();
    for second in (0..600).step_by(10) {
        let work = 10 + 20 * (second / 10 * 7 % 11);
        let replica = if second % 50 == 0 { "shop-1" } else { "shop-0" };
        let way = if second >= 540 && replica == "shop-1" { 16 } else { 1 };
        let end = 10 + 2 * way + work;
        traces.add(second, "GET /", false, ("web", None, "r", None, (0, end + 10)));
        traces.add(second, "buy", false, ("web", Some("shop"), "c", Some("r"), (10, end)));
        let served = (10 + way, 10 + way + work);
        traces.add(second, "buy", false, (replica, None, "s", Some("c"), served));
    }
    for second in (541..600).step_by(2) {
        let work = 10 + 20 * (second / 10 * 7 % 11);
        traces.add(second, "GET /", false, ("web", None, "r", None, (0, work + 52)));
        traces.add(second, "buy", false, ("web", Some("shop"), "c", Some("r"), (10, work + 42)));
        traces.add(second, "buy", false, ("shop-1", None, "s", Some("c"), (26, work + 26)));
    }
    let books = traces.books(Counted::Time);
    let way_to = |name: &str| books.get(&id(name)).map(|book| book.way_here);
    assert!((way_to("shop-1").unwrap() - 30.0).abs() < 0.5, "{:?}", way_to("shop-1"));
    assert_eq!(way_to("shop-0"), Some(0.0));
}
