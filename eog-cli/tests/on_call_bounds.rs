//! What bounds `eog serve --on-call`: retention, calls that are not repeated, many alerts at once, and a Prometheus
//! that is away, slow or too much.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{answering, json_of, read, request, script};
use crate::on_call_lab::{Receiver, Service, alert, count, folder, wait_for};
use crate::real::{Past, Server, program};
use crate::runs::incident::HEALTHY;

/// A request of Alertmanager with alerts of one group, each of another job.
fn alerts(jobs: impl Iterator<Item = usize>) -> String {
    let mut all = json_of(&alert("g", "0", "Slow", "svc-0", None));
    let one = all["alerts"][0].clone();
    let of = |number: usize| {
        let mut one = one.clone();
        one["fingerprint"] = json!(number.to_string());
        one["labels"]["job"] = json!(format!("svc-{number}"));
        one
    };
    all["alerts"] = jobs.map(of).collect();
    all.to_string()
}

/// Waits until the incident is at a stage.
fn stage(service: &Service, stage: &str) {
    service.incident(|one| one["stage"] == stage);
}

fn text_of(folder: &Path) -> String {
    let files = folder.read_dir().unwrap().flatten().map(|it| it.path());
    files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Runs one incident to its close, and starts the service again with other settings: what is left?
fn left_after(keep: &str) -> (usize, bool, bool) {
    let pace = "[pace]\nsettle = '0s'\npause = '0s'\nquiet = '1s'\n";
    let folder = folder(pace, "");
    let mut service = Service::start(folder.path());
    service.takes(&alert("g", "1", "A", "web", None));
    stage(&service, "firing");
    let ended = alert("g", "1", "A", "web", Some("2099-01-01T00:00:00Z"));
    service.takes(&ended);
    stage(&service, "closed");
    let state = folder.path().join("state");
    // It is reported before it is stored, and one that is closed anew after a kill is young.
    let is_stored = || {
        let stored = std::fs::read(state.join("on-call/incidents/in-000001.json")).ok()?;
        let stored: Value = serde_json::from_slice(&stored).ok()?;
        (!stored["closed_at"].is_null()).then_some(())
    };
    wait_for(is_stored);
    service.kill();
    assert_eq!((count(&state, "inv-"), count(&state.join("captures"), "in-")), (1, 1));
    // So that it is older than a second.
    std::thread::sleep(Duration::from_millis(1_500));
    let text = format!("source = 'source.toml'\n{pace}{keep}");
    std::fs::write(folder.path().join("oncall.toml"), text).unwrap();
    let service = Service::start(folder.path());
    // It is cleared when the service begins, however busy the machine is; what is kept is there after a while, too.
    let incidents = || service.incidents().len();
    if keep.is_empty() {
        std::thread::sleep(Duration::from_secs(1));
    } else {
        wait_for(|| (incidents() == 0).then_some(()));
    }
    (incidents(), count(&state, "inv-") > 0, count(&state.join("captures"), "in-") > 0)
}

#[test]
fn what_is_over_is_kept_by_age_and_size() {
    assert_eq!(left_after(""), (1, true, true));
    assert_eq!(left_after("[keep]\nage = '1s'\n"), (0, false, false), "by age");
    assert_eq!(left_after("[keep]\nbytes = 1\n"), (0, false, false), "by size");
}

#[test]
fn a_restart_repeats_no_call_that_was_answered() {
    const ENTITIES: usize = 8;
    let folder = folder("[pace]\nsettle = '0s'\npause = '0s'\n", "");
    let at = folder.path();
    let log = at.join("calls.log");
    let text = format!(
        "hash=$(sha256sum | cut -c1-64)\necho \"begun $hash\" >> {0}\nsleep 0.4\n\
         echo \"done $hash\" >> {0}\n{HEALTHY}",
        log.display()
    );
    let policy = script(at.join("judge.sh"), &text);
    let calls = || -> BTreeMap<String, (u32, u32)> {
        let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for line in std::fs::read_to_string(&log).unwrap_or_default().lines() {
            let (what, hash) = line.split_once(' ').unwrap();
            let count = counts.entry(hash.to_owned()).or_default();
            if what == "begun" { count.0 += 1 } else { count.1 += 1 }
        }
        counts
    };
    let mut service = Service::start_with(at, 0, &["--policy", &policy]);
    service.takes(&alerts(0..ENTITIES));
    let answered = || calls().values().filter(|(_, done)| *done > 0).count();
    wait_for(|| (answered() >= 3).then_some(()));
    service.kill();
    let before = answered();
    assert!((3..ENTITIES).contains(&before), "{before} answered before the kill");
    let service = Service::start_with(at, 0, &["--policy", &policy]);
    stage(&service, "firing");
    let all = calls();
    assert!(all.len() >= ENTITIES, "{all:?}");
    // What was under way at the kill may have been answered and not stored.
    let repeated = all.values().filter(|(begun, _)| *begun > 1).count();
    println!("{} calls, {before} answered before the kill, {repeated} repeated", all.len());
    assert!(repeated <= 1, "{all:?}");
}

/// A program that judges once a file is there.
fn waiting_judge(at: &Path) -> String {
    let text = format!(
        "cat > /dev/null\nwhile [ ! -e {}/go ]; do sleep 0.05; done\n{HEALTHY}",
        at.display()
    );
    script(at.join("judge.sh"), &text)
}

#[test]
fn what_waits_for_its_turn_is_seen_on_the_page_beside_what_runs() {
    let folder = folder("at_once = 1\n[pace]\nsettle = '0s'\n", "");
    let policy = waiting_judge(folder.path());
    let service = Service::start_with(folder.path(), 0, &["--policy", &policy]);
    for (group, name) in [("one", "FirstAlert"), ("two", "SecondAlert"), ("three", "ThirdAlert")] {
        service.takes(&alert(group, "1", name, "web", None));
    }
    let stages = || -> Vec<String> {
        service
            .incidents()
            .iter()
            .rev()
            .map(|it| it["stage"].as_str().unwrap().to_owned())
            .collect()
    };
    wait_for(|| (stages() == ["running", "queued", "queued"]).then_some(()));
    let page = service.get("/").unwrap().1;
    for name in ["FirstAlert", "SecondAlert", "ThirdAlert"] {
        assert!(page.contains(name), "{name}: {page}");
    }
    let figures = service.get("/metrics").unwrap().1;
    assert!(figures.contains("eog_incidents{kind=\"queued\"} 2"), "{figures}");
    // Agents are served at the same port meanwhile.
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }})
    .to_string();
    let headers = "Host: localhost\r\nContent-Type: application/json\r\n\
                   Accept: application/json, text/event-stream\r\n";
    let (status, answer) = service.raw(&request("POST", "/mcp", headers, &hello)).unwrap();
    assert!(status == 200 && answer.contains("serverInfo"), "{status} {answer}");
    std::fs::write(folder.path().join("go"), "").unwrap();
    wait_for(|| (stages() == ["firing", "firing", "firing"]).then_some(()));
}

#[test]
fn all_new_alerts_of_a_running_incident_are_observed_at_once() {
    const NEWS: usize = 120;
    let folder = folder("[pace]\nsettle = '0s'\npause = '0s'\n", "");
    let service = Service::start(folder.path());
    service.takes(&alerts(0..1));
    stage(&service, "firing");
    service.takes(&alerts(0..=NEWS));
    let incident = service
        .incident(|one| one["runs"] == 2 && one["not_looked_at"] == 0 && one["stage"] == "firing");
    assert_eq!(incident["alerts"], NEWS + 1);
    let ledger = read(folder.path().join("state/inv-000001/ledger.jsonl"));
    let observed = (1..=NEWS).filter(|number| {
        let name = format!("\"svc-{number}\"");
        ledger.lines().any(|line| line.contains("\"observed\"") && line.contains(&name))
    });
    assert_eq!(observed.count(), NEWS);
}

/// The report of the first run of an incident whose Prometheus is at a port.
fn reported(port: u16, more: &str) -> (String, Value, u64) {
    let receiver = Receiver::start();
    let folder = folder("[pace]\nsettle = '0s'\n", &receiver.hook("team"));
    let source = format!(
        "history = '30m'\n[prometheus]\nurl = 'http://127.0.0.1:{port}'\n{more}\n[otlp]\nfiles = ['spans.json']\n"
    );
    std::fs::write(folder.path().join("source.toml"), source).unwrap();
    let service = Service::start(folder.path());
    service.takes(&alert("g", "1", "Slow", "web", None));
    let message = receiver.nth("team", 0).json();
    let peak = service.peak_kib();
    let text = text_of(&folder.path().join("state/inv-000001"));
    (text, message, peak)
}

#[test]
fn a_prometheus_that_is_away_or_slow_is_said_in_the_report() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (text, message, _) = reported(closed, "");
    assert!(text.contains("missing in the capture: prometheus"), "{text}");
    assert!(text.contains("not reachable"), "{text}");
    assert_eq!(message["event"], "diagnosed");
    assert_eq!(message["result"]["confidence"], "inconclusive");
    // One that takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (text, message, _) = reported(silent.local_addr().unwrap().port(), "timeout = '300ms'");
    assert!(text.contains("no answer within 0.3 s"), "{text}");
    assert_eq!(message["event"], "diagnosed");
}

/// A Prometheus that answers in part: it knows of requests and of open files, gives the former with a warning of its
/// store, and none of the latter.
fn partial() -> u16 {
    answering(|asked| {
        let now = eog::Timestamp::now().as_second();
        let (status, answer) = if asked.line.contains("/label/__name__/values") {
            let names = ["up", "http_requests_total", "process_open_fds", "process_max_fds"];
            (200, json!({"status": "success", "data": names}))
        } else if String::from_utf8_lossy(&asked.body).contains("process_open_fds") {
            let error =
                "query processing would load too many samples into memory in query execution";
            (422, json!({"status": "error", "errorType": "execution", "error": error}))
        } else {
            let points: Vec<Value> = (0..40).rev().map(|it| json!([now - it * 15, "1"])).collect();
            let series = json!([{"metric": {"job": "web", "code": "200"}, "values": points}]);
            let data = json!({"resultType": "matrix", "result": series});
            let warnings = ["store 10.0.0.7 did not answer, password=hunter2"];
            (200, json!({"status": "success", "data": data, "warnings": warnings}))
        };
        (status, answer.to_string())
    })
}

#[test]
fn a_prometheus_that_answers_in_part_is_used_and_said_in_the_report() {
    let (text, message, _) = reported(partial(), "");
    assert!(text.contains("the server says: store 10.0.0.7 did not answer"), "{text}");
    assert!(text.contains("too many samples"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(message["event"], "diagnosed");
    let notes = message["result"]["notes"].to_string();
    assert!(notes.contains("store 10.0.0.7"), "{message:#}");
}

#[test]
fn a_prometheus_with_100_000_series_is_bounded_and_said_in_the_report() {
    let Some(found) = program("prometheus") else { return };
    let folder = tempfile::tempdir().unwrap();
    let now = eog::Timestamp::now().as_second();
    let mut past = Past::default();
    let ups = (1..60).rev().map(|it| (now - it * 15, 1.0));
    past.add("up", "gauge", "up{job=\"web\",instance=\"i:1\"}", ups);
    for number in 0..100_000 {
        let name = format!("http_requests_total{{job=\"j{number:06}\",code=\"200\"}}");
        let points = [(now - 60, 1.0), (now - 45, 2.0), (now - 30, 3.0)];
        past.add("http_requests", "counter", &name, points.into_iter());
    }
    past.write(folder.path());
    let server = Server::prometheus(&found, folder.path(), "global:\n  scrape_interval: 1h\n");
    let (text, message, peak) = reported(server.port, "max_series = 1000");
    assert!(text.contains("only the first 1000 are used (max_series)"), "{text}");
    assert_eq!(message["event"], "diagnosed");
    println!("100,000 series in Prometheus: peak memory of the service {} MiB", peak / 1024);
    assert!(peak < 512 * 1024, "{peak} KiB");
}
