//! What people say reaches the worker that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::lab::{Lab, Running, flash_sale, run, until};
use crate::reader::{Start, read};
use crate::server::{Reply, Server};

/// A model that answers one request only when it may: the second that it is asked.
pub(crate) struct Model {
    pub(crate) server: Server,
    pub(crate) may_answer: Arc<AtomicBool>,
}

impl Model {
    pub(crate) fn waiting_at(place: usize) -> Self {
        let may_answer = Arc::new(AtomicBool::new(false));
        let may = Arc::clone(&may_answer);
        let server = Server::start(move |asked| {
            while asked.at == place && !may.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20));
            }
            match read(asked, Start::Alerts) {
                Reply::Answer(text) => Reply::Numbered(text),
                other => other,
            }
        });
        Self { server, may_answer }
    }

    pub(crate) fn settings(&self) -> String {
        format!(
            "policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\n\
             [llm.models.\"openai/test\"]\nbase_url = \"{}\"\n\
             capabilities = {{ tokenizer = \"gpt2\" }}\n",
            self.server.url
        )
    }
}

#[test]
fn cancelling_ends_a_running_one_with_what_was_found() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(2);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    lab.submit("run", &[]);
    lab.submit("waits", &[]);
    lab.done(&["cancel", "waits"]);
    let worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "k"));
    model.server.wait(|seen| seen.len() > 2);
    assert_eq!(lab.listed("run")["status"], "running");
    lab.done(&["cancel", "run"]);
    let listed = lab.wait("run", "cancelled");
    assert!(listed["entries"].as_u64().unwrap() > 1, "{listed}");
    assert_eq!(lab.wait("waits", "cancelled")["note"], "before it began");
    assert!(run(&mut lab.eog(&["cancel", "run"])).err.contains("has ended already"));
    assert_eq!(worker.interrupt(), Some(0));
}

#[test]
fn a_worker_that_is_ended_gives_its_work_back() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(2);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    // Longer than this test waits: the next worker has it because it was given back.
    let path = flash_sale();
    lab.done(&["submit", path.to_str().unwrap(), "--id", "run", "--nats-silence", "600"]);
    let worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "k"));
    model.server.wait(|seen| seen.len() > 2);
    assert_eq!(worker.interrupt(), Some(0));
    assert_eq!(lab.listed("run")["status"], "waiting");
    model.may_answer.store(true, Ordering::SeqCst);
    run(lab.eog(&["worker", "--until-empty"]).env("OPENAI_API_KEY", "k")).exits(0);
    assert_eq!(lab.listed("run")["status"], "finished");
    let (journal, _) = lab.fetch("run");
    let expected = {
        let mut eog = lab.eog(&["investigate", path.to_str().unwrap(), "--journal", "local"]);
        assert_eq!(run(eog.env("OPENAI_API_KEY", "k")).code, Some(0));
        std::fs::read(lab.path("local")).unwrap()
    };
    assert!(journal == expected);
}

#[test]
fn a_word_reaches_the_worker_that_runs_it_and_one_that_has_ended_goes_on() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(2);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    lab.submit("run", &[]);
    let worker = Running::start(lab.eog(&["worker"]).env("OPENAI_API_KEY", "k"));
    model.server.wait(|seen| seen.len() > 2);
    lab.done(&["tell", "run", "--note", "gateway=it was restarted by hand"]);
    // It is kept before it is handed on.
    until(|| {
        let out = lab.path("so-far");
        lab.run(&["fetch", "run", "--out", out.to_str().unwrap()]);
        let side = std::fs::read_to_string(out.join("journal.side.jsonl")).unwrap_or_default();
        side.contains("restarted by hand").then_some(())
    });
    model.may_answer.store(true, Ordering::SeqCst);
    lab.wait("run", "finished");
    let entries = |lab: &Lab| {
        let out = lab.path("fetched-run");
        lab.fetch("run");
        std::fs::read_to_string(out.join("ledger.jsonl")).unwrap()
    };
    let ledger = entries(&lab);
    assert_eq!(ledger.matches("\"new_evidence\":\"gateway\"").count(), 1, "{ledger}");

    // It goes on with a word after it has ended, and only once.
    lab.done(&["tell", "run", "--not-cause", "database=its owner checked it"]);
    until(|| entries(&lab).contains("\"new_evidence\":\"database\"").then_some(()));
    lab.wait("run", "finished");
    assert_eq!(worker.interrupt(), Some(0));
    let ledger = entries(&lab);
    assert_eq!(ledger.matches("\"new_evidence\":\"gateway\"").count(), 1);
    assert_eq!(ledger.matches("\"new_evidence\":\"database\"").count(), 1);
}
