//! Writes what was captured as a bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog_core::evidence::{Peer, PeerRole};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, Timestamp};
use eog_evidence::{
    BundleWriter, ChangeRecord, EventRecord, LogLine, Manifest, ManifestEdge, Series, SpanIds,
    SpanRecord, mask_named, mask_text,
};

use crate::config::SourceConfig;
use crate::error::CaptureError;
use crate::piece::{Alert, Millis, Piece, Span, Who};
use crate::report::CaptureReport;

/// Alerts about the alerting itself.
const NOISE: [&str; 2] = ["InfoInhibitor", "Watchdog"];

/// Writes the files of a bundle. What has no name that an entity can have is counted.
pub(crate) fn write(
    config: &SourceConfig,
    report: &CaptureReport,
    all: Piece,
    out: &Path,
) -> Result<Vec<String>, CaptureError> {
    let mut left = Vec::new();
    let mut writer = BundleWriter::new(Manifest::new(report.name.clone()));
    writer.manifest.window = report.window;
    let mut ignored: BTreeSet<String> = NOISE.iter().map(|name| (*name).to_owned()).collect();
    ignored.extend(config.ignore_alerts.iter().cloned());
    writer.manifest.topology = config.topology.clone();
    let mut edges: BTreeSet<(EntityId, EntityId, String)> = BTreeSet::new();
    for edge in &config.topology.edges {
        edges.insert((edge.source.clone(), edge.target.clone(), edge.relation.clone()));
    }
    let (spans, calls) = spans(&all.spans);
    let links = all.links.iter().filter_map(|link| {
        let (source, target) = (id(&link.source)?, id(&link.target)?);
        Some((source, target, link.relation.clone(), link.effects))
    });
    let calls = calls.into_iter().map(|(source, target)| {
        (source, target, "calls".to_owned(), EffectDirection::TargetToSource)
    });
    for (source, target, relation, effects) in links.chain(calls) {
        if source != target && edges.insert((source.clone(), target.clone(), relation.clone())) {
            writer.manifest.topology.edges.push(ManifestEdge { source, target, relation, effects });
        }
    }
    let mut entities: BTreeSet<EntityId> = config.topology.entities.iter().cloned().collect();
    let mut nameless = BTreeSet::new();
    for alert in &all.alerts {
        if alert.labels.get("severity").is_some_and(|severity| severity == "none") {
            ignored.insert(alert.name.clone());
        }
        match alert.who.as_ref().and_then(id) {
            Some(entity) => {
                entities.insert(entity.clone());
                writer.alerts.extend(anomaly(alert, entity));
            }
            None if ignored.contains(&alert.name) => {}
            None => {
                nameless.insert(alert.name.clone());
            }
        }
    }
    if !nameless.is_empty() {
        let names = nameless.into_iter().collect::<Vec<_>>().join(", ");
        left.push(format!("alerts that name no entity by their labels: {names}"));
    }
    writer.alerts.sort_by(|a, b| (a.onset, &a.name, &a.entity).cmp(&(b.onset, &b.name, &b.entity)));
    for change in all.changes {
        let (Some(time), Some(entity)) = (at(change.at), id(&change.who)) else { continue };
        let value = |value: Option<String>| value.map(|text| mask_named(&change.path, &text));
        entities.insert(entity.clone());
        writer.changes.push(ChangeRecord {
            time,
            entity,
            signal: change.signal,
            old: value(change.old),
            new: value(change.new),
            path: mask_text(&change.path),
            description: mask_text(&change.description),
        });
    }
    writer.changes.sort_by(|a, b| (a.time, &a.entity, &a.path).cmp(&(b.time, &b.entity, &b.path)));
    for event in all.events {
        let (Some(time), Some(entity)) = (at(event.at), id(&event.who)) else { continue };
        entities.insert(entity.clone());
        writer.events.push(EventRecord {
            time,
            entity,
            reason: event.reason,
            signal: event.signal,
            message: mask_text(&event.message),
            peer: None,
        });
    }
    for series in all.series {
        let Some(entity) = id(&series.who) else { continue };
        let peer = match series.peer {
            Some((who, role)) => match id(&who) {
                Some(entity) => Some(Peer { entity, role }),
                None => continue,
            },
            None => None,
        };
        entities.insert(entity.clone());
        let points = series.points.into_iter().filter_map(|(time, value)| Some((at(time)?, value)));
        writer.metrics.push(Series {
            entity,
            kind: EvidenceKind::Metric,
            metric: series.metric,
            signal: series.signal,
            unit: series.unit,
            peer,
            points: points.collect(),
        });
    }
    writer.spans = spans;
    entities.extend(writer.spans.iter().map(|span| span.entity.clone()));
    for line in all.lines {
        let (Ok(time), Some(entity)) = (Timestamp::from_nanosecond(line.at.into()), id(&line.who))
        else {
            continue;
        };
        entities.insert(entity.clone());
        let line = LogLine {
            time,
            level: line.level,
            message: mask_text(&line.text),
            signal: None,
            peer: None,
            trace: Some(line.trace).filter(|trace| !trace.is_empty()),
        };
        writer.logs.push((entity, line));
    }
    writer.manifest.topology.entities = entities.into_iter().collect();
    writer.manifest.ignore_alerts = ignored.into_iter().collect();
    writer.write(out).map_err(|error| CaptureError::File {
        path: error.file.clone(),
        reason: error.reason.clone(),
    })?;
    Ok(left)
}

/// The entity of a bundle.
pub(crate) fn id(who: &Who) -> Option<EntityId> {
    let name = match who {
        Who::Service { namespace, name } if namespace.is_empty() => name.clone(),
        Who::Service { namespace, name } => format!("{namespace}/{name}"),
        Who::Pod { namespace, name } => format!("{namespace}/Pod/{name}"),
        Who::Host(name) => format!("Host/{name}"),
        Who::Object { kind, namespace, name } if namespace.is_empty() => format!("{kind}/{name}"),
        Who::Object { kind, namespace, name } => format!("{namespace}/{kind}/{name}"),
    };
    EntityId::new(name.trim()).ok()
}

fn at(time: Millis) -> Option<Timestamp> {
    Timestamp::from_millisecond(time).ok()
}

fn anomaly(alert: &Alert, entity: EntityId) -> Option<Anomaly> {
    let onsets: Vec<Timestamp> = alert.runs.iter().filter_map(|run| at(run.active_at)).collect();
    let (first, renewed) = onsets.split_first()?;
    let mut one =
        Anomaly::new(alert.name.clone(), entity, eog_sre::alert_signal(&alert.name), *first);
    one.renewed = renewed.to_vec();
    one.last_seen = alert.runs.last().and_then(|run| at(run.last));
    one.severity = alert.labels.get("severity").cloned().unwrap_or_default();
    one.description.clone_from(&alert.description);
    Some(one)
}

/// Spans with who is at their other end, and who calls whom.
fn spans(spans: &[Span]) -> (Vec<SpanRecord>, BTreeSet<(EntityId, EntityId)>) {
    let whose: BTreeMap<(&str, &str), &Who> =
        spans.iter().map(|span| ((&*span.trace, &*span.id), &span.who)).collect();
    let mut served: BTreeMap<(&str, &str), &Who> = BTreeMap::new();
    for span in spans {
        served.insert((&span.trace, &span.parent), &span.who);
    }
    let mut calls = BTreeSet::new();
    let mut records = Vec::new();
    for span in spans {
        let Some(entity) = id(&span.who) else { continue };
        let asked = matches!(span.kind.as_str(), "Client" | "Producer");
        let other = match asked {
            true => served.get(&(&*span.trace, &*span.id)).copied(),
            false => whose.get(&(&*span.trace, &*span.parent)).copied(),
        };
        let other = other.filter(|other| **other != span.who).and_then(id);
        let named = || {
            let named = ["peer.service", "server.address", "net.peer.name", "db.system"];
            let name = named.iter().find_map(|name| span.attributes.get(*name))?;
            EntityId::new(name.trim()).ok()
        };
        let role = if asked { PeerRole::Callee } else { PeerRole::Caller };
        let peer = other.or_else(|| asked.then(named).flatten());
        if let Some(peer) = &peer {
            calls.insert(match role {
                PeerRole::Callee => (entity.clone(), peer.clone()),
                _ => (peer.clone(), entity.clone()),
            });
        }
        let Ok(time) = Timestamp::from_nanosecond(span.start.into()) else { continue };
        let duration_ms = span.nanoseconds as f64 / 1e6;
        let has_ids = !span.trace.is_empty() && !span.id.is_empty();
        records.push(SpanRecord {
            time,
            entity,
            duration_ms,
            failed: span.failed,
            peer: peer.map(|entity| Peer { entity, role }),
            operation: Some(mask_text(&span.name)).filter(|name| !name.is_empty()),
            ids: has_ids.then(|| SpanIds {
                trace: span.trace.clone(),
                span: span.id.clone(),
                parent: Some(span.parent.clone()).filter(|parent| !parent.is_empty()),
            }),
        });
    }
    (records, calls)
}
