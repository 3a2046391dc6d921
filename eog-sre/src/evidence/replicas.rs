//! Differential observability: pods of one workload that stand out among their siblings.

use std::collections::BTreeMap;

use eog_core::evidence::{EvidenceTime, Peer, PeerRole, Quantity, Signal};
use eog_core::{EntityId, EvidenceKind, Finding};
use eog_evidence::{strongest_first, words};

use super::{Compare, Draft, rounded, selector, trend};
use crate::names;

/// A level must differ from the median of the siblings by this factor.
const MIN_FACTOR: f64 = 2.0;

/// Fewest points of a pod that make a level.
const MIN_POINTS: usize = 3;

/// Most findings of one workload.
const MAX_FINDINGS: usize = 2;

/// Metrics of which replicas should have the same level.
const COMPARED: [&str; 5] = ["cpu", "memory", "error", "errors", "restarts"];

/// For each metric the pod that differs most from the median of the others.
pub(super) fn replica_findings(
    workload: &EntityId,
    levels: &BTreeMap<&str, BTreeMap<&EntityId, Vec<f64>>>,
    source: &str,
    compare: &Compare,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (metric, pods) in levels {
        let name = words(metric);
        let is_limit = name
            .iter()
            .any(|word| ["limit", "limits", "request", "requests"].contains(&word.as_str()));
        if is_limit || !name.iter().any(|word| COMPARED.contains(&word.as_str())) {
            continue;
        }
        let enough = pods.iter().filter(|(_, values)| values.len() >= MIN_POINTS);
        let medians: Vec<(&EntityId, f64)> =
            enough.filter_map(|(pod, values)| Some((*pod, median(values)?))).collect();
        let odd = medians.iter().filter_map(|(pod, level)| {
            let others: Vec<f64> =
                medians.iter().filter(|(other, _)| other != pod).map(|(_, l)| *l).collect();
            let others = median(&others)?;
            let (low, high) = (level.min(others), level.max(others));
            (low > 0.0 && high >= MIN_FACTOR * low).then_some((*pod, *level, others))
        });
        let factor =
            |(_, level, others): &(&EntityId, f64, f64)| level.max(*others) / level.min(*others);
        let Some((pod, level, others)) =
            odd.max_by(|a, b| factor(a).total_cmp(&factor(b)).then(a.1.total_cmp(&b.1)))
        else {
            continue;
        };
        let quantity = Quantity { observed: level, baseline: Some(others), unit: "value".into() };
        let draft = Draft {
            entity: workload,
            kind: EvidenceKind::Metric,
            signal: if name.iter().any(|w| w.starts_with("error")) {
                Signal::Errors
            } else {
                Signal::Saturation
            },
            trend: trend(others, level),
            time: EvidenceTime::During(compare.after),
            quantity: Some(quantity),
            peer: Some(Peer { entity: pod.clone(), role: PeerRole::Mentioned }),
            source,
            query: format!("{source} metric_name={metric} pods of {}", selector(workload)),
            excerpt: format!(
                "{} has {metric} at {}, its sibling pods at {}",
                names::bare(pod),
                rounded(level),
                rounded(others)
            ),
            // Pods are compared with each other: that does not say when.
            onset: None,
        };
        findings.push(draft.finding());
    }
    findings.sort_by(strongest_first);
    findings.truncate(MAX_FINDINGS);
    findings
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
