//! Accounts by traces alone, where series are not kept as a bundle keeps them.

use std::collections::BTreeMap;

use eog_core::{Anomaly, EntityId, Finding, Topology};

use super::{Asked, Attribution, Books, Kind};
use crate::self_time::{Calls, TracedSpan};
use crate::series::Periods;
use crate::ways::Ways;

/// Who accounts for the time and the failures that alerts speak of, by traced requests: the shares of callees, an entity's
/// own part, the critical paths of bad requests, operations, retries and waiting. The rules are those of bundles
/// (`docs/evidence-policy.md`, *Self time*).
///
/// ```
/// use eog_core::{EntityId, Topology, Window};
/// use eog_evidence::{Periods, TraceAccounts};
/// let accounts = TraceAccounts::new(&Topology::default(), &[], Vec::new, "traces.tsv");
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// assert!(accounts.findings(&EntityId::new("cart")?, &Periods::new(window)).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TraceAccounts {
    ways: Ways,
    anomalies: Vec<Anomaly>,
    asked: Asked,
    calls: Calls,
    books: Books,
    source: String,
}

impl TraceAccounts {
    /// Sorts spans, which are asked for when an alert speaks of time or failures. Findings name `source` as what holds them.
    pub fn new<'a>(
        topology: &Topology,
        anomalies: &[Anomaly],
        spans: impl FnOnce() -> Vec<TracedSpan<'a>>,
        source: &str,
    ) -> Self {
        let is_asked = anomalies.iter().any(|alert| Kind::of(alert.signal).is_some());
        let calls = if is_asked { Calls::of_traced(&spans()) } else { Calls::default() };
        Self {
            ways: Ways::of(topology, &[], anomalies),
            anomalies: anomalies.to_vec(),
            asked: Asked::default().with_traced(anomalies, &calls),
            calls,
            books: Books::default(),
            source: source.to_owned(),
        }
    }

    /// What traced requests say of an entity; nothing when no alert speaks of time or failures.
    pub fn findings(&self, entity: &EntityId, periods: &Periods) -> Vec<Finding> {
        if self.asked.kinds.is_empty() {
            return Vec::new();
        }
        let attribution = Attribution {
            joined: &BTreeMap::new(),
            ways: &self.ways,
            anomalies: &self.anomalies,
            periods: periods.clone(),
            asked: &self.asked,
            measured: &|_| None,
            calls_fail: &|_, _| false,
            books: &self.books,
            calls: Some(&self.calls),
            traces: &self.source,
        };
        attribution.findings(entity)
    }
}
