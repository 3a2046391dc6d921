//! `eog serve --on-call`: the real binary, real sockets, no server of others.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::common::{Run, command, json_of, read, request};
use crate::on_call_lab::{Receiver, Service, alert, folder, stored, wait_for};

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
    // A sender without an answer sends again, as Alertmanager does.
    send(&service, &left, &acknowledged, ALERTS);
    assert!(left.lock().unwrap().is_empty());
    let took = began.elapsed();
    let incidents = wait_for(|| {
        let incidents = service.incidents();
        let is_done = |it: &Value| it["not_looked_at"] == 0 && it["stage"] == "firing";
        (incidents.len() == GROUPS && incidents.iter().all(is_done)).then_some(incidents)
    });
    let alerts: u64 = incidents.iter().filter_map(|it| it["alerts"].as_u64()).sum();
    assert_eq!(alerts, ALERTS as u64, "nothing is lost");
    let made: BTreeSet<&str> =
        incidents.iter().filter_map(|it| it["investigation"].as_str()).collect();
    let stored = stored(&folder.path().join("state"));
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
    let runs = || service.incidents().iter().filter_map(|it| it["runs"].as_u64()).sum::<u64>();
    let before = runs();
    send(&service, &again, &AtomicUsize::new(0), ALERTS);
    assert_eq!(runs(), before);
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
    let folder = folder("[pace]\nsettle = '0s'\nquiet = '0s'\n", &receiver.hook("gone"));
    let service = Service::start(folder.path());
    let hostile = "High\u{1b}[31m\nERROR forged";
    for ends in [None, Some("2099-01-01T00:00:00Z")] {
        for _ in 0..5 {
            service.takes(&alert("g", "1", hostile, "web", ends));
        }
        service.incident(|one| one["runs"] != 0);
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
    service.takes(&alert("g", "1", "A", "web", None));
    let all = wait_for(|| Some(read(&journal)).filter(|said| said.contains("run has a result")));
    for begin in ["<4>alerts not taken in ", "<6>incident opened ", "<6>run has a result "] {
        assert!(all.lines().any(|line| line.starts_with(begin)), "{begin}: {all}");
    }
}

#[test]
fn a_group_of_thousands_comes_in_one_request() {
    const MANY: usize = 3_000;
    let folder = folder("[limits]\nalerts = 5000\n", "");
    let service = Service::start(folder.path());
    let mut all = json_of(&alert("g", "0", "Slow", "web", None));
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
    service.takes(&body);
    assert_eq!(service.incidents()[0]["alerts"], MANY);
}

#[test]
fn any_controller_is_on_call_and_those_that_take_no_news_begin_anew() {
    let all = ["eog", "linear", "lats", "bfs", "beam", "hypotheses", "treeseeker", "react"];
    for controller in all {
        let receiver = Receiver::start();
        let chosen = format!("[investigation]\ncontroller = '{controller}'\nbudget = 20\n");
        let hook = chosen + &receiver.hook("team");
        let folder = folder("[pace]\nsettle = '0s'\npause = '0s'\n", &hook);
        let service = Service::start(folder.path());
        let mut results = Vec::new();
        for (number, (fingerprint, job)) in [("1", "web"), ("2", "cart")].into_iter().enumerate() {
            service.takes(&alert("g", fingerprint, "Slow", job, None));
            let message = receiver.nth("team", number).json();
            let event = ["diagnosed", "updated"][number];
            assert_eq!(message["event"], event, "{controller}: {message:#}");
            results.push(message["result"]["investigation"].clone());
        }
        assert_eq!(results[0] == results[1], controller == "eog", "{controller}: {results:?}");
    }
}

/// Whether an incident has an investigation, or a problem in place of one.
fn is_investigated(one: &Value) -> bool {
    !one["problem"].is_null() || !one["investigation"].is_null()
}

#[test]
fn a_capture_that_cannot_be_gone_on_with_is_begun_anew() {
    let plan = r#"{"version":1,"digest":"of another configuration","window":null,"now":"2026-01-01T00:00:00Z"}"#;
    let left = [
        // Killed before it wrote what it began with.
        (".capture/plan.part", "{"),
        // Killed before source.toml was changed.
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
        service.takes(&alert("g", "1", "Slow", "web", None));
        let one = service.incident(is_investigated);
        assert!(one["problem"].is_null() && !one["investigation"].is_null(), "{name}: {one:#}");
    }
}

#[test]
fn an_investigation_that_was_begun_and_has_no_journal_yet_is_begun_anew() {
    let folder = folder("[pace]\nsettle = '0s'\n", "");
    let state = folder.path().join("state");
    let investigated = |service: &Service| {
        service.takes(&alert("g", "1", "Slow", "web", None));
        service.incident(is_investigated)
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

    let one = investigated(&Service::start(folder.path()));
    assert!(one["problem"].is_null(), "{one:#}");
    assert_eq!(stored(&state), 1, "{one:#}");
}

#[test]
fn more_than_is_taken_on_is_refused_so_that_it_is_sent_again() {
    let folder = folder("[limits]\nincidents = 1\n", "");
    let service = Service::start(folder.path());
    let post =
        |group: &str| service.post("/alerts", &alert(group, group, "A", "web", None)).unwrap();
    assert_eq!(post("one").0, 200);
    let (status, reason) = post("two");
    assert_eq!(status, 503);
    assert!(reason.contains("which is the maximum"), "{reason}");
    for (body, expected) in [("{}", 400), ("[", 400)] {
        assert_eq!(service.post("/alerts", body).unwrap().0, expected, "{body}");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let raw = request("GET", path, "Host: 10.0.0.1:8765\r\n", "");
        assert_eq!(service.raw(&raw).unwrap().0, 200, "{path} by any name");
    }
    let raw = request("GET", "/incidents", "Host: evil.example.org\r\n", "");
    assert_eq!(service.raw(&raw).unwrap().0, 403, "incidents by no other name");
}

#[test]
fn messages_are_signed_tried_again_and_kept_when_given_up() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let receiver = Receiver::start();
    let hook =
        |name: &str, rest: &str| receiver.hook(name) + "first_delay = '100ms'\n" + rest + "\n";
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
    service.takes(&hostile);
    let good = receiver.nth("good", 0);
    let stamp = good.header("webhook-timestamp");
    let key = base64::engine::general_purpose::STANDARD.decode(&secret[6..]).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{stamp}.{}", good.header("webhook-id"), good.body).as_bytes());
    let expected = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    assert_eq!(good.header("webhook-signature"), format!("v1,{expected}"));
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema/on-call-message.schema.json");
    let checked = jsonschema::validator_for(&json_of(&read(schema))).unwrap();
    let parse = |body: &str| -> Value {
        let parsed = json_of(body);
        let wrong: Vec<String> = checked.iter_errors(&parsed).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        parsed
    };
    let first = parse(&good.body);
    let name = first["service"].as_str().unwrap();
    let id = |number: u32| format!("in-000001.{number}.{name}");
    assert_eq!((&first["event"], &first["id"]), (&"diagnosed".into(), &id(1).into()));
    assert_eq!(first["result"]["confidence"], "inconclusive");
    let slow = wait_for(|| (receiver.of("slow").len() == 3).then(|| receiver.of("slow")));
    assert!(slow.iter().all(|one| one.header("webhook-id") == id(1)), "the same message");
    let dead = folder.path().join(format!("state/on-call/dead/gone--{}.json", id(1)));
    wait_for(|| dead.exists().then_some(()));
    let letter = json_of(&read(&dead));
    assert!(letter["last"].as_str().unwrap().contains("410"), "{letter}");
    let chat = receiver.nth("chat", 0).json();
    let chat = chat["text"].as_str().unwrap();
    assert!(chat.contains("&lt;!channel&gt;") && !chat.contains("<!"), "{chat}");
    assert!(chat.contains("{{incident.id}}"), "data, no template: {chat}");

    // A further alert is observed by the same investigation.
    receiver.script("slow", &[503; 1000]);
    service.takes(&alert("g", "2", "Slow", "cart", None));
    let second = parse(&receiver.nth("good", 1).body);
    assert_eq!(second["event"], "updated");
    assert_eq!(second["result"]["investigation"], first["result"]["investigation"]);
    let ledger = read(folder.path().join("state/inv-000001/ledger.jsonl"));
    let observed = ledger.lines().filter(|line| line.contains("\"observed\""));
    assert_eq!(observed.filter(|line| line.contains("Slow")).count(), 1, "{ledger}");

    // What is on its way survives a kill.
    wait_for(|| (receiver.of("slow").len() > 3).then_some(()));
    service.kill();
    receiver.script("slow", &[]);
    let tried = receiver.of("slow").len();
    let service = Service::start(folder.path());
    assert_eq!(receiver.nth("slow", tried).header("webhook-id"), id(2));
    for (fingerprint, name, job) in [("1", "HighErrorRate", "web"), ("2", "Slow", "cart")] {
        let body = alert("g", fingerprint, name, job, Some("2099-01-01T00:00:00Z"));
        service.takes(&body);
    }
    // What was on its way when the service was killed may arrive twice, with the same id.
    let last = wait_for(|| {
        let mut all = receiver.of("good").into_iter();
        all.find(|one| ![id(1), id(2)].iter().any(|id| one.header("webhook-id") == id))
    });
    assert_eq!(
        (&parse(&last.body)["event"], last.header("webhook-id")),
        (&"resolved".into(), &*id(3))
    );
    service.incident(|one| one["stage"] == "closed");
    // A group that was closed begins another incident.
    service.takes(&alert("g", "1", "HighErrorRate", "web", None));
    service.incident(|one| one["id"] == "in-000002");
}

#[test]
fn mistakes_are_reported_and_two_services_do_not_share_a_state() {
    let folder = folder("", "");
    let _service = Service::start(folder.path());
    let refused = |words: &str, code: i32, said: &[&str]| {
        let words: Vec<&str> = words.split(' ').collect();
        Run::of(command!(words).current_dir(folder.path())).exits(code).says(said);
    };
    let wrong = |text: &str| {
        let text = format!("source = 'source.toml'\n{text}");
        std::fs::write(folder.path().join("wrong.toml"), text).unwrap();
    };
    let serve = "serve --on-call oncall.toml --http 127.0.0.1:0 --state state";
    refused(serve, 2, &["another service uses this state"]);
    let over_pipes = "mcp serve --on-call oncall.toml --state other";
    refused(over_pipes, 2, &["alerts arrive over HTTP"]);
    wrong("at_one = 1\n");
    refused("check wrong.toml", 4, &["wrong.toml", "at_one"]);
    wrong("[investigation]\ncontroller = 'magic'\n");
    let serve = "serve --on-call wrong.toml --http 127.0.0.1:0 --state third";
    for words in ["check wrong.toml", serve] {
        refused(words, 4, &["wrong.toml", "[investigation]", "magic"]);
    }
}

/// Programs get JSON, people a page: the list of the pages leads to it as long as an incident has no investigation.
#[test]
fn an_incident_is_a_page_for_people() {
    let folder = folder("[pace]\nsettle = '1h'\n", "");
    let service = Service::start(folder.path());
    let hostile = "High<script>alert(1)</script>";
    service.takes(&alert("g", "1", hostile, "web", None));
    let ask = |path: &str, accept: &str| {
        let headers = format!("Host: localhost\r\nAccept: {accept}\r\n");
        service.raw(&request("GET", path, &headers, "")).unwrap()
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
        assert_eq!(json_of(&body)["alerts"]["1"]["labels"]["job"], "web", "{body}");
        assert_eq!(ask("/incidents/in-000009", accept).0, 404);
    }
}
