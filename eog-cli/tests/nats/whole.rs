//! From submitting to reading the result, with every controller.

use crate::lab::{Lab, Running, flash_sale};

#[test]
fn what_is_submitted_is_investigated_and_read_anywhere() {
    let Some(lab) = Lab::new() else { return };
    let path = flash_sale();
    let controllers = ["eog", "linear", "lats", "beam", "hypotheses", "treeseeker", "react"];
    for controller in controllers {
        lab.submit(controller, &["--controller", controller]);
    }
    assert_eq!(lab.listed("eog")["status"], "waiting");
    lab.done(&["worker", "--until-empty"]);
    for controller in controllers {
        let listed = lab.listed(controller);
        assert_eq!(listed["status"], "finished", "{listed}");
        assert_eq!(listed["controller"], controller);
        let (journal, _) = lab.fetch(controller);
        let expected = lab.undisturbed(&path, &["--controller", controller]);
        assert!(journal == expected, "{controller}: the bytes are those of a local run");
    }
    assert_eq!(lab.listed("eog")["origins"], serde_json::json!(["frontend"]));

    // What was fetched is for all other commands.
    let out = lab.path("fetched");
    let folder = out.to_str().unwrap();
    lab.done(&["fetch", "eog", "--out", folder, "--incident"]);
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("flash sale") && report.contains("frontend"), "{report}");
    let (journal, incident) = (out.join("journal"), out.join("incident/flash-sale"));
    let (journal, incident) = (journal.to_str().unwrap(), incident.to_str().unwrap());
    let page = lab.path("page.html");
    lab.done(&["report", journal, incident, "--html", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(!page.contains("written without the bundle or snapshot"), "it has charts");
    lab.done(&["resume", journal, incident]);
}

#[test]
fn submit_with_wait_prints_what_was_found() {
    let Some(lab) = Lab::new() else { return };
    let path = flash_sale();
    let submitted = lab.done(&["submit", path.to_str().unwrap()]);
    assert!(submitted.starts_with("flash-sale-"), "{submitted}");
    let worker = Running::start(&mut lab.eog(&["worker"]));
    let printed =
        lab.done(&["submit", path.to_str().unwrap(), "--wait", "--cause", "frontend=seen"]);
    assert!(printed.contains("finished, ") && printed.contains("frontend"), "{printed}");
    assert_eq!(worker.interrupt(), Some(0));
}

#[test]
fn what_has_ended_is_removed_and_nothing_else() {
    let Some(lab) = Lab::new() else { return };
    lab.submit("first", &[]);
    lab.run(&["prune", "first"]).exits(2).says(&["eog cancel first"]);
    lab.done(&["worker", "--until-empty"]);
    lab.submit("second", &[]);
    lab.submit("third", &[]);
    lab.done(&["cancel", "third"]);
    // Of what has ended nothing is so old, and there is room.
    assert!(lab.done(&["prune", "--max-age", "1", "--max-size", "1G"]).starts_with("0 removed"));
    assert!(lab.done(&["prune", "--max-age", "0"]).starts_with("1 removed"));
    assert_eq!(lab.listed("first"), serde_json::Value::Null);
    assert_eq!(lab.run(&["fetch", "first", "--out", "out"]).code, Some(4));
    lab.done(&["worker", "--until-empty"]);
    assert_eq!(lab.listed("second")["status"], "finished");
    assert_eq!(lab.listed("third")["status"], "cancelled");
    assert_eq!(lab.done(&["prune", "second"]), "second removed\n");
    assert!(lab.done(&["prune", "--max-age", "0"]).starts_with("1 removed"), "that never began");
    assert_eq!(lab.done(&["list", "--format", "json"]), "[]\n");
    // The name is free again.
    lab.submit("first", &[]);
}
