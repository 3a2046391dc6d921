//! Figures of the service, as Prometheus reads them. They name no incident and no entity.

use std::sync::atomic::{AtomicI64, AtomicU64};

use eog_sources::ReceivedFigures;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// One label, whose values are words of this program or names of the configuration.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Kind {
    kind: String,
}

impl Kind {
    pub(crate) fn of(kind: impl Into<String>) -> Self {
        Self { kind: kind.into() }
    }
}

type Counters = Family<Kind, Counter<u64, AtomicU64>>;
type Gauges = Family<Kind, Gauge<i64, AtomicI64>>;

/// The figures.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Requests of the webhook, by what became of them.
    pub(crate) requests: Counters,
    /// Alerts in them, by what they meant.
    pub(crate) alerts: Counters,
    /// Incidents by stage.
    pub(crate) incidents: Gauges,
    /// Runs that ended, by confidence.
    pub(crate) runs: Counters,
    /// Seconds from the first new alert to the result.
    pub(crate) seconds: Histogram,
    /// Delivery attempts, by what became of them.
    pub(crate) deliveries: Counters,
    /// Records of OTLP, by what became of them.
    pub(crate) otlp: Gauges,
    /// Messages on their way, and given up.
    pub(crate) messages: Gauges,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 180.0, 600.0, 1800.0, 3600.0];
        let mut all = Self {
            registry: Registry::with_prefix("eog"),
            requests: Family::default(),
            alerts: Family::default(),
            incidents: Family::default(),
            runs: Family::default(),
            seconds: Histogram::new(steps),
            deliveries: Family::default(),
            otlp: Family::default(),
            messages: Family::default(),
        };
        let it = &mut all.registry;
        it.register("webhook_requests", "Requests of Alertmanager", all.requests.clone());
        it.register("alerts", "Alerts received, by outcome", all.alerts.clone());
        it.register("incidents", "Incidents kept, by stage", all.incidents.clone());
        it.register("investigations", "Runs that ended, by confidence", all.runs.clone());
        it.register(
            "alert_to_result_seconds",
            "Seconds from the first new alert to the result",
            all.seconds.clone(),
        );
        it.register("deliveries", "Delivery attempts", all.deliveries.clone());
        it.register("otlp", "OTLP records and the bytes held", all.otlp.clone());
        it.register("messages", "Messages kept, waiting or dead", all.messages.clone());
        all
    }

    /// Takes over what a receiver says.
    pub(crate) fn measure_otlp(&self, figures: ReceivedFigures) {
        let ReceivedFigures { held, bytes, taken, refused, dropped } = figures;
        for (kind, value) in [
            ("held", held),
            ("held_bytes", bytes),
            ("taken", taken),
            ("refused", refused),
            ("dropped", dropped),
        ] {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            self.otlp.get_or_create(&Kind::of(kind)).set(value);
        }
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
