//! Which metrics are known by their names, and what is asked of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use eog_core::evidence::Signal;
use regex::Regex;
use serde::Deserialize;

/// A level of something, asked as it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gauge {
    pub(super) metric: String,
    pub(super) of: Subject,
    needs: Vec<String>,
    query: String,
    pub(super) signal: Signal,
    pub(super) unit: String,
}

/// What kind of thing a level is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subject {
    Service,
    Host,
    Pod,
    /// What the object of Kubernetes is whose pods are counted: a Deployment and the like.
    Workload,
    /// A service, or a machine for series of a node exporter.
    Either,
}

impl Gauge {
    /// The question in PromQL. `matchers` begins with a comma where there are any.
    pub(super) fn query(&self, by: &str, window: &str, matchers: &str) -> String {
        let query = self.query.replace("{by}", by).replace("{w}", window);
        // `{{m}}` is a selector that has nothing else.
        let alone = format!("{{{}}}", matchers.trim_start_matches(','));
        query.replace("{{m}}", &alone).replace("{m}", matchers)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    gauge: Vec<Gauge>,
}

static GAUGES: LazyLock<Vec<Gauge>> = LazyLock::new(|| {
    let file: Result<File, _> = toml::from_str(include_str!("conventions.toml"));
    // A test reads it.
    file.map(|file| file.gauge).unwrap_or_default()
});

/// Metrics that count requests, by rate, errors and duration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Requests {
    /// The counter of requests.
    pub(super) count: String,
    /// The counter of failed ones, where outcomes are not labels.
    pub(super) failed: Option<String>,
    /// Of durations: their sum, their number, and how many milliseconds the unit has.
    pub(super) duration: Option<(String, String, f64)>,
    /// A matcher without which requests would count twice.
    pub(super) only: &'static str,
    pub(super) ends: Ends,
}

/// Which labels say who served and who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The server is the measured one.
    Served,
    /// The client is the measured one; labels name the server.
    Asked,
    /// Labels name both.
    Both { caller: &'static str, callee: &'static str },
}

/// What there is to ask, by the names of metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) requests: Vec<Requests>,
    pub(super) gauges: Vec<Gauge>,
    /// Metrics that name the version of who exports them.
    pub(super) builds: Vec<String>,
    /// Metrics that say when a configuration was loaded last, in seconds since 1970.
    pub(super) reloads: Vec<String>,
    pub(super) has_up: bool,
    pub(super) has_starts: bool,
    pub(super) has_hosts: bool,
    pub(super) has_alerts: bool,
    pub(super) has_pods: bool,
    /// Whether it is known which workloads pods belong to.
    pub(super) has_owners: bool,
    pub(super) recorded: Vec<Recorded>,
}

/// A recording rule by the naming convention `level:metric:operations`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) metric: String,
    pub(super) signal: Signal,
    pub(super) unit: &'static str,
}

/// What measures the measuring.
const OF_MONITORING: [&str; 12] = [
    "alertmanager_",
    "cortex_",
    "grafana_",
    "loki_",
    "mimir_",
    "net_conntrack_",
    "otelcol_",
    "promhttp_",
    "prometheus_",
    "scrape_",
    "tempo_",
    "thanos_",
];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// A histogram or a summary of how long requests took.
static DURATIONS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^((?:\w+_)?(?:request|requests|http|grpc|rpc|server|client|handler|spanmetrics|span_metrics)\w*?)(_seconds|_milliseconds|_ms|)_count$",
    )
});

/// A counter of requests.
static COUNTERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\w+_)?(?:http_requests?|requests?|rpcs?|grpc_server_handled|span_metrics_calls|spanmetrics_calls|calls|response)_total$|^nginx_ingress_controller_requests$",
    )
});

static DURATION_WORDS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"duration|latency|handling|seconds|milliseconds|time"));

static CLIENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|_)clients?_|_upstream_"));

static BUILDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"_build_info$|^(app|service)_info$"));

static RELOADS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"config(uration)?_last_(re)?load_success(ful)?_timestamp_seconds$"));

impl Found {
    /// Detects what is known among the names of metrics.
    pub(super) fn among(names: &[String]) -> Self {
        let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let has = |name: &str| known.contains(name);
        let is_ours = |name: &&&str| !OF_MONITORING.iter().any(|start| name.starts_with(start));
        let matching = |pattern: &Regex| -> Vec<String> {
            known.iter().filter(|name| pattern.is_match(name)).map(|s| (*s).to_owned()).collect()
        };
        let mut requests = meshes(&has);
        let mut counted = BTreeSet::new();
        for name in known.iter().filter(is_ours) {
            let Some(parts) = DURATIONS.captures(name).filter(|_| !name.contains(':')) else {
                continue;
            };
            let (base, unit) = (&parts[1], &parts[2]);
            let whole = format!("{base}{unit}");
            let is_size = ["size", "bytes", "length"].iter().any(|word| whole.contains(word));
            let is_known = ["istio_", "traces_service_graph_"].iter().any(|s| name.starts_with(s));
            let sum = format!("{whole}_sum");
            if is_size || is_known || !DURATION_WORDS.is_match(&whole) || !has(&sum) {
                continue;
            }
            let unit = match unit {
                "_seconds" => 1000.0,
                _ if unit.is_empty() && whole.contains("second") => 1000.0,
                _ => 1.0,
            };
            let ends = if CLIENT.is_match(name) { Ends::Asked } else { Ends::Served };
            let count = (*name).to_owned();
            counted.insert(base.trim_end_matches("_duration").to_owned());
            requests.push(Requests {
                duration: Some((sum, count.clone(), unit)),
                count,
                failed: None,
                only: "",
                ends,
            });
        }
        for name in known.iter().filter(is_ours).filter(|name| COUNTERS.is_match(name)) {
            let stem = name.trim_end_matches("_total");
            // A histogram of the same requests counts them already.
            let twice =
                counted.iter().any(|base| base.trim_end_matches('s') == stem.trim_end_matches('s'));
            let is_known = ["istio_", "traces_service_graph_", "node_", "kube_", "container_"]
                .iter()
                .any(|start| name.starts_with(start));
            if twice || is_known || name.contains(':') {
                continue;
            }
            let ends = if CLIENT.is_match(name) { Ends::Asked } else { Ends::Served };
            let count = (*name).to_owned();
            requests.push(Requests { count, failed: None, duration: None, only: "", ends });
        }
        let gauges = GAUGES.iter().filter(|gauge| gauge.needs.iter().all(|name| has(name)));
        let recorded = known.iter().filter(|name| name.contains(':')).filter_map(|name| {
            let (signal, unit) = recorded(name)?;
            Some(Recorded { metric: (*name).to_owned(), signal, unit })
        });
        Self {
            requests,
            gauges: gauges.cloned().collect(),
            builds: matching(&BUILDS),
            reloads: matching(&RELOADS),
            has_up: has("up"),
            has_starts: has("process_start_time_seconds"),
            has_hosts: has("node_uname_info"),
            has_alerts: has("ALERTS"),
            has_pods: has("kube_pod_info"),
            has_owners: has("kube_pod_owner"),
            recorded: recorded.collect(),
        }
    }
}

/// Service meshes and service graphs, which name both ends.
fn meshes(has: &impl Fn(&str) -> bool) -> Vec<Requests> {
    let mut found = Vec::new();
    let sum_and_count = |base: &str, unit: f64| {
        let (sum, count) = (format!("{base}_sum"), format!("{base}_count"));
        (has(&sum) && has(&count)).then_some((sum, count, unit))
    };
    if has("istio_requests_total") {
        found.push(Requests {
            count: "istio_requests_total".to_owned(),
            failed: None,
            duration: sum_and_count("istio_request_duration_milliseconds", 1.0),
            only: "reporter=\"destination\"",
            ends: Ends::Both { caller: "source_workload", callee: "destination_service_name" },
        });
    }
    if has("traces_service_graph_request_total") {
        let failed = "traces_service_graph_request_failed_total";
        found.push(Requests {
            count: "traces_service_graph_request_total".to_owned(),
            failed: has(failed).then(|| failed.to_owned()),
            duration: sum_and_count("traces_service_graph_request_server_seconds", 1000.0),
            only: "",
            ends: Ends::Both { caller: "client", callee: "server" },
        });
    }
    found
}

/// What a recording rule measures, by the words of its name; nothing where it is not clear.
fn recorded(name: &str) -> Option<(Signal, &'static str)> {
    let words = eog_evidence::words(&name.replace(':', "_"));
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let is_share = has(&["ratio", "ratios", "percent", "percentage"]);
    let unit = match () {
        () if has(&["percent", "percentage"]) => "percent",
        () if is_share => "ratio",
        () if has(&["seconds"]) => "s",
        () if has(&["ms", "milliseconds"]) => "ms",
        () => "",
    };
    // Budgets and objectives are no measurements.
    if has(&["slo", "sli", "budget", "objective", "apiserver", "prometheus", "alertmanager"]) {
        return None;
    }
    match () {
        () if has(&["error", "errors", "failed", "failures"]) => Some((Signal::Errors, unit)),
        () if has(&["latency", "duration"]) && !has(&["bucket", "count", "sum"]) => {
            Some((Signal::Latency, unit))
        }
        // By the meaning of the word a share, whether the name says so or not.
        () if has(&["utilisation", "utilization"]) => {
            Some((Signal::Saturation, if unit == "percent" { unit } else { "ratio" }))
        }
        () if has(&["requests", "calls"]) && !has(&["bucket"]) && !is_share => {
            Some((Signal::Traffic, "1/s"))
        }
        () => None,
    }
}

/// Labels that say how a request ended.
pub(super) const OUTCOMES: [&str; 12] = [
    "code",
    "status",
    "status_code",
    "http_status_code",
    "http_response_status_code",
    "response_code",
    "grpc_code",
    "rpc_grpc_status_code",
    "rpc_response_status_code",
    "outcome",
    "error_type",
    "classification",
];

/// Whether a request failed, by the labels that say how it ended. None: no label says so.
pub(super) fn failed<'a>(label: impl Fn(&str) -> &'a str) -> Option<bool> {
    let mut known = None;
    for name in OUTCOMES {
        let value = label(name).trim();
        if value.is_empty() {
            continue;
        }
        let fails = match name {
            // Set where a request failed, by the conventions of OpenTelemetry.
            "error_type" => true,
            "rpc_grpc_status_code" => matches!(value, "2" | "4" | "12" | "13" | "14" | "15"),
            _ => is_failure(value),
        };
        known = Some(known.unwrap_or(false) || fails);
    }
    known
}

/// Codes of HTTP and gRPC, and the words of span metrics and of common libraries.
fn is_failure(value: &str) -> bool {
    if value.len() == 3 && value.starts_with('5') {
        return value.bytes().skip(1).all(|c| c.is_ascii_digit() || c == b'x');
    }
    let word = value.to_ascii_lowercase().replace('_', "");
    [
        "statuscodeerror",
        "error",
        "err",
        "failed",
        "failure",
        "fail",
        "servererror",
        "unknown",
        "deadlineexceeded",
        "internal",
        "unavailable",
        "dataloss",
        "unimplemented",
        "timeout",
    ]
    .contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(names: &[&str]) -> Found {
        Found::among(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_file_of_conventions_can_be_read() {
        assert!(toml::from_str::<File>(include_str!("conventions.toml")).is_ok());
        let all = GAUGES.iter().flat_map(|gauge| gauge.needs.clone()).collect::<Vec<_>>();
        let found = Found::among(&all);
        assert_eq!(found.gauges.len(), GAUGES.len());
        for gauge in &found.gauges {
            let query = gauge.query("job", "60s", ",cluster=\"eu\"");
            assert!(!query.contains("{m}") && !query.contains("{by}"), "{query}");
            assert!(!query.contains("{,"), "{query}");
            assert!(query.contains("cluster=\"eu\"}"), "{query}");
            assert!(!gauge.query("job", "60s", "").contains(",}"), "{query}");
        }
    }

    #[test]
    fn requests_of_common_instrumentations_are_found() {
        let cases: [(&[&str], &str, bool, Ends); 9] = [
            (
                &[
                    "http_server_request_duration_seconds_count",
                    "http_server_request_duration_seconds_sum",
                ],
                "http_server_request_duration_seconds_count",
                true,
                Ends::Served,
            ),
            (
                &[
                    "http_client_request_duration_seconds_count",
                    "http_client_request_duration_seconds_sum",
                ],
                "http_client_request_duration_seconds_count",
                true,
                Ends::Asked,
            ),
            (
                &["http_server_requests_seconds_count", "http_server_requests_seconds_sum"],
                "http_server_requests_seconds_count",
                true,
                Ends::Served,
            ),
            (
                &[
                    "http_server_duration_milliseconds_count",
                    "http_server_duration_milliseconds_sum",
                ],
                "http_server_duration_milliseconds_count",
                true,
                Ends::Served,
            ),
            (
                &["grpc_server_handling_seconds_count", "grpc_server_handling_seconds_sum"],
                "grpc_server_handling_seconds_count",
                true,
                Ends::Served,
            ),
            (
                &["shop_request_latency_seconds_count", "shop_request_latency_seconds_sum"],
                "shop_request_latency_seconds_count",
                true,
                Ends::Served,
            ),
            (&["http_requests_total"], "http_requests_total", false, Ends::Served),
            (&["grpc_server_handled_total"], "grpc_server_handled_total", false, Ends::Served),
            (
                &["traces_spanmetrics_calls_total"],
                "traces_spanmetrics_calls_total",
                false,
                Ends::Served,
            ),
        ];
        for (names, count, timed, ends) in cases {
            let found = among(names).requests;
            let [one] = &found[..] else { panic!("{names:?}: {found:?}") };
            assert_eq!((one.count.as_str(), one.duration.is_some()), (count, timed));
            assert_eq!(one.ends, ends, "{names:?}");
        }
        let both = [
            "http_requests_total",
            "http_request_duration_seconds_count",
            "http_request_duration_seconds_sum",
        ];
        assert_eq!(among(&both).requests.len(), 1, "they count the same requests");
    }

    #[test]
    fn what_is_no_request_is_left_alone() {
        let names = [
            "go_gc_duration_seconds_count",
            "go_gc_duration_seconds_sum",
            "http_request_size_bytes_count",
            "http_request_size_bytes_sum",
            "prometheus_http_requests_total",
            "promhttp_metric_handler_requests_total",
            "node_disk_reads_completed_total",
        ];
        assert_eq!(among(&names).requests, []);
    }

    #[test]
    fn recording_rules_are_read_by_their_names() {
        let found = among(&[
            "a:b:c",
            "instance:node_cpu_utilisation:rate5m",
            "instance:node_memory_utilisation:ratio",
            "job:http_errors:ratio_rate5m",
            "job:http_requests:rate1m",
            "job:request_latency_seconds:p95",
            "job:slo_errors:ratio",
        ]);
        let recorded: Vec<_> = found.recorded.iter().map(|one| (one.signal, one.unit)).collect();
        assert_eq!(
            recorded,
            [
                (Signal::Saturation, "ratio"),
                (Signal::Saturation, "ratio"),
                (Signal::Errors, "ratio"),
                (Signal::Traffic, "1/s"),
                (Signal::Latency, "s")
            ]
        );
    }

    #[test]
    fn outcomes_are_distinguished() {
        let of = |name: &'static str, value: &'static str| {
            failed(move |label: &str| if label == name { value } else { "" })
        };
        let cases = [
            ("code", "200", Some(false)),
            ("code", "503", Some(true)),
            ("status", "5xx", Some(true)),
            ("status", "404", Some(false)),
            ("status_code", "STATUS_CODE_ERROR", Some(true)),
            ("status_code", "STATUS_CODE_UNSET", Some(false)),
            ("grpc_code", "OK", Some(false)),
            ("grpc_code", "NotFound", Some(false)),
            ("grpc_code", "DeadlineExceeded", Some(true)),
            ("rpc_grpc_status_code", "14", Some(true)),
            ("outcome", "SERVER_ERROR", Some(true)),
            ("error_type", "timeout", Some(true)),
            ("path", "/", None),
        ];
        for (name, value, expected) in cases {
            assert_eq!(of(name, value), expected, "{name}={value}");
        }
    }
}
