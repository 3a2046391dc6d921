//! `kill -9` in every phase: no call that was answered is repeated.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::diagnosis::PHASES;
use super::lab::{Lab, flash_sale};
use super::reader::{Start, read};
use super::server::{Asked, Reply, Server};

/// A model that says nothing to one request, as long as it is silent.
struct Model {
    server: Server,
    is_silent: Arc<AtomicBool>,
}

impl Model {
    fn silent_at(place: Option<usize>) -> Self {
        let is_silent = Arc::new(AtomicBool::new(true));
        let silent = Arc::clone(&is_silent);
        let server = Server::start(move |asked| {
            match Some(asked.at) == place && silent.load(Ordering::SeqCst) {
                true => Reply::Hang,
                false => read(asked, Start::Alerts),
            }
        });
        Self { server, is_silent }
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

/// How often each request of an undisturbed run was made, in its order; and nothing else was asked.
pub(crate) fn times(seen: &[Asked], undisturbed: &[Asked]) -> Vec<usize> {
    let times = |of: &Asked| seen.iter().filter(|asked| asked.body == of.body).count();
    let times: Vec<usize> = undisturbed.iter().map(times).collect();
    assert_eq!(times.iter().sum::<usize>(), seen.len(), "other questions were asked");
    times
}

/// The first request of each phase, and one amid the judgements.
fn points(seen: &[Asked]) -> Vec<usize> {
    if std::env::var("EOG_KILL_POINTS").is_ok_and(|points| points == "all") {
        return (0..seen.len()).collect();
    }
    let first = |phase: &&str| seen.iter().position(|asked| asked.phase() == *phase).unwrap();
    let mut points: Vec<usize> = PHASES.iter().map(first).collect();
    points.push(points[1] + 1);
    points
}

#[test]
fn killed_while_a_model_is_asked_it_repeats_that_call_alone() {
    kill_at(Kill::WhileAsking);
}

#[test]
fn killed_after_an_answer_it_repeats_no_answered_call() {
    kill_at(Kill::AfterAnswer);
}

/// Kills runs and resumes them: the ledger is that of a run that was left alone, and nothing is asked
/// twice but what was under way.
fn kill_at(moment: fn(usize) -> Kill) {
    let Model { server, .. } = Model::silent_at(None);
    let (run, expected) = Lab::at(&server, "").ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let all = server.take();
    assert!(times(&all, &all).iter().all(|times| *times == 1), "nothing is asked twice anyway");
    for kill in points(&all).into_iter().map(moment) {
        // Each with a server of its own: a request may be read after its sender is gone.
        let Model { server, is_silent } = Model::silent_at(match kill {
            Kill::WhileAsking(at) => Some(at),
            Kill::AfterAnswer(_) => None,
        });
        let lab = Lab::at(&server, "");
        let path = flash_sale();
        let path = path.to_str().unwrap();
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
        child.kill().unwrap();
        child.wait().unwrap();
        is_silent.store(false, Ordering::SeqCst);

        let run = lab.run(&["resume", "run.journal", path, "--out", "out", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{kill:?}: {}", run.said);
        let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
        assert!(ledger == expected, "{kill:?}: another ledger");
        let times = times(&server.seen(), &all);
        match kill {
            // The question without an answer, and no other.
            Kill::WhileAsking(at) => {
                let expected = (0..all.len()).map(|place| 1 + usize::from(place == at));
                assert!(expected.eq(times.iter().copied()), "{kill:?}: {times:?}");
            }
            // It may have come to ask the next, and what it had not stored is asked again.
            Kill::AfterAnswer(at) => {
                assert!(times[..at].iter().all(|times| *times == 1), "{kill:?}: {times:?}");
                assert!(times.iter().sum::<usize>() <= all.len() + 1, "{kill:?}: {times:?}");
                assert!(times.iter().all(|times| *times >= 1), "{kill:?}: {times:?}");
            }
        }
    }
}
