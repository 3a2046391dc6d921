//! How full a resource is: what is used of it over what there is, where both are measured or declared.
//!
//! A level alone says little: 200 MB may be much or nothing. The pairs are those of cAdvisor, the
//! kubelet, kube-state-metrics, and common exporters and libraries for pools.

use std::collections::BTreeMap;

use eog_core::evidence::Signal;
use eog_core::{EntityId, EvidenceKind, Timestamp};
use eog_evidence::{Series, shorten};
use serde_json::Value;

use super::metrics::{Cited, is_counter, measured};
use super::{MAX_EXCERPT, selector};
use crate::quantity::quantity;
use crate::read::MetricSeries;

/// Share of scheduling periods in which a container was stopped, from which on it suffers: that of the
/// alert `CPUThrottlingHigh` of the kubernetes-mixin.
const THROTTLED: f64 = 0.25;

/// Labels that distinguish one resource of an entity from another, where both series have them.
const PARTS: [&str; 12] = [
    "container",
    "persistentvolumeclaim",
    "device",
    "pool",
    "pool_name",
    "db_client_connection_pool_name",
    "area",
    "jvm_memory_type",
    "jvm_memory_pool_name",
    "datname",
    "data_source",
    "node",
];

/// Labels of the state of what is counted. Only what is in use counts as used.
const STATES: [&str; 2] = ["state", "db_client_connection_state"];

/// What is used of something, and how much there is of it, by the names of metrics.
struct Resource {
    /// In words.
    name: &'static str,
    used: &'static [&'static str],
    whole: &'static [&'static str],
    /// The label `resource` of the whole, where that has one.
    label: &'static str,
    /// The limit of a container that its specification declares, if it declares one of this resource.
    declared: Option<&'static str>,
}

const fn pool(
    name: &'static str,
    used: &'static [&'static str],
    whole: &'static [&'static str],
) -> Resource {
    Resource { name, used, whole, label: "", declared: None }
}

const RESOURCES: [Resource; 15] = [
    Resource {
        name: "memory of its limit",
        used: &["container_memory_working_set_bytes", "container_memory_usage_bytes"],
        whole: &[
            "container_spec_memory_limit_bytes",
            "kube_pod_container_resource_limits",
            "kube_pod_container_resource_limits_memory_bytes",
            "cluster:namespace:pod_memory:active:kube_pod_container_resource_limits",
        ],
        label: "memory",
        declared: Some("memory"),
    },
    Resource {
        name: "processor of its limit",
        used: &["container_cpu_usage_seconds_total"],
        whole: &[
            "kube_pod_container_resource_limits",
            "kube_pod_container_resource_limits_cpu_cores",
            "cluster:namespace:pod_cpu:active:kube_pod_container_resource_limits",
        ],
        label: "cpu",
        declared: Some("cpu"),
    },
    pool("file system", &["container_fs_usage_bytes"], &["container_fs_limit_bytes"]),
    pool("volume", &["kubelet_volume_stats_used_bytes"], &["kubelet_volume_stats_capacity_bytes"]),
    pool(
        "inodes of the volume",
        &["kubelet_volume_stats_inodes_used"],
        &["kubelet_volume_stats_inodes"],
    ),
    pool("open files", &["process_open_fds"], &["process_max_fds"]),
    pool(
        "memory of the JVM",
        &["jvm_memory_used_bytes"],
        &["jvm_memory_limit_bytes", "jvm_memory_max_bytes"],
    ),
    pool("memory of the Go runtime", &["go_memory_used_bytes"], &["go_memory_limit_bytes"]),
    pool(
        "connections of the pool",
        &["hikaricp_connections_active"],
        &["hikaricp_connections_max"],
    ),
    pool("connections of the pool", &["jdbc_connections_active"], &["jdbc_connections_max"]),
    pool(
        "connections of the pool",
        &["db_client_connections_usage", "db_client_connection_count"],
        &["db_client_connections_max", "db_client_connection_max"],
    ),
    pool(
        "connections of the pool",
        &["go_sql_in_use_connections"],
        &["go_sql_max_open_connections"],
    ),
    pool(
        "connections of the server",
        &["pg_stat_activity_count", "mysql_global_status_threads_connected"],
        &["pg_settings_max_connections", "mysql_global_variables_max_connections"],
    ),
    pool("memory of the store", &["redis_memory_used_bytes"], &["redis_memory_max_bytes"]),
    pool(
        "worker threads",
        &["tomcat_threads_busy_threads", "executor_active_threads"],
        &["tomcat_threads_config_max_threads", "executor_pool_max_threads"],
    ),
];

/// Whether a metric gives how much there is of something: no measurement of its own.
pub(super) fn is_whole(metric: &str) -> bool {
    RESOURCES.iter().any(|resource| resource.whole.contains(&metric))
}

/// How full a resource of an entity is.
pub(super) struct Fullness<'a> {
    pub(super) cited: Cited,
    /// What is used of it.
    used: &'a MetricSeries,
}

impl Fullness<'_> {
    /// Whether the series is one of those that it is made of.
    pub(super) fn covers(&self, series: &MetricSeries) -> bool {
        let stopped = ["container_cpu_cfs_throttled_", "container_cpu_cfs_periods_"];
        let throttles =
            |one: &MetricSeries| stopped.iter().any(|name| one.metric.starts_with(name));
        std::ptr::eq(self.used, series)
            || are_of_one(self.used, series) && throttles(self.used) && throttles(series)
    }
}

/// How full the resources of an entity are, as far as that is known. `object` is its latest state.
pub(super) fn fullness<'a>(
    own: &[&'a MetricSeries],
    entity: &EntityId,
    object: Option<&Value>,
) -> Vec<Fullness<'a>> {
    let mut found = throttled(own, entity);
    for resource in &RESOURCES {
        let named = |names: &'static [&'static str]| {
            own.iter().copied().filter(move |one| names.contains(&one.metric.as_ref()))
        };
        // The first name that is there: several give one thing in two ways.
        let Some(name) = resource
            .used
            .iter()
            .find(|name| named(resource.used).any(|one| one.metric.as_ref() == **name))
        else {
            continue;
        };
        let of_name = named(resource.used).filter(|one| one.metric.as_ref() == *name);
        for used in of_name.filter(|one| is_in_use(one)) {
            let fits = |whole: &&MetricSeries| {
                let kind = whole.labels.get("resource").map_or(resource.label, String::as_str);
                kind == resource.label && are_of_one(used, whole)
            };
            let whole = named(resource.whole).find(fits);
            let declared = || resource.declared.and_then(|kind| declared(object?, used, kind));
            let (points, of) = match (whole, declared) {
                (Some(whole), _) => (shares(used, |at| last(whole, at)), whole.metric.as_ref()),
                (None, declared) => match declared() {
                    Some(limit) => (shares(used, |_| Some(limit)), "declared limit"),
                    None => continue,
                },
            };
            if points.is_empty() {
                continue;
            }
            let of = (resource.name, Signal::Saturation, of);
            found.push(Fullness { cited: share(entity, of, used, points), used });
        }
    }
    found
}

/// In which share of its scheduling periods a container was stopped since it had used up its time.
fn throttled<'a>(own: &[&'a MetricSeries], entity: &EntityId) -> Vec<Fullness<'a>> {
    let named =
        |name: &'static str| own.iter().copied().filter(move |one| one.metric.as_ref() == name);
    let mut found = Vec::new();
    for used in named("container_cpu_cfs_throttled_periods_total") {
        let mut all = named("container_cpu_cfs_periods_total");
        let Some(all) = all.find(|all| are_of_one(used, all)) else { continue };
        let periods: BTreeMap<Timestamp, f64> = measured(all).into_iter().collect();
        let points = measured(used).into_iter().filter_map(|(at, stopped)| {
            let all = *periods.get(&at)?;
            (all > 0.0).then(|| (at, (stopped / all).min(1.0)))
        });
        let points: Vec<(Timestamp, f64)> = points.collect();
        let suffers = points.iter().any(|(_, share)| *share >= THROTTLED);
        let of = ("throttled periods", Signal::Exhaustion, &*all.metric);
        let cited = share(entity, of, used, if suffers { points } else { Vec::new() });
        found.push(Fullness { cited, used });
    }
    found
}

/// A share of a whole, cited by both series that it is made of.
fn share(
    entity: &EntityId,
    (name, signal, whole): (&str, Signal, &str),
    used: &MetricSeries,
    points: Vec<(Timestamp, f64)>,
) -> Cited {
    let series = Series {
        entity: entity.clone(),
        kind: EvidenceKind::Metric,
        metric: name.to_owned(),
        signal,
        unit: "ratio".to_owned(),
        peer: None,
        points,
    };
    Cited::new(series, &used.file, query(used, entity, whole))
}

/// Whether two series are about the same resource: what both say of it is equal.
fn are_of_one(used: &MetricSeries, whole: &MetricSeries) -> bool {
    PARTS.iter().all(|part| match (used.labels.get(*part), whole.labels.get(*part)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    })
}

/// Whether a series counts what is in use, and not what is idle.
fn is_in_use(series: &MetricSeries) -> bool {
    let mut states = STATES.iter().filter_map(|label| series.labels.get(*label));
    states.all(|state| state != "idle")
}

/// What is used of what there is at each time. No limit at all is stored as zero, as less, or as more
/// than any machine has.
fn shares(used: &MetricSeries, whole: impl Fn(Timestamp) -> Option<f64>) -> Vec<(Timestamp, f64)> {
    const UNLIMITED: f64 = 9.0e18;
    let share = |(at, used): (Timestamp, f64)| {
        let whole = whole(at).filter(|whole| *whole > 0.0 && *whole < UNLIMITED)?;
        Some((at, used / whole))
    };
    measured(used).into_iter().filter_map(share).collect()
}

/// The last value until a time, else the first.
fn last(series: &MetricSeries, at: Timestamp) -> Option<f64> {
    let known = series.points.iter().rfind(|(time, _)| *time <= at);
    known.or_else(|| series.points.iter().next()).map(|(_, value)| value)
}

/// The limit that the specification of a pod declares for the container of a series.
fn declared(pod: &Value, used: &MetricSeries, resource: &str) -> Option<f64> {
    let container = used.labels.get("container")?;
    let containers = pod.pointer("/spec/containers")?.as_array()?;
    let own = containers.iter().find(|one| one["name"].as_str() == Some(container))?;
    quantity(own.pointer("/resources/limits")?.get(resource)?)
}

/// The query that gives the rows of both series again.
fn query(used: &MetricSeries, entity: &EntityId, of: &str) -> String {
    let container = used.labels.get("container");
    let container = container.map(|name| format!(" container={name}")).unwrap_or_default();
    let (file, metric) = (&used.file, &used.metric);
    let rate = if is_counter(metric) { "rate of " } else { "" };
    let query =
        format!("{file} metric_name={metric} {}{container} ({rate}it over {of})", selector(entity));
    shorten(&query, MAX_EXCERPT)
}
