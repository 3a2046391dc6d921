//! `--live`: the real binary and real sockets. What browsers do with it is tested in Chromium
//! (`.ci/browser`).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::common::{self, FLASH_SALE, Run as Ended, command, http, read, request, run, start};

const TOKEN: &str = "a-token-for-tests-only";

/// A run that is watched. It is killed with the test.
struct Run {
    child: Child,
    address: String,
    errors: BufReader<std::process::ChildStderr>,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    fn start(arguments: &[&str], token: Option<&str>) -> Self {
        let mut command = command!("investigate", FLASH_SALE, "--live", arguments);
        command.env_remove("EOG_LIVE_TOKEN").envs(token.map(|token| ("EOG_LIVE_TOKEN", token)));
        let mut child = start(&mut command);
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let line = line(&mut errors);
        let url = line.trim().strip_prefix("eog: live page at http://").expect(&line);
        let address = url.strip_suffix("/i/run").expect(&line).to_owned();
        Self { child, address, errors }
    }

    /// Waits until the run has ended and only the page stays.
    fn stays(&mut self) {
        let line = line(&mut self.errors);
        assert!(line.contains("press Ctrl-C to end it"), "{line}");
    }

    fn interrupt(&mut self) -> (Option<i32>, String) {
        common::signal("-INT", &self.child);
        let mut printed = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), printed)
    }

    /// Sends a request and gives status and answer.
    fn raw(&self, request: &str) -> (u16, String) {
        http(&self.address, request).unwrap()
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.raw(&request("GET", path, &format!("Host: {}\r\n{headers}", self.address), ""))
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> (u16, String) {
        self.raw(&request("POST", path, &format!("Host: {}\r\n{headers}", self.address), body))
    }

    /// Asks for something to be done with the run.
    fn act(&self, what: &str) -> (u16, String) {
        self.post(&format!("/i/run/{what}"), "Content-Type: application/json\r\n", "{}")
    }

    fn say(&self, body: &str) -> (u16, String) {
        self.post("/i/run/words", "Content-Type: application/json\r\n", body)
    }

    /// The events from an entry on.
    fn events(&self, next: u64, headers: &str) -> Events {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET /i/run/events/{next} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")
            .unwrap();
        Events(BufReader::new(stream))
    }
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line
}

struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event of this kind.
    fn next(&mut self, kind: &str) -> Value {
        let wanted = format!("event: {kind}");
        loop {
            let text = line(&mut self.0);
            assert!(!text.is_empty(), "the stream ended before {kind}");
            if text.trim() == wanted {
                let data = line(&mut self.0);
                return serde_json::from_str(data.trim().strip_prefix("data: ").unwrap()).unwrap();
            }
        }
    }

    /// The next state that a test waits for.
    fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let state = self.next("state");
            if is(&state) {
                return state;
            }
        }
    }
}

/// A policy that waits as long as a file is there.
struct Held(tempfile::TempDir);

impl Held {
    fn new() -> Self {
        let held = Self(tempfile::tempdir().unwrap());
        std::fs::write(held.path("hold"), "").unwrap();
        let text = "cat > /dev/null\nwhile [ -e \"${0%/*}/hold\" ]; do sleep 0.02; done\n\
                    echo '{\"label\": \"defer\", \"summary\": \"not known\"}'";
        common::script(held.path("policy.sh"), text);
        held
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn release(&self) {
        std::fs::remove_file(self.path("hold")).unwrap();
    }

    fn option(&self) -> String {
        format!("command:{}", self.path("policy.sh").display())
    }
}

/// Whether a state is that of a run amid its work.
fn is_judging(state: &Value) -> bool {
    state["now"].as_str().unwrap().starts_with("judging")
}

#[test]
fn a_verdict_re_opens_what_has_ended_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.journal");
    let out = folder.path().join("out");
    let options =
        ["--journal", journal.to_str().unwrap(), "--out", out.to_str().unwrap(), "--no-fsync"];
    let mut run = Run::start(&options, None);
    run.stays();
    let (status, page) = run.get("/i/run", "");
    assert_eq!(status, 200);
    assert!(page.contains("Root cause (confirmed): frontend"), "the finished report is there");
    assert!(page.contains("frame-ancestors 'none'") && page.contains("no-store"));

    let mut events = run.events(0, "");
    assert_eq!(events.next("entry")["kind"], "opened");
    let first = events.until(|state| state["running"] == false);
    assert_eq!(first["origins"][0], "frontend");
    let (status, answer) = run
        .say(r#"{"entity": "frontend", "verdict": "not_cause", "text": "its owner checked it"}"#);
    assert_eq!(status, 200, "{answer}");
    let observed = loop {
        let entry = events.next("entry");
        if entry["kind"] == "observed" {
            break entry;
        }
    };
    assert_eq!(observed["name"], "frontend");
    run.stays();
    let (_, page) = run.get("/i/run", "");
    assert!(!page.contains("Root cause (confirmed): frontend"), "the result has changed");
    let after = events.until(|state| state["ended"] == 2);
    assert_eq!(after["words"][0]["words"], "this is not the cause");
    // A browser that comes back says what it has.
    let last = after["entries"].as_u64().unwrap() - 1;
    let mut again = run.events(0, &format!("Last-Event-ID: {}\r\n", last - 1));
    assert_eq!(again.next("entry")["seq"], last);

    let (code, printed) = run.interrupt();
    assert_eq!(code, Some(0), "the code is that of the last result");
    assert_eq!(printed.matches("flash sale\n").count(), 2, "each result is printed: {printed}");
    let ledger = read(out.join("ledger.jsonl"));
    assert!(ledger.contains(r#""observation":{"new_evidence":"frontend"}"#), "{ledger:.300}");
    assert!(ledger.contains("its owner checked it"), "the ledger holds the verdict");
    run!("replay", journal).exits(0);
}

/// A program that holds the frontend for the cause, whatever its packet says.
fn stubborn(folder: &Path) -> String {
    let text = r#"packet=$(cat)
id=$(printf %s "$packet" | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
case "$packet" in
'{"entity":"frontend",'*)
    echo "{\"label\": \"origin\", \"summary\": \"I am sure\", \"evidence\": [\"$id\"]}" ;;
*) echo '{"label": "defer", "summary": "not known", "proposals":
    [{"entity": "frontend", "direction": "upstream", "reason": "always"}]}' ;;
esac
"#;
    common::script(folder.join("stubborn.sh"), text)
}

#[test]
fn a_verdict_binds_a_program_that_ignores_it() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.journal");
    let program = stubborn(folder.path());
    let options = ["--policy", &program, "--journal", journal.to_str().unwrap()];
    let mut run = Run::start(&options, None);
    run.stays();
    let mut events = run.events(0, "");
    assert_eq!(events.until(|state| state["running"] == false)["origins"][0], "frontend");
    let said = run
        .say(r#"{"entity": "frontend", "verdict": "not_cause", "text": "its owner checked it"}"#);
    assert_eq!(said.0, 200, "{}", said.1);
    run.stays();
    let after = events.until(|state| state["ended"] == 2);
    assert_eq!(after["origins"].as_array().unwrap().len(), 0, "{after}");
    run.interrupt();
    let explained = run!("explain", journal, "frontend", "--policy", program);
    explained.prints(&["Without it: I am sure"]);
}

#[test]
fn a_run_is_stopped_and_gone_on_with_while_a_stalled_reader_waits() {
    let held = Held::new();
    let mut run = Run::start(&["--policy", &held.option()], None);
    // It reads nothing, and holds no other reader back.
    let stalled = run.events(0, "");
    let mut events = run.events(0, "");
    let state = events.until(is_judging);
    assert_eq!((&state["running"], &state["budget"]["hops"]), (&Value::Bool(true), &200.into()));
    let (status, page) = run.get("/i/run", "");
    assert!(status == 200 && page.contains("still running; this is"), "{status}");
    let (status, _) = run.act("stop");
    assert_eq!(status, 200);
    let stopped = events.until(|state| state["running"] == false);
    assert_eq!(stopped["unfinished"], true);
    run.stays();
    let (status, answer) = run.act("stop");
    assert!(status == 409 && answer.contains("it is not running"), "{answer}");

    let (status, _) = run.act("go-on");
    assert_eq!(status, 200);
    events.until(is_judging);
    // An answer while it goes on.
    assert_eq!(
        run.say(r#"{"entity": "gateway", "verdict": null, "text": "it was restarted"}"#).0,
        200
    );
    held.release();
    let ended = events.until(|state| state["ended"] == 2);
    assert_eq!(ended["why"], "converged");
    let entities = |state: &Value| -> Vec<String> {
        let all = state["questions"].as_array().unwrap().iter();
        all.map(|question| question[0].as_str().unwrap().to_owned()).collect()
    };
    assert!(!entities(&ended).contains(&"gateway".to_owned()), "it was answered: {ended}");
    run.stays();
    drop(stalled);
    let (code, printed) = run.interrupt();
    assert_eq!(code, Some(3));
    assert!(printed.contains("it was restarted") || printed.contains("INCONCLUSIVE"), "{printed}");
    assert_eq!(events.next("bye"), 0, "readers are notified of the end");
}

#[test]
fn ctrl_c_in_the_middle_keeps_what_was_found() {
    let held = Held::new();
    let journal = held.path("run.journal");
    let options = ["--policy", &held.option(), "--journal", journal.to_str().unwrap()];
    let mut run = Run::start(&options, None);
    let mut events = run.events(0, "");
    events.until(is_judging);
    let (code, printed) = run.interrupt();
    assert_eq!(code, Some(130), "{printed}");
    assert!(printed.contains("INCONCLUSIVE, interrupted"), "{printed}");
    assert_eq!(events.next("bye"), 0, "readers are notified of the end");
    held.release();
    run!("resume", journal, FLASH_SALE, "--policy", held.option(), "--quiet").exits(3);
}

#[test]
fn the_service_lists_its_investigations_beside_mcp() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--http", "127.0.0.1:0", "--root", FLASH_SALE, "--state"];
    let mut command = command!("serve", options, folder);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let agents = line(&mut errors);
    let people = line(&mut errors);
    let url = people.trim().strip_prefix("eog: investigations at http://").expect(&people);
    assert!(agents.contains("/mcp"), "{agents}");
    let run = Run { child, address: url.trim_end_matches('/').to_owned(), errors };
    let (status, page) = run.get("/", "Accept: text/html\r\n");
    assert!(status == 200 && page.contains("<title>"), "{status}");
    assert!(page.contains("Start an investigation"), "{page}");
    let json = "Content-Type: application/json\r\n";
    for (body, status, reason) in [
        (r#"{"path": "../elsewhere"}"#, 409, "nothing of that name below"),
        (r#"{"budget": 0}"#, 409, "budget"),
        (r#"{"folder": "."}"#, 409, "folder"),
        ("{", 400, "invalid request"),
    ] {
        let (code, answer) = run.post("/i", json, body);
        assert!(code == status && answer.contains(reason), "{body}: {code} {answer}");
    }
    assert_eq!(run.post("/i", "", "{}").0, 415, "a foreign page cannot start one");
    let (status, answer) = run.post("/i", json, r#"{"budget": 50}"#);
    assert!(status == 201 && answer.contains(r#"{"page":"/i/inv-000001"}"#), "{answer}");
    assert_eq!(run.get("/i/inv-000001", "Accept: text/html\r\n").0, 200);
    let begin = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion":
        "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}"#;
    let headers =
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let (status, answer) = run.post("/mcp", headers, begin);
    assert!(status == 200 && answer.contains("serverInfo"), "{answer}");
}

#[test]
fn strangers_are_refused() {
    let mut run = Run::start(&[], None);
    run.stays();
    let json = "Content-Type: application/json\r\n";
    let host = run.address.clone();
    let own = format!("{json}Origin: http://{host}\r\n");
    let cross = format!("{json}Origin: http://evil.example.org\r\n");
    let null = format!("{json}Origin: null\r\n");
    assert_eq!(run.post("/i/run/go-on", &own, "{}").0, 200, "the page itself");
    run.stays();
    for headers in [cross, null] {
        assert_eq!(run.post("/i/run/go-on", &headers, "{}").0, 403, "{headers}");
    }
    // What a form of another page can send without asking first.
    assert_eq!(run.post("/i/run/go-on", "Content-Type: text/plain\r\n", "{}").0, 415);
    let rebound = "GET /i/run HTTP/1.1\r\nHost: evil.example.org\r\nConnection: close\r\n\r\n";
    assert_eq!(run.raw(rebound).0, 403);
    let (_, list) = run.get("/", "");
    assert!(list.contains("<time>2"), "it says when it was begun: {list}");
    let (_, page) = run.get("/i/run", "");
    assert!(page.contains(">This investigation has ended</h2>"), "not what goes on live");
    for path in ["/i/other", "/nowhere"] {
        let (status, answer) = run.get(path, "");
        assert!(status == 404 && answer.contains("\"error\""), "{answer}");
        let (status, page) = run.get(path, "Accept: text/html\r\n");
        assert!(status == 404 && page.contains("<a href=\"/\">All investigations</a>"), "{page}");
    }
    assert_eq!(run.get("/i/run/stop", "").0, 405, "reading changes nothing");
    for (body, status, says) in [
        (r#"{"entity": "fronted", "verdict": "cause"}"#, 409, "did you mean frontend"),
        (r#"{"entity": "gateway", "verdict": null, "text": " "}"#, 400, "a remark needs a text"),
        (r#"{"entity": "gateway", "verdict": "maybe"}"#, 400, "invalid request"),
        ("{", 400, "invalid request"),
    ] {
        let (found, answer) = run.say(body);
        assert!(found == status && answer.contains(says), "{answer}");
    }
    let long = format!(r#"{{"entity": "gateway", "text": "{}"}}"#, "x".repeat(100_000));
    assert_eq!(run.say(&long).0, 413);
    let huge = run.post("/i/run/words", json, &"x".repeat(2 << 20));
    assert_eq!(huge.0, 413);
    // So many may read; one more is refused, and there is room again when one leaves.
    let mut readers: Vec<Events> = (0..64).map(|_| run.events(0, "")).collect();
    for reader in &mut readers {
        reader.next("state");
    }
    let (status, answer) = run.get("/i/run/events/0", "");
    assert!(status == 503 && answer.contains("64 pages"), "{answer}");
    assert_eq!(run.interrupt().0, Some(0));
}

#[test]
fn the_token_is_asked_for_by_a_form() {
    let mut run = Run::start(&[], Some(TOKEN));
    run.stays();
    let browser = "Accept: text/html\r\n";
    let (status, page) = run.get("/i/run", browser);
    assert!(status == 401 && page.contains("<form") && !page.contains("flash sale"), "{page:.300}");
    assert_eq!(run.get("/i/run/events/0", "").0, 401);
    assert_eq!(run.get("/i/run", &format!("Authorization: Bearer {TOKEN}\r\n")).0, 200);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let (status, page) = run.post("/sign-in", form, "token=wrong-token-wrong");
    assert!(status == 401 && page.contains("This is not the token."), "{page:.300}");
    let evil = format!("{form}Origin: http://evil.example.org\r\n");
    assert_eq!(run.post("/sign-in", &evil, &format!("token={TOKEN}")).0, 403);
    let (status, answer) = run.post("/sign-in", form, &format!("token={TOKEN}"));
    assert_eq!(status, 303, "{answer}");
    assert!(answer.contains("HttpOnly") && answer.contains("SameSite=Strict"), "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(!cookie.contains(TOKEN));
    assert_eq!(run.get("/i/run", &format!("Cookie: {cookie}\r\n")).0, 200);
    assert_eq!(run.get("/i/run", &format!("Cookie: {cookie}0\r\n")).0, 401);
    run.interrupt();
}

#[test]
fn an_open_address_must_be_protected() {
    let mut command = command!("investigate", FLASH_SALE, "--live=0.0.0.0:0");
    let refused = Ended::of(command.env_remove("EOG_LIVE_TOKEN")).exits(2);
    refused.says(&["EOG_LIVE_TOKEN", "--live-host"]);
}
