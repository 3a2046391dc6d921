//! Entities without telemetry of their own, such as an outside service or a source of traffic, as their callers and
//! callees measure them.

use std::collections::BTreeMap;

use eog_core::evidence::{Peer, PeerRole};
use eog_core::{EntityId, Finding};

use super::at_work::AtWork;
use super::intake::ByEntity;
use crate::series::Series;
use crate::spans::span_series;

/// The entities without telemetry of their own, each with those whose telemetry names it as caller
/// or callee.
#[derive(Clone, Debug, Default)]
pub(super) struct SilentEntities {
    observers: BTreeMap<EntityId, Vec<EntityId>>,
}

impl SilentEntities {
    pub(super) fn of(telemetry: &ByEntity) -> Self {
        let mut observers: BTreeMap<EntityId, Vec<EntityId>> = BTreeMap::new();
        for (observer, own) in telemetry {
            let series = own.series.values().filter_map(|series| series.peer.as_ref());
            let spans = own.spans.iter().filter_map(|span| span.peer.as_ref());
            let lines = own.logs.severe_peers();
            let mut silent: Vec<&EntityId> = series
                .chain(spans)
                .map(|peer| (&peer.entity, peer.role))
                .chain(lines)
                .filter(|(_, role)| turned(*role).is_some())
                .map(|(entity, _)| entity)
                .filter(|entity| !telemetry.contains_key(*entity))
                .collect();
            silent.sort_unstable();
            silent.dedup();
            for entity in silent {
                observers.entry(entity.clone()).or_default().push(observer.clone());
            }
        }
        Self { observers }
    }

    /// Those whose telemetry names a silent entity.
    pub(super) fn observers(&self, entity: &EntityId) -> impl Iterator<Item = &EntityId> {
        self.observers.get(entity).into_iter().flatten()
    }

    /// The series of others about the calls of a silent entity.
    pub(super) fn series(
        &self,
        entity: &EntityId,
        telemetry: &ByEntity,
        at_work: &AtWork,
    ) -> Vec<Series> {
        let observers = self.observers.get(entity).into_iter().flatten();
        let all = observers.filter_map(|observer| Some((observer, telemetry.get(observer)?)));
        let all = all.flat_map(|(observer, own)| {
            let measured = at_work.series(observer, own).cloned();
            measured.chain(span_series(&own.spans)).collect::<Vec<_>>()
        });
        let named = |series: &Series| {
            let peer = series.peer.as_ref().filter(|peer| peer.entity == *entity);
            peer.is_some_and(|peer| turned(peer.role).is_some())
        };
        all.filter(named).collect()
    }
}

/// The series of others about calls to silent entities, as if these had measured them.
#[derive(Clone, Debug, Default)]
pub(super) struct SilentSeries(BTreeMap<EntityId, Vec<Series>>);

impl SilentSeries {
    pub(super) fn of(silent: &SilentEntities, telemetry: &ByEntity, at_work: &AtWork) -> Self {
        let all = silent.observers.keys().map(|entity| {
            let calls = silent.series(entity, telemetry, at_work).into_iter().filter(|series| {
                series.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Callee)
            });
            let own = calls.map(|series| Series { entity: entity.clone(), peer: None, ..series });
            (entity.clone(), own.collect())
        });
        Self(all.collect())
    }

    pub(super) fn series(&self, entity: &EntityId) -> &[Series] {
        self.0.get(entity).map_or(&[], Vec::as_slice)
    }
}

/// A finding of another about its calls from or to an entity, as one of that entity.
pub(super) fn as_own(finding: &Finding) -> Option<Finding> {
    let mut content = finding.content().clone();
    let peer = content.peer.take()?;
    let role = turned(peer.role)?;
    content.excerpt = format!("seen by {}: {}", content.entity, content.excerpt);
    let observer = std::mem::replace(&mut content.entity, peer.entity);
    content.peer = Some(Peer { entity: observer, role });
    Some(Finding::new(content))
}

/// The same relation seen from the other end.
fn turned(role: PeerRole) -> Option<PeerRole> {
    match role {
        PeerRole::Caller => Some(PeerRole::Callee),
        PeerRole::Callee => Some(PeerRole::Caller),
        _ => None,
    }
}
