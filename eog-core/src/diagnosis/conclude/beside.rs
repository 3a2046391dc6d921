//! Causes that are named beside others for the same time, and alerts of that time that none explains.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::frontier::Found;
use crate::ids::EntityId;
use crate::state::State;

/// Alerts that begin within this time of each other belong to one incident: alerts are commonly evaluated
/// over some five minutes, and each of the two may be as late.
const ONE_INCIDENT: SignedDuration = SignedDuration::from_mins(10);

/// For each group an origin of another one in the cover whose first alert began at about the same time as
/// its own, the nearest in time; nothing where there is none. Linear in groups but for sorting.
pub(super) fn others_at_the_time(
    state: &State,
    groups: &[Found],
    cover: &[usize],
) -> Vec<Option<EntityId>> {
    let first = |position: usize| {
        let covers = groups.get(position)?.group.covers.iter();
        covers.filter_map(|&anomaly| Some(state.anomalies.get(anomaly)?.onset)).min()
    };
    let mut times: Vec<(Timestamp, usize)> =
        cover.iter().filter_map(|&position| Some((first(position)?, position))).collect();
    times.sort_unstable();
    let nearest = |position: usize| {
        let own = first(position)?;
        let place = times.partition_point(|(at, other)| (*at, *other) < (own, position));
        let before = times.get(..place)?.iter().rev().find(|(_, other)| *other != position);
        let after = times.get(place..)?.iter().find(|(_, other)| *other != position);
        let near = before
            .into_iter()
            .chain(after)
            .map(|(at, other)| (own.duration_since(*at).abs(), *other));
        let (apart, other) = near.min()?;
        let origin = groups.get(other)?.group.origins.first()?;
        (apart <= ONE_INCIDENT).then(|| origin.clone())
    };
    (0..groups.len()).map(nearest).collect()
}

/// For each group the unexplained alert that began at about the same time as the first that it explains, the
/// nearest in time; nothing where there is none. Linear in groups and alerts but for sorting.
pub(super) fn unexplained_at_the_time(state: &State, groups: &[Found]) -> Vec<Option<usize>> {
    let explained: BTreeSet<usize> =
        groups.iter().flat_map(|found| found.onsets.iter().map(|(anomaly, _)| *anomaly)).collect();
    let alerts = state.anomalies.iter().enumerate();
    let open = alerts.filter(|(anomaly, _)| !explained.contains(anomaly));
    let mut times: Vec<(Timestamp, usize)> =
        open.map(|(anomaly, alert)| (alert.onset, anomaly)).collect();
    times.sort_unstable();
    let nearest = |found: &Found| {
        let covers = found.group.covers.iter();
        let own = covers.filter_map(|&it| Some(state.anomalies.get(it)?.onset)).min()?;
        let place = times.partition_point(|(at, _)| *at < own);
        let around = times.get(place.saturating_sub(1)..)?.iter().take(2);
        let apart = |at: &Timestamp| own.duration_since(*at).abs();
        let (at, anomaly) = around.min_by_key(|(at, anomaly)| (apart(at), *anomaly))?;
        (apart(at) <= ONE_INCIDENT).then_some(*anomaly)
    };
    groups.iter().map(nearest).collect()
}
