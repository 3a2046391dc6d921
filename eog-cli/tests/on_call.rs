//! `eog serve --on-call`: the real binary, real sockets, no server of others.

use crate::on_call_lab;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use on_call_lab::{Receiver, Service, alert, folder, wait_for};
use serde_json::Value;
use sha2::Sha256;

const GROUPS: usize = 20;
const ALERTS: usize = 1_000;
/// As many as groups: Alertmanager sends each by itself.
const SENDERS: usize = GROUPS;

/// Sends all of these that are not acknowledged yet, several at once; each request holds one alert.
fn send(service: &Service, left: &Mutex<Vec<usize>>, acknowledged: &AtomicUsize, until: usize) {
    std::thread::scope(|all| {
        for _ in 0..SENDERS {
            all.spawn(|| {
                while acknowledged.load(Ordering::SeqCst) < until {
                    let Some(number) = left.lock().unwrap().pop() else { return };
                    let group = number % GROUPS;
                    let name = format!("A{}", number / GROUPS % 5);
                    let body = alert(
                        &format!("g{group}"),
                        &number.to_string(),
                        &name,
                        &format!("svc-{group}"),
                        None,
                    );
                    if service.post("/alerts", &body).is_some_and(|(status, _)| status == 200) {
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    } else {
                        // It may have been taken in all the same: it is sent again.
                        left.lock().unwrap().push(number);
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn a_storm_loses_nothing_and_investigates_nothing_twice_though_the_service_is_killed() {
    let folder = folder("[pace]\nsettle = '0s'\npause = '1s'\n", "");
    let left = Mutex::new((0..ALERTS).collect::<Vec<_>>());
    let acknowledged = AtomicUsize::new(0);
    let mut service = Service::start(folder.path());
    let began = Instant::now();
    let mut first_peak = 0;
    std::thread::scope(|all| {
        all.spawn(|| send(&service, &left, &acknowledged, ALERTS));
        wait_for(|| (acknowledged.load(Ordering::SeqCst) >= ALERTS / 2).then_some(()));
        first_peak = service.peak_kib();
        // While all senders are at it.
        service.kill_from_outside();
    });
    service.kill();
    let at_kill = acknowledged.load(Ordering::SeqCst);
    assert!((ALERTS / 2..ALERTS).contains(&at_kill), "{at_kill} acknowledged");
    let mut service = Service::start(folder.path());
    // Whoever gets no answer sends again, as Alertmanager does.
    send(&service, &left, &acknowledged, ALERTS);
    assert!(left.lock().unwrap().is_empty());
    let took = began.elapsed();
    let incidents = wait_for(|| {
        let list = service.json("/incidents");
        let incidents = list["incidents"].as_array().unwrap().clone();
        let is_done = |it: &Value| it["not_looked_at"] == 0 && it["stage"] == "firing";
        (incidents.len() == GROUPS && incidents.iter().all(is_done)).then_some(incidents)
    });
    let alerts: u64 = incidents.iter().filter_map(|it| it["alerts"].as_u64()).sum();
    assert_eq!(alerts, ALERTS as u64, "nothing is lost");
    let made: BTreeSet<&str> =
        incidents.iter().filter_map(|it| it["investigation"].as_str()).collect();
    let stored = folder.path().join("state").read_dir().unwrap().flatten();
    let stored = stored.filter(|it| it.file_name().to_string_lossy().starts_with("inv-")).count();
    assert_eq!((made.len(), stored), (GROUPS, GROUPS), "each incident has one investigation");
    let peak = service.peak_kib();
    println!(
        "{ALERTS} alerts in {GROUPS} groups within {:.1} s, killed after {at_kill} of them: peak memory {} MiB before, \
         {} MiB after",
        took.as_secs_f64(),
        first_peak / 1024,
        peak / 1024
    );
    assert!(peak.max(first_peak) < 512 * 1024, "{peak} KiB");
    let figures = service.get("/metrics").unwrap().1;
    assert!(figures.contains("eog_incidents{kind=\"firing\"} 20"), "{figures}");
    // A further storm of the same alerts means nothing.
    let again = Mutex::new((0..ALERTS).collect::<Vec<_>>());
    let runs = |list: &Value| -> u64 {
        list["incidents"].as_array().unwrap().iter().filter_map(|it| it["runs"].as_u64()).sum()
    };
    let before = runs(&service.json("/incidents"));
    send(&service, &again, &AtomicUsize::new(0), ALERTS);
    assert_eq!(runs(&service.json("/incidents")), before);
    service.kill();
}

/// What is on standard error of a service, without times.
fn lines(service: &Service) -> Vec<String> {
    service
        .lines()
        .iter()
        .map(|line| line.split_once("Z ").map_or(&**line, |it| it.1).trim().to_owned())
        .collect()
}

#[test]
fn what_happens_is_a_line_each_and_texts_from_outside_are_quoted() {
    let receiver = Receiver::start();
    receiver.script("gone", &[410]);
    let hook =
        format!("[[webhook]]\nname = 'gone'\nurl = 'http://127.0.0.1:{}/gone'\n", receiver.port);
    let folder = folder("[pace]\nsettle = '0s'\nquiet = '0s'\n", &hook);
    let service = Service::start(folder.path());
    let hostile = "High\u{1b}[31m\nERROR forged";
    for ends in [None, Some("2099-01-01T00:00:00Z")] {
        for _ in 0..5 {
            let body = alert("g", "1", hostile, "web", ends);
            assert_eq!(service.post("/alerts", &body).unwrap().0, 200);
        }
        wait_for(|| (service.json("/incidents")["incidents"][0]["runs"] != 0).then_some(()));
    }
    for _ in 0..5 {
        assert_eq!(service.post("/alerts", "{}").unwrap().0, 400);
    }
    let all = wait_for(|| {
        let all = lines(&service);
        let has = |text: &str| all.iter().any(|line| line.contains(text));
        // A message is given up beside the incident, before its end or after it.
        (has("incident closed") && has("message given up")).then_some(all)
    });
    let of = |text: &str| all.iter().filter(|line| line.contains(text)).collect::<Vec<_>>();
    for (begin, expected) in [
        ("INFO incident opened", 1),
        ("INFO run begins incident=in-000001 run=1 alerts=1", 1),
        (
            "INFO run has a result incident=in-000001 investigation=inv-000001 confidence=inconclusive",
            1,
        ),
        ("ERROR message given up to=gone id=in-000001.1.", 1),
        ("WARN alerts not taken in kind=\"refused\"", 1),
        ("INFO incident closed incident=in-000001", 1),
    ] {
        let found = of(begin);
        assert_eq!(found.len(), expected, "{begin}: {all:#?}");
        assert!(found.iter().all(|line| line.starts_with(begin)), "{found:?}");
    }
    let given_up = of("message given up");
    assert!(given_up[0].ends_with("tried=1 reason=\"HTTP 410 Gone\""), "{given_up:?}");
    assert!(
        !all.concat().contains('\u{1b}') && !all.iter().any(|it| it.starts_with("ERROR forged")),
        "{all:#?}"
    );
}

#[test]
fn the_journal_of_systemd_gets_priorities_and_no_times() {
    let folder = folder("[pace]\nsettle = '0s'\n", "");
    let journal = folder.path().join("journal");
    let service = Service::start_with_journal(folder.path(), &journal);
    assert_eq!(service.post("/alerts", "{}").unwrap().0, 400);
    assert_eq!(service.post("/alerts", &alert("g", "1", "A", "web", None)).unwrap().0, 200);
    let all = wait_for(|| {
        let said = std::fs::read_to_string(&journal).unwrap();
        said.contains("run has a result").then_some(said)
    });
    for begin in ["<4>alerts not taken in ", "<6>incident opened ", "<6>run has a result "] {
        assert!(all.lines().any(|line| line.starts_with(begin)), "{begin}: {all}");
    }
}

#[test]
fn a_group_of_thousands_comes_in_one_request() {
    const MANY: usize = 3_000;
    let folder = folder("[limits]\nalerts = 5000\n", "");
    let service = Service::start(folder.path());
    let mut all: Value = serde_json::from_str(&alert("g", "0", "Slow", "web", None)).unwrap();
    let one = all["alerts"][0].clone();
    let of = |number: usize| {
        let mut one = one.clone();
        one["fingerprint"] = number.to_string().into();
        one["annotations"]["description"] = "what it means and what to do ".repeat(20).into();
        one
    };
    all["alerts"] = (0..MANY).map(of).collect();
    let body = all.to_string();
    assert!(body.len() > 2 << 20, "{} bytes", body.len());
    assert_eq!(service.post("/alerts", &body).unwrap().0, 200);
    assert_eq!(service.json("/incidents")["incidents"][0]["alerts"], MANY);
}

#[test]
fn any_controller_is_on_call_and_those_that_take_no_news_begin_anew() {
    let all = ["eog", "linear", "lats", "bfs", "beam", "hypotheses", "treeseeker", "react"];
    for controller in all {
        let receiver = Receiver::start();
        let hook = format!(
            "[investigation]\ncontroller = '{controller}'\nbudget = 20\n[[webhook]]\nname = 'team'\nurl = 'http://127.0.0.1:{}/team'\n",
            receiver.port
        );
        let folder = folder("[pace]\nsettle = '0s'\npause = '0s'\n", &hook);
        let service = Service::start(folder.path());
        let mut results = Vec::new();
        for (number, (fingerprint, job)) in [("1", "web"), ("2", "cart")].into_iter().enumerate() {
            let body = alert("g", fingerprint, "Slow", job, None);
            assert_eq!(service.post("/alerts", &body).unwrap().0, 200);
            let told = wait_for(|| receiver.of("team").into_iter().nth(number));
            let told: Value = serde_json::from_str(&told.body).unwrap();
            assert_eq!(told["event"], ["diagnosed", "updated"][number], "{controller}: {told:#}");
            results.push(told["result"]["investigation"].clone());
        }
        assert_eq!(results[0] == results[1], controller == "eog", "{controller}: {results:?}");
    }
}

#[test]
fn a_capture_that_cannot_be_gone_on_with_is_begun_anew() {
    let plan = r#"{"version":1,"digest":"of another configuration","window":null,"now":"2026-01-01T00:00:00Z"}"#;
    let left = [
        // Killed before it wrote what it began with.
        (".capture/plan.part", "{"),
        // Killed before somebody changed source.toml.
        (".capture/plan.json", plan),
        ("capture.json", "{"),
    ];
    for (name, text) in left {
        let folder = folder("[pace]\nsettle = '0s'\n", "");
        let mut service = Service::start(folder.path());
        service.kill();
        let path = folder.path().join("state/captures/in-000001-1").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let service = Service::start(folder.path());
        assert_eq!(service.post("/alerts", &alert("g", "1", "Slow", "web", None)).unwrap().0, 200);
        let told = wait_for(|| {
            let one = service.json("/incidents")["incidents"][0].clone();
            (!one["problem"].is_null() || !one["investigation"].is_null()).then_some(one)
        });
        assert!(told["problem"].is_null() && !told["investigation"].is_null(), "{name}: {told:#}");
    }
}

#[test]
fn an_investigation_that_was_begun_and_has_no_journal_yet_is_begun_anew() {
    let folder = folder("[pace]\nsettle = '0s'\n", "");
    let state = folder.path().join("state");
    let investigated = |service: &Service| {
        assert_eq!(service.post("/alerts", &alert("g", "1", "Slow", "web", None)).unwrap().0, 200);
        wait_for(|| {
            let one = service.json("/incidents")["incidents"][0].clone();
            (!one["problem"].is_null() || !one["investigation"].is_null()).then_some(one)
        })
    };
    let mut service = Service::start(folder.path());
    investigated(&service);
    service.kill();
    let begun = state.join("inv-000001/investigation.json");
    let text = std::fs::read(&begun).unwrap();
    // As if it had been killed before the journal of its first investigation was there.
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::create_dir_all(begun.parent().unwrap()).unwrap();
    std::fs::write(&begun, text).unwrap();

    let told = investigated(&Service::start(folder.path()));
    assert!(told["problem"].is_null(), "{told:#}");
    let stored = state.read_dir().unwrap().flatten();
    let stored = stored.filter(|it| it.file_name().to_string_lossy().starts_with("inv-")).count();
    assert_eq!(stored, 1, "{told:#}");
}

#[test]
fn more_than_is_taken_on_is_refused_so_that_it_is_sent_again() {
    let folder = folder("[limits]\nincidents = 1\n", "");
    let service = Service::start(folder.path());
    let post =
        |group: &str| service.post("/alerts", &alert(group, group, "A", "web", None)).unwrap();
    assert_eq!(post("one").0, 200);
    let (status, told) = post("two");
    assert_eq!(status, 503);
    assert!(told.contains("which is the maximum"), "{told}");
    for (body, expected) in [("{}", 400), ("[", 400)] {
        assert_eq!(service.post("/alerts", body).unwrap().0, expected, "{body}");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let raw =
            format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.1:8765\r\nConnection: close\r\n\r\n");
        assert_eq!(service.raw(&raw).unwrap().0, 200, "{path} by any name");
    }
    let raw = "GET /incidents HTTP/1.1\r\nHost: evil.example.org\r\nConnection: close\r\n\r\n";
    assert_eq!(service.raw(raw).unwrap().0, 403, "incidents by no other name");
}

#[test]
fn messages_are_signed_tried_again_and_kept_when_given_up() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let receiver = Receiver::start();
    let hook = |name: &str, rest: &str| {
        let url = format!("http://127.0.0.1:{}/{name}", receiver.port);
        format!("[[webhook]]\nname = '{name}'\nurl = '{url}'\nfirst_delay = '100ms'\n{rest}\n")
    };
    let hooks = [
        hook("good", &format!("secret = '{secret}'")),
        hook("slow", ""),
        hook("gone", ""),
        hook("chat", "format = 'slack'"),
    ];
    receiver.script("slow", &[503, 500]);
    receiver.script("gone", &[410]);
    let folder = folder("[pace]\nsettle = '0s'\npause = '0s'\nquiet = '1s'\n", &hooks.concat());
    let mut service = Service::start(folder.path());
    let text = alert("g", "1", "HighErrorRate", "web", None);
    let hostile = text.replace("it fails", "it fails <!channel> {{incident.id}}");
    assert_eq!(service.post("/alerts", &hostile).unwrap().0, 200);
    let good = wait_for(|| receiver.of("good").into_iter().next());
    let stamp = good.header("webhook-timestamp");
    let key = base64::engine::general_purpose::STANDARD.decode(&secret[6..]).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{stamp}.{}", good.header("webhook-id"), good.body).as_bytes());
    let expected = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    assert_eq!(good.header("webhook-signature"), format!("v1,{expected}"));
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema/on-call-message.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let checked = jsonschema::validator_for(&schema).unwrap();
    let read = |body: &str| -> Value {
        let read: Value = serde_json::from_str(body).unwrap();
        let wrong: Vec<String> = checked.iter_errors(&read).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        read
    };
    let first = read(&good.body);
    let name = first["service"].as_str().unwrap();
    let id = |number: u32| format!("in-000001.{number}.{name}");
    assert_eq!((&first["event"], &first["id"]), (&"diagnosed".into(), &id(1).into()));
    assert_eq!(first["result"]["confidence"], "inconclusive");
    let slow = wait_for(|| (receiver.of("slow").len() == 3).then(|| receiver.of("slow")));
    assert!(slow.iter().all(|one| one.header("webhook-id") == id(1)), "the same message");
    let dead = folder.path().join(format!("state/on-call/dead/gone--{}.json", id(1)));
    wait_for(|| dead.exists().then_some(()));
    let letter: Value = serde_json::from_str(&std::fs::read_to_string(&dead).unwrap()).unwrap();
    assert!(letter["last"].as_str().unwrap().contains("410"), "{letter}");
    let chat = wait_for(|| receiver.of("chat").into_iter().next());
    let chat: Value = serde_json::from_str(&chat.body).unwrap();
    let chat = chat["text"].as_str().unwrap();
    assert!(chat.contains("&lt;!channel&gt;") && !chat.contains("<!"), "{chat}");
    assert!(chat.contains("{{incident.id}}"), "data, no template: {chat}");

    // A further alert is observed by the same investigation.
    receiver.script("slow", &[503; 1000]);
    assert_eq!(service.post("/alerts", &alert("g", "2", "Slow", "cart", None)).unwrap().0, 200);
    let second = wait_for(|| receiver.of("good").into_iter().nth(1));
    let second = read(&second.body);
    assert_eq!(second["event"], "updated");
    assert_eq!(second["result"]["investigation"], first["result"]["investigation"]);
    let ledger = folder.path().join("state/inv-000001/ledger.jsonl");
    let ledger = std::fs::read_to_string(ledger).unwrap();
    let observed = ledger.lines().filter(|line| line.contains("\"observed\""));
    assert_eq!(observed.filter(|line| line.contains("Slow")).count(), 1, "{ledger}");

    // What is on its way survives a kill.
    wait_for(|| (receiver.of("slow").len() > 3).then_some(()));
    service.kill();
    receiver.script("slow", &[]);
    let tried = receiver.of("slow").len();
    let service = Service::start(folder.path());
    let late = wait_for(|| receiver.of("slow").into_iter().nth(tried));
    assert_eq!(late.header("webhook-id"), id(2));
    for (fingerprint, name, job) in [("1", "HighErrorRate", "web"), ("2", "Slow", "cart")] {
        let body = alert("g", fingerprint, name, job, Some("2099-01-01T00:00:00Z"));
        assert_eq!(service.post("/alerts", &body).unwrap().0, 200);
    }
    // What was on its way when the service was killed may arrive twice, with the same id.
    let last = wait_for(|| {
        let mut all = receiver.of("good").into_iter();
        all.find(|one| ![id(1), id(2)].iter().any(|id| one.header("webhook-id") == id))
    });
    assert_eq!(
        (&read(&last.body)["event"], last.header("webhook-id")),
        (&"resolved".into(), &*id(3))
    );
    wait_for(|| (service.json("/incidents")["incidents"][0]["stage"] == "closed").then_some(()));
    // A group that was closed begins another incident.
    assert_eq!(
        service.post("/alerts", &alert("g", "1", "HighErrorRate", "web", None)).unwrap().0,
        200
    );
    wait_for(|| (service.json("/incidents")["incidents"][0]["id"] == "in-000002").then_some(()));
}

#[test]
fn mistakes_are_told_and_two_services_do_not_share_a_state() {
    let folder = folder("", "");
    let _service = Service::start(folder.path());
    let told = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eog"));
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let serve = ["serve", "--on-call", "oncall.toml", "--http", "127.0.0.1:0", "--state", "state"];
    let (code, errors) = told(&serve);
    assert_eq!(code, 2);
    assert!(errors.contains("another service uses this state"), "{errors}");
    let (code, errors) = told(&["mcp", "serve", "--on-call", "oncall.toml", "--state", "other"]);
    assert_eq!(code, 2);
    assert!(errors.contains("alerts arrive over HTTP"), "{errors}");
    std::fs::write(folder.path().join("wrong.toml"), "source = 'source.toml'\nat_one = 1\n")
        .unwrap();
    let (code, errors) = told(&["check", "wrong.toml"]);
    assert_eq!(code, 4);
    assert!(errors.contains("wrong.toml") && errors.contains("at_one"), "{errors}");
    std::fs::write(
        folder.path().join("wrong.toml"),
        "source = 'source.toml'\n[investigation]\ncontroller = 'magic'\n",
    )
    .unwrap();
    let serve = ["serve", "--on-call", "wrong.toml", "--http", "127.0.0.1:0", "--state", "third"];
    for arguments in [&["check", "wrong.toml"][..], &serve] {
        let (code, errors) = told(arguments);
        assert_eq!(code, 4, "{errors}");
        for expected in ["wrong.toml", "[investigation]", "magic"] {
            assert!(errors.contains(expected), "{expected}: {errors}");
        }
    }
}

/// Programs get JSON, people a page: the list of the pages leads to it as long as an incident has no investigation.
#[test]
fn an_incident_is_a_page_for_people() {
    let folder = folder("[pace]\nsettle = '1h'\n", "");
    let service = Service::start(folder.path());
    let hostile = "High<script>alert(1)</script>";
    assert_eq!(service.post("/alerts", &alert("g", "1", hostile, "web", None)).unwrap().0, 200);
    let ask = |path: &str, accept: &str| {
        let head = format!("Host: localhost\r\nAccept: {accept}\r\nConnection: close");
        service.raw(&format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n")).unwrap()
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    let list = ask("/", browser).1;
    assert!(list.contains("href=\"/incidents/in-000001\""), "{list}");
    let (status, page) = ask("/incidents/in-000001", browser);
    assert_eq!(status, 200, "{page}");
    for text in ["<!doctype html>", "High&lt;script&gt;", "job&#x3D;web", "it fails", "queued"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(
        page.contains("It has no investigation yet. <a href=\"/incidents/in-000001\">Reload</a>"),
        "{page}"
    );
    assert!(!page.contains("<script"), "{page}");
    let (status, page) = ask("/incidents/in-000009", browser);
    assert!(status == 404 && page.contains("There is no such incident"), "{status} {page}");
    for accept in ["*/*", "application/json"] {
        let (status, body) = ask("/incidents/in-000001", accept);
        assert_eq!(status, 200, "{body}");
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["alerts"]["1"]["labels"]["job"], "web", "{read:#}");
        assert_eq!(ask("/incidents/in-000009", accept).0, 404);
    }
}
