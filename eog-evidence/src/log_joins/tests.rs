use eog_core::Window;

use super::*;

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap()
}

/// So many requests, a minute apart, with error lines so many milliseconds after the beginning.
fn excerpts(requests: i64, lines: &[(&str, i64)], depths: &Depths) -> Vec<String> {
    let lines: Vec<_> = lines.iter().map(|(name, ms)| (*name, *ms, None)).collect();
    excerpts_with_calls(requests, &lines, depths)
}

/// The same with the entity whose failed call each line reports.
fn excerpts_with_calls(
    requests: i64,
    lines: &[(&str, i64, Option<&str>)],
    depths: &Depths,
) -> Vec<String> {
    let names: Vec<(EntityId, i64, Option<EntityId>)> =
        lines.iter().map(|(name, ms, callee)| (id(name), *ms, callee.map(id))).collect();
    let ids: Vec<String> = (0..requests).map(|n| format!("{n:08}")).collect();
    let lines = (0..requests).zip(&ids).flat_map(|(n, request)| {
        names.iter().map(move |(entity, ms, callee)| RequestError {
            request,
            time: at(60_000 * n + ms),
            entity,
            message: "failed",
            callee: callee.as_ref(),
        })
    });
    let found = joined_errors(lines, depths, None, "logs.csv");
    let one = |finding: &Finding| format!("{}: {}", finding.entity, finding.excerpt);
    found.values().flatten().map(one).collect()
}

#[test]
fn errors_begin_where_the_first_line_is() {
    type Lines<'a> = &'a [(&'a str, i64)];
    let cases: [(i64, Lines<'_>, &[&str]); 6] = [
        (
            9,
            &[("web", 30), ("db", 5), ("cart", 12)],
            &[
                "cart: of 9 requests with error lines here and elsewhere, 9 have an earlier one elsewhere, 9 of 9 in db: failed",
                "db: of 9 requests with error lines here and elsewhere, 9 have the first one here: failed",
                "web: of 9 requests with error lines here and elsewhere, 9 have an earlier one elsewhere, 9 of 9 in db: failed",
            ],
        ),
        // The same line twice, and an error that no other entity has.
        (9, &[("db", 5), ("db", 9)], &[]),
        (5, &[("web", 30), ("db", 5)], &[]),
        (9, &[("web", 6), ("db", 5)], &[]),
        (
            9,
            &[("web", 7), ("db", 5)],
            &[
                "db: of 9 requests with error lines here and elsewhere, 9 have the first one here: failed",
                "web: of 9 requests with error lines here and elsewhere, 9 have an earlier one elsewhere, 9 of 9 in db: failed",
            ],
        ),
        // Whole seconds give no order within one.
        (9, &[("web", 1000), ("db", 0)], &[]),
    ];
    for (requests, lines, expected) in cases {
        assert_eq!(excerpts(requests, lines, &Depths::default()), expected, "{lines:?}");
    }
}

#[test]
fn a_first_line_about_a_failed_call_passes_on_what_the_callee_began() {
    let of =
        |lines: &[(&str, i64, Option<&str>)]| excerpts_with_calls(9, lines, &Depths::default());
    let web = "web: of 9 requests with error lines here and elsewhere, 9 have an earlier one elsewhere, 9 of 9 in cart: failed";
    let cart = |order: &str| {
        format!("cart: of 9 requests with error lines here and elsewhere, {order}: failed")
    };
    // The database writes nothing.
    let silent = [("web", 30, Some("cart")), ("cart", 5, Some("db"))];
    assert_eq!(of(&silent), [&cart("9 did not fail here first, 9 of 9 in a call to db"), web]);
    // It says so itself, and its callers report its failed calls.
    let db =
        "db: of 9 requests with error lines here and elsewhere, 9 have the first one here: failed";
    let lines = [("cart", 12, Some("db")), ("db", 5, None)];
    let earlier = cart("9 have an earlier one elsewhere, 9 of 9 in db");
    assert_eq!(of(&lines), [&earlier, db]);
    // A caller that waited no longer complains before the callee does.
    let given_up = [("cart", 5, Some("db")), ("db", 60, None)];
    assert_eq!(of(&given_up), [&cart("9 did not fail here first, 9 of 9 in a call to db"), db]);
    // So does each in a chain of callers.
    let all = [("web", 5, Some("cart")), ("cart", 20, Some("db")), ("db", 60, None)];
    let passed = "did not fail here first, 9 of 9 in a call to";
    let web_of_cart =
        format!("web: of 9 requests with error lines here and elsewhere, 9 {passed} cart: failed");
    assert_eq!(of(&all), [&cart(&format!("9 {passed} db")), db, &*web_of_cart]);
    // Two that report each other: who complains first.
    let round = [("web", 5, Some("cart")), ("cart", 20, Some("web"))];
    assert_eq!(
        of(&round),
        [&cart("9 have an earlier one elsewhere, 9 of 9 in web"), &*web_of_cart]
    );
    // A call to itself is no excuse.
    let own = [("web", 30, None), ("cart", 5, Some("cart"))];
    assert_eq!(of(&own), [&cart("9 have the first one here"), web]);
}

#[test]
fn earlier_lines_and_failed_calls_count_for_one_place_together() {
    let (cart, db, web) = (id("cart"), id("db"), id("web"));
    let ids: Vec<String> = (0..13).map(|n| format!("{n:08}")).collect();
    let line = |n: usize, entity, ms: i64, callee| RequestError {
        request: &ids[n],
        time: at(60_000 * n as i64 + ms),
        entity,
        message: "failed",
        callee,
    };
    let of_db = (0..4).flat_map(|n| [line(n, &db, 5, None), line(n, &cart, 30, None)]);
    let calls = (4..8).flat_map(|n| [line(n, &cart, 5, Some(&db)), line(n, &web, 30, None)]);
    let of_web = (8..13).flat_map(|n| [line(n, &web, 5, None), line(n, &cart, 30, None)]);
    let lines = of_db.chain(calls).chain(of_web);
    let found = joined_errors(lines, &Depths::default(), None, "logs.csv");
    let order = "13 did not fail here first, 8 of 13 in or in a call to db";
    assert!(found[&cart][0].excerpt.contains(order), "{}", found[&cart][0].excerpt);
}

#[test]
fn of_two_lines_of_one_time_the_one_of_a_failed_call_counts() {
    let (cart, db, web) = (id("cart"), id("db"), id("web"));
    let ids: Vec<String> = (0..9).map(|n| format!("{n:08}")).collect();
    let lines = ids.iter().enumerate().flat_map(|(n, request)| {
        let line = |entity, ms: i64, message, callee| {
            let time = at(60_000 * n as i64 + ms);
            RequestError { request, time, entity, message, callee }
        };
        [
            line(&cart, 5, "a failure", None),
            line(&cart, 5, "call failed", Some(&db)),
            line(&web, 30, "failed", None),
        ]
    });
    let found = joined_errors(lines, &Depths::default(), None, "logs.csv");
    assert_eq!(found[&cart][0].peer.as_ref().map(|peer| &peer.entity), Some(&db));
}

fn span(trace: &str, span: &str, parent: Option<&str>, entity: &str, failed: bool) -> SpanRecord {
    SpanRecord {
        time: at(0),
        entity: id(entity),
        duration_ms: 1.0,
        failed: Some(failed),
        peer: None,
        operation: None,
        ids: Some(SpanIds {
            trace: trace.into(),
            span: span.into(),
            parent: parent.map(str::to_owned),
        }),
    }
}

#[test]
fn the_deepest_is_first_where_times_are_equal() {
    let spans: Vec<SpanRecord> = (0..9)
        .flat_map(|n| {
            let trace = format!("{n:08}");
            [
                span(&trace, "a", None, "web", true),
                span(&trace, "b", Some("a"), "db", true),
                span(&trace, "c", Some("b"), "web", false),
            ]
        })
        .collect();
    let wanted: Vec<&str> =
        spans.iter().map(|span| span.ids.as_ref().unwrap().trace.as_str()).collect();
    let depths = Depths::of(&spans, wanted);
    assert_eq!(
        excerpts(9, &[("web", 5), ("db", 5)], &depths),
        [
            "db: of 9 requests with error lines here and elsewhere, 9 have the first one here: failed",
            "web: of 9 requests with error lines here and elsewhere, 9 have an earlier one elsewhere, 9 of 9 in db: failed",
        ]
    );
    // A trace that goes round has an end all the same.
    let round = [span("1", "a", Some("b"), "web", true), span("1", "b", Some("a"), "web", true)];
    assert_eq!(Depths::of(&round, ["1"]).of_entity("1", &id("web")), Some(MAX_DEPTH));
}

#[test]
fn what_is_usual_is_steady() {
    let (web, db) = (id("web"), id("db"));
    let window = |from: i64, to: i64| Window::new(at(60_000 * from), at(60_000 * to)).unwrap();
    let (before, after) = (window(0, 60), window(60, 120));
    let compared = ComparedTimes { before: before.into(), after, until: after.end(), holes: &[] };
    for (from, expected, baseline) in [(0, Trend::Steady, 60.0), (60, Trend::Rising, 0.0)] {
        let ids: Vec<String> = (from..120).map(|n| format!("{n:08}")).collect();
        let lines = (from..120).zip(&ids).flat_map(|(n, request)| {
            [(&web, 60_000 * n + 50), (&db, 60_000 * n)].map(|(entity, ms)| RequestError {
                request,
                time: at(ms),
                entity,
                message: "failed",
                callee: None,
            })
        });
        let found = joined_errors(lines, &Depths::default(), Some(&compared), "logs.csv");
        let [finding] = &found[&db][..] else { panic!("{found:?}") };
        assert_eq!(finding.trend, expected);
        let quantity = finding.quantity.as_ref().unwrap();
        assert_eq!((quantity.observed, quantity.baseline), (60.0, Some(baseline)));
        assert_eq!(found[&web][0].peer.as_ref().unwrap().entity, db);
    }
}
