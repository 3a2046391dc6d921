//! Metrics of a tree search for OpenTelemetry.

use eog_core::{Machine as _, Timestamp};
use eog_search::{SearchController, SearchProgress};
use serde_json::{Value, json};

/// The three metrics of a tree search in OTLP JSON, as a collector takes them: `eog.search.best_score` (from 0 to
/// 1000; left out where there is no score), `eog.search.nodes.pruned` and `eog.search.stagnation_iterations` (rounds or
/// plans since the best score rose). Each point has the time `at` and the attribute `eog.controller`.
pub fn search_metrics(search: &SearchController, at: Timestamp) -> String {
    let SearchProgress { best_score, nodes_pruned, stagnation_iterations } = search.progress();
    let controller = search.settings().profile().name();
    let attributes =
        |name: &str, value: &str| json!([{ "key": name, "value": { "stringValue": value } }]);
    // Integers of 64 bits are texts in OTLP JSON.
    let metric = |name: &str, unit: &str, about: &str, value: u64| {
        json!({
            "name": format!("eog.search.{name}"),
            "description": about,
            "unit": unit,
            "gauge": { "dataPoints": [{
                "attributes": attributes("eog.controller", controller),
                "timeUnixNano": at.as_nanosecond().max(0).to_string(),
                "asInt": value.to_string(),
            }] },
        })
    };
    let best = best_score.map(|best| {
        metric("best_score", "1", "The best score so far, from 0 to 1000.", best.into())
    });
    let others = [
        metric("nodes.pruned", "{node}", "Nodes that were pruned or set aside.", nodes_pruned),
        metric(
            "stagnation_iterations",
            "{iteration}",
            "Rounds or plans since the best score rose.",
            stagnation_iterations.into(),
        ),
    ];
    let metrics: Vec<Value> = best.into_iter().chain(others).collect();
    let request = json!({ "resourceMetrics": [{
        "resource": { "attributes": attributes("service.name", "eog") },
        "scopeMetrics": [{ "scope": { "name": "eog.search" }, "metrics": metrics }],
    }] });
    format!("{request:#}\n")
}
