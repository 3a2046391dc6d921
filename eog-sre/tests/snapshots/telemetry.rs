//! Findings from spans, metrics and logs.

use eog_core::EvidenceKind;
use eog_core::evidence::{PeerRole, Signal, Trend};
use serde_json::json;

use crate::support::{Recording, Span, id, lines, table, window, workload};

/// An alert that puts the pivot at 10:10.
fn recording() -> Recording {
    let mut recording = Recording::new();
    let labels = json!({"alertname": "ErrorRate", "service_name": "web", "namespace": "shop"});
    recording.alert("10:15:00", labels, "2026-01-01T10:10:00Z");
    recording
}

#[test]
fn spans_show_errors_latency_and_traffic_of_each_relation() {
    let mut recording = recording();
    for minute in 0..20 {
        let late = minute >= 10;
        for at in 0..if late { 12 } else { 4 } {
            let failed = late && at % 3 == 0;
            let (root, call) = (format!("a{minute:02}{at:02}"), format!("b{minute:02}{at:02}"));
            let at = format!("10:{minute:02}:{:02}", at * 3);
            let ms = if late { 300 } else { 20 };
            let span = |ids: (&str, &str), kind, service, failed| Span {
                at: at.clone(),
                ids: ("t", ids.0.to_owned(), ids.1.to_owned()),
                name: "GET /",
                kind,
                service,
                ms,
                failed,
                attributes: "{}",
            };
            recording.span(span((&root, ""), "Server", "web", failed));
            recording.span(span((&call, &root), "SPAN_KIND_SERVER", "cart", failed));
        }
    }
    let context = recording.context();
    let window = window("10:00:00", "10:20:00");
    let web = context.page(&id("shop/Service/web"), window, 1);
    let lines_of_page = lines(&web);
    let own = |signal, role: Option<PeerRole>| {
        web.findings.iter().find(|finding| {
            finding.kind == EvidenceKind::Span
                && finding.signal == signal
                && finding.peer.as_ref().map(|peer| peer.role) == role
        })
    };
    let errors = own(Signal::Errors, None).unwrap_or_else(|| panic!("{lines_of_page:#?}"));
    let quantity = errors.quantity.as_ref().unwrap();
    assert_eq!(quantity.baseline, Some(0.0));
    // Each third fails from 10:10 on. Errors can have begun a few requests before the first that is
    // seen: the control ends before those, and the incident has them.
    assert!((0.28..=1.0 / 3.0).contains(&quantity.observed), "{quantity:?}");
    let onset = errors.onset.unwrap();
    assert_eq!(onset.latest().to_string(), "2026-01-01T10:10:00Z");
    assert!(onset.earliest().to_string().as_str() >= "2026-01-01T10:06", "{onset}");
    assert!(errors.excerpt.contains("no answer"), "{}", errors.excerpt);
    assert_eq!(own(Signal::Latency, None).unwrap().trend, Trend::Rising);
    assert_eq!(own(Signal::Traffic, None).unwrap().trend, Trend::Rising);
    assert!(own(Signal::Errors, Some(PeerRole::Callee)).is_some(), "{lines_of_page:#?}");

    let cart = context.page(&id("shop/Service/cart"), window, 1);
    let caller = cart.findings.iter().find(|finding| {
        finding.signal == Signal::Traffic
            && finding.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Caller)
    });
    assert_eq!(caller.unwrap().peer.as_ref().unwrap().entity, id("shop/Service/web"));
}

#[test]
fn histograms_counters_and_gauges_are_each_compared_in_their_way() {
    let recording = recording();
    let header = [
        "metric_name",
        "timestamp",
        "value",
        "service_name",
        "namespace",
        "bucket_le",
        "tags",
        "metric_type",
        "status_code",
    ];
    let mut rows = Vec::new();
    for minute in 0..20_u32 {
        let late = minute.saturating_sub(10);
        let mut add = |metric: &str, value: u32, le: &str, kind: &str, status: &str| {
            let tags = "{'span_kind': 'SPAN_KIND_SERVER', 'instance': 'x'}";
            let at = format!("2026-01-01 10:{minute:02}:00");
            let value = value.to_string();
            let row = [metric, &at, &value, "web", "shop", le, tags, kind, status];
            for _ in 0..2 {
                rows.push(row.map(str::to_owned).to_vec());
            }
        };
        let all = minute * 60;
        add("calls_total", all - late * 20, "", "error_rate", "STATUS_CODE_UNSET");
        add("calls_total", late * 20, "", "error_rate", "STATUS_CODE_ERROR");
        add("duration_milliseconds_bucket", all - late * 50, "10.0", "duration_p95", "");
        add("duration_milliseconds_bucket", all, "500.0", "duration_p95", "");
        add("duration_milliseconds_bucket", all, "+Inf", "duration_p95", "");
        // How long requests took is no number of requests.
        add("duration_milliseconds_sum", all + late * 900, "", "", "STATUS_CODE_UNSET");
        add("duration_milliseconds_sum", late * 300, "", "", "STATUS_CODE_ERROR");
    }
    recording.file("metrics/service_web_raw.tsv", table(&header, rows.into_iter()));
    let window = window("10:00:00", "10:20:00");
    let page = recording.context().page(&id("shop/Service/web"), window, 1);
    let lines_of_page = lines(&page);
    let of = |signal| {
        let mut found = page.findings.iter();
        found.find(|f| f.kind == EvidenceKind::Metric && f.signal == signal)
    };
    let errors = of(Signal::Errors).unwrap_or_else(|| panic!("{lines_of_page:#?}"));
    assert!(errors.quantity.as_ref().unwrap().observed > 0.25, "{lines_of_page:#?}");
    assert_eq!(errors.quantity.as_ref().unwrap().baseline, Some(0.0));
    let latency = of(Signal::Latency).unwrap_or_else(|| panic!("{lines_of_page:#?}"));
    let quantity = latency.quantity.as_ref().unwrap();
    assert!(quantity.observed > 400.0 && quantity.baseline.unwrap() < 10.0, "{quantity:?}");
    assert!(of(Signal::Traffic).is_none(), "{lines_of_page:#?}");
    let metrics = page.findings.iter().filter(|f| f.kind == EvidenceKind::Metric);
    // One more adds the failures up: the account of what alerts report.
    let accounts: Vec<_> = metrics.clone().filter(|f| f.query.ends_with(" calls")).collect();
    assert_eq!((metrics.count(), accounts.len()), (3, 1), "{lines_of_page:#?}");
    assert_eq!((accounts[0].signal, &*accounts[0].source), (Signal::Errors, "metrics"));
}

#[test]
fn pods_are_compared_with_their_past_and_with_their_siblings() {
    let mut recording = recording();
    recording.object("10:00:00", workload("Deployment", "web", json!({"name": "c"}), json!([])));
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    for (pod, late_value) in [("web-7d9f-abcde", 900), ("web-7d9f-fghij", 101)] {
        let rows = (0..20).map(|minute| {
            let value = if minute < 10 { 100 + minute % 2 } else { late_value + minute % 2 };
            let at = format!("2026-01-01 10:{minute:02}:00");
            let row = [
                "container_memory_usage_bytes",
                &at,
                &value.to_string(),
                pod,
                "shop",
                "{'container': 'c'}",
            ];
            row.map(str::to_owned).to_vec()
        });
        recording.file(&format!("metrics/pod_{pod}_raw.tsv"), table(&header, rows));
    }
    let context = recording.context();
    let window = window("10:00:00", "10:20:00");
    let pod = context.page(&id("shop/Pod/web-7d9f-abcde"), window, 1);
    let shift = &pod.findings[0];
    assert_eq!((shift.kind, shift.signal), (EvidenceKind::Metric, Signal::Saturation));
    // An early deviation, by attribution.
    assert!(pod.findings[1..].iter().all(|it| it.signal == Signal::Other), "{:#?}", lines(&pod));
    assert!(shift.query.contains("metric_name=container_memory_usage_bytes"), "{}", shift.query);
    assert!(context.page(&id("shop/Pod/web-7d9f-fghij"), window, 1).findings.is_empty());

    let workload = context.page(&id("shop/Deployment/web"), window, 1);
    let odd = workload.findings.iter().find(|finding| finding.excerpt.contains("sibling"));
    let odd = odd.unwrap_or_else(|| panic!("{:#?}", lines(&workload)));
    assert_eq!(odd.entity, id("shop/Deployment/web"));
    assert_eq!(odd.peer.as_ref().unwrap().entity, id("shop/Pod/web-7d9f-abcde"));
}

#[test]
fn log_patterns_that_are_new_or_surge_are_found() {
    let mut recording = recording();
    for minute in 0..20 {
        recording.log(
            &format!("10:{minute:02}:01"),
            "web",
            "9",
            &format!("served request {minute}"),
        );
        if minute >= 10 {
            let text = format!("order {minute} failed: \"no stock\"");
            recording.log(&format!("10:{minute:02}:02"), "web", "17", &text);
        }
    }
    let window = window("10:00:00", "10:20:00");
    let page = recording.context().page(&id("shop/Service/web"), window, 1);
    let logs: Vec<_> =
        page.findings.iter().filter(|finding| finding.kind == EvidenceKind::Log).collect();
    let [new] = logs[..] else { panic!("{:#?}", lines(&page)) };
    assert_eq!(new.signal, Signal::Errors);
    assert!(new.query.ends_with("message=\"order # failed: #\""), "{}", new.query);
}

#[test]
fn log_patterns_that_stay_away_are_found_and_more_of_all_lines_are_one_finding() {
    let mut recording = recording();
    for half_minute in 0..40 {
        let (minute, second) = (half_minute / 2, half_minute % 2 * 30);
        let mut say = |seconds: i32, service: &str, text: &str| {
            recording.log(&format!("10:{minute:02}:{:02}", second + seconds), service, "9", text);
        };
        say(1, "web", &format!("served request {half_minute}"));
        if minute < 10 {
            say(2, "web", "cache refreshed");
        }
        let times = if minute < 10 { 1 } else { 4 };
        for (place, step) in ["begun", "looked up", "priced", "sent"].into_iter().enumerate() {
            for time in 0..times {
                let at = i32::try_from(place).unwrap() + 6 * time;
                say(at, "cart", &format!("order {half_minute} {step}"));
            }
        }
    }
    let window = window("10:00:00", "10:20:00");
    let context = recording.context();
    let excerpts = |entity: &str| -> Vec<String> {
        let page = context.page(&id(entity), window, 1);
        let logs = page.findings.iter().filter(|finding| finding.kind == EvidenceKind::Log);
        logs.map(|finding| finding.excerpt.clone()).collect()
    };
    let [vanished] = &excerpts("shop/Service/web")[..] else {
        panic!("{:#?}", excerpts("shop/Service/web"))
    };
    let expected = "info, 0 times since 2026-01-01T10:09:32Z (normally 19.7): cache refreshed";
    assert_eq!(vanished, expected);
    let [all] = &excerpts("shop/Service/cart")[..] else {
        panic!("{:#?}", excerpts("shop/Service/cart"))
    };
    assert!(all.starts_with("all lines except errors and warnings, "), "{all}");
}
