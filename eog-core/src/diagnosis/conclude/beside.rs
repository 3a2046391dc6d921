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

/// What is left of the alerts of one time.
pub(super) struct Left {
    /// The nearest that no cause explains.
    pub(super) nearest: usize,
    /// How many no cause explains.
    pub(super) open: usize,
    /// How many the group explains.
    pub(super) explained: usize,
}

/// For each group what it leaves of the alerts that began at about the same time as the first that it explains,
/// where no cause explains as many of them or more. Linear in groups and alerts but for sorting.
pub(super) fn mostly_unexplained(state: &State, groups: &[Found]) -> Vec<Option<Left>> {
    let explained: BTreeSet<usize> =
        groups.iter().flat_map(|found| found.onsets.iter().map(|(anomaly, _)| *anomaly)).collect();
    let alerts = state.anomalies.iter().enumerate();
    let open = alerts.filter(|(anomaly, _)| !explained.contains(anomaly));
    let mut times: Vec<(Timestamp, usize)> =
        open.map(|(anomaly, alert)| (alert.onset, anomaly)).collect();
    times.sort_unstable();
    let left = |found: &Found| {
        let covers = found.group.covers.iter();
        let own: Vec<Timestamp> =
            covers.filter_map(|&it| Some(state.anomalies.get(it)?.onset)).collect();
        let first = *own.iter().min()?;
        let apart = |at: &Timestamp| first.duration_since(*at).abs();
        let from = times.partition_point(|(at, _)| *at < first && apart(at) > ONE_INCIDENT);
        let to = times.partition_point(|(at, _)| *at <= first || apart(at) <= ONE_INCIDENT);
        let near = times.get(from..to)?;
        let (_, nearest) = near.iter().min_by_key(|(at, anomaly)| (apart(at), *anomaly))?;
        let explained = own.iter().filter(|at| apart(at) <= ONE_INCIDENT).count();
        let open = near.len();
        (open >= explained).then_some(Left { nearest: *nearest, open, explained })
    };
    groups.iter().map(left).collect()
}
