//! The ranking of BARO (Pham et al., FSE 2024): by how many interquartile ranges a series departs from its median.

use std::collections::BTreeMap;

use eog::{EntityId, Timestamp};
use eog_evidence::{Bundle, Series};

use crate::ranking::Ranking;

/// A spread of nothing is taken for this share of the median, so that constant series can be compared.
const LEAST_SPREAD: f64 = 1e-3;

/// Ranks entities by the greatest robust score of any of their series: `max |x - median| / IQR` of the points since the
/// first alert, median and range being those of the points before it. Ties are ties.
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
    let spread = (high - low).max(LEAST_SPREAD * median.abs()).max(f64::MIN_POSITIVE);
    since.into_iter().map(|(_, value)| (value - median).abs() / spread).reduce(f64::max)
}
