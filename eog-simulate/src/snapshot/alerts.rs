//! Alert dumps, one a minute.

use std::path::Path;

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::course::Course;
use crate::clock::{LENGTH, MINUTE, Ms};
use crate::files::FileError;

/// Alerts are dumped from this time before the fault on.
const LEAD: Ms = 10 * MINUTE;

/// Writes the dumps; how many bytes they hold.
pub(super) fn write(
    folder: &Path,
    course: &Course,
    cluster: &Cluster<'_>,
) -> Result<u64, FileError> {
    let Course { system, plan, noise, clock } = course;
    let mut bytes = 0;
    let mut at = plan.at - LEAD;
    while at < LENGTH {
        let mut alerts = vec![json!({
            "labels": {"alertname": "Watchdog", "severity": "none"},
            "annotations": {"description": "Always firing.", "summary": "The alerting works."},
            "state": "firing", "activeAt": clock.object(-3_600_000), "value": "1e+00",
        })];
        for alert in &plan.alerts {
            if alert.active - MINUTE > at {
                continue;
            }
            let state = if alert.active <= at { "firing" } else { "pending" };
            let service = alert.service.and_then(|at| system.services.get(at));
            let pod = alert.service.map(|service| {
                cluster
                    .pending
                    .get(&service)
                    .map_or_else(|| cluster.pod(service, at), String::as_str)
            });
            let subject = service.map_or("the application", |service| service.name.as_str());
            let mut labels = json!({
                "alertname": alert.name, "severity": "critical", "namespace": system.namespace});
            match (alert.kind.as_str(), service, pod) {
                ("Pod", _, Some(pod)) => labels["pod"] = json!(pod),
                ("Deployment" | "StatefulSet" | "DaemonSet", Some(service), _) => {
                    labels[alert.kind.to_lowercase()] = json!(service.workload);
                }
                (_, Some(service), _) => labels["service_name"] = json!(service.name),
                _ => {}
            }
            let about = format!("{} on {subject} is above its threshold", alert.name);
            alerts.push(entry(&labels, &about, state, &clock.object(alert.active)));
        }
        for flap in &noise.flapping {
            let Some(service) = system.services.get(flap.service) else { continue };
            let episode = flap.episodes.iter().find(|(from, to)| (*from..*to).contains(&at));
            let Some((from, _)) = episode else { continue };
            let mut labels = json!({
                "alertname": flap.name, "severity": "warning", "namespace": system.namespace});
            if flap.name.starts_with("Request") {
                labels["service_name"] = json!(service.name);
            } else {
                labels["pod"] = json!(cluster.pod(flap.service, at));
            }
            let about = format!("{} of {}", flap.name, service.name);
            alerts.push(entry(&labels, &about, "firing", &clock.object(*from)));
        }
        let path = folder.join(format!("alerts_at_{}.json", clock.file(at)));
        let text = serde_json::to_string_pretty(&alerts).unwrap_or_default();
        bytes += text.len() as u64;
        std::fs::write(&path, text).map_err(|error| FileError::unusable(&path, error))?;
        at += MINUTE;
    }
    Ok(bytes)
}

fn entry(labels: &Value, about: &str, state: &str, active: &str) -> Value {
    json!({"labels": labels, "annotations": {"description": about}, "state": state,
        "activeAt": active, "value": "2.2e-01"})
}
