//! Typed findings from the records of a snapshot, one module for each kind.

mod alerts;
mod at_rest;
mod changes;
mod demand;
mod diff;
mod events;
mod fullness;
mod latency;
mod levels;
mod logs;
mod metrics;
mod parts;
mod passing;
mod reasons;
mod replicas;
mod requests;
mod spans;
mod spoken;
mod status;

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::{Periods, rounded, shorten};
use jiff::SignedDuration;

pub use diff::{Leaf as ChangedLeaf, changed_leaves};
pub use reasons::meaning as event_signal;
pub use spoken::signal_of as alert_signal;

pub(crate) use alerts::{alert_findings, entity_of, reason_to_ignore, strangers};
pub(crate) use changes::{ChangeType, ObjectChange, change_findings, consequences, object_changes};
pub(crate) use demand::mark_demand;
pub(crate) use diff::ITEM_KEYS;
pub(crate) use events::event_findings;
pub(crate) use latency::{Buckets, growth};
pub(crate) use levels::used_up;
pub(crate) use logs::LogIndex;
pub(crate) use metrics::{Cited, MetricIndex, is_counter, is_request_counter, measured, unit_of};
pub(crate) use requests::{Line, outcomes, percentiles};
pub(crate) use spans::{
    MIN_ERRORS, MIN_REQUESTS, Parties, SpanIndex, View, duration_percentile, failed,
    recorded_seconds, services_of,
};
pub(crate) use status::status_findings;

/// How long before the pivot the period of comparison begins at most.
const BASELINE: SignedDuration = SignedDuration::from_mins(30);

/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 500;

/// The two periods that are compared: what was normal, and the incident.
///
/// They meet at the *pivot*: the strongest change in the window that precedes an onset it can have
/// caused, else the earliest onset in the window, else the start of the window. The start of the
/// window itself lies well before the incident and would mix both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compare {
    pub(crate) before: Window,
    pub(crate) after: Window,
}

impl Compare {
    /// Splits at the pivot, within what was recorded, since rates need the recorded length.
    /// Nothing when the pivot is not before the end of the window.
    pub(crate) fn at(pivot: Timestamp, window: Window, observed: Option<Window>) -> Option<Self> {
        let earliest = pivot.checked_sub(BASELINE).ok()?;
        let (mut start, mut end) = (earliest, window.end());
        if let Some(observed) = observed {
            start = Some(start.max(observed.start())).filter(|at| *at < pivot).unwrap_or(earliest);
            end = Some(end.min(observed.end())).filter(|at| pivot < *at).unwrap_or(end);
        }
        Some(Self { before: Window::new(start, pivot).ok()?, after: Window::new(pivot, end).ok()? })
    }

    /// The same as the periods that series and lines are compared over.
    pub(crate) fn periods(&self) -> Periods {
        Periods { baseline: self.before.into(), ..Periods::new(self.after) }
    }

    pub(crate) fn seconds(window: Window) -> f64 {
        window.end().duration_since(window.start()).as_secs_f64()
    }
}

/// A finding under construction: what every kind has.
pub(crate) struct Draft<'a> {
    pub(crate) entity: &'a EntityId,
    pub(crate) kind: EvidenceKind,
    pub(crate) signal: Signal,
    pub(crate) trend: Trend,
    pub(crate) time: EvidenceTime,
    pub(crate) quantity: Option<Quantity>,
    pub(crate) peer: Option<Peer>,
    pub(crate) source: &'a str,
    pub(crate) query: String,
    pub(crate) excerpt: String,
    /// When it began, by its own first observation.
    pub(crate) onset: Option<Onset>,
}

impl Draft<'_> {
    pub(crate) fn content(self) -> FindingContent {
        FindingContent {
            entity: self.entity.clone(),
            kind: self.kind,
            signal: self.signal,
            trend: self.trend,
            time: self.time,
            quantity: self.quantity,
            change: None,
            peer: self.peer,
            source: self.source.to_owned(),
            query: shorten(&self.query, MAX_EXCERPT),
            excerpt: shorten(&self.excerpt, MAX_EXCERPT),
            onset: self.onset,
        }
    }

    pub(crate) fn finding(self) -> Finding {
        Finding::new(self.content())
    }
}

/// `namespace=x name=y` of an entity, for queries.
pub(crate) fn selector(entity: &EntityId) -> String {
    let (kind, name) = (crate::names::kind_of(entity), crate::names::bare(entity));
    match crate::names::namespace_of(entity) {
        Some(namespace) => format!("kind={kind} namespace={namespace} name={name}"),
        None => format!("kind={kind} name={name}"),
    }
}

/// How an excerpt says since when something holds. The split of a comparison is no onset.
pub(crate) fn since(onset: Option<Onset>) -> String {
    match onset {
        None => "in the incident window".to_owned(),
        Some(onset) if onset.earliest() == onset.latest() => format!("since {}", onset.latest()),
        Some(onset) => format!("since a time from {} to {}", onset.earliest(), onset.latest()),
    }
}

/// How many times one value is the other, whichever is larger: at least one.
pub(crate) fn factor(observed: f64, baseline: f64, unit: &str) -> f64 {
    let (baseline, observed) = (baseline.abs(), observed.abs());
    let floor = if unit == "ratio" { 0.01 } else { f64::MIN_POSITIVE };
    let (low, high) = (baseline.min(observed).max(floor), baseline.max(observed).max(floor));
    (high / low).min(1e9)
}

/// Which way a value went.
pub(crate) fn trend(before: f64, after: f64) -> Trend {
    match after.total_cmp(&before) {
        std::cmp::Ordering::Greater => Trend::Rising,
        std::cmp::Ordering::Less => Trend::Falling,
        std::cmp::Ordering::Equal => Trend::Steady,
    }
}
