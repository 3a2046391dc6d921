//! Requests of one place in both periods, and whether they shifted.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use eog_evidence::template;
use serde::Serialize;

use super::super::ToolError;
use super::super::signals::short;
use super::tree::Node;
use crate::evidence::{MIN_ERRORS, MIN_REQUESTS, View, duration_percentile, failed};
use crate::store::{SpanRef, Spans};

/// Durations that rise by less than this many milliseconds did not shift.
const MIN_RISE_MS: f64 = 1.0;

/// Requests that would have been expected before it means something that none came.
const MIN_EXPECTED: f64 = 10.0;

/// By how much errors and latency must rise, in percent, unless it is given.
const THRESHOLD: f64 = 10.0;

/// Most kinds of errors that are quoted.
const MAX_SAMPLES: usize = 3;

/// Requests of one period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// Number of requests.
    pub requests: usize,
    /// Requests per second, over the recorded part of the period.
    pub per_second: f64,
    /// Number of failed requests.
    pub failed: usize,
    /// Percentage of failed requests; absent without requests.
    pub error_percent: Option<f64>,
    /// Median duration in milliseconds.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the duration in milliseconds.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the duration in milliseconds.
    pub p99_ms: Option<f64>,
}

/// Requests before and after.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) before: Requests,
    pub(super) after: Requests,
    pub(super) shifts: Vec<ShiftKind>,
}

/// What shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ShiftKind {
    /// The share of failed requests rose.
    Errors,
    /// There are no more requests.
    Gone,
    /// The 95th percentile of the duration rose.
    Latency,
    /// There were no requests before.
    New,
}

/// A kind of failed span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleError {
    /// The name of the first such span.
    pub span: String,
    /// Its message; may be empty.
    pub message: String,
    /// Its trace.
    pub trace: String,
    /// When it started.
    pub at: Timestamp,
    /// How many failed spans have this name and a similar message.
    pub count: usize,
}

impl Compared {
    /// For sorting: shifted before not shifted, errors before latency, large before small.
    pub(super) fn strength(&self) -> f64 {
        let worst = |shift: &ShiftKind| match shift {
            ShiftKind::Errors => 3e9 + self.error_rise(),
            ShiftKind::Gone => 2e9 + self.before.requests as f64,
            ShiftKind::Latency => 1e9 + self.latency_factor().min(1e6),
            ShiftKind::New => 1.0,
        };
        self.shifts.iter().map(worst).fold(0.0, f64::max)
    }

    fn error_rise(&self) -> f64 {
        self.after.error_percent.unwrap_or(0.0) - self.before.error_percent.unwrap_or(0.0)
    }

    fn latency_factor(&self) -> f64 {
        let (before, after) = (self.before.p95_ms, self.after.p95_ms);
        after.unwrap_or(0.0) / before.unwrap_or(0.0).max(1e-3)
    }
}

/// Says what shifted.
pub(super) struct Judge {
    pub(super) error_points: f64,
    pub(super) latency_percent: f64,
}

impl Judge {
    pub(super) fn new(errors: Option<f64>, latency: Option<f64>) -> Result<Self, ToolError> {
        let checked = |argument: &str, given: Option<f64>, most: f64| match given {
            None => Ok(THRESHOLD),
            Some(percent) if (0.0..=most).contains(&percent) => Ok(percent),
            Some(other) => {
                let hint = format!("give a percentage from 0 to {most}");
                Err(ToolError::argument(argument, format!("{other} is out of range"), hint))
            }
        };
        Ok(Self {
            error_points: checked("error_threshold", errors, 100.0)?,
            latency_percent: checked("latency_threshold", latency, 1e6)?,
        })
    }

    /// Judges the spans of a service or call.
    pub(super) fn view(&self, spans: &Spans, view: &View<'_>) -> Compared {
        self.compared(spans, view.before, view.after, view.seconds)
    }

    /// Judges the requests that came to a node.
    pub(super) fn node(
        &self,
        spans: &Spans,
        node: Option<&Node>,
        seconds: (f64, f64),
    ) -> Option<Compared> {
        let node = node?;
        Some(self.compared(spans, &node.before.requests, &node.after.requests, seconds))
    }

    fn compared(
        &self,
        spans: &Spans,
        before: &[u32],
        after: &[u32],
        seconds: (f64, f64),
    ) -> Compared {
        let (before, after) =
            (requests(spans, before, seconds.0), requests(spans, after, seconds.1));
        let mut compared = Compared { before, after, shifts: Vec::new() };
        let shifts = [
            (ShiftKind::Errors, self.has_errors(&compared)),
            (ShiftKind::Gone, is_gone(&compared.before, &compared.after, seconds)),
            (ShiftKind::Latency, self.is_slower(&compared)),
            (ShiftKind::New, is_gone(&compared.after, &compared.before, (seconds.1, seconds.0))),
        ];
        compared.shifts = shifts.into_iter().filter(|shift| shift.1).map(|shift| shift.0).collect();
        compared
    }

    fn has_errors(&self, compared: &Compared) -> bool {
        let rise = compared.error_rise();
        compared.after.failed >= MIN_ERRORS && rise > 0.0 && rise >= self.error_points
    }

    fn is_slower(&self, compared: &Compared) -> bool {
        let Compared { before, after, .. } = compared;
        let enough = before.requests >= MIN_REQUESTS && after.requests >= MIN_REQUESTS;
        let (Some(old), Some(new)) = (before.p95_ms, after.p95_ms) else { return false };
        enough && new - old >= MIN_RISE_MS && new >= old * (1.0 + self.latency_percent / 100.0)
    }
}

/// Whether there are no requests in the second of two periods, although some were expected.
fn is_gone(first: &Requests, second: &Requests, seconds: (f64, f64)) -> bool {
    let expected = first.requests as f64 * (seconds.1 / seconds.0).min(1.0);
    second.requests == 0 && seconds.1 > 0.0 && expected >= MIN_EXPECTED
}

fn requests(spans: &Spans, rows: &[u32], seconds: f64) -> Requests {
    let failed = failed(spans, rows);
    let percentile = |percent| duration_percentile(spans, rows, percent).map(short);
    let all = rows.len();
    Requests {
        requests: all,
        per_second: if seconds > 0.0 { short(all as f64 / seconds) } else { 0.0 },
        failed,
        error_percent: (all > 0).then(|| short(100.0 * failed as f64 / all as f64)),
        p50_ms: percentile(50),
        p95_ms: percentile(95),
        p99_ms: percentile(99),
    }
}

/// What failed spans say, put together by name and pattern of message, the most frequent first.
pub(super) fn sample_errors(spans: &Spans, failed: &[u32]) -> Vec<SampleError> {
    let mut kinds: BTreeMap<(&str, String), (usize, SpanRef<'_>)> = BTreeMap::new();
    for span in failed.iter().map(|row| spans.get(*row)) {
        let kind = kinds.entry((span.name(), template(span.message()))).or_insert((0, span));
        kind.0 += 1;
        if span.at() < kind.1.at() {
            kind.1 = span;
        }
    }
    let mut kinds: Vec<(usize, SpanRef<'_>)> = kinds.into_values().collect();
    // Those that say something first; then stable by name and pattern.
    kinds.sort_by_key(|(count, span)| (span.message().is_empty(), std::cmp::Reverse(*count)));
    let sample = |(count, span): (usize, SpanRef<'_>)| SampleError {
        span: span.name().to_owned(),
        message: span.message().to_owned(),
        trace: span.trace().to_owned(),
        at: span.at(),
        count,
    };
    kinds.into_iter().take(MAX_SAMPLES).map(sample).collect()
}
