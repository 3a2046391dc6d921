//! What became of an alert or a series after a repair.

use std::time::Duration;

use eog::evidence::Trend;
use eog::{Anomaly, Timestamp};
use eog_evidence::Chart;

use super::Outcome;

/// An alert may be silent for so long between two sightings.
const SIGHTINGS: Duration = Duration::from_secs(300);
/// Points in a row that are as usual make a return; further apart, two deviating points are single outliers.
const RETURNED: usize = 2;

/// The times by which one prediction is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    repaired: Timestamp,
    /// By when it should have returned.
    pub(super) by: Timestamp,
    /// Until when it is watched: what is harmed again by then has not returned.
    watched: Timestamp,
    /// Until when something is on record.
    recorded: Option<Timestamp>,
}

impl Clock {
    pub(super) fn new(repaired: Timestamp, within_s: u64, recorded: Option<Timestamp>) -> Self {
        let within = Duration::from_secs(within_s);
        let by = later(repaired, within);
        Self { repaired, by, watched: later(by, within), recorded }
    }

    fn returned(&self, at: Timestamp) -> Outcome {
        if at <= self.by { Outcome::Returned { at } } else { Outcome::Late { at } }
    }

    /// What is to be said where nothing decides.
    fn undecided(&self) -> Outcome {
        if self.is_over() { Outcome::NotRecorded } else { Outcome::Open }
    }

    fn is_over(&self) -> bool {
        self.recorded.is_some_and(|end| end >= self.by)
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What became of an alert, by what is on record of it. It is active until it was last seen.
pub(super) fn of_alert(alert: &Anomaly, recorded: &[Anomaly], clock: &Clock) -> Outcome {
    let same = recorded.iter().filter(|it| it.name == alert.name && it.entity == alert.entity);
    let ends: Option<Vec<Timestamp>> =
        same.map(|it| it.onsets().max().zip(it.last_seen).map(|(a, b)| a.max(b))).collect();
    // Of an alert without a last sighting it is not known how long it was active.
    let Some(last) = ends.and_then(|ends| ends.into_iter().max()) else {
        return clock.undecided();
    };
    if last < clock.repaired {
        return Outcome::Before { at: Some(last) };
    }
    let is_silent = clock.recorded.is_some_and(|end| end >= later(last, SIGHTINGS));
    let is_over = clock.is_over();
    match last <= clock.watched && (is_silent || is_over && last < clock.by) {
        true => clock.returned(last),
        false if is_over => Outcome::NotReturned,
        false => Outcome::Open,
    }
}

/// What became of a series that shifted in a direction, by its points and what is usual for them.
pub(super) fn of_series(chart: Option<&Chart>, trend: Trend, clock: &Clock) -> Outcome {
    let Some((chart, usual)) = chart.and_then(|chart| Some((chart, chart.usual?))) else {
        return clock.undecided();
    };
    let seen = chart.points.partition_point(|(at, _)| *at <= clock.watched);
    let points = chart.points.get(..seen).unwrap_or_default();
    let before = points.partition_point(|(at, _)| *at <= clock.repaired);
    let deviates = |value: f64| match trend {
        Trend::Falling => usual.centre - value > usual.limit,
        Trend::Rising | Trend::Steady => value - usual.centre > usual.limit,
    };
    let deviating: Vec<bool> = points.iter().map(|(_, value)| deviates(*value)).collect();
    let harmed = last_harm(&deviating);
    let first_well = harmed.map_or(0, |last| last + 1);
    // As usual for long enough before the repair, and ever since.
    if before >= first_well + RETURNED {
        let at = harmed.and_then(|_| points.get(first_well)).map(|(at, _)| *at);
        return Outcome::Before { at };
    }
    let measured = points.last().map_or(Timestamp::MIN, |(at, _)| *at);
    match points.get(first_well.max(before)) {
        Some((at, _)) if points.len() >= first_well + RETURNED => clock.returned(*at),
        _ if measured >= clock.by => Outcome::NotReturned,
        _ => clock.undecided(),
    }
}

/// The last point that deviates together with another one near it.
fn last_harm(deviates: &[bool]) -> Option<usize> {
    (0..deviates.len()).rev().find(|&at| {
        let near = at.saturating_sub(RETURNED)..=at + RETURNED;
        let mut others = near.filter(|other| *other != at);
        deviates[at] && others.any(|other| deviates.get(other) == Some(&true))
    })
}
