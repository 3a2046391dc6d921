//! Events and object dumps as tables.

use std::path::Path;

use crate::random::Stream;
use serde_json::{Value, json};

use super::cluster::{Cluster, Event};
use super::course::Course;
use super::manifests::{suffix, uid};
use super::table::{LOG_COLUMNS, TableFile, python};
use crate::clock::{Clock, LENGTH, MINUTE, Ms, SECOND};
use crate::files::FileError;

/// Time between two dumps of all objects.
const ROUND: Ms = 5 * MINUTE;

/// Writes every event, each in both versions of the interface.
pub(super) fn events(
    path: &Path,
    cluster: &Cluster<'_>,
    clock: Clock,
    draw: &mut Stream,
) -> Result<u64, FileError> {
    let mut table = TableFile::create(path, &LOG_COLUMNS)?;
    for event in cluster.events.iter().filter(|event| event.at >= 0) {
        let name = format!("{}.{}", event.regarding.2, suffix(14, draw));
        let (first, second) = both(event, &name, &uid(draw), clock);
        let space = &event.regarding.0;
        record(&mut table, clock, event.at + 200, &first, space, "events", &name)?;
        record(&mut table, clock, event.at + 230, &second, space, "events", &name)?;
    }
    table.finish()
}

/// An event in the old and in the new interface.
fn both(event: &Event, name: &str, uid: &str, clock: Clock) -> (Value, Value) {
    let (namespace, kind, object) = &event.regarding;
    let regarding = json!({"apiVersion": event.api_version, "kind": kind, "name": object,
        "namespace": namespace});
    let at = clock.object(event.at);
    let metadata =
        json!({"creationTimestamp": at, "name": name, "namespace": namespace, "uid": uid});
    let severity = if event.warning { "Warning" } else { "Normal" };
    let old = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": regarding,
        "reason": event.reason, "message": event.message, "type": severity, "count": 1,
        "firstTimestamp": at, "lastTimestamp": at, "source": {"component": event.component},
    });
    let new = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata,
        "regarding": regarding, "reason": event.reason, "note": event.message, "type": severity,
        "deprecatedCount": 1, "deprecatedFirstTimestamp": at,
        "deprecatedLastTimestamp": at, "deprecatedSource": {"component": event.component},
        "reportingController": event.component,
    });
    (json!({"object": old, "type": "ADDED"}), json!({"object": new, "type": "ADDED"}))
}

/// Writes the periodic dumps of all objects.
pub(super) fn objects(
    path: &Path,
    cluster: &mut Cluster<'_>,
    course: &Course,
) -> Result<u64, FileError> {
    let mut table = TableFile::create(path, &LOG_COLUMNS)?;
    let mut number = 0;
    while number * ROUND + 20 * SECOND < LENGTH {
        let begin = number * ROUND + 20 * SECOND;
        number += 1;
        if number == course.noise.missing_round as Ms + 1 {
            continue;
        }
        let dumped: Vec<(String, Value)> = cluster
            .objects_at(begin)
            .map(|(space, object)| (space.to_owned(), object.clone()))
            .collect();
        for (at, (space, object)) in dumped.iter().enumerate() {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let resource = format!("{kind}s");
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            record(&mut table, course.clock, begin + at as Ms * 4, object, space, &resource, name)?;
        }
    }
    table.finish()
}

fn record(
    table: &mut TableFile,
    clock: Clock,
    at: Ms,
    body: &Value,
    namespace: &str,
    resource: &str,
    name: &str,
) -> Result<(), FileError> {
    let body = body.to_string();
    let space = match namespace {
        "" => "{}".to_owned(),
        space => python(&[("k8s.namespace.name", space)]),
    };
    let attributes =
        python(&[("event.domain", "k8s"), ("event.name", name), ("k8s.resource.name", resource)]);
    let scope =
        "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/k8sobjectsreceiver";
    table.row(&[
        &clock.table(at),
        &clock.seconds(at),
        "",
        "",
        "0",
        "",
        "0",
        "",
        &body,
        "",
        &space,
        "",
        scope,
        "1.0.0",
        "{}",
        &attributes,
        "",
    ])
}
