//! A small real system, instrumented with OpenTelemetry, under a real Prometheus and a real Alertmanager: a fault
//! by a changed configuration file, and what `eog serve --on-call` makes of the alerts. No model, nothing simulated
//! but the load.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../on_call_lab/mod.rs"]
#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod on_call_lab;
mod process;
#[path = "../../../eog-sources/tests/real/mod.rs"]
#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod real;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use eog::Timestamp;
use on_call_lab::{Receiver, Service, wait_for};
use real::{Server, free_port, program};
use serde_json::{Value, json};

/// How long each service takes for a request by itself, in milliseconds: long beside what a busy machine adds,
/// which would be an unrecorded change.
const USUAL_MS: u64 = 40;

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
        expr: sum by (job) (rate(http_server_request_duration_seconds_sum[6s])) / sum by (job) (rate(http_server_request_duration_seconds_count[6s])) > 0.3
        labels: {severity: page}
        annotations: {summary: "requests to {{ $labels.job }} take more than 300 ms"}
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
        let otlp = free_port();
        let mut parts = Vec::new();
        for (position, name) in SERVICES.iter().enumerate() {
            let next = ports.get(position + 1);
            let settings = json!({"fail": 0.0, "delay_ms": USUAL_MS, "next": next, "crash": false, "waiting": 0});
            std::fs::write(at.join(format!("{name}.json")), settings.to_string()).unwrap();
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "--ignored", "process::a_service_of_the_small_system"]);
            let role = format!("{name} {} {otlp} {}", ports[position], at.display());
            command.env(process::ROLE, role).env("NO_PROXY", "127.0.0.1");
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
        write("source.toml", &source(prometheus.port, otlp));
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
            "time": Timestamp::now().to_string(), "entity": name, "path": field,
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
        self.arrivals().into_iter().map(|(_, message)| message).collect()
    }

    /// The messages, with when they came.
    fn arrivals(&self) -> Vec<(Timestamp, Value)> {
        let messages = self.receiver.of("team").into_iter();
        messages.map(|one| (one.at, one.json())).collect()
    }
}

fn source(port: u16, otlp: u16) -> String {
    format!(
        "name = 'shop'\nhistory = '10m'\nchanges = ['changes.jsonl']\n[prometheus]\nurl = 'http://127.0.0.1:{port}'\n\
         [otlp]\nlisten = ['127.0.0.1:{otlp}']\n"
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
    let (number, came, message) = wait_for(|| {
        let all = system.arrivals().into_iter().enumerate();
        let mut all = all.map(|(at, (came, message))| (at + 1, came, message));
        all.find(|(_, _, message)| causes(message) == [name])
    });
    // How long it took is printed, and depends on the machine: from when Prometheus says that the alert began, and
    // from when Alertmanager called.
    let seconds = |since: &Value| {
        let since: Timestamp = since.as_str().unwrap().parse().unwrap();
        came.duration_since(since).as_secs_f64()
    };
    println!(
        "{name}.{field}: {} by message {number}, {:.1} s after the alert began and {:.1} s after the first call",
        message["result"]["headline"],
        seconds(&message["incident"]["alerts"][0]["starts_at"]),
        seconds(&message["incident"]["opened_at"]),
    );
    assert!(
        message["result"]["causes"][0]["change"].as_str().unwrap().contains(field),
        "{message}"
    );
    let page = message["result"]["investigation"].as_str().unwrap();
    let (status, page) = system.service.get(&format!("/i/{page}")).unwrap();
    assert_eq!(status, 200);
    assert!(page.contains(name), "the page names it");
    let captured = system.folder.path().join("state/captures").read_dir().unwrap().flatten();
    let spans = captured.map(|it| std::fs::read_to_string(it.path().join("spans.csv")));
    let spans: String = spans.map(Result::unwrap_or_default).collect();
    assert!(SERVICES.iter().all(|name| spans.contains(name)), "their spans were received: {spans}");
}

/// Runs all of them at once: each has a system of its own, and most of the time is watching it.
fn at_once(cases: &[(&str, &(dyn Fn() + Sync))]) {
    std::thread::scope(|scope| {
        for (name, case) in cases {
            // So that a failure says which of them it is.
            std::thread::Builder::new().name((*name).to_owned()).spawn_scoped(scope, case).unwrap();
        }
    });
}

#[test]
fn the_cause_is_the_service_whose_setting_was_changed() {
    at_once(&[
        ("a flag that makes requests fail", &|| found("db", "fail", &json!(0.7))),
        ("a setting that makes requests slow", &|| found("db", "delay_ms", &json!(500))),
        ("an address that leads nowhere", &|| found("cart", "next", &json!(9))),
        ("a setting that ends the process", &|| found("db", "crash", &json!(true))),
    ]);
}

#[test]
fn what_was_not_recorded_is_never_confirmed() {
    at_once(&[
        ("an incident without any cause on record is inconclusive", &kept_waiting),
        ("a fault without a change on record is located", &failing_without_a_change),
    ]);
}

fn kept_waiting() {
    let Some(system) = System::start() else { return };
    // Something outside, without any record, keeps orders waiting; requests are as always.
    system.change("web", "waiting", &json!(50), false);
    let message = wait_for(|| system.messages().into_iter().next());
    assert_eq!(message["incident"]["alerts"][0]["name"], "OrdersWaiting", "{message:#}");
    assert_eq!(message["result"]["confidence"], "inconclusive", "{message:#}");
    assert_eq!(causes(&message), [""; 0], "{message:#}");
    assert!(message["result"]["headline"].as_str().unwrap().starts_with("Inconclusive"));
}

fn failing_without_a_change() {
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
