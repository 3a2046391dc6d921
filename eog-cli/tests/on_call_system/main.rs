//! A small real system under a real Prometheus and a real Alertmanager: a fault by a changed configuration
//! file, and what `eog serve --on-call` makes of the alerts. No model, nothing simulated but the load.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod on_call_lab;
#[path = "../../eog-sources/tests/real/mod.rs"]
#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod real;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use on_call_lab::{Receiver, Service, wait_for};
use real::{Server, free_port, program};
use serde_json::{Value, json};

/// What tells a process of the tests that it is a service of the small system: name, port, folder.
const ROLE: &str = "EOG_TEST_SERVICE";

/// How long the system is watched before anything happens.
const USUAL: Duration = Duration::from_secs(40);

const RULES: &str = r#"groups:
  - name: shop
    rules:
      - alert: HighErrorRate
        expr: sum by (job) (rate(http_server_request_duration_seconds_count{http_response_status_code=~"5.."}[6s])) / sum by (job) (rate(http_server_request_duration_seconds_count[6s])) > 0.2
        labels: {severity: page}
        annotations: {summary: "more than 20 % of requests to {{ $labels.job }} fail"}
      - alert: SlowRequests
        expr: sum by (job) (rate(http_server_request_duration_seconds_sum[6s])) / sum by (job) (rate(http_server_request_duration_seconds_count[6s])) > 0.1
        labels: {severity: page}
        annotations: {summary: "requests to {{ $labels.job }} take more than 100 ms"}
      - alert: InstanceDown
        expr: up == 0
        labels: {severity: page}
        annotations: {summary: "{{ $labels.job }} cannot be scraped"}
      - alert: OrdersWaiting
        expr: shop_orders_waiting > 10
        labels: {severity: page}
        annotations: {summary: "more than 10 orders wait at {{ $labels.job }}"}
"#;

/// The services, each of which calls the next.
const SERVICES: [&str; 3] = ["web", "cart", "db"];

/// A process of the system that ends with the test.
struct Part(Child);

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The whole: its parts end in this order.
struct System {
    _prometheus: Server,
    _alertmanager: Server,
    service: Service,
    _parts: Vec<Part>,
    receiver: Receiver,
    folder: tempfile::TempDir,
}

impl System {
    /// Starts it, and waits until it has been watched for a while; nothing where a server is not installed.
    fn start() -> Option<Self> {
        let (prometheus, alertmanager) =
            (program("prometheus")?, program("prometheus-alertmanager")?);
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let ports: Vec<u16> = SERVICES.iter().map(|_| free_port()).collect();
        let mut parts = Vec::new();
        for (position, name) in SERVICES.iter().enumerate() {
            let next = ports.get(position + 1);
            let settings =
                json!({"fail": 0.0, "delay_ms": 5, "next": next, "crash": false, "waiting": 0});
            std::fs::write(at.join(format!("{name}.json")), settings.to_string()).unwrap();
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "--ignored", "a_service_of_the_small_system"]);
            command.env(ROLE, format!("{name} {} {}", ports[position], at.display()));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            parts.push(Part(command.spawn().unwrap()));
        }
        let receiver = Receiver::start();
        let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
        write("changes.jsonl", "");
        write("rules.yml", RULES);
        write(
            "oncall.toml",
            &format!(
                "source = 'source.toml'\n[pace]\nsettle = '2s'\npause = '3s'\n\
             [[webhook]]\nname = 'team'\nurl = 'http://127.0.0.1:{}/team'\n",
                receiver.port
            ),
        );
        let targets = SERVICES.iter().zip(&ports).map(|(name, port)| {
            format!(
                "  - job_name: {name}\n    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
            )
        });
        let targets: String = targets.collect();
        // Prometheus wants to know Alertmanager, which wants to know the service, which asks Prometheus.
        let port = free_port();
        let routes = format!(
            "route:\n  receiver: eog\n  group_wait: 1s\n  group_interval: 1s\nreceivers:\n  - name: eog\n    \
             webhook_configs:\n      - url: http://127.0.0.1:{port}/alerts\n"
        );
        let alertmanager = Server::alertmanager_with(&alertmanager, at, &routes);
        let settings = format!(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\nrule_files: [rules.yml]\n\
             alerting:\n  alertmanagers:\n    - static_configs: [{{targets: ['127.0.0.1:{}']}}]\n\
             scrape_configs:\n{targets}",
            alertmanager.port
        );
        let prometheus = Server::prometheus(&prometheus, at, &settings);
        write("source.toml", &source(prometheus.port));
        let service = Service::start_at(at, port);
        std::thread::sleep(USUAL);
        Some(Self {
            _prometheus: prometheus,
            _alertmanager: alertmanager,
            service,
            _parts: parts,
            receiver,
            folder,
        })
    }

    /// Changes a configuration file of a service, and records that.
    fn change(&self, name: &str, field: &str, new: &Value, is_recorded: bool) {
        let file = self.folder.path().join(format!("{name}.json"));
        let mut settings: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let old = settings[field].clone();
        settings[field] = new.clone();
        let line = json!({
            "time": eog::Timestamp::now().to_string(), "entity": name, "path": field,
            "old": old.to_string(), "new": new.to_string(),
        });
        // Whole or not at all: it is read all the time.
        std::fs::write(file.with_extension("new"), settings.to_string()).unwrap();
        std::fs::rename(file.with_extension("new"), &file).unwrap();
        if is_recorded {
            let changes = self.folder.path().join("changes.jsonl");
            std::fs::write(changes, format!("{line}\n")).unwrap();
        }
    }

    fn messages(&self) -> Vec<Value> {
        let told = self.receiver.of("team").into_iter();
        told.map(|one| serde_json::from_str(&one.body).unwrap()).collect()
    }
}

fn source(port: u16) -> String {
    format!(
        "name = 'shop'\nhistory = '10m'\nchanges = ['changes.jsonl']\n[prometheus]\nurl = 'http://127.0.0.1:{port}'\n"
    )
}

fn causes(message: &Value) -> Vec<String> {
    let groups = message["result"]["causes"].as_array().into_iter().flatten();
    let names = groups.flat_map(|group| group["entities"].as_array().cloned().unwrap_or_default());
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// A fault by a change of a field of a service; the cause is to be that service.
fn found(name: &str, field: &str, new: &Value) {
    let Some(system) = System::start() else { return };
    system.change(name, field, new, true);
    let message = wait_for(|| {
        let all = system.messages();
        all.into_iter().find(|message| causes(message) == [name])
    });
    let started = message["incident"]["alerts"][0]["starts_at"].as_str().unwrap();
    let started: eog::Timestamp = started.parse().unwrap();
    let late = eog::Timestamp::now().duration_since(started);
    let before = system.messages().iter().position(|one| causes(one) == [name]).unwrap();
    println!(
        "{name}.{field}: {} after {:.1} s, message {}",
        message["result"]["headline"],
        late.as_secs_f64(),
        before + 1
    );
    assert!(
        message["result"]["causes"][0]["change"].as_str().unwrap().contains(field),
        "{message}"
    );
    let page = message["result"]["investigation"].as_str().unwrap();
    let (status, page) = system.service.get(&format!("/i/{page}")).unwrap();
    assert_eq!(status, 200);
    assert!(page.contains(name), "the page names it");
}

#[test]
fn a_flag_that_makes_requests_fail() {
    found("db", "fail", &json!(0.7));
}

#[test]
fn a_setting_that_makes_requests_slow() {
    found("db", "delay_ms", &json!(300));
}

#[test]
fn an_address_that_leads_nowhere() {
    found("cart", "next", &json!(9));
}

#[test]
fn a_setting_that_ends_the_process() {
    found("db", "crash", &json!(true));
}

#[test]
fn an_incident_without_any_cause_on_record_is_inconclusive() {
    let Some(system) = System::start() else { return };
    // Something outside, which nobody records, keeps orders waiting; requests are as always.
    system.change("web", "waiting", &json!(50), false);
    let message = wait_for(|| system.messages().into_iter().next());
    assert_eq!(message["incident"]["alerts"][0]["name"], "OrdersWaiting", "{message:#}");
    assert_eq!(message["result"]["confidence"], "inconclusive", "{message:#}");
    assert_eq!(causes(&message), [""; 0], "{message:#}");
    assert!(message["result"]["headline"].as_str().unwrap().starts_with("Inconclusive"));
}

#[test]
fn a_fault_without_a_change_on_record_is_located_and_never_confirmed() {
    let Some(system) = System::start() else { return };
    system.change("db", "fail", &json!(0.7), false);
    let message = wait_for(|| system.messages().into_iter().next());
    assert_ne!(message["result"]["confidence"], "confirmed", "{message:#}");
    for cause in message["result"]["causes"].as_array().unwrap() {
        assert_eq!(cause["change"], Value::Null, "{message:#}");
        let doubts = cause["doubts"].to_string();
        assert!(doubts.contains("cites no change"), "{message:#}");
    }
}

/// What a service has counted: by status of its answers, and of its calls.
#[derive(Default)]
struct Counts {
    served: BTreeMap<u16, (u64, f64)>,
    called: BTreeMap<u16, (u64, f64)>,
}

/// A process of the small system: answers `/`, calls the next one, counts, and does what its file says.
#[test]
#[ignore = "a process of the tests above"]
fn a_service_of_the_small_system() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (name, rest) = role.split_once(' ').unwrap();
    let (port, folder) = rest.split_once(' ').unwrap();
    let port: u16 = port.parse().unwrap();
    let file = Path::new(folder).join(format!("{name}.json"));
    let counts = Arc::new(Mutex::new(Counts::default()));
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    if name == SERVICES[0] {
        std::thread::spawn(move || {
            // The load: about ten requests a second, two at once.
            for _ in 0..2 {
                std::thread::spawn(move || {
                    loop {
                        let _ = ask(port, "/");
                        std::thread::sleep(Duration::from_millis(180));
                    }
                });
            }
        });
    }
    for stream in listener.incoming().map_while(Result::ok) {
        let (file, counts) = (file.clone(), counts.clone());
        std::thread::spawn(move || serve(&stream, &file, &counts));
    }
}

fn serve(stream: &TcpStream, file: &Path, counts: &Mutex<Counts>) -> Option<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    reader.read_line(&mut line).ok()?;
    let mut header = String::new();
    while reader.read_line(&mut header).ok()? > 2 {
        header.clear();
    }
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    let next = settings["next"].as_u64().and_then(|port| u16::try_from(port).ok());
    if line.starts_with("GET /metrics") {
        return reply(stream, 200, &figures(&counts.lock().unwrap(), next, &settings));
    }
    if settings["crash"] == true {
        std::process::exit(1);
    }
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(settings["delay_ms"].as_u64()?));
    let mut status = 200;
    if let Some(next) = next {
        let called = Instant::now();
        status = ask(next, "/").filter(|status| *status == 200).map_or(503, |_| 200);
        let mut counts = counts.lock().unwrap();
        let (count, sum) = counts.called.entry(status).or_default();
        (*count, *sum) = (*count + 1, *sum + called.elapsed().as_secs_f64());
    }
    let mut all = counts.lock().unwrap();
    let number: u64 = all.served.values().map(|(count, _)| count).sum();
    // Spread evenly: 7 of 10 requests are numbers 0 to 6.
    if (number % 10) as f64 / 10.0 < settings["fail"].as_f64()? {
        status = 500;
    }
    let (count, sum) = all.served.entry(status).or_default();
    (*count, *sum) = (*count + 1, *sum + began.elapsed().as_secs_f64());
    drop(all);
    reply(stream, status, "done\n")
}

fn figures(counts: &Counts, next: Option<u16>, settings: &Value) -> String {
    let mut text = String::new();
    let mut family = |family: &str, counts: &BTreeMap<u16, (u64, f64)>, labels: &str| {
        writeln!(text, "# TYPE {family} summary").unwrap();
        for (status, (count, sum)) in counts {
            let labels = format!("{{http_response_status_code=\"{status}\"{labels}}}");
            writeln!(text, "{family}_count{labels} {count}\n{family}_sum{labels} {sum}").unwrap();
        }
    };
    family("http_server_request_duration_seconds", &counts.served, "");
    if let Some(next) = next {
        let labels = format!(",server_address=\"127.0.0.1\",server_port=\"{next}\"");
        family("http_client_request_duration_seconds", &counts.called, &labels);
    }
    writeln!(text, "# TYPE shop_orders_waiting gauge\nshop_orders_waiting {}", settings["waiting"])
        .unwrap();
    text
}

fn reply(mut stream: &TcpStream, status: u16, body: &str) -> Option<()> {
    let kind = "Content-Type: text/plain; version=0.0.4\r\nConnection: close";
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}

fn ask(port: u16, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
