//! When harm began first, anywhere that can have led to an alert.

use std::collections::BTreeSet;

use eog_core::evidence::{Signal, Trend};
use eog_core::{Anomaly, EntityId, Timestamp, Topology};

use crate::alarms::Alarms;
use crate::onsets::level_onset;
use crate::series::{MIN_BASELINE, Periods, Series};
use crate::shift::shift_of;
use crate::ways::Ways;

/// The entities with an effect path to any of some anomalies, those of the anomalies among them.
pub fn upstream_of(topology: &Topology, anomalies: &[Anomaly]) -> BTreeSet<EntityId> {
    let ways = Ways::of(topology, &[], anomalies);
    let alarms = Alarms::new(&ways, anomalies, false);
    let reaches = |entity: &&EntityId| {
        let number = ways.number(entity);
        number.is_some_and(|one| alarms.all().iter().any(|alarm| alarms.hops(one, alarm).is_some()))
    };
    ways.names().iter().filter(reaches).cloned().collect()
}

/// The earliest time at which any entity with an effect path to an anomaly is known to do worse,
/// by its own measurements: the first sample after the last one that is known to be usual. What is usual until then
/// is a clean control; a late alert leaves the beginning of the harm in it.
///
/// A series counts if it was recorded for as long as makes a baseline before it began to shift, and
/// has not gone back before the first anomaly.
pub(crate) fn first_harm<'a>(
    ways: &Ways,
    anomalies: &[Anomaly],
    periods: &Periods,
    telemetry: impl Iterator<Item = (&'a EntityId, Vec<&'a Series>)>,
) -> Option<Timestamp> {
    let first_alert = periods.first_onset?;
    let alarms = Alarms::new(ways, anomalies, false);
    let upstream = telemetry.filter(|(entity, _)| {
        let number = ways.number(entity);
        number.is_some_and(|one| alarms.all().iter().any(|alarm| alarms.hops(one, alarm).is_some()))
    });
    let series = upstream.flat_map(|(_, series)| series);
    let worse = |signal| match signal {
        Signal::Errors | Signal::Latency => Some(Trend::Rising),
        Signal::Output => Some(Trend::Falling),
        _ => None,
    };
    let onsets = series.filter_map(|series| {
        let worse = worse(series.signal)?;
        let shift = shift_of(series, periods)?;
        let lasts = shift.trend() == worse && shift.last() >= first_alert;
        let onset = level_onset(&series.points, &shift).filter(|_| lasts)?.earliest();
        let usual = series.points.partition_point(|(at, _)| *at <= onset);
        let (next, _) = series.points.get(usual)?;
        (usual >= MIN_BASELINE).then_some(*next)
    });
    onsets.min()
}
