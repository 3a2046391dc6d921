//! Series made of traced requests, judged like any other series.

use std::collections::BTreeMap;

use eog_core::evidence::{Peer, PeerRole, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Timestamp};
use jiff::SignedDuration;

use crate::onsets::share_onset;
use crate::series::{Periods, Series};
use crate::shift::Shift;
use crate::stats::{USUAL_PERCENT, median, percentile, ranks_apart, shares_apart};

/// Spans are counted in steps of this many seconds.
pub const SPAN_BUCKET_SECONDS: i64 = 60;

/// A step with fewer spans says nothing.
const MIN_SPANS: usize = 3;

/// One traced request or operation.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanRecord {
    /// When it began.
    pub time: Timestamp,
    /// The entity that worked on it.
    pub entity: EntityId,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Whether it failed, if that is known. One of which it is not counts neither as good nor as bad.
    pub failed: Option<bool>,
    /// The other end: who asked ([`PeerRole::Caller`]) or who was asked ([`PeerRole::Callee`]).
    pub peer: Option<Peer>,
    /// What was done, such as `GET /cart`. Untrusted text.
    pub operation: Option<String>,
    /// Its place in the trace, where that was recorded.
    pub ids: Option<SpanIds>,
}

/// The place of a span in its trace. Untrusted texts, compared byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpanIds {
    /// The trace: all that was done for one request from outside.
    pub trace: String,
    /// The span itself; no other of its trace has this id.
    pub span: String,
    /// The span that it is a part of. None: it is the first one, or that is not known.
    pub parent: Option<String>,
}

/// Per entity and peer a series of the share of failed spans and one of the median duration, in
/// steps of [`SPAN_BUCKET_SECONDS`]; a step with fewer than 3 spans (for the share: of known outcome)
/// is left out. Sorted by entity,
/// peer and metric. Spans whose duration is not finite are passed over.
///
/// ```
/// use eog_core::EntityId;
/// use eog_evidence::{SpanRecord, span_series};
/// let span = SpanRecord {
///     time: "2026-01-01T10:00:00Z".parse()?,
///     entity: EntityId::new("cart")?,
///     duration_ms: 12.0,
///     failed: Some(true),
///     peer: None,
///     operation: None,
///     ids: None,
/// };
/// let series = span_series(&[span.clone(), span.clone(), span]);
/// assert_eq!(series[0].metric, "failed spans");
/// assert_eq!(series[0].points[0].1, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn span_series(spans: &[SpanRecord]) -> Vec<Series> {
    let mut relations: BTreeMap<Key<'_>, BTreeMap<i64, Bucket>> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.duration_ms.is_finite()) {
        let peer = span.peer.as_ref().map(|peer| (&peer.entity, peer.role));
        let step = span.time.as_second().div_euclid(SPAN_BUCKET_SECONDS);
        let bucket = relations.entry((&span.entity, peer)).or_default().entry(step).or_default();
        bucket.durations.push(span.duration_ms);
        bucket.known += usize::from(span.failed.is_some());
        bucket.failed += usize::from(span.failed == Some(true));
    }
    relations.into_iter().flat_map(|(key, steps)| both_series(key, &steps)).collect()
}

type Key<'a> = (&'a EntityId, Option<(&'a EntityId, PeerRole)>);

#[derive(Default)]
struct Bucket {
    durations: Vec<f64>,
    /// How many of them are known to have failed or not.
    known: usize,
    failed: usize,
}

fn both_series((entity, peer): Key<'_>, steps: &BTreeMap<i64, Bucket>) -> [Series; 2] {
    let series = |metric: &str, signal, unit: &str, value: fn(&Bucket) -> Option<f64>| Series {
        entity: entity.clone(),
        kind: EvidenceKind::Span,
        metric: metric.to_owned(),
        signal,
        unit: unit.to_owned(),
        peer: peer.map(|(entity, role)| Peer { entity: entity.clone(), role }),
        points: steps
            .iter()
            .filter(|(_, bucket)| bucket.durations.len() >= MIN_SPANS)
            .filter_map(|(step, bucket)| {
                let at = Timestamp::from_second(step.checked_mul(SPAN_BUCKET_SECONDS)?).ok()?;
                Some((at, value(bucket)?))
            })
            .collect(),
    };
    [
        series("failed spans", Signal::Errors, "ratio", |bucket| {
            (bucket.known >= MIN_SPANS).then(|| bucket.failed as f64 / bucket.known as f64)
        }),
        series("median span duration", Signal::Latency, "ms", |bucket| {
            median(bucket.durations.iter().copied())
        }),
    ]
}

/// A difference of requests counts beyond this many standard deviations: that their series shifted was one test
/// already.
const REQUESTS_DIFFER: f64 = 3.0;

/// Whether single requests bear out that a series of them shifted: those of the shift against those of the baseline.
/// A step may hold three requests, of different kinds, and two such steps in a row may differ from all before by chance:
/// durations by the rank test of Mann and Whitney (1947), failures by their shares.
pub(crate) fn requests_differ(
    spans: &[SpanRecord],
    series: &Series,
    shift: &Shift,
    periods: &Periods,
) -> bool {
    let Some(usual) = periods.usual_of(&series.points) else { return false };
    let step = SignedDuration::from_secs(SPAN_BUCKET_SECONDS);
    let end = shift.last().checked_add(step).unwrap_or(Timestamp::MAX);
    let of_step = |at: Timestamp| {
        let begin = at.as_second().div_euclid(SPAN_BUCKET_SECONDS) * SPAN_BUCKET_SECONDS;
        Timestamp::from_second(begin).unwrap_or(at)
    };
    let own = spans.iter().filter(|span| span.peer == series.peer);
    let own = own.filter(|span| span.duration_ms.is_finite());
    let before: Vec<&SpanRecord> = own.clone().filter(|span| usual(of_step(span.time))).collect();
    let after: Vec<&SpanRecord> =
        own.filter(|span| shift.onset() <= span.time && span.time < end).collect();
    if series.signal == Signal::Errors {
        let share = |spans: &[&SpanRecord]| {
            let known = spans.iter().filter_map(|span| span.failed);
            (known.clone().filter(|failed| *failed).count() as f64, known.count() as f64)
        };
        return shares_apart(share(&before), share(&after)).abs() >= REQUESTS_DIFFER;
    }
    let durations =
        |spans: &[&SpanRecord]| spans.iter().map(|span| span.duration_ms).collect::<Vec<f64>>();
    ranks_apart(&durations(&before), &durations(&after)).abs() >= REQUESTS_DIFFER
}

/// When the requests behind a series began to fail, or to be slower than the 95th percentile of
/// those before it, for a shift that was found in the series: by single requests, which are more exact
/// than its steps.
pub(crate) fn span_onset(
    spans: &[SpanRecord],
    series: &Series,
    shift: &Shift,
    end: Timestamp,
) -> Option<Onset> {
    if shift.trend() != Trend::Rising {
        return None;
    }
    let own = spans.iter().filter(|span| span.peer == series.peer && span.time < end);
    let own = own.filter(|span| span.duration_ms.is_finite());
    let mut requests: Vec<(Timestamp, bool)> = match series.signal {
        Signal::Errors => own.filter_map(|span| Some((span.time, span.failed?))).collect(),
        _ => {
            let usual = own.clone().filter(|span| span.time < shift.onset());
            let slow = percentile(usual.map(|span| span.duration_ms), USUAL_PERCENT)?;
            own.map(|span| (span.time, span.duration_ms > slow)).collect()
        }
    };
    requests.sort_unstable();
    share_onset(&requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_bear_a_shift_out_or_do_not() {
        let entity = EntityId::new("cart").unwrap();
        let span = |second: i64, duration_ms: f64, failed: bool| SpanRecord {
            time: Timestamp::from_second(second).unwrap(),
            entity: entity.clone(),
            duration_ms,
            failed: Some(failed),
            peer: None,
            operation: None,
            ids: None,
        };
        // Three requests a minute; from minute 10 on they take so long, and the first of each fails.
        let slower = |slow: f64, minutes: i64| -> Vec<bool> {
            let spans: Vec<SpanRecord> = (0..10 + minutes)
                .flat_map(|minute| (0..3).map(move |n| (minute, n)))
                .map(|(minute, n)| match minute < 10 {
                    true => span(minute * 60 + n, [10.0, 90.0, 20.0][n as usize], false),
                    false => span(minute * 60 + n, slow + n as f64, n == 0),
                })
                .collect();
            let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
            let window = eog_core::Window::new(at(10), at(10 + minutes)).unwrap();
            let periods = Periods::new(window);
            let judged = span_series(&spans).into_iter().map(|series| {
                let shift = crate::shift::find_shift(&series.points, &series.unit, &periods);
                shift.is_some_and(|shift| requests_differ(&spans, &series, &shift, &periods))
            });
            judged.collect()
        };
        assert_eq!(slower(40.0, 2), [false, false], "others were as slow; two of six fail");
        assert_eq!(slower(200.0, 6), [true, true]);
    }

    #[test]
    fn requests_are_compared_with_those_of_the_given_baseline() {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let window = |from: i64, to: i64| eog_core::Window::new(at(from), at(to)).unwrap();
        let span = |minute: i64, n: i64, duration_ms: f64| SpanRecord {
            time: Timestamp::from_second(minute * 60 + n).unwrap(),
            entity: EntityId::new("cart").unwrap(),
            duration_ms,
            failed: Some(false),
            peer: None,
            operation: None,
            ids: None,
        };
        // A slow incident comes first, and an even slower time that is not normal; the baseline is last.
        let of = |minute: i64| match minute {
            0..10 => 400.0,
            10..20 => 200.0,
            _ => 10.0,
        };
        let spans: Vec<SpanRecord> = (0..30)
            .flat_map(|minute| (0..3).map(move |n| span(minute, n, of(minute) + n as f64)))
            .collect();
        let periods =
            Periods { baseline: Some(window(20, 30)).into(), ..Periods::new(window(10, 20)) };
        let [_, latency] = span_series(&spans).try_into().unwrap();
        let shift = crate::shift::find_shift(&latency.points, &latency.unit, &periods).unwrap();
        assert_eq!(shift.onset(), at(10));
        assert!(requests_differ(&spans, &latency, &shift, &periods));
    }

    #[test]
    fn spans_become_a_ratio_and_a_median_for_each_peer() {
        let entity = EntityId::new("cart").unwrap();
        let db = Peer { entity: EntityId::new("db").unwrap(), role: PeerRole::Callee };
        let span = |second, duration_ms, failed, peer: Option<&Peer>| SpanRecord {
            time: Timestamp::from_second(second).unwrap(),
            entity: entity.clone(),
            duration_ms,
            failed: Some(failed),
            peer: peer.cloned(),
            operation: None,
            ids: None,
        };
        let spans = [
            span(0, 5.0, false, None),
            span(59, 9.0, true, None),
            span(1, 7.0, false, None),
            span(2, f64::NAN, true, None),
            span(60, 7.0, true, None),
            span(61, 1.0, true, Some(&db)),
            span(62, 1.0, true, Some(&db)),
            span(63, 4.0, true, Some(&db)),
        ];
        let series = span_series(&spans);
        let mut found: Vec<(Option<&str>, &str, Vec<f64>)> = Vec::new();
        for one in &series {
            let values = one.points.iter().map(|(_, value)| *value).collect();
            found.push((one.peer.as_ref().map(|p| p.entity.as_str()), &one.metric, values));
        }
        assert_eq!(
            found,
            [
                (None, "failed spans", vec![1.0 / 3.0]),
                (None, "median span duration", vec![7.0]),
                (Some("db"), "failed spans", vec![1.0]),
                (Some("db"), "median span duration", vec![1.0]),
            ]
        );
    }
}
