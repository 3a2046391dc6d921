//! Books over made-up traces: who adds how much.

use std::collections::BTreeSet;

use eog_core::evidence::{Peer, PeerRole};
use eog_core::{EntityId, Timestamp, Window};

use super::*;
use crate::spans::{SpanIds, SpanRecord};

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// One request each second for ten minutes; trouble begins at 500, the alert comes at 540.
#[derive(Default)]
struct Traces(Vec<SpanRecord>);

impl Traces {
    /// A span of each request: of so many milliseconds before and after trouble began, with a small wobble.
    fn with(mut self, entity: &str, callee: Option<&str>, [before, after]: [f64; 2]) -> Self {
        self.0.extend((0..600).map(|second| SpanRecord {
            time: at(second),
            entity: id(entity),
            duration_ms: (second % 7) as f64 * 0.05 + if second < 500 { before } else { after },
            failed: Some(second % 40 == 0),
            peer: callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee }),
            operation: None,
            ids: None,
        }));
        self
    }

    fn failing(mut self, entity: &str, callee: Option<&str>, every: i64) -> Self {
        let peer = callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee });
        let own = self.0.iter_mut().filter(|span| span.entity == id(entity) && span.peer == peer);
        for span in own.filter(|span| span.time >= at(500)) {
            span.failed = Some(span.time.as_second() % every == 0);
        }
        self
    }

    fn books(&self, counted: Counted) -> Books {
        let upstream: BTreeSet<EntityId> = self.0.iter().map(|span| span.entity.clone()).collect();
        let window = Window::new(at(0), at(600)).unwrap();
        let alerting = BTreeSet::from_iter(upstream.iter().filter(|one| one.as_str() == "web"));
        Books::of(&Calls::of(self.0.iter()), counted, (&upstream, &alerting), at(540), window)
    }
}

/// `web` calls `shop`, which calls `db` and `mail`.
fn chain(web: [f64; 2], shop: [[f64; 2]; 2], db: [[f64; 2]; 2], mail: [[f64; 2]; 2]) -> Traces {
    Traces::default()
        .with("web", None, web)
        .with("web", Some("shop"), shop[0])
        .with("shop", None, shop[1])
        .with("shop", Some("db"), db[0])
        .with("db", None, db[1])
        .with("shop", Some("mail"), mail[0])
        .with("mail", None, mail[1])
}

/// Each entity whose own part stands out, with that part in milliseconds for each request.
fn own(books: &Books) -> Vec<String> {
    let names = ["web", "shop", "db", "mail"];
    let found = names.iter().filter_map(|name| {
        let book = books.get(&id(name))?;
        book.own_stands_out.then(|| format!("{name} {:.0}", book.own))
    });
    found.collect()
}

#[test]
fn the_parts_of_a_request_add_up() {
    let same = |ms: f64| [ms, ms];
    let (db, mail) = ([same(12.0), same(10.0)], [same(6.0), same(5.0)]);
    let of = |traces: Traces| own(&traces.books(Counted::Time));
    let quiet = chain(same(100.0), [same(50.0), same(48.0)], db, mail);
    assert_eq!(of(quiet), Vec::<String>::new());
    // The database works 80 ms longer; everybody waits for it.
    let works =
        chain([100.0, 180.0], [[50.0, 130.0], [48.0, 128.0]], [[12.0, 92.0], [10.0, 90.0]], mail);
    assert_eq!(of(works), ["db 80"]);
    // It is far away for its only caller, whose other calls are as usual.
    let far =
        chain([100.0, 180.0], [[50.0, 130.0], [48.0, 128.0]], [[12.0, 92.0], same(10.0)], mail);
    assert_eq!(of(far), ["db 80"]);
    // The shop is starved: its own work, its calls, and those to it are late.
    let starved = chain(
        [100.0, 220.0],
        [[50.0, 170.0], [48.0, 138.0]],
        [[12.0, 42.0], same(10.0)],
        [[6.0, 36.0], same(5.0)],
    );
    assert_eq!(of(starved), ["shop 120"]);
}

#[test]
fn shares_are_those_of_the_excess() {
    let same = |ms: f64| [ms, ms];
    let both = chain(
        [100.0, 200.0],
        [[50.0, 150.0], [48.0, 148.0]],
        [[12.0, 92.0], [10.0, 90.0]],
        [[6.0, 26.0], [5.0, 25.0]],
    );
    let books = both.books(Counted::Time);
    let shop = books.get(&id("shop")).unwrap();
    let shares: Vec<String> = shop
        .callees
        .iter()
        .map(|(callee, part)| format!("{callee} {:.2}", shop.share(*part)))
        .collect();
    assert_eq!(shares, ["db 0.80", "mail 0.20"]);
    assert!(shop.total() > 9_000.0 && shop.requests == 100);
    let db = books.get(&id("db")).unwrap().onset.unwrap();
    assert!(db.earliest() >= at(498) && db.latest() <= at(501), "{db:?}");
    let quiet = chain(same(9.0), [same(5.0); 2], [same(2.0); 2], [same(1.0); 2]);
    assert!(!quiet.books(Counted::Time).get(&id("web")).unwrap().stands_out);
}

#[test]
fn failures_begin_where_they_are_not_passed_on() {
    let same = |ms: f64| [ms, ms];
    let all = || chain(same(100.0), [same(50.0); 2], [same(12.0); 2], [same(6.0); 2]);
    let passed = all()
        .failing("web", None, 2)
        .failing("web", Some("shop"), 2)
        .failing("shop", None, 2)
        .failing("shop", Some("db"), 2)
        .failing("db", None, 2);
    let origins = |traces: Traces| {
        let found = own(&traces.books(Counted::Failures)).into_iter();
        found.map(|one| one.split(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(origins(passed), ["db"]);
    let refused = all()
        .failing("web", None, 2)
        .failing("web", Some("shop"), 2)
        .failing("shop", None, 2)
        .failing("shop", Some("db"), 2);
    assert_eq!(origins(refused), ["db"], "calls that never got there");
    assert_eq!(origins(all().failing("web", None, 2)), ["web"]);
}

#[test]
fn calls_that_are_made_side_by_side_count_as_far_as_they_are_waited_for() {
    // Each request of 100 ms makes two calls at once, of 90 and 40 ms.
    let spans = (0..600).flat_map(|second| {
        let span = |entity: &str, callee: Option<&str>, ms: f64, span: &str| SpanRecord {
            time: at(second),
            entity: id(entity),
            duration_ms: ms,
            failed: Some(false),
            peer: callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee }),
            operation: None,
            ids: Some(SpanIds {
                trace: second.to_string(),
                span: span.into(),
                parent: callee.map(|_| "root".into()),
            }),
        };
        let slow = if second < 500 { 90.0 } else { 290.0 };
        [
            span("web", None, slow + 10.0, "root"),
            span("web", Some("db"), slow, "a"),
            span("web", Some("mail"), 40.0, "b"),
        ]
    });
    let traces = Traces(spans.collect());
    let web = traces.books(Counted::Time);
    let web = web.get(&id("web")).unwrap();
    let (usual, now) = web.own_work.unwrap();
    assert!((usual - 10.0).abs() < 1e-6 && (now - 10.0).abs() < 1e-6, "{usual} {now}");
    assert_eq!(web.callees.iter().filter(|(_, part)| *part > 0.0).count(), 1);
}

#[test]
fn who_stops_before_a_call_makes_fewer_of_them() {
    let same = |ms: f64| [ms, ms];
    let mut traces = chain(same(100.0), [same(50.0); 2], [same(12.0); 2], [same(6.0); 2]);
    let to_mail = |span: &SpanRecord| {
        span.entity == id("mail")
            || span.peer.as_ref().is_some_and(|peer| peer.entity == id("mail"))
    };
    // Nothing becomes slower; requests that stop early are shorter.
    traces.0.retain(|span| !to_mail(span) || span.time < at(500));
    for span in traces.0.iter_mut().filter(|span| span.time >= at(500) && span.peer.is_none()) {
        span.duration_ms *= 0.8;
    }
    let books = traces.books(Counted::Time);
    let fewer = &books.get(&id("shop")).unwrap().fewer;
    assert_eq!(fewer.len(), 1, "{fewer:?}");
    // The time at which it began is known to some requests.
    assert_eq!((fewer[0].0.as_str(), fewer[0].1), ("mail", 1.0));
    assert!(fewer[0].2 < 0.05, "{fewer:?}");
}

/// `web` serves a request each second and calls `shop` (by a client span and a served one) and `mail` in each. From 500 on
/// every fifth request fails, and of each 20 failed ones 17 hold a failed call of `shop`.
fn traced_failures(shop_fails_itself: bool) -> Traces {
    let spans = (0..600).flat_map(|second| {
        let fails = second >= 500 && second % 5 == 0;
        let by_shop = fails && (second / 5) % 20 < 17;
        let span =
            |entity: &str, callee: Option<&str>, failed: bool, own: &str, parent| SpanRecord {
                time: at(second),
                entity: id(entity),
                duration_ms: 20.0,
                failed: Some(failed),
                peer: callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee }),
                operation: None,
                ids: Some(SpanIds { trace: second.to_string(), span: own.into(), parent }),
            };
        let under = |parent: &str| Some(parent.to_owned());
        [
            span("web", None, fails, "root", None),
            span("web", Some("shop"), by_shop, "a", under("root")),
            span("shop", None, by_shop && shop_fails_itself, "b", under("a")),
            span("web", Some("mail"), false, "c", under("root")),
            span("mail", None, false, "d", under("c")),
        ]
    });
    Traces(spans.collect())
}

#[test]
fn failed_calls_within_failed_requests_are_counted() {
    for itself in [true, false] {
        let books = traced_failures(itself).books(Counted::Failures);
        let web = books.get(&id("web")).unwrap();
        let shares: Vec<String> = web
            .callees
            .iter()
            .map(|(callee, part)| format!("{callee} {:.2}", web.share(*part)))
            .collect();
        assert_eq!(shares, ["shop 0.85", "mail 0.00"], "shop fails itself: {itself}; {web:?}");
    }
}
