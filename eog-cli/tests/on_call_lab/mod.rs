//! A service on call, alerts for it, and somebody who is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_eog"));
        command.current_dir(folder).env_remove("EOG_MCP_TOKEN");
        // Of a model of a test, which wants none.
        command.env("OPENAI_API_KEY", "none").envs(environment.iter().copied());
        command.args(["serve", "--on-call", "oncall.toml", "--state", "state"]).args(more);
        command
            .arg("--http")
            .arg(format!("127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let port = line.trim().strip_suffix("/mcp").and_then(|rest| rest.rsplit(':').next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        // What else it says is shown with the test.
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("{line}");
                heard.lock().unwrap().push(line);
            }
        });
        Self { child, port, said }
    }

    /// Starts it with a file in place of standard error, which is named to it as the journal of systemd.
    pub(crate) fn start_with_journal(folder: &Path, journal: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let file = std::fs::File::create(journal).unwrap();
        let meta = file.metadata().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_eog"));
        command.current_dir(folder).env_remove("EOG_MCP_TOKEN");
        command.env("JOURNAL_STREAM", format!("{}:{}", meta.dev(), meta.ino()));
        command.args(["serve", "--on-call", "oncall.toml", "--state", "state"]);
        command.args(["--http", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(file);
        let child = command.spawn().unwrap();
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
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
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
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Option<(u16, String)> {
        let head = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json";
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path).unwrap();
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }
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
    serde_json::json!({
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

/// What somebody was told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// When it came.
    pub(crate) at: eog::Timestamp,
    headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

#[derive(Default)]
struct Heard {
    told: BTreeMap<String, Vec<Told>>,
    script: BTreeMap<String, Vec<u16>>,
}

/// Somebody who is told, and answers as a script says: by path, the statuses of the next answers; 200 in the
/// end.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    heard: Arc<Mutex<Heard>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let shared = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || answer(&stream, &shared));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn script(&self, path: &str, statuses: &[u16]) {
        self.heard.lock().unwrap().script.insert(path.to_owned(), statuses.to_vec());
    }

    pub(crate) fn of(&self, path: &str) -> Vec<Told> {
        self.heard.lock().unwrap().told.get(path).cloned().unwrap_or_default()
    }
}

fn answer(mut stream: &TcpStream, heard: &Mutex<Heard>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let mut heard = heard.lock().unwrap();
    let told = Told { at: eog::Timestamp::now(), headers, body: String::from_utf8(body).ok()? };
    heard.told.entry(path.clone()).or_default().push(told);
    let status = match heard.script.get_mut(&path) {
        Some(script) if !script.is_empty() => script.remove(0),
        _ => 200,
    };
    drop(heard);
    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).ok()
}
