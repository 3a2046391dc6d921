use std::collections::BTreeMap;

use eog_evidence::Bundle;

use super::*;

/// Files by name, imported together.
fn imported(files: &[(&str, &[u8])]) -> (Result<ImportReport, String>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for (name, content) in files {
        let path = folder.path().join("in").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        inputs.push(path);
    }
    let options = ImportOptions { name: "night".to_owned(), ..ImportOptions::default() };
    let read = import(&inputs, &options, &folder.path().join("out"));
    (read.map_err(|error| error.to_string()), folder)
}

const OTLP: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"GET","kind":2,"startTimeUnixNano":"1767261600000000000","endTimeUnixNano":"1767261600250000000","status":{}}]}]}]}"#;

const METRICS: &str = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeMetrics":[{"scope":{},"metrics":[{"name":"queue.size","unit":"1","gauge":{"dataPoints":[{"timeUnixNano":"1767261600000000000","asDouble":5}]}}]}]}]}"#;

fn pretty(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn every_kind_is_recognized_by_its_content() {
    let batches = OTLP.replace("resourceSpans", "batches");
    let result = format!("{{\"result\":{OTLP}}}");
    let jaeger = r#"{"data":[{"traceID":"t","spans":[{"traceID":"t","spanID":"a","operationName":"GET","startTime":1767261600000000,"duration":2500,"tags":[],"processID":"p1"}],"processes":{"p1":{"serviceName":"web","tags":[]}}}]}"#;
    let pod = r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pay-5d8-bbb","namespace":"shop","creationTimestamp":"2026-01-01T09:00:00Z"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T10:00:00Z"}],"containerStatuses":[{"name":"pay","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","finishedAt":"2026-01-01T10:00:00Z"}}}]}}]}"#;
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: pay-1\n  namespace: shop\n  creationTimestamp: \"2026-01-01T09:00:00Z\"\nstatus:\n  phase: Running\n  conditions:\n  - type: Ready\n    status: \"True\"\n    lastTransitionTime: \"2026-01-01T09:01:00Z\"\n";
    let table = "LAST SEEN   TYPE      REASON    OBJECT            MESSAGE\n5m          Warning   BackOff   pod/pay-5d8-bbb   Back-off restarting failed container\n";
    let described = "Name:         pay-5d8-bbb\nNamespace:    shop\nLabels:       app=pay\nEvents:\n  Type     Reason   Age   From     Message\n  ----     ------   ----  ----     -------\n  Warning  BackOff  5m (x10 over 20m)  kubelet  Back-off restarting failed container\n";
    let git = "commit 0123456789012345678901234567890123456789\nAuthor: A <a@b.c>\nDate:   Thu Jan 1 10:00:00 2026 +0000\n\n    raise the limit\n";
    let matrix = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up","job":"cart"},"values":[[1767261600,"1"],[1767261660,"0"]]}]}}"#;
    let loki = r#"{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"cart"},"values":[["1767261600000000000","ERROR no answer"]]}]}}"#;
    let elastic = r#"{"took":1,"hits":{"hits":[{"_source":{"@timestamp":"2026-01-01T10:00:00Z","message":"no answer","service":{"name":"cart"},"log":{"level":"error"}}}]}}"#;
    let victoria = r#"{"_msg":"no answer","_time":"2026-01-01T10:00:00Z","_stream":"{}","service":"cart","level":"error"}"#;
    let alerts =
        r#"[{"labels":{"alertname":"Slow","service":"cart"},"startsAt":"2026-01-01T10:00:00Z"}]"#;
    let zipkin = r#"[{"traceId":"t","id":"a","kind":"SERVER","name":"get","timestamp":1767261600000000,"duration":1000,"localEndpoint":{"serviceName":"cart"}}]"#;
    let kiali = r#"{"elements":{"nodes":[{"data":{"id":"a","workload":"web","namespace":"shop"}},{"data":{"id":"b","service":"cart","namespace":"shop"}}],"edges":[{"data":{"source":"a","target":"b"}}]}}"#;
    let compose = "services:\n  web:\n    image: w\n    depends_on: [cart]\n    environment:\n      DB: postgres://u@db:5432/x\n  cart:\n    image: c\n  db:\n    image: p\n";
    let dump = format!(
        "{}\n==== START logs for container pay of pod shop/pay-5d8-bbb ====\n2026-01-01T10:00:00Z ERROR out of memory\n==== END logs for container pay of pod shop/pay-5d8-bbb ====\n",
        pretty(pod)
    );
    let cases: Vec<(&str, String, &str, &str)> = vec![
        ("one.json", OTLP.to_owned(), "OTLP JSON", "1 spans"),
        ("lines.json", format!("{OTLP}\n{OTLP}\n"), "OTLP JSON", "2 spans"),
        ("pretty.json", pretty(OTLP), "OTLP JSON", "1 spans"),
        ("metrics.json", METRICS.to_owned(), "OTLP JSON", "1 points"),
        ("metric-lines.json", format!("{METRICS}\n{METRICS}\n"), "OTLP JSON", "2 points"),
        ("pretty-metrics.json", pretty(METRICS), "OTLP JSON", "1 points"),
        ("tempo.json", batches, "Tempo answer", "1 spans"),
        ("v3.json", pretty(&result), "Jaeger v3 answer", "1 spans"),
        ("jaeger.json", pretty(jaeger), "Jaeger answer", "1 spans"),
        ("zipkin.json", zipkin.to_owned(), "Zipkin v2", "1 spans"),
        ("pods.json", pretty(pod), "Kubernetes objects", "1 objects"),
        ("pod.yaml", yaml.to_owned(), "Kubernetes objects", "1 objects"),
        ("events.txt", table.to_owned(), "kubectl get events", "1 events"),
        ("describe.txt", described.to_owned(), "kubectl describe", "1 events"),
        ("dump.txt", dump, "Kubernetes objects, log lines", "1 objects, 1 log lines"),
        ("range.json", matrix.to_owned(), "Prometheus answer", "1 series, 2 points"),
        ("loki.json", loki.to_owned(), "Loki answer", "1 log lines"),
        ("elastic.json", pretty(elastic), "Elasticsearch answer", "1 log lines"),
        ("victoria.jsonl", format!("{victoria}\n{victoria}\n"), "VictoriaLogs", "2 log lines"),
        ("alerts.json", pretty(alerts), "Alertmanager alerts (api/v2)", "1 alerts"),
        ("graph.json", kiali.to_owned(), "Kiali graph", "1 edges"),
        ("compose.yml", compose.to_owned(), "compose file", "3 services"),
        ("git.txt", git.to_owned(), "git log", "1 changes"),
        ("panel.csv", "\"Time\",\"latency {service=\"\"cart\"\"}\"\n2026-01-01 10:00:00,1.5\n2026-01-01 10:01:00,\n".to_owned(), "CSV panel", "1 series, 1 points"),
        ("datadog.csv", "timestamp,series,value\n1767261600000,service:cart,1.5\n".to_owned(), "CSV panel", "1 series, 1 points"),
        ("compose.log", "cart-1  | 2026-01-01T10:00:00Z ERROR no answer\nweb-1   | 2026-01-01T10:00:01Z ok\n".to_owned(), "log lines", "2 log lines"),
        ("cart.log", "2026-01-01 10:00:00,123 ERROR [main] no answer\n\tat a.b.C\n".to_owned(), "log lines", "1 log lines"),
        ("pino.log", "{\"time\":1767261600000,\"level\":50,\"msg\":\"no answer\"}\n".to_owned(), "JSON log lines", "1 log lines"),
        ("go.log", "ts=2026-01-01T10:00:00Z level=error msg=\"no answer\"\n".to_owned(), "log lines", "1 log lines"),
        ("access.log", "10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] \"GET /cart HTTP/1.1\" 503 12 \"-\" \"curl\"\n".to_owned(), "log lines", "1 log lines"),
        ("envoy.log", "[2026-01-01T10:00:00.123Z] \"GET /cart HTTP/1.1\" 503 UF 0 91 3 - \"-\"\n".to_owned(), "log lines", "1 log lines"),
        ("access.json", "{\"start_time\":\"2026-01-01T10:00:00Z\",\"method\":\"GET\",\"path\":\"/cart\",\"response_code\":503,\"response_flags\":\"UF\"}\n".to_owned(), "JSON log lines", "1 log lines"),
        ("syslog", "<11>1 2026-01-01T10:00:00Z host cart 12 - - no answer\n".to_owned(), "log lines", "1 log lines"),
        ("messages", "<11>Jan  1 10:00:00 host cart[12]: no answer\n".to_owned(), "log lines", "1 log lines"),
        ("klog.log", "E0101 10:00:00.000000       1 main.go:12] no answer\n".to_owned(), "log lines", "1 log lines"),
        ("nginx.log", "2026/01/01 10:00:00 [error] 12#12: *1 connect() failed\n".to_owned(), "log lines", "1 log lines"),
    ];
    let mut wrong = Vec::new();
    for (name, content, kind, taken) in &cases {
        let (read, _folder) = imported(&[(name, content.as_bytes())]);
        match read {
            Ok(report) => {
                let account = &report.files[0];
                let listed = account.taken.iter().map(|(what, count)| format!("{count} {what}"));
                let listed = listed.collect::<Vec<_>>().join(", ");
                if account.kind != *kind || listed != *taken || account.lost > 0 {
                    wrong.push(format!("{name}: {} {account:?}", account.in_words()));
                }
            }
            // A compose file alone is a topology without records.
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_broken_or_unknown_is_one_clear_line_and_nothing_else_is_lost() {
    let cases: Vec<(&str, &[u8], &str)> = vec![
        ("cut.json", &OTLP.as_bytes()[..100], "broken JSON"),
        ("other.json", br#"{"foo": 1}"#, "found an object with foo"),
        ("noise.bin", &[0, 1, 2, 255, 0], "binary, and not OTLP"),
        ("packed.zip", b"PK\x03\x04....", "unpack it"),
        ("prose.txt", b"it was slow yesterday\nvery\n", "2 lines without a time"),
        ("bad.yaml", b"kind: Pod\n  broken: [\n", "broken YAML"),
        (
            "error.json",
            br#"{"status":"error","error":"parse error","data":{"resultType":"matrix"}}"#,
            "parse error",
        ),
        ("alert.json", br#"[{"labels":{"job":"x"}}]"#, "no label alertname"),
        ("table.csv", b"time,a\nyesterday,1\n", "a row without a time"),
    ];
    for (name, content, expected) in cases {
        let (alone, _folder) = imported(&[(name, content)]);
        assert!(alone.unwrap_err().contains(expected), "{name}");
        let (beside, folder) = imported(&[(name, content), ("good.json", OTLP.as_bytes())]);
        let report = beside.unwrap();
        let words = report.files[0].in_words();
        assert!(words.contains(expected) && words.lines().count() == 1, "{name}: {words}");
        assert!(report.files[1].is_whole());
        assert!(report.capture.missing.iter().any(|it| it.contains(name)), "{name}");
        assert_eq!(Bundle::read(&folder.path().join("out")).unwrap().spans().count(), 1);
    }
    let half = format!("{OTLP}\n{{broken\n{OTLP}\n");
    let (read, _folder) = imported(&[("half.json", half.as_bytes())]);
    let report = read.unwrap();
    assert_eq!((report.files[0].lost, report.files[0].taken[0].1), (1, 2));
}

#[test]
fn archives_and_folders_are_read() {
    let mut tar = tar::Builder::new(Vec::new());
    let line = b"2026-01-01T10:00:00Z ERROR out of memory\n";
    for name in
        ["bundle/cluster-resources/pods/logs/shop/pay-1/pay.log", "dump/shop/pay-1/logs.txt"]
    {
        let mut header = tar::Header::new_gnu();
        header.set_size(line.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, name, &line[..]).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &tar).unwrap();
    let packed = gzip.finish().unwrap();
    let (read, folder) =
        imported(&[("support.tar.gz", &packed), ("ground_truth.yaml", b"kind: Pod\n")]);
    let report = read.unwrap();
    let kinds: Vec<&str> = report.files.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["log lines", "log lines", ""]);
    let bundle = Bundle::read(&folder.path().join("out")).unwrap();
    let who: Vec<&str> = bundle.recorded().map(eog_core::EntityId::as_str).collect();
    assert_eq!(who, ["shop/Pod/pay-1"]);
}

#[test]
fn a_dump_of_a_cluster_gives_topology_states_and_the_alert_its_pod() {
    let object = |kind: &str, name: &str, more: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"{kind}\",\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"shop\",\"creationTimestamp\":\"2026-01-01T09:00:00Z\",\"labels\":{{\"app\":\"{}\"}}{}",
            name.split('-').next().unwrap(),
            more
        )
    };
    let pods = [
        object(
            "Pod",
            "pay-5d8-bbb",
            r#","ownerReferences":[{"kind":"ReplicaSet","name":"pay-5d8","controller":true}]},"spec":{"nodeName":"w1","containers":[{"name":"pay","env":[{"name":"DB","value":"postgres://u@db.shop.svc:5432/x"}]}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T10:00:00Z"}],"containerStatuses":[{"name":"pay","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}"#,
        ),
        object(
            "ReplicaSet",
            "pay-5d8",
            r#","ownerReferences":[{"kind":"Deployment","name":"pay","controller":true}]}}"#,
        ),
        object("Service", "pay", r#"},"spec":{"selector":{"app":"pay"}}}"#),
        object("Service", "db", r#"},"spec":{"selector":{"app":"db"}}}"#),
    ];
    let list =
        format!("{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{}]}}", pods.join(","));
    let alert = r#"{"version":"4","groupKey":"g","alerts":[{"status":"firing","labels":{"alertname":"KubePodCrashLooping","namespace":"shop","pod":"pay-5d8-bbb","job":"kube-state-metrics","service":"kps-kube-state-metrics"},"startsAt":"2026-01-01T10:05:00Z"}]}"#;
    // Without an alert, what failed lately is where to start.
    let (_, alone) = imported(&[("cluster.json", list.as_bytes())]);
    let incident = Bundle::read(&alone.path().join("out")).unwrap().incident();
    assert!(incident.anomalies.is_empty() && incident.window.is_some());
    let (read, folder) =
        imported(&[("cluster.json", list.as_bytes()), ("alert.json", alert.as_bytes())]);
    let report = read.unwrap();
    let bundle = Bundle::read(&folder.path().join("out")).unwrap();
    let incident = bundle.incident();
    assert_eq!(incident.anomalies[0].entity.as_str(), "shop/Pod/pay-5d8-bbb");
    let edges: BTreeMap<(String, String), String> = incident
        .topology
        .edges()
        .map(|edge| ((edge.source.to_string(), edge.target.to_string()), edge.relation.clone()))
        .collect();
    let has = |a: &str, b: &str| edges.contains_key(&(a.to_owned(), b.to_owned()));
    assert!(has("shop/Pod/pay-5d8-bbb", "shop/pay") && has("shop/pay", "shop/db"), "{edges:?}");
    let notes = report.capture.notes.join("\n");
    assert!(
        notes.contains(
            "1 edges are inferred from connection strings and names: shop/pay calls shop/db"
        ),
        "{notes}"
    );
    let states: Vec<_> = bundle.all_states().map(|it| (it.entity.as_str(), it.state)).collect();
    assert!(
        states.contains(&("shop/Pod/pay-5d8-bbb", eog_evidence::ObjectState::Failing)),
        "{states:?}"
    );
}

#[test]
fn calls_follow_from_the_hosts_that_log_lines_name() {
    let gateway = r#"10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] "GET /cart HTTP/1.1" 503 12 "http://web/" "curl" upstream_addr=cart:8080
"#;
    let web = r#"{"start_time":"2026-01-01T10:00:00Z","request":"GET /pay HTTP/1.1","response_code":503,"response_flags":"UF","upstream_cluster":"outbound|8080||pay.shop.svc.cluster.local"}
"#;
    let cart = "2026-01-01T10:00:00Z ERROR cannot reach postgres://shop:hunter2@db:5432/orders\n";
    let other = |name: &str| {
        format!("2026-01-01T10:00:00Z ERROR {name} is gone, see https://example.com/help\n")
    };
    let (db, pay) = (other("disk"), other("queue"));
    let (read, folder) = imported(&[
        ("gateway.log", gateway.as_bytes()),
        ("web.log", web.as_bytes()),
        ("cart.log", cart.as_bytes()),
        ("db.log", db.as_bytes()),
        ("pay.log", pay.as_bytes()),
    ]);
    let expected = "3 edges are inferred from hosts in log lines: cart calls db; gateway calls cart; web calls pay";
    let notes = read.unwrap().capture.notes;
    assert!(notes.iter().any(|note| note == expected), "{notes:?}");
    let incident = Bundle::read(&folder.path().join("out")).unwrap().incident();
    let edges: Vec<String> = incident
        .topology
        .edges()
        .map(|edge| format!("{} {} {}", edge.source, edge.relation, edge.target))
        .collect();
    assert_eq!(edges, ["cart calls db", "gateway calls cart", "web calls pay"]);
    let lines = std::fs::read_to_string(folder.path().join("out/logs.csv")).unwrap();
    let access = r#",web,error,"""GET /pay HTTP/1.1"" 503 UF upstream_cluster=outbound|8080||pay.shop.svc.cluster.local","#;
    assert!(lines.contains(access), "{lines}");
}

#[test]
fn metrics_of_otlp_are_joined_over_lines_and_files() {
    let export = |seconds: u64, value: u64| {
        let sum = format!(
            r#"{{"name":"orders.placed","sum":{{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{{"timeUnixNano":"{}","asInt":"{value}"}}]}}}}"#,
            1_767_261_600_000_000_000 + seconds * 1_000_000_000
        );
        METRICS.replace(r#"{"name":"queue.size","unit":"1","gauge":{"dataPoints":[{"timeUnixNano":"1767261600000000000","asDouble":5}]}}"#, &sum)
    };
    let first = format!("{}\n{}\n", export(0, 60), export(60, 120));
    let (read, folder) =
        imported(&[("a.jsonl", first.as_bytes()), ("b.jsonl", export(120, 240).as_bytes())]);
    let report = read.unwrap();
    assert!(report.files.iter().all(FileAccount::is_whole), "{report:?}");
    let bundle = Bundle::read(&folder.path().join("out")).unwrap();
    let [series] = &bundle.series().collect::<Vec<_>>()[..] else { panic!("one series") };
    let values: Vec<f64> = series.points.iter().map(|(_, value)| *value).collect();
    assert_eq!((series.metric.as_str(), values), ("orders.placed", vec![1.0, 2.0]));
}

#[test]
fn more_lines_than_a_bundle_holds_are_thinned_out_evenly_and_reported() {
    let spool = |grave: u64, other: u64| {
        let mut spool = Spool::new(None).unwrap();
        for at in 0..grave + other {
            let level = if at < grave { "error" } else { "info" };
            let line = records::line(
                i64::try_from(at).unwrap() + 1,
                &Who::service("a"),
                level,
                "x".repeat(400),
                "",
            );
            spool.put(&line).unwrap();
        }
        spool
    };
    let folder = tempfile::tempdir().unwrap();
    let bounds = |lines, bytes| logs::Bounds { lines, bytes };
    let few = spool(3, 4).write(&folder.path().join("few.csv"), BOUNDS).unwrap();
    assert_eq!((few.kept, few.in_words()), (7, None));
    // By number, and by length: a line takes some 440 bytes.
    for most in [bounds(110, 1 << 20), bounds(1 << 20, 50_000)] {
        let many = spool(10, 200).write(&folder.path().join("many.csv"), most).unwrap();
        assert!((10 + 60..=10 + 100).contains(&many.kept), "{}", many.kept);
        let words = many.in_words().unwrap();
        assert!(words.contains(&format!("{} of 210 log lines are kept", many.kept)), "{words}");
        assert!(words.contains("one of 1 errors and warnings"), "{words}");
    }
    let grave =
        spool(200, 0).write(&folder.path().join("grave.csv"), bounds(100, 1 << 20)).unwrap();
    assert_eq!(grave.kept, 50);
    let mut of_a_time = Spool::new(Some((5, 7))).unwrap();
    for at in 1..=10 {
        let line = records::line(at * 1_000_000, &Who::service("a"), "info", "x".into(), "");
        of_a_time.put(&line).unwrap();
    }
    assert_eq!(of_a_time.outside(), 7);
    assert_eq!(of_a_time.write(&folder.path().join("time.csv"), BOUNDS).unwrap().kept, 3);
}
