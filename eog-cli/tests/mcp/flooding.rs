//! Clients that ask more than they read: the server takes in no more than it can hold, whatever the ids are
//! and whatever is cancelled.

use std::io::{BufRead, Write};
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Piped, Place};

/// Far more than what the pipes and the places of requests hold. As many answers of `tools/list` would be 100 MB.
const ALL: usize = 3_000;

/// What a debug build may grow by, in kilobytes.
const GROWTH: u64 = 48 * 1024;

/// Makes a request longer, so that a pipe holds few of them.
const PADDING: usize = 1_000;

struct Flooded {
    server: Piped,
    /// How many messages were written so far.
    sent: Arc<AtomicUsize>,
    /// Whether nothing more is to be written.
    enough: Arc<AtomicBool>,
    writing: Option<std::thread::JoinHandle<ChildStdin>>,
    before: Option<u64>,
}

/// The memory of a process in kilobytes, where the system reports it.
fn memory(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn list(id: usize) -> String {
    let padding = "x".repeat(PADDING);
    let list = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list",
        "params": {"_meta": {"padding": padding}}});
    format!("{list}\n")
}

fn cancel(id: usize) -> String {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id}});
    format!("{cancel}\n")
}

impl Flooded {
    /// A server that has begun, to which so many texts are being written, by a client that reads nothing.
    fn new(place: &Place, text: fn(usize) -> String) -> Self {
        let mut server = Piped::start(place.command());
        let mut input = server.input.take().unwrap();
        assert!(server.output.as_ref().unwrap().buffer().is_empty());
        let before = memory(&server.child);
        let sent = Arc::new(AtomicUsize::new(0));
        let enough = Arc::new(AtomicBool::new(false));
        let writing = std::thread::spawn({
            let (sent, enough) = (sent.clone(), enough.clone());
            move || {
                for at in 0..ALL {
                    if enough.load(Ordering::Relaxed) {
                        break;
                    }
                    // Fails when the server has given its client up.
                    if input.write_all(text(at).as_bytes()).is_err() {
                        break;
                    }
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                input
            }
        });
        Self { server, sent, enough, writing: Some(writing), before }
    }

    /// Waits until no more is taken in, and gives how much was.
    fn taken(&self) -> usize {
        let mut last = usize::MAX;
        while last != self.sent.load(Ordering::Relaxed) {
            last = self.sent.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(1));
        }
        last
    }

    fn has_not_grown(&self) {
        let (Some(before), Some(now)) = (self.before, memory(&self.server.child)) else { return };
        assert!(now < before + GROWTH, "{before} kB became {now} kB");
    }

    /// Reads everything. What is not sent by now is not sent at all: it would prove nothing more. Then the client
    /// leaves.
    fn answers(mut self) -> Vec<Value> {
        self.enough.store(true, Ordering::Relaxed);
        let output = self.server.output.take().unwrap();
        let reading = std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines.map(|line| serde_json::from_str(&line).expect(&line)).collect()
        });
        // Its pipe closes with it.
        drop(self.writing.take().unwrap().join().unwrap());
        reading.join().unwrap()
    }
}

#[test]
fn what_is_not_read_is_not_taken_in() {
    let place = Place::new();
    let flooded = Flooded::new(&place, list);
    let taken = flooded.taken();
    assert!(taken < ALL, "all were taken in");
    flooded.has_not_grown();
    let answers = flooded.answers();
    assert!(answers.len() >= taken, "{} of {taken} are answered", answers.len());
    assert!(answers.iter().all(|answer| answer["result"]["tools"].is_array()));
}

#[test]
fn an_id_that_is_used_again_gives_no_room() {
    let place = Place::new();
    let flooded = Flooded::new(&place, |_| list(7));
    assert!(flooded.taken() < ALL, "all were taken in");
    flooded.has_not_grown();
    let answers = flooded.answers();
    let refused = answers.iter().filter(|answer| answer["error"].is_object()).count();
    assert!(refused > 0 && refused <= 100, "{refused} were refused");
    let text = answers.iter().find_map(|answer| answer["error"]["message"].as_str());
    assert_eq!(text, Some("a request with this id is still open; give each request its own"));
}

#[test]
fn what_is_cancelled_gives_no_room_before_its_work_ends() {
    let place = Place::new();
    let flooded = Flooded::new(&place, |id| list(id) + &cancel(id));
    flooded.taken();
    flooded.has_not_grown();
    // What was answered before it was cancelled is whole.
    let answers = flooded.answers();
    assert!(answers.iter().all(|answer| answer["result"]["tools"].is_array()));
}
