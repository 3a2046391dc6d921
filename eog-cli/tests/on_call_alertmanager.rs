//! A storm of alerts that comes by a real Alertmanager, with the service killed amid it.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use crate::on_call_lab::{Service, folder, stored, wait_for};
use crate::real::{Server, free_port, post, program};

const GROUPS: usize = 8;
const ALERTS: usize = 1_000;
const BATCHES: usize = 20;

/// Alerts as Prometheus sends them.
fn batch(number: usize) -> String {
    let size = ALERTS / BATCHES;
    let alert = |number: usize| {
        json!({
            "labels": {
                "alertname": format!("A{}", number / GROUPS % 5), "job": format!("svc-{}", number % GROUPS),
                "instance": number.to_string(),
            },
            "annotations": {"summary": "it fails", "description": "what it means and what to do ".repeat(20)},
            "generatorURL": "http://prometheus.example/graph",
        })
    };
    Value::from((number * size..(number + 1) * size).map(alert).collect::<Vec<_>>()).to_string()
}

#[test]
fn a_storm_through_alertmanager_survives_a_kill() {
    let Some(alertmanager) = program("prometheus-alertmanager") else { return };
    let folder = folder("[pace]\nsettle = '0s'\npause = '1s'\n", "");
    let port = free_port();
    let routes = format!(
        "route:\n  receiver: eog\n  group_by: [job]\n  group_wait: 1s\n  group_interval: 1s\nreceivers:\n  - name: eog\n    \
         webhook_configs:\n      - url: http://127.0.0.1:{port}/alerts\n"
    );
    let alertmanager = Server::alertmanager_with(&alertmanager, folder.path(), &routes);
    let mut service = Service::start_at(folder.path(), port);
    let began = Instant::now();
    for number in 0..BATCHES {
        let answer = post(alertmanager.port, "/api/v2/alerts", &batch(number)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        if number == BATCHES / 2 {
            service.incident(|_| true);
            service.kill();
        }
    }
    // The service is away for a while; Alertmanager tries again.
    let service = Service::start_at(folder.path(), port);
    wait_for(|| {
        let list = service.incidents();
        let alerts: u64 = list.iter().filter_map(|it| it["alerts"].as_u64()).sum();
        (alerts == ALERTS as u64).then_some(())
    });
    let took = began.elapsed().as_secs_f64();
    let incidents = wait_for(|| {
        let list = service.incidents();
        let is_done = |it: &Value| it["not_looked_at"] == 0 && it["stage"] == "firing";
        list.iter().all(is_done).then_some(list)
    });
    assert_eq!(incidents.len(), GROUPS);
    let made: BTreeSet<&str> =
        incidents.iter().filter_map(|it| it["investigation"].as_str()).collect();
    let stored = stored(&folder.path().join("state"));
    assert_eq!((made.len(), stored), (GROUPS, GROUPS), "each incident has one investigation");
    println!(
        "{ALERTS} alerts in {GROUPS} groups by Alertmanager, the service killed amid them: all there after {took:.1} s, \
         peak memory {} MiB",
        service.peak_kib() / 1024
    );
}
