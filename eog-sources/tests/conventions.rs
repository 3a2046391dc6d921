//! Every convention of metrics, asked of a real Prometheus: its questions are ones that it takes, and its answers
//! come out under the right names.

#![expect(clippy::unwrap_used, reason = "the helpers of all tests: one that cannot go on fails")]

#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod real;

use std::collections::BTreeMap;
use std::path::Path;

use eog_core::Window;
use eog_evidence::Bundle;
use eog_sources::{CaptureReport, SourceConfig, capture};
use real::shop::{BEGAN, at};
use real::{Past, Server, program};

/// How long the past is, in seconds.
const LASTS: i64 = 900;

/// What a series is: a level, or a counter that grows by so much a second.
#[derive(Clone, Copy)]
enum Is {
    Level(f64),
    Grows(f64),
}
use Is::{Grows, Level};

/// Series as exporters have them: of a node exporter, cAdvisor, kube-state-metrics, client libraries, queues, the
/// blackbox exporter, meshes, instrumentations of requests, and recording rules.
const SERIES: &[(&str, Is)] = &[
    ("up{job='node',instance='10.0.0.1:9100'}", Level(1.0)),
    ("node_uname_info{job='node',instance='10.0.0.1:9100',nodename='node-a'}", Level(1.0)),
    (
        "node_cpu_seconds_total{job='node',instance='10.0.0.1:9100',cpu='0',mode='idle'}",
        Grows(0.25),
    ),
    (
        "node_cpu_seconds_total{job='node',instance='10.0.0.1:9100',cpu='0',mode='user'}",
        Grows(0.75),
    ),
    ("node_memory_MemAvailable_bytes{job='node',instance='10.0.0.1:9100'}", Level(2e9)),
    ("node_memory_MemTotal_bytes{job='node',instance='10.0.0.1:9100'}", Level(8e9)),
    (
        "node_filesystem_avail_bytes{job='node',instance='10.0.0.1:9100',fstype='ext4',mountpoint='/'}",
        Level(1e9),
    ),
    (
        "node_filesystem_size_bytes{job='node',instance='10.0.0.1:9100',fstype='ext4',mountpoint='/'}",
        Level(1e10),
    ),
    (
        "node_filesystem_avail_bytes{job='node',instance='10.0.0.1:9100',fstype='tmpfs',mountpoint='/run'}",
        Level(0.0),
    ),
    (
        "node_filesystem_size_bytes{job='node',instance='10.0.0.1:9100',fstype='tmpfs',mountpoint='/run'}",
        Level(1e6),
    ),
    (
        "node_disk_io_time_seconds_total{job='node',instance='10.0.0.1:9100',device='sda'}",
        Grows(0.5),
    ),
    (
        "node_network_receive_errs_total{job='node',instance='10.0.0.1:9100',device='eth0'}",
        Grows(2.0),
    ),
    (
        "node_network_transmit_errs_total{job='node',instance='10.0.0.1:9100',device='eth0'}",
        Grows(1.0),
    ),
    ("node_vmstat_oom_kill{job='node',instance='10.0.0.1:9100'}", Grows(0.0)),
    ("process_cpu_seconds_total{job='node',instance='10.0.0.1:9100'}", Grows(0.01)),
    ("process_cpu_seconds_total{job='cart',instance='10.0.0.1:80'}", Grows(0.5)),
    ("process_resident_memory_bytes{job='cart',instance='10.0.0.1:80'}", Level(1e8)),
    ("process_open_fds{job='cart',instance='10.0.0.1:80'}", Level(90.0)),
    ("process_max_fds{job='cart',instance='10.0.0.1:80'}", Level(100.0)),
    ("up{job='cart',instance='10.0.0.1:80'}", Level(1.0)),
    ("up{job='cart',instance='10.0.0.2:80'}", Level(0.0)),
    ("jvm_memory_used_bytes{job='cart',instance='10.0.0.1:80',area='heap',id='old'}", Level(6e8)),
    ("jvm_memory_max_bytes{job='cart',instance='10.0.0.1:80',area='heap',id='old'}", Level(8e8)),
    ("hikaricp_connections_active{job='cart',instance='10.0.0.1:80',pool='p'}", Level(9.0)),
    ("hikaricp_connections_max{job='cart',instance='10.0.0.1:80',pool='p'}", Level(10.0)),
    ("hikaricp_connections_pending{job='cart',instance='10.0.0.1:80',pool='p'}", Level(4.0)),
    ("kafka_consumergroup_lag{job='kafka',consumergroup='g',topic='t',partition='0'}", Level(40.0)),
    ("rabbitmq_queue_messages_ready{job='rabbit',queue='q'}", Level(7.0)),
    ("probe_success{job='probe',instance='https://shop.example'}", Level(1.0)),
    ("probe_duration_seconds{job='probe',instance='https://shop.example'}", Level(0.3)),
    (
        "container_cpu_usage_seconds_total{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Grows(0.4),
    ),
    (
        "container_cpu_usage_seconds_total{job='kubelet',namespace='shop',pod='db-1',container=''}",
        Grows(0.4),
    ),
    (
        "container_memory_working_set_bytes{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Level(9e8),
    ),
    (
        "container_spec_memory_limit_bytes{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Level(1e9),
    ),
    (
        "container_cpu_cfs_throttled_periods_total{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Grows(2.0),
    ),
    (
        "container_cpu_cfs_periods_total{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Grows(10.0),
    ),
    (
        "container_oom_events_total{job='kubelet',namespace='shop',pod='db-1',container='db'}",
        Grows(0.0),
    ),
    // As it is where `honor_labels` is true, and where it is not.
    (
        "kube_pod_container_status_restarts_total{job='ksm',namespace='shop',pod='db-1',container='db'}",
        Grows(0.1),
    ),
    ("kube_pod_status_ready{job='ksm',namespace='shop',pod='db-1',condition='true'}", Level(0.0)),
    (
        "kube_pod_status_ready{job='ksm',namespace='mon',pod='ksm-0',exported_namespace='shop',exported_pod='web-1',condition='true'}",
        Level(1.0),
    ),
    ("kube_pod_info{job='ksm',namespace='shop',pod='db-1',node='node-a'}", Level(1.0)),
    (
        "kube_pod_owner{job='ksm',namespace='shop',pod='db-1',owner_kind='StatefulSet',owner_name='db'}",
        Level(1.0),
    ),
    (
        "kube_pod_owner{job='ksm',namespace='mon',pod='ksm-0',exported_namespace='shop',exported_pod='web-1',owner_kind='ReplicaSet',owner_name='web-6f'}",
        Level(1.0),
    ),
    (
        "kube_replicaset_owner{job='ksm',namespace='mon',pod='ksm-0',exported_namespace='shop',replicaset='web-6f',owner_kind='Deployment',owner_name='web'}",
        Level(1.0),
    ),
    (
        "kube_deployment_status_replicas_available{job='ksm',namespace='shop',deployment='web'}",
        Level(1.0),
    ),
    ("kube_deployment_spec_replicas{job='ksm',namespace='shop',deployment='web'}", Level(4.0)),
    (
        "kube_statefulset_status_replicas_ready{job='ksm',namespace='shop',statefulset='db'}",
        Level(1.0),
    ),
    ("kube_statefulset_replicas{job='ksm',namespace='shop',statefulset='db'}", Level(2.0)),
    (
        "kube_daemonset_status_number_ready{job='ksm',namespace='shop',daemonset='agent'}",
        Level(3.0),
    ),
    (
        "kube_daemonset_status_desired_number_scheduled{job='ksm',namespace='shop',daemonset='agent'}",
        Level(3.0),
    ),
    (
        "http_server_request_duration_seconds_count{job='cart',instance='10.0.0.1:80',http_response_status_code='200'}",
        Grows(3.0),
    ),
    (
        "http_server_request_duration_seconds_count{job='cart',instance='10.0.0.1:80',http_response_status_code='500'}",
        Grows(1.0),
    ),
    (
        "http_server_request_duration_seconds_sum{job='cart',instance='10.0.0.1:80',http_response_status_code='200'}",
        Grows(0.6),
    ),
    (
        "http_server_request_duration_seconds_sum{job='cart',instance='10.0.0.1:80',http_response_status_code='500'}",
        Grows(0.2),
    ),
    ("http_server_requests_seconds_count{job='spring',status='200',outcome='SUCCESS'}", Grows(4.0)),
    ("http_server_requests_seconds_sum{job='spring',status='200',outcome='SUCCESS'}", Grows(0.4)),
    ("grpc_server_handled_total{job='rpc',grpc_code='OK'}", Grows(3.0)),
    ("grpc_server_handled_total{job='rpc',grpc_code='Unavailable'}", Grows(1.0)),
    (
        "istio_requests_total{reporter='destination',source_workload='web',destination_service_name='cart',response_code='503',namespace='shop'}",
        Grows(1.0),
    ),
    (
        "istio_requests_total{reporter='source',source_workload='web',destination_service_name='cart',response_code='503',namespace='shop'}",
        Grows(1.0),
    ),
    ("traces_service_graph_request_total{client='web',server='mail'}", Grows(2.0)),
    ("traces_service_graph_request_failed_total{client='web',server='mail'}", Grows(1.0)),
    ("job:http_errors:ratio_rate5m{job='cart'}", Level(0.25)),
    ("instance:node_cpu_utilisation:rate5m{job='node',instance='10.0.0.1:9100'}", Level(0.75)),
    ("own_level{job='node',instance='10.0.0.1:9100'}", Level(5.0)),
];

/// What is to come of them: entity, metric, the value at the end.
const EXPECTED: &[(&str, &str, f64)] = &[
    ("Host/node-a", "node_cpu_used_ratio", 0.75),
    ("Host/node-a", "node_memory_used_ratio", 0.75),
    ("Host/node-a", "node_filesystem_used_ratio", 0.9),
    ("Host/node-a", "node_disk_busy_ratio", 0.5),
    ("Host/node-a", "node_network_errors", 3.0),
    ("Host/node-a", "node_oom_kills", 0.0),
    ("Host/node-a", "instance:node_cpu_utilisation:rate5m", 0.75),
    ("Host/node-a", "own", 5.0),
    ("cart", "process_cpu_cores", 0.5),
    ("cart", "process_memory_bytes", 1e8),
    ("cart", "process_open_files_ratio", 0.9),
    ("cart", "jvm_heap_used_ratio", 0.75),
    ("cart", "connection_pool_used_ratio", 0.9),
    ("cart", "connection_pool_waiting", 4.0),
    ("cart", "up", 0.5),
    ("kafka", "kafka_consumer_lag", 40.0),
    ("rabbit", "rabbitmq_queue_messages_ready", 7.0),
    ("probe", "probe_success_ratio", 1.0),
    ("probe", "probe_duration_seconds", 0.3),
    ("shop/Pod/db-1", "container_cpu_cores", 0.4),
    ("shop/Pod/db-1", "container_memory_working_set_bytes", 9e8),
    ("shop/Pod/db-1", "container_memory_used_ratio", 0.9),
    ("shop/Pod/db-1", "container_cpu_throttled_ratio", 0.2),
    ("shop/Pod/db-1", "container_oom_events", 0.0),
    // So many in the range of a rate, which is four times the interval of 15 s.
    ("shop/Pod/db-1", "kube_pod_restarts", 6.0),
    ("shop/Pod/db-1", "kube_pod_ready_ratio", 0.0),
    ("shop/Pod/web-1", "kube_pod_ready_ratio", 1.0),
    ("shop/web", "kube_deployment_available_ratio", 0.25),
    ("shop/db", "kube_statefulset_ready_ratio", 0.5),
    ("shop/agent", "kube_daemonset_ready_ratio", 1.0),
    ("cart", "http_server_request_duration_seconds requests", 4.0),
    ("cart", "http_server_request_duration_seconds error rate", 0.25),
    ("cart", "http_server_request_duration_seconds mean duration", 200.0),
    ("spring", "http_server_requests_seconds mean duration", 100.0),
    ("spring", "http_server_requests_seconds error rate", 0.0),
    ("rpc", "grpc_server_handled error rate", 0.25),
    ("cart", "istio_requests error rate", 1.0),
    ("mail", "traces_service_graph_request error rate", 0.5),
    ("cart", "job:http_errors:ratio_rate5m", 0.25),
];

/// A Prometheus that saw all of it.
fn started(folder: &Path) -> Option<Server> {
    let found = program("prometheus")?;
    let mut past = Past::default();
    for (series, is) in SERIES {
        let series = series.replace('\'', "\"");
        // A family of its own: the text must not give a name a suffix that its type does not allow.
        let family = series.split('{').next().unwrap_or_default().to_owned();
        let points = (0..=LASTS / 15).map(|step| {
            let seconds = step * 15;
            let value = match is {
                Level(value) => *value,
                Grows(rate) => rate * seconds as f64,
            };
            (BEGAN + seconds, value)
        });
        past.add(&family, "unknown", &series, points);
    }
    past.write(folder);
    Some(Server::prometheus(&found, folder, "global:\n  scrape_interval: 1h\n"))
}

async fn captured(server: &Server, more: &str, out: &Path) -> CaptureReport {
    let text = format!(
        "history = '5m'\n[prometheus]\nurl = '{}'\n{more}\n[[prometheus.series]]\nmetric = 'own'\nquery = 'own_level'\nsignal = 'saturation'\n",
        server.url()
    );
    let config = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
    let window = Window::new(at(LASTS - 300), at(LASTS)).unwrap();
    capture(&config, Some(window), at(LASTS + 60), out, &|_| {}).await.unwrap()
}

/// The last value of each series of a capture, by entity and metric.
fn last(out: &Path) -> BTreeMap<(String, String), f64> {
    let text = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split(',').skip(1);
        let mut next = || cells.next().unwrap().to_owned();
        ((next(), next()), next().parse().unwrap())
    });
    rows.collect()
}

#[tokio::test]
async fn what_every_convention_asks_is_answered_under_the_right_names() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = started(folder.path()) else { return };
    let out = folder.path().join("out");
    let report = captured(&server, "", &out).await;
    assert_eq!(report.missing, [""; 0]);
    let last = last(&out);
    for (entity, metric, expected) in EXPECTED {
        let found = last.get(&((*entity).to_owned(), (*metric).to_owned()));
        let found = found.unwrap_or_else(|| panic!("{metric} of {entity}: {:#?}", last.keys()));
        let is_right = (found - expected).abs() <= expected.abs() * 0.02;
        assert!(is_right, "{metric} of {entity}: {found}, not {expected}");
    }
    let conventions = include_str!("../src/prometheus/conventions.toml");
    for line in conventions.lines().filter_map(|line| line.strip_prefix("metric = ")) {
        let metric = line.trim_matches('"');
        assert!(EXPECTED.iter().any(|(_, known, _)| *known == metric), "{metric} is not tried");
    }
    // Neither what the node exporter itself needs, nor the sum of a pod beside its containers.
    assert!(!last.contains_key(&("Host/node-a".to_owned(), "process_cpu_cores".to_owned())));
    let incident = Bundle::read(&out).unwrap().incident();
    let edges: Vec<String> = incident
        .topology
        .edges()
        .map(|it| format!("{} {} {}", it.source, it.relation, it.target))
        .collect();
    for expected in [
        "shop/Pod/db-1 runs_on Host/node-a",
        "shop/Pod/db-1 backs shop/db",
        "shop/Pod/web-1 backs shop/web",
        "cart runs_on Host/node-a",
        "shop/web calls cart",
        "shop/web calls mail",
    ] {
        assert!(edges.iter().any(|edge| edge == expected), "{expected}: {edges:#?}");
    }
}

#[tokio::test]
async fn a_server_that_takes_few_samples_at_once_is_asked_for_less() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = started(folder.path()) else { return };
    let whole = folder.path().join("whole");
    captured(&server, "", &whole).await;
    drop(server);
    let found = program("prometheus").unwrap();
    let settings = "global:\n  scrape_interval: 1h\n";
    // Half of a range fits, the whole does not.
    let few = Server::prometheus_with(&found, folder.path(), settings, &["--query.max-samples=60"]);
    let halved = folder.path().join("halved");
    let report = captured(&few, "scrape_interval = '15s'", &halved).await;
    let read = |out: &Path| std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    let (whole, halved) = (read(&whole), read(&halved));
    let of = |text: &str, metric: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains(metric)).map(str::to_owned).collect()
    };
    assert_eq!(of(&whole, "probe_success_ratio"), of(&halved, "probe_success_ratio"), "{report:?}");
    assert!(!of(&whole, "probe_success_ratio").is_empty());
    // What holds too much even in parts is said.
    drop(few);
    let none = Server::prometheus_with(&found, folder.path(), settings, &["--query.max-samples=1"]);
    let report = captured(&none, "scrape_interval = '15s'", &folder.path().join("none")).await;
    let missing = report.missing.join("\n");
    assert!(missing.contains("too many samples"), "{missing}");
}
