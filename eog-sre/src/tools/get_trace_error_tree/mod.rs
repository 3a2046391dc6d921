//! `get_trace_error_tree`: where requests fail or slow down, before and after a pivot.

mod requests;
mod shifts;
mod tree;

use std::collections::BTreeSet;

use eog_core::{EntityId, Timestamp, Window};
use serde::{Deserialize, Serialize};

use super::query::{Length, Page};
use super::signals::{Pivot, short};
use super::tool::Tool;
use super::{ToolError, Toolbox, entities};
use crate::evidence::{Compare, View, recorded_seconds};
use crate::graph::relation;
use crate::names;
use crate::store::{SpanRef, Spans};

pub use requests::{Requests, SampleError, ShiftKind};

use requests::{Compared, Judge, sample_errors};
use shifts::critical_nodes;
use tree::{MAX_HOPS, MAX_NODES, PathTree};

/// How long before and after the pivot is covered, unless it is given.
const DELTA: Length = Length::from_secs(300);

/// Compares the traces before and after a pivot: each service, each call, each path, and the paths
/// that end where something shifted.
///
/// Errors and latency are attributed to the *last* service of a path that shows them, since
/// failures travel from there to the callers; requests that stopped, to the first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetTraceErrorTree {
    /// Only paths through this service, and its own calls: an entity such as `shop/Service/cart`,
    /// its bare name, or a workload that backs services.
    #[serde(alias = "service")]
    pub entity: Option<String>,
    /// Where before and after meet, RFC 3339. Default: the strongest change that precedes an alert
    /// it can have caused, else the earliest alert, else the middle of the traces.
    pub pivot: Option<Timestamp>,
    /// How much time before and after the pivot is compared, such as `10m`; 5 minutes by default.
    pub delta: Option<Length>,
    /// Minimum rise in the share of failed requests, in percentage points; 10 by default.
    pub error_threshold: Option<f64>,
    /// Minimum rise in the 95th percentile of the duration, in percent; 10 by default.
    pub latency_threshold: Option<f64>,
    /// Maximum number of entries in each list: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of entries to skip in each list.
    pub offset: usize,
}

/// The answer to [`GetTraceErrorTree`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceErrorTree {
    /// The requested service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<EntityId>,
    /// Where before and after meet, and why there.
    pub pivot: Pivot,
    /// The period before the pivot.
    pub before: Window,
    /// The period from the pivot on.
    pub after: Window,
    /// Minimum rise in the share of failed requests, in percentage points.
    pub error_threshold: f64,
    /// Minimum rise in the 95th percentile of the duration, in percent.
    pub latency_threshold: f64,
    /// What limits the comparison, or was cut; absent when nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All traces, regardless of the requested service.
    pub summary: TraceSummary,
    /// Paths that end where errors or latency rose or requests stopped, worst first.
    pub critical_paths: Page<CriticalPath>,
    /// Requests to each service, shifted ones first.
    pub services: Page<ServiceRequests>,
    /// Requests from each service to another, shifted ones first.
    pub calls: Page<CallRequests>,
    /// All paths that requests took, most frequent first.
    pub paths: Page<TracePath>,
}

/// Traces and spans of both periods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSummary {
    /// Before the pivot.
    pub before: TraceCounts,
    /// From the pivot on.
    pub after: TraceCounts,
}

/// How many traces and spans one period has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceCounts {
    /// Distinct traces.
    pub traces: usize,
    /// Spans.
    pub spans: usize,
    /// Spans that failed.
    pub failed_spans: usize,
}

/// Requests to a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceRequests {
    /// The service.
    pub service: EntityId,
    /// Before the pivot.
    pub before: Requests,
    /// From the pivot on.
    pub after: Requests,
    /// What shifted.
    pub shifts: Vec<ShiftKind>,
}

/// Requests from one service to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRequests {
    /// The calling service.
    pub caller: EntityId,
    /// The called service.
    pub callee: EntityId,
    /// Before the pivot.
    pub before: Requests,
    /// From the pivot on.
    pub after: Requests,
    /// What shifted.
    pub shifts: Vec<ShiftKind>,
}

impl ServiceRequests {
    fn new(service: &EntityId, found: Compared) -> Self {
        let Compared { before, after, shifts } = found;
        Self { service: service.clone(), before, after, shifts }
    }
}

impl CallRequests {
    fn new((caller, callee): (&EntityId, &EntityId), found: Compared) -> Self {
        let Compared { before, after, shifts } = found;
        Self { caller: caller.clone(), callee: callee.clone(), before, after, shifts }
    }
}

/// A path that requests took.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracePath {
    /// Names of services joined by arrows, starting with the first caller.
    pub path: String,
    /// Requests that reached its end before the pivot.
    pub before: usize,
    /// Requests that reached its end after the pivot.
    pub after: usize,
}

/// A path that ends where something shifted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPath {
    /// Names of services joined by arrows, starting with the first caller.
    pub path: String,
    /// What shifted at its end.
    pub shifts: Vec<ShiftKind>,
    /// Every service on the path, with the requests that took it.
    pub hops: Vec<ServiceRequests>,
    /// Messages of failed spans at the end of the path, most frequent first.
    pub sample_errors: Vec<SampleError>,
}

/// The services that an argument names: a service, or those that a workload stands behind.
fn services(toolbox: &Toolbox, text: &str) -> Result<BTreeSet<EntityId>, ToolError> {
    let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
    let traced: BTreeSet<&EntityId> = {
        let index = toolbox.signals().spans(snapshot, graph);
        let callees = index.calls().map(|(_, callee, _)| callee);
        index.services().map(|(service, _)| service).chain(callees).collect()
    };
    let found = entities::one(&traced, text).cloned();
    if let Ok(service) = found {
        return Ok(BTreeSet::from([service]));
    }
    // A name as telemetry writes it, then a workload.
    let by_name = Some(text.trim()).filter(|name| !name.contains('/') && !name.is_empty());
    let by_name =
        by_name.and_then(|name| graph.index.service(&graph.index.namespace_of(name), name));
    if let Some(service) = by_name.filter(|service| traced.contains(service)) {
        return Ok(BTreeSet::from([service]));
    }
    let known = entities::known(snapshot, graph);
    let backed: BTreeSet<EntityId> = entities::one(&known, text)
        .ok()
        .into_iter()
        .flat_map(|workload| graph.topology().edges_at(workload).map(move |edge| (workload, edge)))
        .filter(|(workload, edge)| edge.relation == relation::BACKS && edge.source == **workload)
        .map(|(_, edge)| edge.target.clone())
        .filter(|service| traced.contains(service))
        .collect();
    if backed.is_empty() { found.map(|service| BTreeSet::from([service])) } else { Ok(backed) }
}

fn around(pivot: Timestamp, delta: Length) -> Result<Compare, ToolError> {
    let before = pivot.checked_sub(delta.duration()).ok();
    let after = pivot.checked_add(delta.duration()).ok();
    let before = before.and_then(|start| Window::new(start, pivot).ok());
    let after = after.and_then(|end| Window::new(pivot, end).ok());
    let both = before.zip(after).map(|(before, after)| Compare { before, after });
    if delta.seconds() == 0.0 {
        return Err(ToolError::argument("delta", "must not be zero", "give a duration such as 5m"));
    }
    both.ok_or_else(|| too_far("pivot"))
}

fn too_far(argument: &str) -> ToolError {
    ToolError::argument(argument, "the time is out of range", "give a time within the recording")
}

fn path_name(tree: &PathTree, node: usize) -> String {
    let path = tree.path(node);
    let entities = path.iter().filter_map(|at| tree.nodes.get(*at)?.entity.as_ref());
    entities.map(names::bare).collect::<Vec<_>>().join(" → ")
}

fn counts(spans: &Spans, window: Window) -> TraceCounts {
    let inside = || spans.rows(spans.at.rows(window));
    TraceCounts {
        traces: inside().map(SpanRef::trace_number).collect::<BTreeSet<u32>>().len(),
        spans: inside().len(),
        failed_spans: inside().filter(|span| span.failed()).count(),
    }
}

fn notes(tree: &PathTree, (before, after): (f64, f64), no_spans: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if no_spans {
        return vec!["the snapshot has no spans".to_owned()];
    }
    for (seconds, which) in [(before, "before"), (after, "after")] {
        if seconds == 0.0 {
            notes.push(format!(
                "no traces were recorded {which} the pivot, so nothing can be compared"
            ));
        }
    }
    let ratio = before.min(after) / before.max(after).max(f64::MIN_POSITIVE);
    if before > 0.0 && after > 0.0 && ratio < 0.5 {
        let (before, after) = (short(before), short(after));
        notes.push(format!("{before} s were recorded before the pivot and {after} s after it"));
    }
    if tree.cut > 0 {
        notes.push(format!(
            "paths were cut {} times: at most {MAX_HOPS} services per path and {MAX_NODES} nodes in all",
            tree.cut
        ));
    }
    notes
}

impl Tool for GetTraceErrorTree {
    const NAME: &'static str = "get_trace_error_tree";
    const SUMMARY: &'static str = "Traces before and after a pivot: errors, latency, paths";
    const DESCRIPTION: &'static str = "\
Compares requests before and after a pivot (by default the likely start of the incident): for each
service and each call, how many requests there were, how many failed, and how long they took; the
paths that requests took; and the critical paths, each ending at the service where errors or
latency rose or requests stopped, with every hop and the messages of failed spans.";
    const EXAMPLES: &'static [&'static str] = &[
        "{}",
        r#"{"entity": "cart", "pivot": "2026-01-01T10:00:00Z", "delta": "10m"}"#,
        r#"{"error_threshold": 1, "latency_threshold": 50, "limit": 10}"#,
    ];
    type Answer = TraceErrorTree;

    fn run(&self, toolbox: &Toolbox) -> Result<TraceErrorTree, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let index = toolbox.signals().spans(snapshot, graph);
        let spans = &snapshot.spans;
        let judge = Judge::new(self.error_threshold, self.latency_threshold)?;
        let asked = self.entity.as_deref();
        let asked = asked.map(|text| services(toolbox, text)).transpose()?.unwrap_or_default();
        let wanted = |service: &EntityId| asked.is_empty() || asked.contains(service);

        let measured = spans.at.extent().and_then(|(first, last)| Window::new(first, last).ok());
        let unmeasured = Window::new(Timestamp::UNIX_EPOCH, Timestamp::MAX);
        let measured = measured.or(unmeasured.ok()).ok_or_else(|| too_far("pivot"))?;
        let pivot = toolbox.signals().pivot(snapshot, graph, self.pivot, measured);
        let compare = around(pivot.at, self.delta.unwrap_or(DELTA))?;
        let view = |list| Some(judge.view(spans, &View::of(spans, list, &compare)?));

        let tree = PathTree::new(spans, &graph.index, &compare);
        let seconds = recorded_seconds(spans, &compare);
        let compared = |node: usize| judge.node(spans, tree.nodes.get(node), seconds);
        let on_path = |node: usize| {
            let path = tree.path(node);
            path.iter()
                .any(|at| tree.nodes.get(*at).and_then(|n| n.entity.as_ref()).is_some_and(wanted))
        };

        let served = index.services().filter(|(service, _)| wanted(service));
        let mut served: Vec<(&EntityId, Compared)> =
            served.filter_map(|(service, list)| Some((service, view(list)?))).collect();
        served.sort_by(|a, b| b.1.strength().total_cmp(&a.1.strength()));
        let calls = index.calls().filter(|(caller, callee, _)| wanted(caller) || wanted(callee));
        let mut calls: Vec<((&EntityId, &EntityId), Compared)> = calls
            .filter_map(|(caller, callee, list)| Some(((caller, callee), view(list)?)))
            .collect();
        calls.sort_by(|a, b| b.1.strength().total_cmp(&a.1.strength()));
        let mut paths: Vec<TracePath> = tree
            .leaves()
            .filter(|leaf| on_path(*leaf))
            .filter_map(|leaf| {
                let node = tree.nodes.get(leaf)?;
                let (before, after) = (node.before.requests.len(), node.after.requests.len());
                Some(TracePath { path: path_name(&tree, leaf), before, after })
            })
            .collect();
        paths.sort_by(|a, b| {
            (b.before + b.after).cmp(&(a.before + a.after)).then_with(|| a.path.cmp(&b.path))
        });
        let critical: Vec<(usize, Vec<ShiftKind>)> = critical_nodes(&tree, compared)
            .into_iter()
            .filter(|(node, _)| on_path(*node))
            .collect();

        let (limit, offset) = (self.limit, self.offset);
        let critical_path = |(node, shifts): (usize, Vec<ShiftKind>)| CriticalPath {
            path: path_name(&tree, node),
            shifts,
            hops: tree
                .path(node)
                .into_iter()
                .filter_map(|at| {
                    let service = tree.nodes.get(at)?.entity.as_ref()?;
                    Some(ServiceRequests::new(service, compared(at)?))
                })
                .collect(),
            sample_errors: tree
                .nodes
                .get(node)
                .map(|node| sample_errors(spans, &node.after.failed))
                .unwrap_or_default(),
        };
        Ok(TraceErrorTree {
            service: asked.first().cloned(),
            pivot,
            before: compare.before,
            after: compare.after,
            error_threshold: judge.error_points,
            latency_threshold: judge.latency_percent,
            notes: notes(&tree, seconds, spans.is_empty()),
            summary: TraceSummary {
                before: counts(spans, compare.before),
                after: counts(spans, compare.after),
            },
            critical_paths: Page::cut(critical.into_iter(), offset, limit, critical_path),
            services: Page::cut(served.into_iter(), offset, limit, |(service, found)| {
                ServiceRequests::new(service, found)
            }),
            calls: Page::cut(calls.into_iter(), offset, limit, |(ends, found)| {
                CallRequests::new(ends, found)
            }),
            paths: Page::cut(paths.into_iter(), offset, limit, |path| path),
        })
    }
}
