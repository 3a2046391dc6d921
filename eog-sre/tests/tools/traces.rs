//! `get_trace_error_tree`.

use eog_sre::tools::Toolbox;
use serde_json::{Value, json};

use crate::golden::recordings;
use crate::support::Recording;
use crate::{call, opened, refusal};

const TOOL: &str = "get_trace_error_tree";

/// Ten minutes of load → web → {cart → store (a host that sends nothing), mail → post}. From 10:05 on the
/// store fails every second call, the cart takes longer, and nothing goes to mail any more.
fn shop() -> Recording {
    let mut recording = Recording::new();
    let store = "Client cart 5 {'server.address': 'store'}";
    let store_fails = "!Client cart 5 {'server.address': 'store'}";
    for second in 0..600 {
        let late = second >= 300;
        let clock = format!("10:{:02}:{:02}.5", second / 60, second % 60);
        if second % 5 == 0 {
            let fails = late && second % 10 == 0;
            let bad = if fails { "!" } else { "" };
            let ms = if late { 90 } else { 30 };
            recording.trace(
                &clock,
                &[
                    "Client load 100",
                    &format!("{bad}Server web {}", ms + 65),
                    &format!("{bad}Client web 92"),
                    &format!("{bad}Server cart {ms}"),
                    if fails { store_fails } else { store },
                ],
            );
        }
        if second % 10 == 0 && !late {
            recording.trace(
                &clock,
                &[
                    "Client load 50",
                    "Server web 40",
                    "Client web 30",
                    "Server mail 20",
                    "Client mail 15",
                    "Server post 10",
                ],
            );
        }
    }
    // Only what the cluster or telemetry knows is a host.
    recording.file(
        "metrics/service_store_raw.tsv",
        "metric_name\ttimestamp\tvalue\tservice_name\tnamespace\ttags\n\
         up\t2026-01-01 10:00:00\t1\tstore\tshop\t{}\n",
    );
    recording
}

fn tree(toolbox: &Toolbox, arguments: Value) -> Value {
    call(toolbox, TOOL, arguments)
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let rows = list["rows"].as_array().unwrap();
    rows.iter().map(|row| row[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn critical_paths_end_where_it_began() {
    let toolbox = opened(&shop());
    let answer = tree(&toolbox, json!({"pivot": "2026-01-01T10:05:00Z"}));
    let critical = &answer["critical_paths"];
    assert_eq!(
        texts(critical, "path"),
        ["load → web → cart → store", "load → web → mail", "load → web → cart"],
        "{critical:#}"
    );
    let shifts: Vec<&Value> =
        critical["rows"].as_array().unwrap().iter().map(|row| &row["shifts"]).collect();
    assert_eq!(shifts, [&json!(["errors"]), &json!(["gone"]), &json!(["latency"])]);
    let store = &critical["rows"][0];
    let hops: Vec<&Value> =
        store["hops"].as_array().unwrap().iter().map(|hop| &hop["service"]).collect();
    assert_eq!(
        hops,
        ["shop/Service/load", "shop/Service/web", "shop/Service/cart", "shop/Service/store"]
    );
    // A request counts once at each service, whatever happens inside.
    assert_eq!(store["hops"][1]["before"]["requests"], 90);
    assert_eq!(store["hops"][1]["shifts"], json!(["errors", "latency"]));
    assert_eq!(store["hops"][3]["before"]["error_percent"], 0.0);
    assert_eq!(store["hops"][3]["after"]["error_percent"], 50.0);
    let sample = &store["sample_errors"][0];
    assert_eq!((&sample["count"], sample["span"].as_str()), (&json!(30), Some("cart work")));
    assert!(sample["message"].as_str().unwrap().starts_with("no answer to "), "{sample}");
    assert_eq!(sample["at"], "2026-01-01T10:05:00.5Z");
}

#[test]
fn services_calls_and_paths_are_compared() {
    let toolbox = opened(&shop());
    let answer = tree(&toolbox, json!({"pivot": "2026-01-01T10:05:00Z"}));
    assert_eq!(answer["summary"]["before"], json!({"traces": 90, "spans": 480, "failed_spans": 0}));
    assert_eq!(
        answer["summary"]["after"],
        json!({"traces": 60, "spans": 300, "failed_spans": 120})
    );
    let cart = &answer["services"]["rows"][0];
    assert_eq!(cart["service"], "shop/Service/cart");
    assert_eq!(cart["shifts"], json!(["errors", "latency"]));
    assert_eq!(cart["before"]["requests"], 60);
    assert_eq!((&cart["before"]["p95_ms"], &cart["after"]["p95_ms"]), (&json!(30.0), &json!(90.0)));
    assert_eq!(cart["after"]["failed"], 30);
    let calls = answer["calls"]["rows"].as_array().unwrap();
    let ends: Vec<(&str, &str)> = calls
        .iter()
        .map(|call| (call["caller"].as_str().unwrap(), call["callee"].as_str().unwrap()))
        .collect();
    for wanted in [("web", "cart"), ("cart", "store"), ("load", "web"), ("web", "mail")] {
        let wanted =
            (&*format!("shop/Service/{}", wanted.0), &*format!("shop/Service/{}", wanted.1));
        assert!(ends.contains(&wanted), "{wanted:?} in {ends:?}");
    }
    assert_eq!(
        texts(&answer["paths"], "path"),
        ["load → web → cart → store", "load → web → mail → post"]
    );
    let mail = &answer["paths"]["rows"][1];
    assert_eq!((&mail["before"], &mail["after"]), (&json!(30), &json!(0)));
}

#[test]
fn thresholds_a_service_and_pages_narrow_the_answer() {
    let toolbox = opened(&shop());
    let pivot = "2026-01-01T10:05:00Z";
    let strict = json!({"pivot": pivot, "error_threshold": 60, "latency_threshold": 500});
    assert_eq!(texts(&tree(&toolbox, strict)["critical_paths"], "path"), ["load → web → mail"]);
    let mail = tree(&toolbox, json!({"pivot": pivot, "entity": "mail"}));
    assert_eq!(mail["service"], "shop/Service/mail");
    assert_eq!(texts(&mail["critical_paths"], "path"), ["load → web → mail"]);
    assert_eq!(texts(&mail["paths"], "path"), ["load → web → mail → post"]);
    assert_eq!(mail["calls"]["total"], 2);
    let second = tree(&toolbox, json!({"pivot": pivot, "limit": 1, "offset": 1}));
    assert_eq!(texts(&second["critical_paths"], "path"), ["load → web → mail"]);
    assert_eq!(second["critical_paths"]["left_out"], "1 more row; continue with offset 2");
}

#[test]
fn without_a_pivot_the_alert_tells_it_and_else_the_middle() {
    let mut recording = shop();
    let middle = tree(&opened(&recording), json!({}));
    assert_eq!(middle["pivot"], json!({"at": "2026-01-01T10:04:58Z", "basis": "middle"}));
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop"});
    recording.alert("10:30:00", labels, "2026-01-01T10:05:00Z");
    let alert = tree(&opened(&recording), json!({"delta": "2m"}));
    assert_eq!(alert["pivot"], json!({"at": "2026-01-01T10:05:00Z", "basis": "alert"}));
    assert_eq!(alert["before"]["start"], "2026-01-01T10:03:00Z");
    assert_eq!(alert["after"]["end"], "2026-01-01T10:07:00Z");
}

#[test]
fn a_period_without_a_recording_is_no_silence() {
    let toolbox = opened(&shop());
    let answer = tree(&toolbox, json!({"pivot": "2026-01-01T10:20:00Z", "delta": "15m"}));
    assert_eq!(answer["critical_paths"]["total"], 0, "{:#}", answer["critical_paths"]);
    let note = answer["notes"][0].as_str().unwrap();
    assert!(note.starts_with("no traces were recorded after the pivot"), "{note}");
    let empty = tree(&opened(&Recording::new()), json!({}));
    assert_eq!(empty["notes"][0], "the snapshot has no spans");
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let toolbox = opened(&shop());
    let cases = [
        (json!({"entity": "carts"}), "entity: there is no entity \"carts\"; "),
        (
            json!({"error_threshold": 120}),
            "error_threshold: 120 is out of range; give a percentage from 0 to 100",
        ),
        (json!({"delta": "0s"}), "delta: must not be zero; give a duration such as 5m"),
        (
            json!({"pivot": "9999-12-30T22:00:00Z", "delta": "800h"}),
            "pivot: the time is out of range",
        ),
        (
            json!({"pivots": 1}),
            "invalid arguments for get_trace_error_tree: unknown field `pivots`",
        ),
    ];
    for (arguments, expected) in cases {
        let refused = refusal(&toolbox, TOOL, arguments);
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn circles_of_parents_and_endless_chains_are_bounded() {
    let recording = Recording::new();
    let mut rows = String::from(
        "Timestamp\tTraceId\tSpanId\tParentSpanId\tSpanName\tSpanKind\tServiceName\tDuration\n",
    );
    let mut row = |id: u64, parent: u64, service: &str| {
        rows.push_str(&format!(
            "2026-01-01 10:00:00\t1\t{id:016x}\t{parent:016x}\tx\tServer\t{service}\t5\n"
        ));
    };
    row(1, 2, "a");
    row(2, 1, "b");
    row(3, 3, "c");
    for deep in 0..3000 {
        row(100 + deep, 99 + deep, if deep % 2 == 0 { "d" } else { "e" });
    }
    recording.file("otel_traces_raw.tsv", rows);
    let answer = tree(&opened(&recording), json!({"pivot": "2026-01-01T10:00:00Z", "limit": 0}));
    for path in texts(&answer["paths"], "path") {
        assert!(path.split(" → ").count() <= 32, "{path}");
    }
    assert!(answer["notes"].to_string().contains("paths were cut"), "{}", answer["notes"]);
}

#[test]
fn the_recorded_stream_that_times_out_is_found() {
    let Some(folder) = recordings() else { return };
    let recording = Recording::new();
    let traces = std::fs::read(folder.join("scenario-2-partial/otel_traces_raw.tsv")).unwrap();
    // The last record of the recording is cut; this ends it as the source did.
    let mut traces = String::from_utf8(traces).unwrap().trim_end().to_owned();
    traces.push_str(&format!("\n>\"{}\n", "\t[]".repeat(7)));
    recording.file("otel_traces_raw.tsv", traces);
    let toolbox = opened(&recording);
    let answer = tree(&toolbox, json!({"pivot": "2025-12-15T17:17:00Z"}));
    assert_eq!(answer["summary"]["after"]["failed_spans"], 1, "{answer:#}");
    let paths = texts(&answer["paths"], "path");
    assert_eq!(paths, ["recommendation"], "{paths:?}");
}
