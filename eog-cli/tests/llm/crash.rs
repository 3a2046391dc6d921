//! `kill -9` in every phase: no call that was answered is repeated.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::diagnosis::PHASES;
use crate::lab::{Lab, flash_sale};
use crate::reader::{Start, read};
use crate::server::{Asked, Reply, Server};

/// A model that says nothing to one request, if there is one of that number.
struct Model {
    server: Server,
    silent_at: Arc<AtomicUsize>,
}

impl Model {
    fn new() -> Self {
        let silent_at = Arc::new(AtomicUsize::new(usize::MAX));
        let at = Arc::clone(&silent_at);
        let server = Server::start(move |asked| match asked.at == at.load(Ordering::SeqCst) {
            true => Reply::Hang,
            false => read(asked, Start::Alerts),
        });
        Self { server, silent_at }
    }

    fn be_silent_at(&self, at: usize) {
        self.silent_at.store(at, Ordering::SeqCst);
    }
}

/// The moment of a kill.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// The model was asked and has not answered.
    WhileAsking(usize),
    /// All of the answer was sent.
    AfterAnswer(usize),
}

/// What was asked, each with how often.
fn contents(seen: &[Asked]) -> BTreeMap<String, usize> {
    let mut contents = BTreeMap::new();
    for asked in seen {
        *contents.entry(asked.body.to_string()).or_default() += 1;
    }
    contents
}

/// The first request of each phase, and one amid the judgements.
fn points(seen: &[Asked]) -> Vec<usize> {
    if std::env::var("EOG_KILL_POINTS").is_ok_and(|points| points == "all") {
        return (0..seen.len()).collect();
    }
    let first = |phase: &&str| seen.iter().position(|asked| asked.phase() == *phase).unwrap();
    let mut points: Vec<usize> = PHASES.iter().map(first).collect();
    points.push(points[4] + 4);
    points
}

#[test]
fn killed_at_any_call_it_ends_with_the_same_ledger_and_no_repeated_call() {
    let model = Model::new();
    let server = &model.server;
    let (run, expected) = Lab::at(server, "").ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let all = server.take();
    let once = contents(&all);
    assert!(once.values().all(|times| *times == 1), "an undisturbed run repeats nothing");
    let points = points(&all);
    let kills = points.iter().flat_map(|at| [Kill::WhileAsking(*at), Kill::AfterAnswer(*at)]);
    let path = flash_sale();
    let path = path.to_str().unwrap();
    for kill in kills {
        let lab = Lab::at(server, "");
        model.be_silent_at(match kill {
            Kill::WhileAsking(at) => at,
            Kill::AfterAnswer(_) => usize::MAX,
        });
        let mut child = lab
            .eog(&["investigate", path, "--journal", "run.journal"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        server.wait(|seen| match kill {
            Kill::WhileAsking(at) => seen.len() > at,
            Kill::AfterAnswer(at) => seen.get(at).is_some_and(|asked| asked.answered),
        });
        // Nothing of the process runs on after its end, so nothing more is asked.
        child.kill().unwrap();
        child.wait().unwrap();
        model.be_silent_at(usize::MAX);
        let before = server.seen();
        if let Kill::WhileAsking(at) = kill {
            assert_eq!(before.len(), at + 1, "{kill:?}");
        }

        let run = lab.run(&["resume", "run.journal", path, "--out", "out", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{kill:?}: {}", run.said);
        let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
        assert!(ledger == expected, "{kill:?}: another ledger");
        let seen = server.take();
        let under_way = before.last().unwrap().body.to_string();
        for (content, times) in contents(&seen) {
            let most = if content == under_way { 2 } else { 1 };
            assert!(times <= most, "{kill:?}: asked {times} times: {content}");
        }
        assert!(contents(&seen).keys().eq(once.keys()), "{kill:?}: other questions");
    }
}
