//! Attribution over records that are kept elsewhere than in a bundle.

use std::collections::BTreeMap;

use eog_core::{Anomaly, EntityId, Finding, Topology};

use super::{Asked, Attribution, Books, Measured, Sources};
use crate::events::EventRecord;
use crate::self_time::{Calls, TracedSpan};
use crate::series::{Periods, Series};
use crate::ways::Ways;

/// What was recorded of one entity that attribution uses.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// What was measured.
    pub series: Vec<Series>,
    /// What happened.
    pub events: Vec<EventRecord>,
}

/// What was found within some periods, and attribution asks for.
#[derive(Clone, Copy)]
pub struct FoundSoFar<'a> {
    /// Where the error lines of requests begin, by who wrote them ([`joined_errors`](crate::joined_errors)).
    pub joined: &'a BTreeMap<EntityId, Vec<Finding>>,
    /// Whether lines or spans of one entity show that its calls to another fail more often.
    pub calls_fail: &'a dyn Fn(&EntityId, &EntityId) -> bool,
}

/// Which entities account for what others show in the sense of the alerts, as over a bundle:
/// shares of neighbours, remainders, own time, early deviations, demand.
///
/// ```
/// use std::collections::BTreeMap;
/// use eog_core::{EntityId, Topology, Window};
/// use eog_evidence::{Accounts, FoundSoFar, Periods, Sources};
/// let sources = Sources { metrics: "metrics", events: "events.tsv", traces: "traces.tsv" };
/// let accounts = Accounts::new(&Topology::default(), &[], BTreeMap::new(), &[], sources);
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let found = FoundSoFar { joined: &BTreeMap::new(), calls_fail: &|_, _| false };
/// let entity = EntityId::new("cart")?;
/// assert!(accounts.findings(&entity, &Periods::new(window), found).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Accounts {
    ways: Ways,
    anomalies: Vec<Anomaly>,
    asked: Asked,
    measured: BTreeMap<EntityId, Measurements>,
    calls: Calls,
    books: Books,
    sources: [String; 3],
}

impl Accounts {
    /// Prepares what was recorded. Findings name `sources` as what holds it.
    pub fn new(
        topology: &Topology,
        anomalies: &[Anomaly],
        measured: BTreeMap<EntityId, Measurements>,
        spans: &[TracedSpan<'_>],
        sources: Sources<'_>,
    ) -> Self {
        let ways = Ways::of(topology, &[], anomalies);
        let calls = Calls::of_traced(spans);
        let series = measured.values().flat_map(|one| &one.series);
        let asked = Asked::new(anomalies, series, ways.has_demand()).with_traced(anomalies, &calls);
        Self {
            ways,
            anomalies: anomalies.to_vec(),
            asked,
            measured,
            calls,
            books: Books::default(),
            sources: [sources.metrics, sources.events, sources.traces].map(str::to_owned),
        }
    }

    /// What an entity shows, and who accounts for it.
    pub fn findings(
        &self,
        entity: &EntityId,
        periods: &Periods,
        found: FoundSoFar<'_>,
    ) -> Vec<Finding> {
        self.ask(periods, found, |attribution| attribution.findings(entity))
    }

    /// Whether a change of an entity cannot be what alerts report, since it is not involved.
    pub fn is_cleared(&self, entity: &EntityId, periods: &Periods, found: FoundSoFar<'_>) -> bool {
        self.ask(periods, found, |attribution| attribution.is_cleared(entity))
    }

    fn ask<T>(
        &self,
        periods: &Periods,
        found: FoundSoFar<'_>,
        ask: impl FnOnce(&Attribution<'_>) -> T,
    ) -> T {
        let measured = |entity: &EntityId| {
            let Measurements { series, events } = self.measured.get(entity)?;
            // Events date early deviations. An entity with nothing else is not known to be uninvolved in what adds up.
            if series.is_empty() && !self.asked.kinds.is_empty() {
                return None;
            }
            Some(Measured { series: series.iter().collect(), events })
        };
        let [metrics, events, traces] = &self.sources;
        ask(&Attribution {
            joined: found.joined,
            ways: &self.ways,
            anomalies: &self.anomalies,
            periods: periods.clone(),
            asked: &self.asked,
            measured: &measured,
            calls_fail: found.calls_fail,
            books: &self.books,
            calls: Some(&self.calls),
            sources: Sources { metrics, events, traces },
        })
    }
}
