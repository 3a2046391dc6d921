//! Charts: the measured points behind a finding, with what is usual for them.

use eog_core::{EntityId, Timestamp};

use crate::series::{Periods, Series};
use crate::shift::Usual;

/// Most points of a chart. Of more, each group of neighbours keeps its lowest and highest.
pub const MAX_CHART_POINTS: usize = 600;

/// The measured points behind a finding.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chart {
    /// What it was measured on.
    pub entity: EntityId,
    /// The name of the metric.
    pub metric: String,
    /// Its unit, such as `ms`.
    pub unit: String,
    /// The points by time, at most [`MAX_CHART_POINTS`].
    pub points: Vec<(Timestamp, f64)>,
    /// What counts as usual, if there are enough points to know.
    pub usual: Option<Band>,
}

/// What counts as usual: the median of the baseline, and how far a point may lie from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The median of the baseline.
    pub centre: f64,
    /// A point further from it than this deviates.
    pub limit: f64,
}

impl Chart {
    /// The chart of a series that was compared over some periods.
    ///
    /// ```
    /// use eog_core::{EntityId, EvidenceKind, Timestamp, Window, evidence::Signal};
    /// use eog_evidence::{Chart, Periods, Series};
    /// let minute = |m: i64| Timestamp::from_second(m * 60).unwrap();
    /// let series = Series {
    ///     entity: EntityId::new("cart")?,
    ///     kind: EvidenceKind::Metric,
    ///     metric: "requests".into(),
    ///     signal: Signal::Traffic,
    ///     unit: "1/s".into(),
    ///     peer: None,
    ///     points: (0..30).map(|m| (minute(m), if m < 20 { 100.0 } else { 130.0 })).collect(),
    /// };
    /// let chart = Chart::of(&series, &Periods::new(Window::new(minute(15), minute(30))?));
    /// assert_eq!((chart.points.len(), chart.usual.unwrap().centre), (30, 100.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(series: &Series, periods: &Periods) -> Self {
        let parts = periods.cut(&series.points);
        let usual = parts.and_then(|parts| Usual::of(&parts.baseline, &series.unit));
        Self {
            entity: series.entity.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            points: thinned(&series.points),
            usual: usual.map(|usual| Band { centre: usual.centre, limit: usual.limit }),
        }
    }
}

/// The points, or of too many the lowest and the highest of each group of neighbours, so that no
/// peak is lost.
fn thinned(points: &[(Timestamp, f64)]) -> Vec<(Timestamp, f64)> {
    let finite: Vec<_> = points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
    if finite.len() <= MAX_CHART_POINTS {
        return finite;
    }
    let group = finite.len().div_ceil(MAX_CHART_POINTS / 2);
    let ends = |group: &[(Timestamp, f64)]| {
        let low = group.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = group.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut ends: Vec<_> = low.into_iter().chain(high).collect();
        ends.sort_by_key(|point| point.0);
        ends.dedup();
        ends
    };
    finite.chunks(group).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_survives_thinning() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut points: Vec<_> = (0..10_000).map(|second| (at(second), 1.0)).collect();
        points[4_321].1 = 99.0;
        points[17].1 = f64::NAN;
        let thin = thinned(&points);
        assert!(thin.len() <= MAX_CHART_POINTS, "{}", thin.len());
        assert!(thin.contains(&(at(4_321), 99.0)));
        assert!(thin.is_sorted_by_key(|point| point.0));
    }
}
