//! The measured points behind a finding from traces: minute by minute what the finding compares.

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{Finding, Timestamp, Window};
use eog_evidence::{Chart, Periods, Series};
use jiff::SignedDuration;

use super::{SpanIndex, duration_percentile, failed, ratio};
use crate::evidence::Compare;
use crate::store::Spans;

/// Requests are gathered over so long for one point.
const STEP: SignedDuration = SignedDuration::from_mins(1);
/// Most points.
const MAX_STEPS: usize = 1_440;

impl SpanIndex {
    /// The measured points behind a finding that [`SpanIndex::findings`] gives, if it is about
    /// errors, latency or traffic of an entity or of one of its relations.
    pub(crate) fn chart(
        &self,
        spans: &Spans,
        finding: &Finding,
        compare: &Compare,
    ) -> Option<Chart> {
        let rows = self.rows_of(finding)?;
        let (metric, unit) = match finding.signal {
            Signal::Errors => ("error ratio", "ratio"),
            Signal::Latency => ("95th percentile of the duration", "ms"),
            Signal::Traffic => ("requests a second", "1/s"),
            _ => return None,
        };
        let point = |window: Window| {
            let rows = spans.at.among(rows, window);
            let value = match finding.signal {
                Signal::Errors if rows.is_empty() => None,
                Signal::Errors => Some(ratio(failed(spans, rows), rows)),
                Signal::Latency => duration_percentile(spans, rows, 95),
                _ => Some(rows.len() as f64 / STEP.as_secs_f64()),
            };
            Some((window.start(), value?))
        };
        let series = Series {
            entity: finding.entity.clone(),
            kind: finding.kind,
            metric: metric.to_owned(),
            signal: finding.signal,
            unit: unit.to_owned(),
            peer: finding.peer.clone(),
            points: steps(compare).filter_map(point).collect(),
        };
        let periods = Periods { baseline: compare.before.into(), ..Periods::new(compare.after) };
        Some(Chart::of(&series, &periods))
    }

    fn rows_of(&self, finding: &Finding) -> Option<&[u32]> {
        let entity = &finding.entity;
        let rows = match &finding.peer {
            None => self.served.get(entity),
            Some(Peer { entity: caller, role: PeerRole::Caller }) => {
                self.calls.get(caller)?.get(entity)
            }
            Some(Peer { entity: callee, .. }) => self.calls.get(entity)?.get(callee),
        };
        rows.map(Vec::as_slice)
    }
}

/// The whole steps of both periods.
fn steps(compare: &Compare) -> impl Iterator<Item = Window> {
    let (start, end) = (compare.before.start(), compare.after.end());
    let next = |at: &Timestamp| at.checked_add(STEP).ok();
    let begins = std::iter::successors(Some(start), next);
    let whole = begins.map_while(move |at| {
        let until = next(&at).filter(|until| *until <= end)?;
        Window::new(at, until).ok()
    });
    whole.take(MAX_STEPS)
}
