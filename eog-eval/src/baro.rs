//! The ranking of BARO (Pham et al., FSE 2024): by how many interquartile ranges a series departs from its median.

use std::collections::BTreeMap;

use eog::{EntityId, Timestamp};
use eog_evidence::{Bundle, Series};

use crate::ranking::Ranking;

/// Ranks entities by the greatest robust score of any of their series: `max |x - median| / IQR` of the points since the
/// first alert, median and range being those of the points before it. A range of nothing counts as 1, as in the scaler
/// that the published code uses. Ties are ties.
pub(crate) fn ranking(bundle: &Bundle) -> Ranking {
    let alerts = bundle.incident().anomalies;
    let Some(split) = alerts.iter().map(|alert| alert.onset).min() else {
        return Ranking::default();
    };
    let mut scores: BTreeMap<&EntityId, f64> = BTreeMap::new();
    for series in bundle.series() {
        let score = score(series, split).unwrap_or(0.0);
        let best = scores.entry(&series.entity).or_default();
        *best = best.max(score);
    }
    Ranking::by_score(scores.into_iter().map(|(entity, score)| (entity.clone(), score)))
}

fn score(series: &Series, split: Timestamp) -> Option<f64> {
    let finite = series.points.iter().filter(|(_, value)| value.is_finite());
    let (before, since): (Vec<_>, Vec<_>) = finite.copied().partition(|(at, _)| *at < split);
    let mut usual: Vec<f64> = before.into_iter().map(|(_, value)| value).collect();
    usual.sort_by(f64::total_cmp);
    let at = |share: f64| {
        usual.get(((usual.len().checked_sub(1)?) as f64 * share).round() as usize).copied()
    };
    let (low, median, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
    let spread = if high > low { high - low } else { 1.0 };
    since.into_iter().map(|(_, value)| (value - median).abs() / spread).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series at ten o'clock and later, a point each minute.
    fn series(values: &[f64]) -> Series {
        let at = |minute: usize| Timestamp::from_second(60 * minute as i64).unwrap();
        let points = values.iter().enumerate().map(|(minute, value)| (at(minute), *value));
        Series {
            entity: "cart".parse().unwrap(),
            kind: eog::EvidenceKind::Metric,
            metric: "queue".into(),
            signal: eog::evidence::Signal::Saturation,
            unit: String::new(),
            peer: None,
            points: points.collect(),
        }
    }

    #[test]
    fn a_score_is_the_distance_from_the_median_in_interquartile_ranges() {
        let split = Timestamp::from_second(60 * 5).unwrap();
        // Median 30 and quartiles 20 and 40 before, at most 90 after: three ranges away.
        let moved = series(&[10.0, 20.0, 30.0, 40.0, 50.0, 35.0, 90.0, f64::NAN]);
        assert_eq!(score(&moved, split), Some(3.0));
        // A constant series scores by how far it moved.
        assert_eq!(score(&series(&[2.0, 2.0, 2.0, 2.0, 2.0, 2.5]), split), Some(0.5));
        assert_eq!(score(&series(&[0.0; 6]), split), Some(0.0));
        // Without points since the alert there is nothing to score.
        assert_eq!(score(&series(&[1.0, 2.0]), split), None);
    }
}
