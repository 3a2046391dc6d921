//! A service on call, alerts for it, and a receiver of its messages.

pub(crate) mod systems;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Asked, answering, command, http, json_of, request, signal};

/// A service that is killed with the test.
pub(crate) struct Service {
    child: Child,
    pub(crate) port: u16,
    said: Arc<Mutex<Vec<String>>>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command that serves a folder.
fn serve(folder: &Path, port: u16) -> Command {
    let address = format!("127.0.0.1:{port}");
    let options = ["--on-call", "oncall.toml", "--state", "state", "--http", &address];
    let mut command = command!("serve", options);
    command.current_dir(folder).env_remove("EOG_MCP_TOKEN").stdout(Stdio::null());
    command
}

impl Service {
    /// Starts the service of a folder with `oncall.toml`.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_at(folder, 0)
    }

    pub(crate) fn start_at(folder: &Path, port: u16) -> Self {
        Self::start_with(folder, port, &[])
    }

    /// Starts it with further arguments.
    pub(crate) fn start_with(folder: &Path, port: u16, more: &[&str]) -> Self {
        Self::start_in(folder, port, more, &[])
    }

    /// The same, with variables of the environment.
    pub(crate) fn start_in(
        folder: &Path,
        port: u16,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = serve(folder, port);
        // Of a model of a test, which wants none.
        command.env("OPENAI_API_KEY", "none").envs(environment.iter().copied()).args(more);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let port = line.trim().strip_suffix("/mcp").and_then(|rest| rest.rsplit(':').next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        // What else it says is shown with the test.
        let said = Arc::<Mutex<Vec<String>>>::default();
        let shared = said.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("{line}");
                shared.lock().unwrap().push(line);
            }
        });
        Self { child, port, said }
    }

    /// Starts it with a file in place of standard error, which is named to it as the journal of systemd.
    pub(crate) fn start_with_journal(folder: &Path, journal: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let file = std::fs::File::create(journal).unwrap();
        let meta = file.metadata().unwrap();
        let mut command = serve(folder, 0);
        command.env("JOURNAL_STREAM", format!("{}:{}", meta.dev(), meta.ino()));
        let child = command.stderr(file).spawn().unwrap();
        let port = wait_for(|| {
            let said = std::fs::read_to_string(journal).unwrap();
            said.split_once("/mcp\n")?.0.rsplit(':').next()?.parse().ok()
        });
        Self { child, port, said: Arc::default() }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on standard error, but for the first line.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills it with SIGKILL while others hold it.
    pub(crate) fn kill_from_outside(&self) {
        signal("-KILL", &self.child);
    }

    /// The most memory that it has had, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
    }

    /// Status and body of an answer; nothing if there is none.
    pub(crate) fn raw(&self, request: &str) -> Option<(u16, String)> {
        let (status, answer) = http(&format!("127.0.0.1:{}", self.port), request)?;
        Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
    }

    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        self.raw(&request("GET", path, "Host: localhost\r\n", ""))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Option<(u16, String)> {
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        self.raw(&request("POST", path, headers, body))
    }

    /// Sends alerts, which must be taken in.
    #[track_caller]
    pub(crate) fn takes(&self, alerts: &str) {
        let (status, answer) = self.post("/alerts", alerts).unwrap();
        assert_eq!(status, 200, "{answer}");
    }

    /// The incidents as the service lists them.
    pub(crate) fn incidents(&self) -> Vec<Value> {
        self.json("/incidents")["incidents"].as_array().unwrap().clone()
    }

    /// The latest incident, once it has something.
    pub(crate) fn incident(&self, has: impl Fn(&Value) -> bool) -> Value {
        wait_for(|| self.incidents().into_iter().next().filter(|one| has(one)))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path).unwrap();
        assert_eq!(status, 200, "{body}");
        json_of(&body)
    }
}

/// How many investigations are stored in a state folder.
pub(crate) fn stored(state: &Path) -> usize {
    count(state, "inv-")
}

/// How many entries of a folder have a name that begins so.
pub(crate) fn count(folder: &Path, begin: &str) -> usize {
    let found = folder.read_dir().unwrap().flatten();
    found.filter(|it| it.file_name().to_string_lossy().starts_with(begin)).count()
}

/// A folder with a configuration whose only source is a file.
pub(crate) fn folder(settings: &str, hooks: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("spans.json", "{\"resourceSpans\":[]}\n");
    write("source.toml", "history = '30m'\n[otlp]\nfiles = ['spans.json']\n");
    write("oncall.toml", &format!("source = 'source.toml'\n{settings}{hooks}"));
    folder
}

/// A request of Alertmanager with one alert.
pub(crate) fn alert(
    group: &str,
    fingerprint: &str,
    name: &str,
    job: &str,
    ends: Option<&str>,
) -> String {
    let started = eog::Timestamp::now().to_string();
    let (status, starts, ends) = match ends {
        Some(ends) => ("resolved", ends, ends),
        None => ("firing", started.as_str(), "0001-01-01T00:00:00Z"),
    };
    json!({
        "version": "4", "groupKey": group, "status": status, "receiver": "eog",
        "groupLabels": {"job": job}, "truncatedAlerts": 0,
        "alerts": [{
            "status": status, "fingerprint": fingerprint, "startsAt": starts, "endsAt": ends,
            "labels": {"alertname": name, "job": job, "instance": fingerprint},
            "annotations": {"summary": "it fails"},
        }],
    })
    .to_string()
}

/// Waits until there is something.
pub(crate) fn wait_for<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let patience = Instant::now() + Duration::from_secs(240);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < patience, "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A message that was received.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// When it came.
    pub(crate) at: eog::Timestamp,
    request: Asked,
    pub(crate) body: String,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.request.header(name)
    }

    pub(crate) fn json(&self) -> Value {
        json_of(&self.body)
    }
}

#[derive(Default)]
struct Received {
    messages: BTreeMap<String, Vec<Message>>,
    script: BTreeMap<String, Vec<u16>>,
}

/// Receives messages, and answers as a script says: by path, the statuses of the next answers; 200 in the end.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    received: Arc<Mutex<Received>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let shared = received.clone();
        let port = answering(move |asked| {
            let path = asked.address().0.trim_start_matches('/').to_owned();
            let body = String::from_utf8(asked.body.clone()).unwrap();
            let message = Message { at: eog::Timestamp::now(), request: asked.clone(), body };
            let mut received = shared.lock().unwrap();
            received.messages.entry(path.clone()).or_default().push(message);
            let status = match received.script.get_mut(&path) {
                Some(script) if !script.is_empty() => script.remove(0),
                _ => 200,
            };
            (status, String::new())
        });
        Self { port, received }
    }

    /// The settings of a webhook of this name that leads here.
    pub(crate) fn hook(&self, name: &str) -> String {
        format!("[[webhook]]\nname = '{name}'\nurl = 'http://127.0.0.1:{}/{name}'\n", self.port)
    }

    pub(crate) fn script(&self, path: &str, statuses: &[u16]) {
        self.received.lock().unwrap().script.insert(path.to_owned(), statuses.to_vec());
    }

    pub(crate) fn of(&self, path: &str) -> Vec<Message> {
        self.received.lock().unwrap().messages.get(path).cloned().unwrap_or_default()
    }

    /// Waits for a message by its number.
    pub(crate) fn nth(&self, path: &str, number: usize) -> Message {
        wait_for(|| self.of(path).into_iter().nth(number))
    }
}
