//! Ctrl-C while a model is asked: what is found so far is reported, no other model is asked, and the journal goes
//! on.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lab::{Lab, Run, flash_sale};
use super::reader::{Start, read};
use super::server::{Reply, Server};

fn interrupted_in(phase: &'static str) -> (Run, String, usize) {
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    let server = Server::start(move |asked| {
        match asked.phase() == phase && is_silent.load(Ordering::SeqCst) {
            true => Reply::Hang,
            false => read(asked, Start::Alerts),
        }
    });
    let lab = Lab::at(&server, "");
    let path = flash_sale();
    let path = path.to_str().unwrap();
    let child = lab
        .eog(&[
            "investigate",
            path,
            "--journal",
            "run.journal",
            "--format",
            "json",
            "--max-tokens",
            "500000",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.wait(|seen| seen.last().is_some_and(|asked| asked.phase() == phase));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let run = Run::of(&child.wait_with_output().unwrap());
    let asked = server.take();
    assert_eq!(asked.last().unwrap().phase(), phase, "no request follows");

    silent.store(false, Ordering::SeqCst);
    let resumed = lab.run(&["resume", "run.journal", path, "--out", "out", "--format", "json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.said);
    let again = server.seen().len() + asked.len();
    (run, std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap(), again)
}

#[test]
fn an_interrupt_ends_every_phase_and_the_journal_goes_on() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let (_, expected) = Lab::at(&server, "").ledger(&[]);
    let all = server.seen().len();
    let path = flash_sale();
    let onward = format!("eog resume run.journal {} --max-tokens 500000", path.display());
    for phase in ["bootstrap", "explore", "finalize"] {
        let (run, ledger, asked) = interrupted_in(phase);
        assert_eq!(run.code, Some(130), "{phase}: {}", run.said);
        assert!(run.said.contains(&onward), "{phase}: {}", run.said);
        match phase {
            "bootstrap" => {
                assert!(run.said.contains("interrupted before the investigation began"));
                assert_eq!(run.printed, "");
            }
            "explore" => assert_eq!(run.result()["stop"], "cancelled"),
            _ => assert_eq!(run.result()["narrative"]["author"], "rules"),
        }
        assert!(ledger == expected, "{phase}: another ledger");
        assert_eq!(asked, all + 1, "{phase}: the interrupted request is repeated");
    }
}

#[test]
fn a_deadline_holds_for_the_opening_too() {
    let server = Server::start(|_| Reply::Hang);
    let lab = Lab::at(&server, "");
    let path = flash_sale();
    let path = path.to_str().unwrap();
    let run = lab.run(&["investigate", path, "--deadline", "2", "--journal", "run.journal"]);
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(
        run.said.contains("the deadline passed before the investigation began"),
        "{}",
        run.said
    );
    assert!(run.said.contains("eog resume run.journal"), "{}", run.said);
}
