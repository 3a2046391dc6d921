//! Repairs on call: verified, withdrawn, partial or none, over sources that are files with simulated requests.
//!
//! `EOG_RECOVERIES=40` makes so many incidents instead of one of each kind, ten in a service.

use std::path::Path;

use eog::Timestamp;
use serde_json::{Value, json};

use crate::common::{Run, command};
use crate::on_call_lab::{Receiver, Service, count, wait_for};

/// What is done about an incident, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// The change that caused it is undone, and all returns.
    Right,
    /// It is undone, and nothing returns.
    WithoutEffect,
    /// It is undone, and one of two alerts returns.
    Partial,
    /// A person reports what no record has, and all returns.
    Reported,
    /// Nothing is done, and all returns.
    None,
}

const KINDS: [Repair; 5] =
    [Repair::Right, Repair::WithoutEffect, Repair::Partial, Repair::Reported, Repair::None];

/// Minutes before now: when the fault begins, until when requests are on record at first, when it is repaired.
const FAULT: i64 = -60;
const SEEN: i64 = -50;
const REPAIR: i64 = -48;
/// When all is as usual again, where it returns.
const WELL: i64 = -46;

/// Systems of three services each, `web` that calls `api` that calls `db`, and their incidents.
struct Systems {
    now: Timestamp,
    repairs: Vec<Repair>,
    /// By which systems differ from those of other services.
    seed: usize,
}

impl Systems {
    fn minute(&self, minute: i64) -> Timestamp {
        Timestamp::from_second(self.now.as_second() + 60 * minute).unwrap()
    }

    /// How long a call of a service takes by itself, in milliseconds.
    fn own(&self, system: usize, service: &str, minute: i64) -> u64 {
        let repair = self.repairs[system];
        let db_is_well = minute < FAULT || minute >= WELL && repair != Repair::WithoutEffect;
        match service {
            "db" if !db_is_well => 250 + 30 * ((self.seed + system) as u64 % 7),
            // What came with it and stays.
            "web" if minute >= FAULT && repair == Repair::Partial => 300,
            _ => 20 + (minute.unsigned_abs() * 7 + (self.seed + system) as u64) % 5,
        }
    }

    /// The requests until a minute, as OTLP.
    fn spans(&self, until: i64) -> String {
        let mut resources = Vec::new();
        for system in 0..self.repairs.len() {
            let mut spans: [Vec<Value>; 3] = Default::default();
            for quarter in -480..until * 4 {
                let minute = quarter.div_euclid(4);
                let start = (self.now.as_second() + 15 * quarter) as u64 * 1_000_000_000;
                let own = |service| self.own(system, service, minute) * 1_000_000;
                let took = [own("web") + own("api") + own("db"), own("api") + own("db"), own("db")];
                let trace = format!("{:032x}", (system as u64) << 32 | (quarter + 1_000) as u64);
                let id =
                    |at: usize| format!("{:016x}", (quarter + 1_000) as u64 * 4 + at as u64 + 1);
                for (at, took) in took.into_iter().enumerate() {
                    let begin = start + at as u64 * 1_000_000;
                    let parent = at.checked_sub(1).map(id).unwrap_or_default();
                    spans[at].push(json!({
                        "traceId": trace, "spanId": id(at), "parentSpanId": parent, "name": "GET /",
                        "kind": 2, "startTimeUnixNano": begin.to_string(),
                        "endTimeUnixNano": (begin + took).to_string(), "status": {},
                    }));
                }
            }
            for (service, spans) in ["web", "api", "db"].iter().zip(spans) {
                let name = json!([{
                    "key": "service.name", "value": {"stringValue": format!("{service}-{system}")},
                }]);
                resources.push(json!({
                    "resource": {"attributes": name}, "scopeSpans": [{"spans": spans}],
                }));
            }
        }
        json!({ "resourceSpans": resources }).to_string()
    }

    /// The changes until a minute.
    fn changes(&self, until: i64) -> String {
        let change = |system: usize, at: i64, old: &str, new: &str| {
            let (time, entity) = (self.minute(at).to_string(), format!("db-{system}"));
            json!({"time": time, "entity": entity, "path": "pool.size", "old": old, "new": new})
        };
        let mut lines = Vec::new();
        for (system, repair) in self.repairs.iter().enumerate() {
            lines.push(change(system, FAULT, "50", "5"));
            let is_recorded = !matches!(repair, Repair::Reported | Repair::None);
            if is_recorded && until > REPAIR {
                lines.push(change(system, REPAIR, "5", "50"));
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The files of the sources.
    fn recorded(&self, until: i64) -> [(&'static str, String); 2] {
        [("spans.json", self.spans(until)), ("changes.jsonl", self.changes(until))]
    }

    fn alert(&self, system: usize, service: &str, ends: Option<i64>) -> String {
        let (starts, status) = (
            self.minute(FAULT + 3).to_string(),
            if ends.is_some() { "resolved" } else { "firing" },
        );
        let ends = ends
            .map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |at| self.minute(at).to_string());
        json!({
            "version": "4", "groupKey": format!("g{system}"), "status": status, "receiver": "eog",
            "groupLabels": {}, "truncatedAlerts": 0,
            "alerts": [{
                "status": status, "fingerprint": format!("{service}-{system}"), "startsAt": starts, "endsAt": ends,
                "labels": {"alertname": "SlowRequests", "job": format!("{service}-{system}")},
                "annotations": {"summary": "requests are slow"},
            }],
        })
        .to_string()
    }
}

/// Puts files into a folder, each whole or not at all: they are read all the time.
fn record(folder: &Path, files: [(&str, String); 2]) {
    for (name, text) in files {
        let new = folder.join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, folder.join(name)).unwrap();
    }
}

/// The messages on an incident, in the order of their coming.
fn messages(receiver: &Receiver, id: &str) -> Vec<Value> {
    let all = receiver.of("team").into_iter().map(|one| one.json());
    all.filter(|message| message["incident"]["id"] == id).collect()
}

fn events(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["event"].as_str()).collect()
}

#[test]
fn a_diagnosis_is_verified_by_the_repair_of_its_cause_or_withdrawn() {
    let wanted = std::env::var("EOG_RECOVERIES").ok().and_then(|it| it.parse().ok());
    let repairs = KINDS.into_iter().cycle().take(wanted.unwrap_or(KINDS.len()));
    let repairs: Vec<Repair> = repairs.collect();
    for (number, repairs) in repairs.chunks(10).enumerate() {
        let now = Timestamp::now();
        judged(&Systems { now, repairs: repairs.to_vec(), seed: 10 * number });
        println!("{} incidents as they should be", 10 * number + repairs.len());
    }
}

fn judged(systems: &Systems) {
    let receiver = Receiver::start();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
    write(
        "source.toml",
        "history = '40m'\nchanges = ['changes.jsonl']\n[otlp]\nfiles = ['spans.json']\n",
    );
    let pace = "[pace]\nsettle = '1s'\npause = '0s'\nquiet = '30s'\nwatch = '1s'\n";
    write("oncall.toml", &format!("source = 'source.toml'\n{pace}{}", receiver.hook("team")));
    record(at, systems.recorded(SEEN));
    let service = Service::start(at);
    let of_web = |system: usize| format!("in-{:06}", system + 1);
    for system in 0..systems.repairs.len() {
        service.takes(&systems.alert(system, "web", None));
        service.takes(&systems.alert(system, "api", None));
    }
    for (system, repair) in systems.repairs.iter().enumerate() {
        let first = wait_for(|| messages(&receiver, &of_web(system)).into_iter().next());
        assert_eq!(first["event"], "diagnosed", "{first:#}");
        let cause = &first["result"]["causes"][0]["entities"];
        assert_eq!(*cause, json!([format!("db-{system}")]), "{repair:?}: {first:#}");
        let predicted = first["result"]["predictions"][0].as_str().unwrap();
        let begin = format!("If db-{system} is the cause, setting pool.size back to 50 should end");
        assert!(predicted.starts_with(&begin), "{predicted}");
    }
    // Alerts end before the record of the repair can be read, and long before incidents are closed.
    let later = systems.recorded(0);
    for (system, repair) in systems.repairs.iter().enumerate() {
        let ends = |service| match repair {
            Repair::WithoutEffect => None,
            Repair::Partial if service == "web" => None,
            _ => Some(WELL),
        };
        for name in ["web", "api"] {
            if let ends @ Some(_) = ends(name) {
                service.takes(&systems.alert(system, name, ends));
            }
        }
        if *repair == Repair::Reported {
            let report =
                json!({"at": systems.minute(REPAIR).to_string(), "action": "restarted by hand"});
            let path = format!("/incidents/{}/repair", of_web(system));
            let (status, answer) = service.post(&path, &report.to_string()).unwrap();
            assert_eq!(status, 200, "{answer}");
        }
    }
    record(at, later);
    let mut cases = 0;
    for (system, repair) in systems.repairs.iter().enumerate() {
        let (id, db) = (of_web(system), format!("db-{system}"));
        let has = |event: &str| {
            let all = messages(&receiver, &id);
            events(&all).contains(&event).then_some(all)
        };
        let recovery_of = |all: &[Value], event: &str| {
            all.iter().find(|it| it["event"] == event).map(|it| it["recovery"].clone()).unwrap()
        };
        match repair {
            Repair::Right | Repair::Reported => {
                cases += 1;
                let all = wait_for(|| has("resolved"));
                assert_eq!(events(&all), ["diagnosed", "verified", "resolved"], "{repair:?}");
                let recovery = recovery_of(&all, "verified");
                assert_eq!(recovery["causes"], json!([db]), "{recovery:#}");
                assert_eq!(recovery["is_recorded"], *repair == Repair::Right, "{recovery:#}");
                assert_eq!(recovery["not_returned"], json!([]), "{recovery:#}");
                assert!(
                    recovery["returned"].to_string().contains("SlowRequests on web"),
                    "{recovery:#}"
                );
            }
            Repair::WithoutEffect => {
                let all = wait_for(|| has("updated"));
                assert_eq!(events(&all)[..3], ["diagnosed", "withdrawn", "updated"], "{all:#?}");
                let recovery = recovery_of(&all, "withdrawn");
                assert!(
                    recovery["summary"].as_str().unwrap().contains("is not the cause"),
                    "{recovery:#}"
                );
                let causes = all[2]["result"]["causes"].to_string();
                assert!(
                    !causes.contains(&db),
                    "a cause whose repair had no effect is none: {causes}"
                );
                let name = all[2]["result"]["investigation"].as_str().unwrap();
                assert_eq!(
                    name, all[0]["result"]["investigation"],
                    "the same investigation goes on"
                );
                let (_, page) = service.get(&format!("/i/{name}")).unwrap();
                assert!(page.contains("did not return in time"), "the repair is evidence");
            }
            Repair::Partial => {
                let incident = wait_for(|| {
                    Some(service.json(&format!("/incidents/{id}")))
                        .filter(|it| it["watch"]["recovery"]["verdict"] == "partial")
                });
                let recovery = &incident["watch"]["recovery"];
                assert!(
                    recovery["returned"].to_string().contains("SlowRequests on api"),
                    "{recovery:#}"
                );
                assert!(
                    recovery["not_returned"].to_string().contains("SlowRequests on web"),
                    "{recovery:#}"
                );
                assert_eq!(events(&messages(&receiver, &id)), ["diagnosed"]);
            }
            Repair::None => {
                let all = wait_for(|| has("resolved"));
                assert_eq!(events(&all), ["diagnosed", "resolved"]);
                let incident = service.json(&format!("/incidents/{id}"));
                assert_eq!(incident["watch"]["recovery"], Value::Null, "{incident:#}");
            }
        }
    }
    let list = ["list", "--cases", "state/cases", "--format", "json"];
    let listed = Run::of(command!("cases", list).current_dir(at)).exits(0).json();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), cases, "{listed:#?}");
    for case in listed {
        assert_eq!(
            (&case["grade"], &case["by"]),
            (&json!("exact"), &json!("recovery")),
            "{case:#}"
        );
    }
    let (status, page) = service.get("/cases").unwrap();
    assert_eq!(status, 200);
    assert!(page.contains("recovery") && page.contains("exact"), "{page}");
    assert_eq!(count(&at.join("state/captures"), "in-000001-check"), 0, "checks leave nothing");
}
