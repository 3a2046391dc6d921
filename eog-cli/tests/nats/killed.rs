//! A worker that dies or is paused.

use std::sync::atomic::Ordering;

use crate::common::{read, signal};
use crate::lab::{Lab, Running, flash_sale, run};
use crate::said::Model;

#[test]
fn a_paused_worker_that_wakes_up_writes_nothing_and_asks_nothing_more() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(2);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    lab.submit("run", &[]);
    let log = std::fs::File::create(lab.path("paused.log")).unwrap();
    let mut worker = lab.eog(&["worker"]);
    let paused = Running::start(worker.env("OPENAI_API_KEY", "paused").stderr(log));
    model.server.wait(|seen| seen.len() > 2);
    signal("-STOP", &paused.0);
    run(lab.eog(&["worker", "--until-empty"]).env("OPENAI_API_KEY", "next")).exits(0);
    assert_eq!(lab.listed("run")["status"], "finished");
    // It wakes up with the answer that it waited for.
    model.may_answer.store(true, Ordering::SeqCst);
    signal("-CONT", &paused.0);
    let listed = lab.listed("run");
    // It finds out when it writes, and then asks the queue for other work.
    lab.submit("other", &[]);
    lab.wait("other", "finished");
    assert_eq!(paused.interrupt(), Some(0));
    let said = read(lab.path("paused.log"));
    assert!(said.contains("run: another worker has it"), "{said}");
    assert_eq!(lab.listed("run"), listed, "it says nothing more of it");
    let (journal, _) = lab.fetch("run");
    let path = flash_sale();
    let mut local = lab.eog(&["investigate", path.to_str().unwrap(), "--journal", "local"]);
    run(local.env("OPENAI_API_KEY", "local")).exits(0);
    assert!(journal == std::fs::read(lab.path("local")).unwrap());
}
