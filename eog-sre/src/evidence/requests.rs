//! Requests that are counted by their outcome, or by how long they took: step by step.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use eog_evidence::SPAN_BUCKET_SECONDS;

use super::latency::Buckets;
use super::metrics::is_failure;
use crate::read::MetricSeries;

/// Fewest requests or observations that say something about their share or size.
const MIN_OBSERVED: f64 = 5.0;

/// Points by time.
pub(crate) type Line = Vec<(Timestamp, f64)>;

/// Requests that failed and all of them between two readings, by the later one. A fall is a restart.
pub(super) fn counts(series: &[&MetricSeries]) -> Vec<(Timestamp, f64, f64)> {
    let mut counts: BTreeMap<Timestamp, (f64, f64)> = BTreeMap::new();
    for one in series {
        let failure = is_failure(&one.status_code);
        for [(_, old), (at, new)] in one.points.steps() {
            let grown = if new >= old { new - old } else { new };
            let (failed, all) = counts.entry(at).or_default();
            *failed += if failure { grown } else { 0.0 };
            *all += grown;
        }
    }
    counts.into_iter().map(|(at, (failed, all))| (at, failed, all)).collect()
}

/// Requests a second by counters of one metric, and the share of them that failed: of few requests over several steps.
pub(crate) fn outcomes(series: &[&MetricSeries]) -> (Line, Line) {
    #[derive(Default)]
    struct Step {
        all: f64,
        failed: f64,
        rate: f64,
    }
    let mut by_step: BTreeMap<i64, Step> = BTreeMap::new();
    for one in series {
        let failure = is_failure(&one.status_code);
        for (at, (grown, seconds)) in steps(one) {
            let step = by_step.entry(at).or_default();
            step.all += grown;
            step.rate += grown / seconds;
            step.failed += if failure { grown } else { 0.0 };
        }
    }
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    let (mut failed, mut all) = (0.0, 0.0);
    for (at, step) in by_step {
        let Some(at) = beginning(at) else { continue };
        rates.push((at, step.rate));
        (failed, all) = (failed + step.failed, all + step.all);
        if all >= MIN_OBSERVED {
            ratios.push((at, failed / all));
            (failed, all) = (0.0, 0.0);
        }
    }
    (rates, ratios)
}

/// The 95th percentile of what the buckets of one histogram count.
pub(crate) fn percentiles(series: &[&MetricSeries]) -> Line {
    let mut by_step: BTreeMap<i64, Buckets> = BTreeMap::new();
    for one in series {
        let Some(bound) = one.bucket else { continue };
        for (step, (grown, _)) in steps(one) {
            by_step.entry(step).or_default().add(bound, grown);
        }
    }
    let busy = by_step.into_iter().filter(|(_, buckets)| buckets.total() >= MIN_OBSERVED);
    busy.filter_map(|(step, buckets)| Some((beginning(step)?, buckets.quantile(0.95)?))).collect()
}

/// Growth and seconds of a counter in each step. What a restart lost is left out.
fn steps(series: &MetricSeries) -> BTreeMap<i64, (f64, f64)> {
    let mut steps: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for [(from, old), (to, new)] in series.points.steps() {
        let seconds = to.duration_since(from).as_secs_f64();
        if new >= old && seconds > 0.0 {
            let step = steps.entry(to.as_second().div_euclid(SPAN_BUCKET_SECONDS)).or_default();
            step.0 += new - old;
            step.1 += seconds;
        }
    }
    steps
}

fn beginning(step: i64) -> Option<Timestamp> {
    Timestamp::from_second(step.checked_mul(SPAN_BUCKET_SECONDS)?).ok()
}
