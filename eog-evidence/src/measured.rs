//! What measured series say about their entity: what shifted, what is full, and what is as usual.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, Finding};

use crate::order::strongest_first;
use crate::series::{Periods, Series};
use crate::shift::{Shift, finding_of_shift, full_finding, level_finding};

/// A series, how findings cite it, and what was found of it.
#[derive(Clone, Debug)]
pub struct JudgedSeries {
    /// What was measured.
    pub series: Series,
    /// Where it was read.
    pub source: Arc<str>,
    /// What gives it again.
    pub query: String,
    /// How it shifted, if it did, and since when, if that is known.
    pub shift: Option<(Shift, Option<Onset>)>,
}

/// Findings on what was measured of one entity: series that shifted; resources that are full where nothing is known of
/// before; and at most `steady` series that are as usual. Of several series of one metric, such as those of two containers, the
/// strongest finding is kept. Adds what was left out.
///
/// ```
/// use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
/// use eog_core::evidence::{Signal, Trend};
/// use eog_evidence::{JudgedSeries, Periods, Series, series_findings};
/// let minute = |m: i64| Timestamp::from_second(m * 60).unwrap();
/// let series = Series {
///     entity: EntityId::new("cart")?,
///     kind: EvidenceKind::Metric,
///     metric: "requests".into(),
///     signal: Signal::Traffic,
///     unit: "1/s".into(),
///     peer: None,
///     points: (0..30).map(|m| (minute(m), 100.0)).collect(),
/// };
/// let query = "metric=requests".to_owned();
/// let judged = JudgedSeries { series, source: "metrics.csv".into(), query, shift: None };
/// let periods = Periods::new(Window::new(minute(15), minute(30))?);
/// let findings = series_findings(&[judged], &periods, 5, &mut Vec::new());
/// assert_eq!(findings[0].trend, Trend::Steady);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn series_findings(
    measured: &[JudgedSeries],
    periods: &Periods,
    steady: usize,
    omitted: &mut Vec<String>,
) -> Vec<Finding> {
    type Key<'a> = (&'a EntityId, &'a str, Signal, &'a str, Option<(&'a EntityId, PeerRole)>);
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut kept: Vec<Finding> = Vec::new();
    for JudgedSeries { series, source, query, shift } in measured {
        let found = match shift {
            Some((shift, onset)) => Some(finding_of_shift(series, shift, *onset, source, query)),
            None => full_finding(series, periods, source, query)
                .or_else(|| level_finding(series, periods, source, query)),
        };
        let Some(found) = found else { continue };
        let peer = series.peer.as_ref().map(|peer| (&peer.entity, peer.role));
        let key = (&series.entity, &*series.metric, series.signal, &*series.unit, peer);
        let place = *places.entry(key).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(known) if strongest_first(&found, known).is_lt() => *known = found,
            Some(_) => {}
            None => kept.push(found),
        }
    }
    let is_as_usual = |finding: &Finding| {
        let has_past = finding.quantity.as_ref().is_some_and(|it| it.baseline.is_some());
        finding.trend == Trend::Steady && has_past
    };
    let (mut as_usual, mut findings): (Vec<Finding>, Vec<Finding>) =
        kept.into_iter().partition(is_as_usual);
    // What says most about an entity's health first.
    as_usual.sort_by_key(|finding| (finding.signal, finding.peer.is_some()));
    if as_usual.len() > steady {
        omitted.push(format!("{} series more that did not shift", as_usual.len() - steady));
        as_usual.truncate(steady);
    }
    findings.extend(as_usual);
    findings
}
