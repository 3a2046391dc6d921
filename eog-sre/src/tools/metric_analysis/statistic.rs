//! Statistics of the points of one or more series of a metric.

use std::cell::OnceCell;

use eog_core::Window;

use crate::evidence::{Buckets, growth};
use crate::read::MetricSeries;
use crate::tools::query::quantile;

/// How the points of a group become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Statistic {
    Mean,
    Sum,
    Min,
    Max,
    Count,
    Last,
    P50,
    P90,
    P95,
    P99,
    Increase,
    Rate,
}

impl Statistic {
    pub(crate) const NAMES: [&'static str; 12] = [
        "mean", "sum", "min", "max", "count", "last", "p50", "p90", "p95", "p99", "increase",
        "rate",
    ];

    const ALL: [Self; 12] = [
        Self::Mean,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::Count,
        Self::Last,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::Increase,
        Self::Rate,
    ];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| *known == name.trim())?;
        Self::ALL.get(at).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        let at = Self::ALL.iter().position(|one| *one == self);
        at.and_then(|at| Self::NAMES.get(at).copied()).unwrap_or_default()
    }

    /// Whether nothing to count means zero.
    pub(crate) fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Sum | Self::Increase | Self::Rate)
    }

    /// Of values in order, of which it does not matter when they were measured.
    pub(crate) fn of(self, sorted: &[f64]) -> Option<f64> {
        let count = sorted.len();
        match self {
            Self::Count => Some(count as f64),
            _ if count == 0 => None,
            Self::Sum => Some(sorted.iter().sum()),
            Self::Mean => Some(mean(sorted)),
            Self::Min => sorted.first().copied(),
            Self::Max => sorted.last().copied(),
            other => quantile(sorted, other.share()?),
        }
    }

    fn share(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.50),
            Self::P90 => Some(0.90),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            _ => None,
        }
    }
}

/// Some series of one metric, within a window.
pub(crate) struct Points<'a> {
    series: Vec<&'a MetricSeries>,
    window: Window,
    /// For the buckets of histograms: what was observed is given, not the counters themselves.
    histogram: bool,
    sorted: OnceCell<Vec<f64>>,
}

impl<'a> Points<'a> {
    pub(crate) fn new(series: Vec<&'a MetricSeries>, window: Window, histogram: bool) -> Self {
        Self { series, window, histogram, sorted: OnceCell::new() }
    }

    /// A statistic, or nothing when there is nothing to take it from.
    pub(crate) fn get(&self, statistic: Statistic) -> Option<f64> {
        if self.histogram {
            return self.observed(statistic);
        }
        match statistic {
            Statistic::Last => self.last(),
            Statistic::Increase => self.grown().map(|(grown, _)| grown),
            Statistic::Rate => self.grown().map(|(_, rate)| rate),
            of_values => of_values.of(self.values()),
        }
    }

    /// For a histogram: how often something was observed, and how large it was.
    fn observed(&self, statistic: Statistic) -> Option<f64> {
        let mut buckets = Buckets::default();
        let mut seconds = 0.0_f64;
        for series in &self.series {
            let Some((grown, lasted)) = growth(&series.points, self.window) else { continue };
            if let Some(bound) = series.bucket {
                buckets.add(bound, grown);
                seconds = seconds.max(lasted);
            }
        }
        match statistic {
            Statistic::Count | Statistic::Increase => Some(buckets.total()),
            Statistic::Rate => (seconds > 0.0).then(|| buckets.total() / seconds),
            other => buckets.quantile(other.share()?),
        }
    }

    /// All values, sorted.
    fn values(&self) -> &[f64] {
        self.sorted.get_or_init(|| {
            let values = self.series.iter().flat_map(|series| series.points.values(self.window));
            let mut values: Vec<f64> = values.copied().collect();
            values.sort_by(f64::total_cmp);
            values
        })
    }

    /// The newest value; of several series that end at once the greatest.
    fn last(&self) -> Option<f64> {
        let ends =
            self.series.iter().filter_map(|series| series.points.within(self.window).next_back());
        let newest = ends.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        newest.map(|(_, value)| value)
    }

    /// Growth of all counters, and growth a second.
    fn grown(&self) -> Option<(f64, f64)> {
        let mut found = None;
        for series in &self.series {
            let Some((grown, seconds)) = growth(&series.points, self.window) else { continue };
            if seconds > 0.0 {
                let (all, rate) = found.unwrap_or((0.0, 0.0));
                found = Some((all + grown, rate + grown / seconds));
            }
        }
        found
    }
}

fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let count = values.len() as f64;
    if sum.is_finite() { sum / count } else { values.iter().map(|value| value / count).sum() }
}
