//! A bundle without one of its sources of evidence, to measure what that source is worth.

use std::fmt;

use serde::Serialize;

use super::Bundle;
use super::intake::Telemetry;
use crate::logs::LogPatterns;

/// A kind of record that a bundle may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleSource {
    /// The spans, `spans.csv`.
    Traces,
    /// The log lines, `logs.csv`.
    Logs,
    /// The series, `metrics.csv`.
    Metrics,
    /// The changes, `changes.json`, and since when they were recorded.
    Changes,
    /// The events, `events.csv`, and the states of objects, `states.csv`.
    Events,
}

impl BundleSource {
    /// Every source.
    pub const ALL: [Self; 5] =
        [Self::Traces, Self::Logs, Self::Metrics, Self::Changes, Self::Events];
}

impl fmt::Display for BundleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
            Self::Changes => "changes",
            Self::Events => "events",
        })
    }
}

impl Bundle {
    /// Whether it has any record of a source.
    pub fn has(&self, source: BundleSource) -> bool {
        let any = |of: fn(&Telemetry) -> bool| self.telemetry.values().any(|own| of(own));
        match source {
            BundleSource::Traces => any(|it| !it.spans.is_empty()),
            BundleSource::Logs => any(|it| it.logs.times().next().is_some()),
            BundleSource::Metrics => any(|it| !it.series.is_empty()),
            BundleSource::Changes => !self.changes.is_empty(),
            BundleSource::Events => !self.states.is_empty() || any(|it| !it.events.is_empty()),
        }
    }

    /// The same incident as if nothing of a source had been recorded. Window, baseline, topology, alerts
    /// and the extent of the recording stay as they are.
    #[must_use]
    pub fn without(&self, source: BundleSource) -> Self {
        let mut left = self.clone();
        if source == BundleSource::Changes {
            left.changes.clear();
            left.changes_recorded = None;
        }
        if source == BundleSource::Events {
            left.states.clear();
        }
        left.telemetry.retain(|entity, telemetry| {
            match source {
                BundleSource::Traces => telemetry.spans.clear(),
                BundleSource::Logs => {
                    telemetry.logs = LogPatterns::new(entity.clone());
                    telemetry.failed_requests.clear();
                }
                BundleSource::Metrics => telemetry.series.clear(),
                BundleSource::Events => telemetry.events.clear(),
                BundleSource::Changes => {}
            }
            !telemetry.is_empty()
        });
        left
    }
}

impl Telemetry {
    fn is_empty(&self) -> bool {
        let Self { series, events, logs, failed_requests, spans } = self;
        series.is_empty()
            && events.is_empty()
            && logs.times().next().is_none()
            && failed_requests.is_empty()
            && spans.is_empty()
    }
}
