//! Entities that work in runs, such as the steps of a batch job, are compared with themselves at work.
//!
//! What is idle most of the time is usually idle, so that any run would stand out.

use std::collections::BTreeMap;

use eog_core::EntityId;
use eog_core::evidence::{PeerRole, Signal};

use super::intake::{ByEntity, SeriesKey, Telemetry};
use crate::series::{Periods, Series};

/// What was measured at work, of entities that work in runs.
#[derive(Debug, Default)]
pub(super) struct AtWork(BTreeMap<EntityId, BTreeMap<SeriesKey, Series>>);

impl AtWork {
    pub(super) fn of(telemetry: &ByEntity, periods: &Periods) -> Self {
        let in_runs = telemetry.iter().filter_map(|(entity, own)| {
            let of_all =
                |series: &&Series| series.signal == Signal::Traffic && series.peer.is_none();
            let traffic = own.series.values().filter(of_all).max_by_key(|one| one.points.len())?;
            let work = traffic.work(periods)?;
            let depends = own.series.iter().filter(|(_, series)| depends_on_work(series));
            let at_work = depends.map(|(key, series)| {
                let points = series.points.iter().filter(|(at, _)| work.holds(*at)).copied();
                (key.clone(), Series { points: points.collect(), ..series.clone() })
            });
            Some((entity.clone(), at_work.collect()))
        });
        Self(in_runs.collect())
    }

    /// The series of an entity, those that depend on its work without what was measured while it was idle.
    pub(super) fn series<'a>(
        &'a self,
        entity: &EntityId,
        telemetry: &'a Telemetry,
    ) -> impl Iterator<Item = &'a Series> {
        let at_work = self.0.get(entity);
        telemetry
            .series
            .iter()
            .map(move |(key, series)| at_work.and_then(|own| own.get(key)).unwrap_or(series))
    }

    /// The same, with all that was asked of it: how much that is, is counted by run.
    pub(super) fn accounts<'a>(
        &'a self,
        entity: &EntityId,
        telemetry: &'a Telemetry,
    ) -> impl Iterator<Item = &'a Series> {
        let raw = telemetry.series.values();
        self.series(entity, telemetry)
            .zip(raw)
            .map(|(at_work, raw)| if raw.signal == Signal::Traffic { raw } else { at_work })
    }
}

/// Whether a series about the entity itself, or the calls that it makes, is another while it is idle. How long requests take
/// is known of requests alone, and an entity that is late is idle until then.
fn depends_on_work(series: &Series) -> bool {
    series.peer.as_ref().is_none_or(|peer| peer.role == PeerRole::Callee)
        && matches!(series.signal, Signal::Traffic | Signal::Errors | Signal::Saturation)
}
