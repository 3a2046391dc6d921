//! Repairs on call: verified, withdrawn, partial or none, over sources that are files with simulated requests.
//!
//! `EOG_RECOVERIES=40` makes so many incidents instead of one of each kind, ten in a service.

use eog::Timestamp;
use serde_json::{Value, json};

use crate::common::{Run, command};
use crate::on_call_lab::systems::{REPAIR, Repair, Systems, WELL, desk, record};
use crate::on_call_lab::{Receiver, Service, count, wait_for};

const KINDS: [Repair; 5] =
    [Repair::Right, Repair::WithoutEffect, Repair::Partial, Repair::Reported, Repair::None];

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
    let folder = desk(systems, &receiver.hook("team"));
    let at = folder.path();
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
