//! Writes what was captured as a bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_evidence::{
    BundleWriter, ChangeRecord, EventRecord, LogLine, Manifest, ManifestEdge, Series, SpanIds,
    SpanRecord, StateRecord, mask_named, mask_text,
};

use crate::config::SourceConfig;
use crate::error::CaptureError;
use crate::piece::{Alert, Happened, Millis, Piece, Place, Span, Who};
use crate::place::Known;
use crate::report::CaptureReport;

/// Alerts about the alerting itself.
const NOISE: [&str; 2] = ["InfoInhibitor", "Watchdog"];

/// How what is said of an alert on nothing that is known begins.
pub(crate) const NO_PLACE: &str = "no place for alert";

/// Most alerts that are named for it.
const MAX_NOTES: usize = 20;

/// How long before the first alert is investigated where none has a place, in milliseconds.
const LEAD: Millis = 30 * 60 * 1000;

/// Records that a bundle cannot have, by what they are.
#[derive(Default)]
struct Lost(BTreeMap<&'static str, usize>);

impl Lost {
    fn one(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn note(self) -> Option<String> {
        let each = self.0.into_iter().map(|(what, count)| format!("{count} {what}"));
        let each: Vec<String> = each.collect();
        let why = "whose name no entity can have, or whose time lies past the year 9999";
        (!each.is_empty()).then(|| format!("records {why}: {}", each.join(", ")))
    }
}

/// Writes the files of a bundle. What has no name that an entity can have, or no time, is counted.
pub(crate) fn write(
    config: &SourceConfig,
    report: &CaptureReport,
    all: Piece,
    out: &Path,
) -> Result<Vec<String>, CaptureError> {
    let (mut left, mut lost) = (Vec::new(), Lost::default());
    let mut writer = BundleWriter::new(Manifest::new(report.name.clone()));
    writer.manifest.window = report.window;
    let mut ignored: BTreeSet<String> = NOISE.iter().map(|name| (*name).to_owned()).collect();
    ignored.extend(config.ignore_alerts.iter().cloned());
    writer.manifest.topology = config.topology.clone();
    let mut edges: BTreeSet<(EntityId, EntityId, String)> = BTreeSet::new();
    for edge in &config.topology.edges {
        edges.insert((edge.source.clone(), edge.target.clone(), edge.relation.clone()));
    }
    let (spans, calls) = spans(&all.spans, &mut lost);
    let mut links = Vec::new();
    for link in &all.links {
        match (id(&link.source), id(&link.target)) {
            (Some(source), Some(target)) => {
                links.push((source, target, link.relation.clone(), link.effects));
            }
            _ => lost.one("edges"),
        }
    }
    let calls = calls.into_iter().map(|(source, target)| {
        (source, target, "calls".to_owned(), EffectDirection::TargetToSource)
    });
    for (source, target, relation, effects) in links.into_iter().chain(calls) {
        if source != target && edges.insert((source.clone(), target.clone(), relation.clone())) {
            writer.manifest.topology.edges.push(ManifestEdge { source, target, relation, effects });
        }
    }
    let mut entities: BTreeSet<EntityId> = config.topology.entities.iter().cloned().collect();
    let severity_none = all
        .alerts
        .iter()
        .filter(|alert| alert.labels.get("severity").is_some_and(|severity| severity == "none"));
    ignored.extend(severity_none.map(|alert| alert.name.clone()));
    let placed = alerts(config, report.captured, &all, &mut ignored, &mut writer, &mut lost);
    entities.extend(placed.entities);
    left.extend(placed.notes);
    if placed.is_without_a_place && writer.manifest.window.is_none() {
        writer.manifest.window = around(&all.alerts, report.captured);
    }
    writer.alerts.sort_by(|a, b| (a.onset, &a.name, &a.entity).cmp(&(b.onset, &b.name, &b.entity)));
    for change in all.changes {
        let (Some(time), Some(entity)) = (at(change.at), id(&change.who)) else {
            lost.one("changes");
            continue;
        };
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
        let (Some(time), Some(entity)) = (at(event.at), id(&event.who)) else {
            lost.one("events");
            continue;
        };
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
    for seen in all.states {
        let (Some(time), Some(entity)) = (at(seen.at), id(&seen.who)) else {
            lost.one("states of objects");
            continue;
        };
        entities.insert(entity.clone());
        let reason = mask_text(&seen.reason);
        writer.states.push(StateRecord { time, entity, state: seen.state, reason });
    }
    for series in all.series {
        let peer = series.peer.map(|(who, role)| Some(Peer { entity: id(&who)?, role }));
        let (Some(entity), false) = (id(&series.who), peer == Some(None)) else {
            lost.one("series");
            continue;
        };
        let peer = peer.flatten();
        entities.insert(entity.clone());
        let points = series.points.into_iter().filter_map(|(time, value)| {
            let time = at(time);
            if time.is_none() {
                lost.one("points");
            }
            Some((time?, value))
        });
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
            lost.one("log lines");
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
    writer.write_checked(out).map_err(|error| CaptureError::File {
        path: error.file.clone(),
        reason: error.reason.clone(),
    })?;
    left.extend(lost.note());
    Ok(left)
}

/// What came of the alerts.
#[derive(Default)]
struct Placed {
    entities: Vec<EntityId>,
    notes: Vec<String>,
    /// Whether there are alerts, and none is on anything that is known.
    is_without_a_place: bool,
}

/// Writes the alerts, and says of those that are on nothing that is known what they name. Where none is on anything that
/// is known, there is no place to start from: then whatever is abnormal around them is investigated.
fn alerts(
    config: &SourceConfig,
    captured: Window,
    all: &Piece,
    ignored: &mut BTreeSet<String>,
    writer: &mut BundleWriter,
    lost: &mut Lost,
) -> Placed {
    let mut placed = Placed::default();
    let count: Vec<&Alert> = all.alerts.iter().filter(|it| !ignored.contains(&it.name)).collect();
    let has_place = count.iter().any(|alert| matches!(alert.place, Place::Known(_)));
    let known = Known::of(all, &config.topology);
    let is_anything_known = !known.is_empty();
    let begins = around(&all.alerts, captured);
    let is_near =
        |time: Millis| at(time).zip(begins).is_some_and(|(at, window)| window.contains(at));
    let is_failure =
        |event: &&Happened| matches!(event.signal, Signal::Availability | Signal::Exhaustion);
    let has_other = all.changes.iter().any(|change| is_near(change.at))
        || all.events.iter().filter(is_failure).any(|event| is_near(event.at));
    let has_names = count.iter().any(|alert| alert.place != Place::Nothing);
    // Without anything else to start from, an alert that names something is where to start all the same.
    placed.is_without_a_place =
        !count.is_empty() && !has_place && is_anything_known && (has_other || !has_names);
    let mut notes = BTreeSet::new();
    let mut no_start = BTreeSet::new();
    for alert in &all.alerts {
        let who = match &alert.place {
            Place::Known(who) => who,
            Place::Unknown(who, label) => {
                if !ignored.contains(&alert.name) && is_anything_known {
                    notes.insert(unknown(&known, alert, who, label));
                }
                who
            }
            Place::Nothing if ignored.contains(&alert.name) => continue,
            Place::Nothing => {
                notes.insert(nothing(alert));
                continue;
            }
        };
        let Some(anomaly) = id(who).and_then(|entity| anomaly(alert, entity)) else {
            lost.one("alerts");
            continue;
        };
        match &alert.place {
            Place::Known(_) => placed.entities.push(anomaly.entity.clone()),
            _ if !is_anything_known => placed.entities.push(anomaly.entity.clone()),
            _ if placed.is_without_a_place => {
                no_start.insert(alert.name.clone());
            }
            _ => {}
        }
        writer.alerts.push(anomaly);
    }
    ignored.extend(no_start);
    let many = notes.len();
    placed.notes.extend(notes.into_iter().take(MAX_NOTES));
    if let Some(more) = many.checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        placed.notes.push(format!("{NO_PLACE} {more} more alerts"));
    }
    if placed.is_without_a_place {
        placed.notes.push(
            "no alert is on anything that the sources know, so there is no alert to start from: whatever failed or was \
             changed around them is investigated instead"
                .to_owned(),
        );
    }
    placed
}

fn unknown(known: &Known, alert: &Alert, who: &Who, label: &str) -> String {
    let near = known.nearest(who);
    let meant = match near.as_slice() {
        [] => String::new(),
        names => format!("; the nearest names are {}", names.join(", ")),
    };
    let (name, who) = (&alert.name, id(who).map_or_else(String::new, |it| it.to_string()));
    format!("{NO_PLACE} {name}: its label {label} names {who}, which no source knows{meant}")
}

fn nothing(alert: &Alert) -> String {
    let labels = alert.labels.iter().filter(|(name, _)| *name != "alertname");
    let labels: Vec<String> = labels.map(|(name, value)| format!("{name}={value}")).collect();
    let labels = match labels.as_slice() {
        [] => "it has no labels but its name".to_owned(),
        some => format!("none of its labels names anything: {}", some.join(", ")),
    };
    let labels = eog_evidence::shorten(&labels, 300);
    format!(
        "{NO_PLACE} {}: {labels}; label it with the service, pod or machine that it is about (entity_labels names \
         the labels of services)",
        alert.name
    )
}

/// The time around alerts.
fn around(alerts: &[Alert], captured: Window) -> Option<Window> {
    let first = alerts.iter().flat_map(|alert| &alert.runs).map(|run| run.active_at).min()?;
    let start = at(first.saturating_sub(LEAD))?.max(captured.start());
    Window::new(start, captured.end()).ok()
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

/// Spans with who is at their other end, and calls by caller and callee.
fn spans(spans: &[Span], lost: &mut Lost) -> (Vec<SpanRecord>, BTreeSet<(EntityId, EntityId)>) {
    let whose: BTreeMap<(&str, &str), &Who> =
        spans.iter().map(|span| ((&*span.trace, &*span.id), &span.who)).collect();
    let mut served: BTreeMap<(&str, &str), &Who> = BTreeMap::new();
    for span in spans {
        served.insert((&span.trace, &span.parent), &span.who);
    }
    let mut calls = BTreeSet::new();
    let mut records = Vec::new();
    for span in spans {
        let (Some(entity), Ok(time)) =
            (id(&span.who), Timestamp::from_nanosecond(span.start.into()))
        else {
            lost.one("spans");
            continue;
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::{Change, Line, Link, Measured, Run};

    /// Times of records are whole numbers, which reach further than a calendar does.
    #[test]
    fn what_a_bundle_cannot_have_is_counted() {
        let (who, unnamed) = (Who::service("cart"), Who::service("\u{1}"));
        let event = |at, who: &Who| Happened {
            at,
            who: who.clone(),
            reason: "Killed".to_owned(),
            signal: Signal::Availability,
            message: String::new(),
        };
        let change = Change {
            at: i64::MAX,
            who: who.clone(),
            signal: Signal::Configuration,
            path: "image".to_owned(),
            old: None,
            new: None,
            description: String::new(),
        };
        let run = Run { active_at: i64::MAX, first: 0, last: 0 };
        let series = |who: &Who| Measured {
            who: who.clone(),
            peer: None,
            metric: "p95".to_owned(),
            signal: Signal::Latency,
            unit: "ms".to_owned(),
            points: vec![(0, 1.0), (i64::MAX, 2.0), (i64::MIN, 3.0)],
        };
        let all = Piece {
            events: vec![event(0, &who), event(i64::MAX, &who), event(0, &unnamed)],
            changes: vec![change],
            alerts: vec![Alert {
                name: "Slow".to_owned(),
                labels: BTreeMap::new(),
                who: Some(who.clone()),
                description: String::new(),
                said: Vec::new(),
                place: Place::Known(who.clone()),
                runs: vec![run],
            }],
            series: vec![series(&who), series(&unnamed)],
            links: vec![Link {
                source: who.clone(),
                target: unnamed.clone(),
                relation: "calls".to_owned(),
                effects: EffectDirection::TargetToSource,
            }],
            lines: vec![Line {
                at: 0,
                who: unnamed,
                level: String::new(),
                text: "x".to_owned(),
                trace: String::new(),
                resource: BTreeMap::new(),
            }],
            ..Piece::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let minute = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let captured = Window::new(minute(0), minute(1)).unwrap();
        let report = CaptureReport::new("night", None, captured);
        let left = write(&SourceConfig::default(), &report, all, folder.path()).unwrap();
        assert_eq!(
            left,
            [
                "records whose name no entity can have, or whose time lies past the year 9999: 1 alerts, \
              1 changes, 1 edges, 2 events, 1 log lines, 2 points, 1 series"
            ]
        );
        let written = eog_evidence::Bundle::read(folder.path()).unwrap();
        assert_eq!((written.events().count(), written.series().count()), (1, 1));
    }

    /// The alerts of a bundle that is written with a known service and, if it is said, a failure.
    fn written(labels: &[(&str, &str)], fails: bool) -> (eog_evidence::Incident, Vec<String>) {
        let (minute, cart) = (60_000, Who::service("mq-b"));
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let failure = Happened {
            at: 5 * minute,
            who: cart.clone(),
            reason: "OOMKilled".to_owned(),
            signal: Signal::Exhaustion,
            message: String::new(),
        };
        let mut all = Piece {
            series: vec![Measured {
                who: cart,
                peer: None,
                metric: "p95".to_owned(),
                signal: Signal::Latency,
                unit: "ms".to_owned(),
                points: vec![(minute, 1.0)],
            }],
            events: if fails { vec![failure] } else { Vec::new() },
            alerts: vec![Alert {
                name: "DiskFull".to_owned(),
                labels,
                who: None,
                description: String::new(),
                said: Vec::new(),
                place: Place::default(),
                runs: vec![Run { active_at: 6 * minute, first: 6 * minute, last: 7 * minute }],
            }],
            ..Piece::default()
        };
        let config = SourceConfig::default();
        crate::place::alerts(&mut all, &config.service_labels(), &config.topology);
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let captured = Window::new(at(0), at(10)).unwrap();
        let report = CaptureReport::new("night", None, captured);
        let folder = tempfile::tempdir().unwrap();
        let left = write(&config, &report, all, folder.path()).unwrap();
        (eog_evidence::Bundle::read(folder.path()).unwrap().incident(), left)
    }

    #[test]
    fn an_alert_on_nothing_that_is_known_is_reported_and_the_rest_is_investigated() {
        let (known, left) = written(&[("host", "mq-b")], true);
        assert_eq!((known.anomalies.len(), left.len()), (1, 0), "{left:?}");
        // Something else failed: that is where to start.
        let (unknown, left) = written(&[("host", "mq-a")], true);
        assert!(unknown.anomalies.is_empty() && unknown.window.is_some());
        assert!(unknown.ignored[0].contains("DiskFull on Host/mq-a"), "{:?}", unknown.ignored);
        let case = eog_evidence::open_case(&unknown, None).unwrap();
        assert_eq!(case.seeds[0].entity.as_str(), "mq-b");
        assert!(
            left[0].contains("no place for alert DiskFull: its label host names Host/mq-a"),
            "{left:?}"
        );
        assert!(left[1].contains("no alert is on anything that the sources know"), "{left:?}");
        // Nothing else did: the alert is kept where it says that it is, and that this is not known is reported.
        let (kept, left) = written(&[("host", "mq-a")], false);
        assert_eq!(kept.anomalies[0].entity.as_str(), "Host/mq-a");
        assert!(left[0].starts_with("no place for alert DiskFull"), "{left:?}");
        assert!(
            kept.warnings.iter().any(|it| it.starts_with("no place to start from")),
            "{:?}",
            kept.warnings
        );
        let (nameless, left) = written(&[("severity", "page")], true);
        assert!(nameless.anomalies.is_empty() && nameless.window.is_some());
        assert!(left[0].contains("none of its labels names anything: severity=page"), "{left:?}");
    }
}
