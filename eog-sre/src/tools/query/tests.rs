//! A small table, and what queries of it give.

#![expect(clippy::needless_pass_by_value, reason = "json! literals read best when passed by value")]

use super::*;
use serde_json::{Value, json};

type Request = (i64, &'static str, f64, bool, &'static str);

const ROWS: [Request; 5] = [
    (0, "web", 10.0, false, "a, b"),
    (1, "cart", 30.0, true, ""),
    (2, "web", 20.0, true, "Connection refused"),
    (3, "web-2", f64::NAN, false, ""),
    (4, "cart", 40.0, false, ""),
];

fn requests() -> Table<'static, Request> {
    let time = |second| Cell::Time(eog_core::Timestamp::from_second(second).unwrap());
    Table::new(ROWS.to_vec())
        .column("time", Kind::Time, move |row: &Request| time(row.0))
        .column("service", Kind::Text, |row| Cell::text(row.1))
        .column("ms", Kind::Number, |row| Some(row.2).filter(|ms| !ms.is_nan()).into())
        .column("failed", Kind::Flag, |row| Cell::Flag(row.3))
        .column("note", Kind::Text, |row| Cell::text(row.4))
        .hidden()
}

fn ask(asked: Value) -> Result<Value, String> {
    let query: Query = serde_json::from_value(asked).map_err(|error| error.to_string())?;
    let page = query.run(&requests()).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(page).unwrap())
}

/// The milliseconds of the rows that a query chooses.
fn chosen(asked: Value) -> Vec<Value> {
    let page = ask(asked.clone()).unwrap_or_else(|error| panic!("{asked}: {error}"));
    page["rows"].as_array().unwrap().iter().map(|row| row["ms"].clone()).collect()
}

#[test]
fn every_operator_chooses_its_rows() {
    let cases = [
        (json!({"service": "web"}), json!([10.0, 20.0])),
        (json!({"service": "web*"}), json!([10.0, 20.0, null])),
        (json!({"service": "we?"}), json!([10.0, 20.0])),
        (json!({"service": "web-2,cart"}), json!([30.0, null, 40.0])),
        (json!({"service": ["web-2", "cart"]}), json!([30.0, null, 40.0])),
        (json!({"service": "!=web,cart"}), json!([null])),
        (json!({"note": "~REFUSED"}), json!([20.0])),
        (json!({"note": "!~refused"}), json!([10.0, 30.0, null, 40.0])),
        (json!({"note": "=~^Conn.*d$"}), json!([20.0])),
        (json!({"note": "a, b"}), json!([10.0])),
        (json!({"note": ""}), json!([30.0, null, 40.0])),
        (json!({"ms": ">20"}), json!([30.0, 40.0])),
        (json!({"ms": ">=20"}), json!([30.0, 20.0, 40.0])),
        (json!({"ms": "<20"}), json!([10.0])),
        (json!({"ms": "<=20"}), json!([10.0, 20.0])),
        (json!({"ms": 20}), json!([20.0])),
        (json!({"ms": "!=20"}), json!([10.0, 30.0, null, 40.0])),
        (json!({"ms": ""}), json!([null])),
        (json!({"failed": true}), json!([30.0, 20.0])),
        (json!({"failed": "!=true"}), json!([10.0, null, 40.0])),
        (json!({"time": ">=1970-01-01T00:00:03Z"}), json!([null, 40.0])),
        (json!(["service=web", "ms>10"]), json!([20.0])),
        (json!("ms>=40"), json!([40.0])),
        (json!({}), json!([10.0, 30.0, 20.0, null, 40.0])),
    ];
    for (filters, expected) in cases {
        let expected = expected.as_array().unwrap();
        assert_eq!(chosen(json!({"filters": filters})), *expected, "{filters}");
    }
}

#[test]
fn groups_are_summed_up() {
    let page = ask(json!({
        "group_by": "service",
        "aggregates": "count, mean(ms), sum(ms), p50(ms), p95(ms), min(time), max(ms), \
                       count(ms), distinct(failed)",
        "filters": {"service": "web,cart"},
    }));
    let rows = page.unwrap()["rows"].clone();
    assert_eq!(
        rows[0],
        json!({
            "service": "cart", "count": 2, "mean(ms)": 35.0, "sum(ms)": 70.0, "p50(ms)": 35.0,
            "p95(ms)": 39.5, "min(time)": "1970-01-01T00:00:01Z", "max(ms)": 40.0,
            "count(ms)": 2, "distinct(failed)": 2,
        })
    );
    let empty = ask(json!({"filters": {"service": "web-2"}, "aggregates": ["mean(ms)", "count"]}));
    assert_eq!(empty.unwrap()["rows"], json!([{"mean(ms)": null, "count": 1}]));
}

#[test]
fn the_largest_group_comes_first_unless_something_else_is_asked() {
    let services = |sort: Value| -> Vec<Value> {
        let page = ask(json!({"group_by": ["service"], "sort": sort})).unwrap();
        page["rows"].as_array().unwrap().iter().map(|row| row["service"].clone()).collect()
    };
    assert_eq!(services(json!([])), ["cart", "web", "web-2"]);
    assert_eq!(services(json!("count,-service")), ["web-2", "web", "cart"]);
}

#[test]
fn nothing_sorts_last_either_way() {
    let null = Value::Null;
    let down = [json!(40.0), json!(30.0), json!(20.0), json!(10.0), null.clone()];
    assert_eq!(chosen(json!({"sort": "-ms"})), down);
    let up = [json!(10.0), json!(20.0), json!(30.0), json!(40.0), null];
    assert_eq!(chosen(json!({"sort": "ms"})), up);
}

#[test]
fn a_page_says_what_it_leaves_out() {
    let page = ask(json!({"limit": 2, "offset": 1, "columns": "note"})).unwrap();
    assert_eq!(
        page,
        json!({
            "rows": [{"note": null}, {"note": "Connection refused"}],
            "total": 5, "offset": 1, "limit": 2,
            "left_out": "2 more rows; continue with offset 3",
        })
    );
    let all = ask(json!({"limit": 0})).unwrap();
    assert_eq!((&all["limit"], all.get("left_out")), (&json!(MAX_LIMIT), None));
    let behind = ask(json!({"offset": 9})).unwrap();
    assert_eq!(behind["left_out"], "the offset is beyond the last of 5 rows");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let cases = [
        (json!({"filters": {"servic": "web"}}), "did you mean service?"),
        (json!({"filters": {"xyz": "web"}}), "the columns are time, service, ms, failed, note"),
        (json!({"filters": {"ms": "many"}}), "ms is a number, and \"many\" is not"),
        (json!({"filters": {"time": ">soon"}}), "write times as"),
        (json!({"filters": {"ms": "~5"}}), "ms holds a number, not text"),
        (json!({"filters": {"service": ">5"}}), "service holds text"),
        (json!({"filters": {"note": "=~("}}), "is not a valid pattern"),
        (json!({"filters": {"note": "=~(a{1000}){1000}"}}), "is not a valid pattern"),
        (json!({"filters": ["service"]}), "is not a condition"),
        (json!({"group_by": "servce"}), "group_by: there is no column \"servce\""),
        (json!({"aggregates": "p95"}), "write count, or FUNCTION(COLUMN)"),
        (json!({"aggregates": "mode(ms)"}), "unknown function \"mode\""),
        (json!({"aggregates": "mean(service)"}), "service holds text"),
        (json!({"sort": "-secs"}), "sort: there is no column \"secs\""),
        (json!({"window": "now"}), "is not a window"),
        (json!({"window": "1970-01-01T00:00:01Z/1970-01-01T00:00:01Z"}), "must end after"),
    ];
    for (asked, expected) in cases {
        let error = ask(asked.clone()).unwrap_err();
        assert!(error.contains(expected), "{asked}: {error}");
    }
    let many: Vec<String> = (0..100).map(|n| format!("ms={n}")).collect();
    assert!(ask(json!({"filters": many})).unwrap_err().contains("more than 32 conditions"));
    let long = "*".repeat(2000);
    assert!(ask(json!({"filters": {"note": long}})).unwrap_err().contains("longer than"));
}

#[test]
fn a_name_that_is_given_twice_counts_once() {
    let twice = Query {
        group_by: Names(vec!["service".into(), "service".into()]),
        aggregates: Names(vec!["count".into(), "count".into()]),
        limit: Some(1),
        ..Query::default()
    };
    assert_eq!(twice.run(&requests()).unwrap().rows[0].columns(), ["service", "count"]);
}
