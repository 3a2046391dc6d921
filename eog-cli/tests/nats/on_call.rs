//! Processes on call side by side: alerts come in at each, workers investigate, and each reports its own.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::lab::{Lab, Running, until};
use crate::on_call_lab::{Receiver, alert, folder};
use crate::said::Model;
use crate::serve::Served;

/// What `/incidents` of a process lists.
fn incidents(served: &Served) -> Vec<Value> {
    let answer = served.get("/incidents");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let list: Value = serde_json::from_str(body).unwrap();
    list["incidents"].as_array().unwrap().clone()
}

fn send(served: &Served, alert: &str) {
    let answer = served.post("/alerts", "", alert);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The names of all investigations on the cluster.
fn names(lab: &Lab) -> BTreeSet<String> {
    let all: Value = serde_json::from_str(&lab.done(&["list", "--format", "json"])).unwrap();
    all.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn alerts_are_investigated_and_reported_once_though_a_service_or_worker_dies() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(0);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    let receiver = Receiver::start();
    let pace = "[pace]\nsettle = '0s'\npause = '0s'\nquiet = '1s'\n";
    let folder = folder(pace, &receiver.hook("team"));
    let config = folder.path().join("oncall.toml");
    let start = |state: &str| {
        let file = config.to_str().unwrap();
        Served::start(&lab, &["--on-call", file, "--state", state, "--nats-silence", "3"])
    };
    // What was on its way when a process was killed may arrive twice, with the same id: it is one message.
    let reported = || -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        for one in receiver.of("team") {
            let message: Value = serde_json::from_str(&one.body).unwrap();
            assert_eq!(one.header("webhook-id"), message["id"]);
            match all.iter().find(|other| other["id"] == message["id"]) {
                Some(first) => assert_eq!(first["event"], message["event"]),
                None => all.push(message),
            }
        }
        all
    };

    // One takes an alert in, hands it to the workers, and dies.
    let (one, other) = (start("one"), start("other"));
    send(&one, &alert("g", "1", "Slow", "web", None));
    let first = until(|| names(&lab).into_iter().next());
    assert!(other.get("/").contains(&first), "the other service shows it");
    drop(one);
    // A worker that has it dies amid a call, and the next one goes on.
    let worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "first"));
    model.server.wait(|seen| !seen.is_empty());
    drop(worker);
    model.may_answer.store(true, Ordering::SeqCst);
    let _worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "second"));
    lab.wait(&first, "finished");
    assert!(reported().is_empty(), "the service that reports it is gone");
    // It comes back, and reports what was found meanwhile.
    let one = start("one");
    let found = until(|| reported().into_iter().next());
    assert_eq!(found["event"], "diagnosed", "{found:#}");
    assert_eq!(found["result"]["investigation"], *first);
    assert_eq!(names(&lab).len(), 1, "it was submitted once");

    // The other takes an alert of another group, and has an incident of its own. Of the first incident, a
    // further alert begins a further investigation, and one that is sent again nothing.
    send(&other, &alert("h", "2", "Slow", "cart", None));
    send(&one, &alert("g", "1", "Slow", "web", None));
    send(&one, &alert("g", "3", "Errors", "web", None));
    let all = until(|| Some(reported()).filter(|all| all.len() == 3));
    let of = |served: &Value, event: &str| {
        let all = all.iter().filter(|one| one["service"] == *served && one["event"] == event);
        all.cloned().collect::<Vec<_>>()
    };
    let further = of(&found["service"], "updated");
    assert_eq!(further.len(), 1, "{all:#?}");
    let beside = all.iter().find(|one| one["service"] != found["service"]).unwrap();
    assert_eq!(beside["event"], "diagnosed");
    assert_eq!(beside["incident"]["id"], found["incident"]["id"], "each counts its own");
    let investigated: BTreeSet<String> =
        all.iter().map(|one| one["result"]["investigation"].as_str().unwrap().to_owned()).collect();
    assert_eq!(investigated.len(), 3);
    assert_eq!(names(&lab), investigated, "nothing was investigated twice");
    assert!(
        one.get(&format!("/i/{}", beside["result"]["investigation"].as_str().unwrap()))
            .contains("cart")
    );

    // What was reported is not reported again after a restart, and the end is reported by the service that has the
    // incident.
    drop((one, other));
    let (one, _other) = (start("one"), start("other"));
    assert_eq!(incidents(&one)[0]["runs"], 2);
    for (fingerprint, name) in [("1", "Slow"), ("3", "Errors")] {
        send(&one, &alert("g", fingerprint, name, "web", Some("2099-01-01T00:00:00Z")));
    }
    let all = until(|| Some(reported()).filter(|all| all.len() > 3));
    assert_eq!((all.len(), &all[3]["event"]), (4, &"resolved".into()), "{all:#?}");
}
