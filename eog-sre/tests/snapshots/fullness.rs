//! How full a resource is: what is used of it over what there is.

use eog_core::evidence::{Signal, Trend};
use eog_core::{EvidenceKind, Finding};
use serde_json::json;

use crate::support::{Recording, id, table, window};

const POD: &str = "web-7d9f-abcde";

/// A recording with a harm that begins at 10:10.
fn recording() -> Recording {
    let mut recording = Recording::new();
    let labels = json!({ "alertname": "HighLatency", "service_name": "web", "namespace": "shop" });
    recording.alert("10:12:00", labels, "2026-01-01T10:10:00Z");
    recording
}

/// One series of a pod: a value at each of twenty minutes, or none where it is no number.
type Measured<'a> = (&'a str, &'a str, &'a dyn Fn(usize) -> f64);

fn measured(recording: &mut Recording, series: &[Measured<'_>]) {
    let header = ["metric_name", "timestamp", "value", "pod_name", "namespace", "tags"];
    let rows = series.iter().flat_map(|(metric, tags, value)| {
        let read = move |minute: &usize| value(*minute).is_finite();
        (0..20).filter(read).map(move |minute| {
            let at = format!("2026-01-01 10:{minute:02}:00");
            let value = value(minute).to_string();
            let tags = format!("{{'container': 'web'{tags}}}");
            [*metric, &at, &value, POD, "shop", &tags].map(str::to_owned).to_vec()
        })
    });
    recording.file(&format!("metrics/pod_{POD}_raw.tsv"), table(&header, rows));
}

fn pod(limits: &serde_json::Value) -> serde_json::Value {
    json!({
        "kind": "Pod",
        "metadata": { "name": POD, "namespace": "shop" },
        "spec": { "containers": [
            { "name": "sidecar", "resources": { "limits": { "memory": "1Gi" } } },
            { "name": "web", "resources": { "limits": limits } },
        ] },
    })
}

/// The findings on the pod's metrics from 10:00 or a little later on.
fn findings_from(recording: &Recording, from: &str) -> Vec<Finding> {
    let entity = id(&format!("shop/Pod/{POD}"));
    let page = recording.context().page(&entity, window(from, "10:20:00"), 1);
    // An early deviation has a signal of its own.
    let is_measured =
        |finding: &Finding| finding.kind == EvidenceKind::Metric && finding.signal != Signal::Other;
    page.findings.into_iter().filter(is_measured).collect()
}

fn steps(before: f64, after: f64) -> impl Fn(usize) -> f64 {
    move |minute| if minute < 10 { before + (minute % 2) as f64 } else { after }
}

#[test]
fn memory_is_given_as_a_share_of_its_limit() {
    let used = steps(100e6, 290e6);
    let working: Measured<'_> = ("container_memory_working_set_bytes", "", &used);
    let limit = |_| 300e6;
    let by_metric = [
        ("container_spec_memory_limit_bytes", ""),
        ("kube_pod_container_resource_limits", ", 'resource': 'memory', 'unit': 'byte'"),
        ("cluster:namespace:pod_memory:active:kube_pod_container_resource_limits", ""),
    ];
    let mut all: Vec<Recording> = Vec::new();
    for (metric, tags) in by_metric {
        let mut recording = recording();
        measured(&mut recording, &[working, (metric, tags, &limit)]);
        all.push(recording);
    }
    // No series of a limit, but a declared one.
    let mut declared = recording();
    declared.object("10:00:00", pod(&json!({ "memory": "300M" })));
    measured(&mut declared, &[working]);
    all.push(declared);
    for recording in &all {
        let findings = findings_from(recording, "10:00:00");
        let [one] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!((one.signal, one.trend), (Signal::Saturation, Trend::Rising));
        assert_eq!(one.excerpt, "memory of its limit from 33.3 % to 96.7 %");
        let chart = recording.context().chart(one, window("10:00:00", "10:20:00"));
        let chart = chart.unwrap_or_else(|| panic!("no chart of {}", one.query));
        assert!(chart.points.iter().all(|(_, value)| *value < 1.0));
    }
}

#[test]
fn without_a_limit_the_level_is_given_as_before() {
    let used = steps(100e6, 290e6);
    let working: Measured<'_> = ("container_memory_working_set_bytes", "", &used);
    // None, none of this container, and none at all.
    let (none, other) = (|_| 0.0, |_| 300e6);
    let cases: [&[Measured<'_>]; 3] = [
        &[working],
        &[working, ("container_spec_memory_limit_bytes", "", &none)],
        &[working, ("kube_pod_container_resource_limits", ", 'resource': 'cpu'", &other)],
    ];
    for series in cases {
        let mut recording = recording();
        measured(&mut recording, series);
        let findings = findings_from(&recording, "10:00:00");
        let [one] = findings.as_slice() else { panic!("{findings:#?}") };
        assert!(one.excerpt.starts_with("container_memory_working_set_bytes"), "{}", one.excerpt);
    }
}

#[test]
fn processor_time_and_pools_are_shares_too() {
    let cores = |minute: usize| {
        // Seconds used until then: a tenth of the limit, then all of it.
        let (calm, busy) = (minute.min(10) as f64, minute.saturating_sub(10) as f64);
        3.0 * calm + 29.0 * busy
    };
    let half = |_| 0.5;
    let active = steps(2.0, 10.0);
    let ten = |_| 10.0;
    let mut recording = recording();
    measured(
        &mut recording,
        &[
            ("container_cpu_usage_seconds_total", "", &cores),
            ("kube_pod_container_resource_limits", ", 'resource': 'cpu', 'unit': 'core'", &half),
            ("hikaricp_connections_active", ", 'pool': 'orders'", &active),
            ("hikaricp_connections_max", ", 'pool': 'orders'", &ten),
            ("hikaricp_connections_max", ", 'pool': 'other'", &half),
        ],
    );
    let findings = findings_from(&recording, "10:00:00");
    let texts: Vec<&str> = findings.iter().map(|finding| finding.excerpt.as_str()).collect();
    assert_eq!(
        texts,
        [
            "processor of its limit from 10 % to 96.7 %",
            "connections of the pool from 25 % to 100 %",
        ]
    );
}

/// Ten connections that wait are no shortage, and a pool is not measured by another one's size.
#[test]
fn idle_connections_and_other_pools_are_no_shortage() {
    let idle = steps(2.0, 10.0);
    let more = steps(1.0, 7.0);
    let (ten, two) = (|_| 10.0, |_| 2.0);
    let eden = ", 'jvm_memory_pool_name': 'eden'";
    let mut recording = recording();
    measured(
        &mut recording,
        &[
            ("db_client_connections_usage", ", 'state': 'idle'", &idle),
            ("db_client_connections_max", "", &ten),
            ("jvm_memory_limit_bytes", ", 'jvm_memory_pool_name': 'code'", &two),
            ("jvm_memory_limit_bytes", eden, &ten),
            ("jvm_memory_used_bytes", eden, &more),
        ],
    );
    let findings = findings_from(&recording, "10:00:00");
    let shares =
        findings.iter().filter(|finding| finding.quantity.as_ref().unwrap().unit == "ratio");
    let texts: Vec<&str> = shares.map(|finding| finding.excerpt.as_str()).collect();
    assert_eq!(texts, ["memory of the JVM from 15 % to 70 %"]);
}

#[test]
fn throttling_counts_from_a_quarter_of_the_periods_on() {
    let all = |minute: usize| 600.0 * minute as f64;
    for (share, is_found) in [(0.2, false), (0.3, true)] {
        let stopped = |minute: usize| 600.0 * share * minute.saturating_sub(10) as f64;
        let mut recording = recording();
        measured(
            &mut recording,
            &[
                ("container_cpu_cfs_throttled_periods_total", "", &stopped),
                ("container_cpu_cfs_periods_total", "", &all),
                ("container_cpu_cfs_throttled_seconds_total", "", &stopped),
            ],
        );
        let findings = findings_from(&recording, "10:00:00");
        assert_eq!(findings.len(), usize::from(is_found), "{share}: {findings:#?}");
        for finding in findings {
            assert_eq!((finding.signal, finding.trend), (Signal::Exhaustion, Trend::Rising));
            assert_eq!(finding.excerpt, "throttled periods from 0 % to 30 %");
        }
    }
}

#[test]
fn a_full_resource_is_found_where_nothing_was_measured_before() {
    let full = |minute: usize| if minute < 10 { f64::NAN } else { 9.7e9 };
    let capacity = |_| 10e9;
    let claim = ", 'persistentvolumeclaim': 'data'";
    let mut recording = recording();
    measured(
        &mut recording,
        &[
            ("kubelet_volume_stats_used_bytes", claim, &full),
            ("kubelet_volume_stats_capacity_bytes", claim, &capacity),
        ],
    );
    let findings = findings_from(&recording, "10:00:00");
    let [one] = findings.as_slice() else { panic!("{findings:#?}") };
    assert_eq!(one.excerpt, "volume at 97 %; no earlier data");
    assert_eq!((one.signal, one.trend), (Signal::Saturation, Trend::Steady));
}
