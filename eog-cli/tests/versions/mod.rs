//! What earlier states of the program stored, read by this one: `make` beside this file keeps it, in `states`.

use std::path::{Path, PathBuf};

use crate::common::{causes, copy_tree, run};
use crate::on_call_lab::{Receiver, Service, alert, wait_for};

/// The kept states, oldest first, each in a copy that may be written to.
fn states() -> Vec<(String, tempfile::TempDir)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions/states");
    let mut all: Vec<PathBuf> = all.read_dir().unwrap().map(|it| it.unwrap().path()).collect();
    all.sort();
    assert!(!all.is_empty(), "{all:?}");
    let copy = |from: PathBuf| {
        let folder = tempfile::tempdir().unwrap();
        copy_tree(&from, folder.path());
        (from.file_name().unwrap().to_string_lossy().into_owned(), folder)
    };
    all.into_iter().map(copy).collect()
}

#[test]
fn ledgers_and_journals_of_earlier_states_are_replayed_and_gone_on_with() {
    for (state, folder) in states() {
        println!("{state}");
        let at = |name: &str| folder.path().join(name);
        let json = |run: crate::common::Run| causes(&run.exits(0).json());
        let whole = json(run!("replay", at("whole.journal"), ["--format", "json"]));
        assert_eq!(whole, ["db"], "{state}");
        assert_eq!(
            json(run!("replay", at("ledger.jsonl"), ["--format", "json"])),
            whole,
            "{state}"
        );
        // The rest, without what a crash left of an entry, is judged by the policy of today.
        let resumed = run!("resume", at("cut.journal"), at("bundle"), ["--format", "json"]);
        assert_eq!(json(resumed), whole, "{state}");
        assert_eq!(json(run!("replay", at("cut.journal"), ["--format", "json"])), whole, "{state}");
    }
}

#[test]
fn bundles_and_decisions_of_earlier_states_are_used() {
    for (state, folder) in states() {
        let (bundle, memory) = (folder.path().join("bundle"), folder.path().join("memory"));
        run!("check", bundle).exits(0);
        let found = run!("investigate", bundle, "--memory", memory, ["--format", "json"]).exits(0);
        assert_eq!(causes(&found.json()), ["db"], "{state}");
    }
}

#[test]
fn a_service_goes_on_with_the_state_folder_of_an_earlier_one() {
    for (state, folder) in states() {
        println!("{state}");
        let receiver = Receiver::start();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("spans.json", "{\"resourceSpans\":[]}\n");
        write("source.toml", "history = '30m'\n[otlp]\nfiles = ['spans.json']\n");
        let pace = "source = 'source.toml'\n[pace]\nsettle = '0s'\npause = '0s'\nquiet = '0s'\n";
        write("oncall.toml", &format!("{pace}{}", receiver.hook("a")));
        let letters = folder.path().join("state/on-call/outbox").read_dir().unwrap().count();
        let service = Service::start(folder.path());
        let incidents = service.json("/incidents");
        assert_eq!(incidents["damaged_files"], 0, "{state}");
        // The first state lost that an incident was closed while it was written: it is closed again.
        wait_for(|| {
            let stages: Vec<_> =
                service.incidents().iter().map(|it| it["stage"].to_string()).collect();
            (stages == ["\"firing\"", "\"closed\""]).then_some(())
        });
        for path in ["/incidents/in-000001", "/i/inv-000001", "/i/inv-000002"] {
            assert_eq!(service.get(path).unwrap().0, 200, "{state}: {path}");
        }
        // What waited for its receiver arrives, and a further alert goes on with the investigation.
        wait_for(|| (receiver.of("a").len() >= letters).then_some(()));
        service.takes(&alert("second", "another", "Slow", "web", None));
        let incident = service.incident(|one| one["runs"] == 2 && one["stage"] == "firing");
        assert_eq!((&incident["alerts"], &incident["problem"]), (&2.into(), &().into()), "{state}");
    }
}
