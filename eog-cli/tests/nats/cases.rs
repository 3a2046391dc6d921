//! Closed cases on a cluster: carried there and back, and kept by services on call.

use crate::lab::{Lab, Running, flash_sale, until};
use crate::on_call_lab::Receiver;
use crate::on_call_lab::systems::{Repair, Systems, WELL, desk, record};
use crate::serve::Served;

#[test]
fn cases_are_carried_over_a_cluster() {
    let Some(lab) = Lab::new() else { return };
    let sale = flash_sale();
    let sale = sale.to_str().unwrap();
    lab.done(&["investigate", sale, "--out", "run"]);
    let close = |cause: &str| {
        lab.done(&["close", "run", sale, "--cause", cause, "--cases", "here", "--replace"])
    };
    close("frontend");
    let cases =
        |what: &[&str], folder: &str| lab.run(&[&["cases"], what, &["--cases", folder]].concat());
    cases(&["push"], "here").exits(0).prints(&["1 case added, 0 there already"]);
    cases(&["push"], "here").exits(0).prints(&["0 cases added, 1 there already"]);
    cases(&["pull"], "there").exits(0).prints(&["1 case added, 0 there already"]);
    cases(&["pull"], "there").exits(0).prints(&["0 cases added, 1 there already"]);
    cases(&["check"], "there").exits(0).prints(&["1 identical"]);
    let same = ["list", "--format", "json"];
    assert_eq!(cases(&same, "here"), cases(&same, "there"));
    // Another truth replaces none unless that is asked for.
    close("database");
    cases(&["push"], "here").exits(2).says(&["on the cluster, with another truth", "--replace"]);
    cases(&["push", "--replace"], "here").exits(0);
    cases(&["pull"], "there").exits(2).says(&["with another truth", "--replace"]);
    cases(&["pull", "--replace"], "there").exits(0).prints(&["1 case added"]);
    assert_eq!(cases(&same, "here"), cases(&same, "there"));
    cases(&["pull", "none"], "there").exits(2).says(&["no case \"none\" on the cluster"]);
}

#[test]
fn a_service_on_call_keeps_what_a_repair_has_verified_on_the_cluster() {
    let Some(lab) = Lab::new() else { return };
    let receiver = Receiver::start();
    let systems = Systems { now: eog::Timestamp::now(), repairs: vec![Repair::Right], seed: 0 };
    let folder = desk(&systems, &receiver.hook("team"));
    let config = folder.path().join("oncall.toml");
    let served = Served::start(&lab, &["--on-call", config.to_str().unwrap(), "--state", "state"]);
    let _worker = Running::start(&mut lab.eog(&["worker"]));
    let send = |service: &str, ends| {
        let answer = served.post("/alerts", "", &systems.alert(0, service, ends));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    let has = |event: &str| {
        let all = receiver.of("team").into_iter().map(|one| one.json());
        all.into_iter().find(|message| message["event"] == event)
    };
    for ends in [None, Some(WELL)] {
        for service in ["web", "api"] {
            send(service, ends);
        }
        if ends.is_none() {
            until(|| has("diagnosed"));
        }
    }
    record(folder.path(), systems.recorded(0));
    until(|| has("verified"));
    until(|| has("resolved"));
    let kept = || {
        let pulled = lab.run(&["cases", "pull", "--cases", "cases"]).exits(0);
        pulled.out.starts_with("1 case added").then_some(())
    };
    until(kept);
    lab.run(&["cases", "list", "--cases", "cases"]).exits(0).prints(&["exact", "recovery", "db-0"]);
    lab.run(&["cases", "check", "--cases", "cases"]).exits(0).prints(&["1 identical"]);
}
