//! Findings of a test.

use eog::evidence::{EvidenceTime, FindingContent, PeerRole, Signal, Trend};
use eog::incident::Onset;
use eog::{EvidenceKind, Finding};

use crate::names::{at, entity, hour, window};

/// Begins a finding on this entity: an event of signal `Other`, steady, at 10:00 by default.
///
/// ```
/// use eog::EvidenceKind;
/// use eog::evidence::{Signal, Trend};
/// use eog_testkit::finding;
/// let out_of_memory = finding("db")
///     .kind(EvidenceKind::Event)
///     .signal(Signal::Exhaustion)
///     .trend(Trend::Rising)
///     .at("10:04")
///     .excerpt("process killed: out of memory")
///     .build();
/// assert!(out_of_memory.id().as_str().starts_with("evt-"));
/// ```
///
/// # Panics
/// When the name is not valid; the methods panic likewise on invalid names and times.
#[track_caller]
pub fn finding(name: &str) -> FindingBuilder {
    let time = EvidenceTime::At(hour().start());
    let content = FindingContent::new(entity(name), EvidenceKind::Event, Signal::Other, time);
    FindingBuilder(content.from_source("test", format!("entity={name}")))
}

/// A finding in the making; see [`finding`].
///
/// Wherever the testkit takes a finding it takes a builder too.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct FindingBuilder(FindingContent);

impl FindingBuilder {
    /// What kind of record it is.
    pub fn kind(mut self, kind: EvidenceKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Its subject.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.0.signal = signal;
        self
    }

    /// Which way it points.
    pub fn trend(mut self, trend: Trend) -> Self {
        self.0.trend = trend;
        self
    }

    /// Holds at one instant.
    #[track_caller]
    pub fn at(mut self, time: &str) -> Self {
        self.0.time = EvidenceTime::At(at(time));
        self
    }

    /// Holds over a window.
    #[track_caller]
    pub fn during(mut self, start: &str, end: &str) -> Self {
        self.0.time = EvidenceTime::During(window(start, end));
        self
    }

    /// What it states began between these times.
    #[track_caller]
    pub fn began(mut self, earliest: &str, latest: &str) -> Self {
        self.0.onset = Some(Onset::between(at(earliest), at(latest)));
        self
    }

    /// A measured value with its baseline. Sets the kind to `Metric` and the trend to match.
    pub fn measured(mut self, observed: f64, baseline: f64, unit: &str) -> Self {
        self.0.kind = EvidenceKind::Metric;
        Self(self.0.with_quantity(observed, Some(baseline), unit))
    }

    /// A changed field, with its old and new value. Sets the kind to `Change` and the signal to
    /// `Configuration`.
    pub fn change(mut self, path: &str, old: &str, new: &str) -> Self {
        self.0.kind = EvidenceKind::Change;
        self.0.signal = Signal::Configuration;
        Self(self.0.with_change(path, Some(old.to_owned()), Some(new.to_owned())))
    }

    /// Names another entity, with its role.
    #[track_caller]
    pub fn peer(self, name: &str, role: PeerRole) -> Self {
        Self(self.0.with_peer(entity(name), role))
    }

    /// The tool or file that gave it.
    pub fn source(mut self, source: &str) -> Self {
        self.0.source = source.to_owned();
        self
    }

    /// The query that gives it again.
    pub fn query(mut self, query: &str) -> Self {
        self.0.query = query.to_owned();
        self
    }

    /// A short excerpt for people.
    pub fn excerpt(mut self, excerpt: &str) -> Self {
        self.0.excerpt = excerpt.to_owned();
        self
    }

    /// The finding; its id follows from all of the above.
    pub fn build(self) -> Finding {
        Finding::new(self.0)
    }
}

impl From<FindingBuilder> for Finding {
    fn from(builder: FindingBuilder) -> Self {
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorthands_set_kind_signal_and_trend() {
        let change = finding("db").change("replicas", "3", "1").build();
        assert_eq!((change.kind, change.signal), (EvidenceKind::Change, Signal::Configuration));
        let slower = finding("db").signal(Signal::Latency).measured(90.0, 12.0, "ms").build();
        assert_eq!((slower.kind, slower.trend), (EvidenceKind::Metric, Trend::Rising));
        let fewer = finding("db").measured(1.0, 2.0, "1/s").build();
        assert_eq!(fewer.trend, Trend::Falling);
    }

    #[test]
    fn equal_builders_give_equal_ids_and_others_do_not() {
        let one = finding("db").excerpt("killed").build();
        assert_eq!(one.id(), finding("db").excerpt("killed").build().id());
        assert_ne!(one.id(), finding("db").excerpt("restarted").build().id());
    }
}
