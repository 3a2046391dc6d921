//! `metric_analysis` and `get_metric_anomalies`.

use std::fmt::Write as _;
use std::fs;

use eog_sre::tools::Toolbox;
use serde_json::{Value, json};

use crate::golden::recordings;
use crate::support::{Recording, workload};
use crate::{call, opened, refusal};

const ANALYSIS: &str = "metric_analysis";
const ANOMALIES: &str = "get_metric_anomalies";

/// The file of a pod or service of the shop, as `clock metric value tags`.
fn file(recording: &Recording, subject: &str, name: &str, rows: &[(String, &str, f64, &str)]) {
    let column = if subject == "pod" { "pod_name" } else { "service_name" };
    let mut text = format!("metric_name\ttimestamp\tvalue\t{column}\tnamespace\ttags\n");
    for (clock, metric, value, tags) in rows {
        writeln!(text, "{metric}\t2026-01-01 {clock}\t{value}\t{name}\tshop\t{tags}").unwrap();
    }
    recording.file(&format!("metrics/{subject}_{name}_raw.tsv"), text);
}

fn clock(minute: i32) -> String {
    format!("10:{minute:02}:00")
}

/// Forty minutes. Each pod uses 100 (then `busy`) of memory in two containers and burns CPU; the
/// web serves ten calls a minute, of which from 10:20 on every second fails, and takes longer.
fn shop() -> Recording {
    let recording = Recording::new();
    for (pod, busy) in [("cart-1", 500.0), ("mail-1", 100.0)] {
        let mut rows = Vec::new();
        for minute in 0..40 {
            let late = minute >= 20;
            let noise = f64::from(minute % 3);
            let memory = if late { busy } else { 100.0 } + noise;
            rows.push((clock(minute), "memory_bytes", memory, "{'container': 'main'}"));
            rows.push((clock(minute), "memory_bytes", 10.0, "{'container': 'side'}"));
            rows.push((clock(minute), "memory_limit_bytes", 1000.0, "{'container': 'main'}"));
            rows.push((clock(minute), "cpu_seconds_total", f64::from(minute) * 6.0, "{}"));
        }
        file(&recording, "pod", pod, &rows);
    }
    let mut rows = Vec::new();
    for minute in 0..40 {
        let (early, late) = (f64::from(minute.min(20)), f64::from((minute - 20).max(0)));
        let good = "{'status_code': 'STATUS_CODE_UNSET', 'span_kind': 'server'}";
        let bad = "{'status_code': 'STATUS_CODE_ERROR', 'span_kind': 'server'}";
        rows.push((clock(minute), "calls_total", 10.0 * early + 5.0 * late, good));
        rows.push((clock(minute), "calls_total", 5.0 * late, bad));
        for (le, early_share, late_share) in
            [("10", 10.0, 0.0), ("100", 10.0, 10.0), ("+Inf", 10.0, 10.0)]
        {
            let tags = match le {
                "10" => "{'le': '10'}",
                "100" => "{'le': '100'}",
                _ => "{'le': '+Inf'}",
            };
            let value = early_share * early + late_share * late;
            rows.push((clock(minute), "took_milliseconds_bucket", value, tags));
        }
    }
    file(&recording, "service", "web", &rows);
    recording
}

fn rows(toolbox: &Toolbox, arguments: Value) -> Vec<Value> {
    call(toolbox, ANALYSIS, arguments)["rows"].as_array().unwrap().clone()
}

#[test]
fn each_series_stands_alone_unless_it_is_grouped() {
    let toolbox = opened(&shop());
    let alone = rows(&toolbox, json!({"metrics": "memory_bytes", "entity": "cart-1"}));
    assert_eq!(
        alone,
        [
            json!({"entity": "shop/Pod/cart-1", "metric": "memory_bytes", "labels": "container=main",
                "count": 40, "mean": 300.975, "min": 100.0, "max": 502.0, "p95": 502.0, "last": 500.0}),
            json!({"entity": "shop/Pod/cart-1", "metric": "memory_bytes", "labels": "container=side",
                "count": 40, "mean": 10.0, "min": 10.0, "max": 10.0, "p95": 10.0, "last": 10.0}),
        ]
    );
    // Groups never mix metrics.
    let arguments = json!({"metrics": "memory_*", "entity": "pod/*", "group_by": "namespace",
        "aggregates": "count,max", "filters": {"container": "main"}});
    assert_eq!(
        rows(&toolbox, arguments),
        [
            json!({"namespace": "shop", "metric": "memory_bytes", "count": 80, "max": 502.0}),
            json!({"namespace": "shop", "metric": "memory_limit_bytes", "count": 80, "max": 1000.0}),
        ]
    );
}

#[test]
fn entities_are_named_in_full_in_short_or_by_pattern() {
    let mut recording = shop();
    recording.file(
        "metrics/pod_shelf-6d5f7c8b9-abcde_raw.tsv",
        "metric_name\ttimestamp\tvalue\tpod_name\tnamespace\ttags\n\
         up\t2026-01-01 10:00:00\t1\tshelf-6d5f7c8b9-abcde\tshop\t{}\n",
    );
    recording.object("10:00:00", workload("Deployment", "shelf", json!({"name": "c"}), json!([])));
    let toolbox = opened(&recording);
    for (entity, metric, series) in [
        ("shop/Pod/cart-1", "*", 4),
        ("cart-1", "*", 4),
        ("pod/cart*", "*", 4),
        ("Pod/*", "memory_bytes", 4),
        ("*-1", "memory_limit_bytes", 2),
        ("service/web", "calls_total", 2),
        ("*", "calls_total", 2),
        // A workload stands for its pods.
        ("shop/Deployment/shelf", "*", 1),
        ("deployment/shelf", "up", 1),
    ] {
        let found = rows(&toolbox, json!({"entity": entity, "metrics": metric, "limit": 0}));
        assert_eq!(found.len(), series, "{entity} {metric}");
    }
}

#[test]
fn counters_give_growth_and_histograms_what_was_observed() {
    let toolbox = opened(&shop());
    let arguments = json!({"metrics": "cpu_seconds_total", "entity": "cart-1",
        "aggregates": "increase,rate", "window": "2026-01-01T10:10:00Z/2026-01-01T10:20:00Z"});
    let [cpu] = &rows(&toolbox, arguments)[..] else { panic!() };
    assert_eq!((&cpu["increase"], &cpu["rate"]), (&json!(60.0), &json!(0.1)));
    let arguments = json!({"metrics": "took_milliseconds_bucket", "aggregates": "count,p50,mean",
        "window": "2026-01-01T10:21:00Z/"});
    let [took] = &rows(&toolbox, arguments)[..] else { panic!() };
    assert_eq!(
        (&took["count"], &took["p50"], &took["mean"]),
        (&json!(190), &json!(55.0), &Value::Null)
    );
    let by_bound =
        rows(&toolbox, json!({"metrics": "took_*", "group_by": "le", "aggregates": "last"}));
    let bounds: Vec<&str> = by_bound.iter().map(|row| row["le"].as_str().unwrap()).collect();
    assert_eq!(bounds, ["+Inf", "10", "100"]);
    assert_eq!(by_bound[1]["last"], 200.0);
}

#[test]
fn buckets_give_a_row_for_each_length_of_time() {
    let toolbox = opened(&shop());
    let arguments = json!({"metrics": "memory_bytes", "filters": {"container": "main", "name": "cart-1"},
        "group_by": "entity", "aggregates": "min", "bucket": "15m",
        "window": {"start": "2026-01-01T10:05:00Z"}});
    assert_eq!(
        rows(&toolbox, arguments),
        [
            json!({"entity": "shop/Pod/cart-1", "metric": "memory_bytes",
                "from": "2026-01-01T10:05:00Z", "min": 100.0}),
            json!({"entity": "shop/Pod/cart-1", "metric": "memory_bytes",
                "from": "2026-01-01T10:15:00Z", "min": 100.0}),
            json!({"entity": "shop/Pod/cart-1", "metric": "memory_bytes",
                "from": "2026-01-01T10:30:00Z", "min": 500.0}),
        ]
    );
}

#[test]
fn derived_metrics_are_columns() {
    let toolbox = opened(&shop());
    let arguments = json!({"derive": {
        "error_percent": "calls_total{status_code=\"*ERROR\"} / calls_total * 100",
        "good": "increase(calls_total{status_code!=\"*ERROR\"})"
    }});
    assert_eq!(
        rows(&toolbox, arguments),
        [json!({"entity": "shop/Service/web", "error_percent": 24.3590, "good": 295.0})]
    );
    let arguments = json!({"derive": "used = max(memory_bytes) / memory_limit_bytes * 100",
        "sort": "-used", "bucket": "20m"});
    let used = rows(&toolbox, arguments);
    let shares: Vec<(&str, f64)> = used
        .iter()
        .map(|row| (row["entity"].as_str().unwrap(), row["used"].as_f64().unwrap()))
        .collect();
    assert_eq!(
        shares,
        [
            ("shop/Pod/cart-1", 50.2),
            ("shop/Pod/cart-1", 10.2),
            ("shop/Pod/mail-1", 10.2),
            ("shop/Pod/mail-1", 10.2),
        ]
    );
    // A service without failures has none; one without the metric has no share.
    let arguments = json!({"derive": "x = rate(calls_total{status_code=\"nothing\"}) / memory_limit_bytes",
        "group_by": "namespace"});
    assert_eq!(rows(&toolbox, arguments), [json!({"namespace": "shop", "x": 0.0})]);
    let arguments = json!({"derive": "x = calls_total / memory_limit_bytes"});
    assert!(rows(&toolbox, arguments).iter().all(|row| row["x"].is_null()));
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let toolbox = opened(&shop());
    let cases = [
        (
            json!({"metrics": "memory_byte"}),
            "metrics: there is no metric \"memory_byte\"; did you mean memory_bytes",
        ),
        (
            json!({"entity": "shop/Pod/cart-2"}),
            "entity: there is no entity \"shop/Pod/cart-2\"; did you mean shop/Pod/cart-1",
        ),
        (
            json!({"group_by": "containr"}),
            "group_by: there is no column or label \"containr\"; did you mean container",
        ),
        (
            json!({"filters": {"contaner": "x"}}),
            "filters: there is no column or label \"contaner\"; did you mean container",
        ),
        (
            json!({"aggregates": "p98"}),
            "aggregates: there is no statistic \"p98\"; the statistics are mean, sum,",
        ),
        (
            json!({"derive": "x = calls_total /"}),
            "derive: x: at character 14: expected a metric, a number",
        ),
        (
            json!({"derive": "x = call_total"}),
            "derive: there is no metric \"call_total\"; did you mean calls_total",
        ),
        (
            json!({"derive": "x = calls_total{status=\"1\"}"}),
            "derive: there is no column or label \"status\"; did you mean status_code",
        ),
        (
            json!({"derive": "calls_total"}),
            "invalid arguments for metric_analysis: \"calls_total\" has no name",
        ),
        (json!({"derive": "entity = calls_total"}), "derive: a column \"entity\" already exists"),
        (
            json!({"derive": "x = calls_total", "metrics": "calls_total"}),
            "metrics: cannot be combined with derive",
        ),
        (json!({"bucket": 0}), "bucket: must not be zero"),
    ];
    for (arguments, expected) in cases {
        let refused = refusal(&toolbox, ANALYSIS, arguments);
        assert!(refused.starts_with(expected), "{refused}");
    }
}

fn anomalies(toolbox: &Toolbox, arguments: Value) -> Value {
    call(toolbox, ANOMALIES, arguments)
}

#[test]
fn series_that_left_their_range_are_given_with_their_onset() {
    let toolbox = opened(&shop());
    let answer = anomalies(&toolbox, json!({"pivot": "2026-01-01T10:15:00Z"}));
    let rows: Vec<(&str, &str, &str, &str)> = answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap();
            (text("entity"), text("metric"), text("measure"), text("onset"))
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("shop/Service/web", "calls_total", "error_ratio", "2026-01-01T10:21:00Z"),
            ("shop/Service/web", "took_milliseconds_bucket", "p95", "2026-01-01T10:21:00Z"),
            ("shop/Pod/cart-1", "memory_bytes", "level", "2026-01-01T10:20:00Z"),
        ],
        "{answer:#}"
    );
    let ratio = &answer["rows"][0];
    assert_eq!(
        (&ratio["baseline"], &ratio["observed"], &ratio["unit"]),
        (&json!(0.0), &json!(0.5), &json!("ratio"))
    );
    let memory = &answer["rows"][2];
    assert_eq!(memory["labels"], "container=main");
    assert_eq!((&memory["baseline"], &memory["observed"]), (&json!(101.0), &json!(501.0)));
    assert_eq!((&memory["points"], &memory["trend"]), (&json!(20), &json!("rising")));
    assert_eq!(memory["sigmas"], 269.796);
    // Two containers, a limit and a rate for each pod; two measures of calls and one of a histogram.
    assert_eq!((&answer["compared"], &answer["too_short"]), (&json!(11), &json!(0)));
}

#[test]
fn one_metric_never_hides_another() {
    // A threshold over all metrics of the file would be as wide as the largest one is high.
    let recording = Recording::new();
    let mut rows = Vec::new();
    for minute in 0..30 {
        let noise = f64::from(minute % 5) * 1e8;
        rows.push((clock(minute), "disk_bytes", 1e9 + noise, "{}"));
        rows.push((clock(minute), "queue", if minute < 20 { 3.0 } else { 9.0 }, "{}"));
    }
    file(&recording, "pod", "cart-1", &rows);
    let answer = anomalies(&opened(&recording), json!({"entity": "cart-1"}));
    assert_eq!(answer["pivot"]["basis"], "middle");
    assert_eq!(answer["total"], 1, "{answer:#}");
    assert_eq!(answer["rows"][0]["metric"], "queue");
    assert_eq!(answer["rows"][0]["onset"], "2026-01-01T10:20:00Z");
}

#[test]
fn the_pivot_follows_the_alert_and_what_is_too_short_is_counted() {
    let mut recording = shop();
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop"});
    recording.alert("10:30:00", labels, "2026-01-01T10:20:30Z");
    let toolbox = opened(&recording);
    let answer = anomalies(
        &toolbox,
        json!({"entity": "shop/Service/web", "columns": "metric", "sort": "onset"}),
    );
    assert_eq!(answer["pivot"], json!({"at": "2026-01-01T10:20:30Z", "basis": "alert"}));
    assert_eq!(
        answer["rows"],
        json!([{"metric": "calls_total"}, {"metric": "took_milliseconds_bucket"}])
    );
    let early = anomalies(&toolbox, json!({"pivot": "2026-01-01T10:02:00Z"}));
    assert_eq!((&early["compared"], &early["total"]), (&json!(0), &json!(0)));
    assert_eq!(early["too_short"], 11);
    let empty = anomalies(&opened(&Recording::new()), json!({}));
    assert_eq!((&empty["compared"], &empty["rows"]), (&json!(0), &json!([])));
}

#[test]
fn the_recorded_histogram_counts_each_row_once() {
    let Some(folder) = recordings() else { return };
    let recording = Recording::new();
    let name = "metrics/service_frontend-proxy_raw.tsv";
    recording.file(name, fs::read(folder.join("scenario-2-partial").join(name)).unwrap());
    let toolbox = opened(&recording);
    let found =
        rows(&toolbox, json!({"group_by": "span_kind,status_code,le", "aggregates": "count,last"}));
    // Eleven rows of which four stand there twice.
    assert_eq!(found.len(), 7, "{found:#?}");
    assert!(found.iter().all(|row| row["count"] == 1), "{found:#?}");
    let server = found.iter().find(|row| row["le"] == "2000").unwrap();
    assert_eq!(
        (&server["span_kind"], &server["last"]),
        (&json!("SPAN_KIND_SERVER"), &json!(5050.0))
    );
}
