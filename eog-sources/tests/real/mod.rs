//! Real servers for tests: Debian's packages `prometheus`, `prometheus-alertmanager` and
//! `prometheus-node-exporter`. Where they are not installed, tests say so and are skipped.

pub(crate) mod shop;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn start(mut command: Command, port: u16, ready: &str) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self { child: command.spawn().expect("it starts"), port };
        let patience = Instant::now() + Duration::from_secs(60);
        while get(port, ready).is_none_or(|answer| !answer.starts_with("HTTP/1.1 200")) {
            let ended = server.child.try_wait().expect("its state is known");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(Instant::now() < patience, "the server does not become ready");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// A Prometheus over a store, with further settings.
    pub(crate) fn prometheus(program: &Path, folder: &Path, settings: &str) -> Self {
        Self::prometheus_with(program, folder, settings, &[])
    }

    /// The same, with further arguments.
    pub(crate) fn prometheus_with(
        program: &Path,
        folder: &Path,
        settings: &str,
        more: &[&str],
    ) -> Self {
        let port = free_port();
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, settings).expect("settings");
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg("--storage.tsdb.retention.time=10y")
            .args(more)
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Self::start(command, port, "/-/ready")
    }

    pub(crate) fn alertmanager(program: &Path, folder: &Path) -> Self {
        let settings =
            "route:\n  receiver: none\n  group_by: [alertname]\nreceivers:\n  - name: none\n";
        Self::alertmanager_with(program, folder, settings)
    }

    pub(crate) fn alertmanager_with(program: &Path, folder: &Path, settings: &str) -> Self {
        let port = free_port();
        let config = folder.join("alertmanager.yml");
        std::fs::write(&config, settings).expect("settings");
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.join("am").display()))
            .arg("--cluster.listen-address=")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Self::start(command, port, "/-/ready")
    }

    pub(crate) fn node_exporter(program: &Path) -> Self {
        let port = free_port();
        let mut command = Command::new(program);
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Self::start(command, port, "/metrics")
    }
}

/// A program of Debian's packages; nothing, and a message, where it is not installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("EOG_NEED_PROMETHEUS").is_none(),
            "{name} is not installed, and EOG_NEED_PROMETHEUS is set"
        );
        eprintln!(
            "skipped: {name} is not installed (apt-get install prometheus \
                   prometheus-alertmanager prometheus-node-exporter)"
        );
    }
    found
}

/// A port without a listener. The system hands out ports from 32768 on to connecting clients, so that one of those may be
/// taken before it is used: these lie below, begin elsewhere in each process, and come once.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 16_000;
    const COUNT: u16 = 16_000;
    let begin = (std::process::id() % 400) as u16 * 40;
    let ports = (0..COUNT).map(|_| FIRST + (begin + NEXT.fetch_add(1, Relaxed)) % COUNT);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.into_iter().find(is_free).expect("a free port")
}

/// What a server answers, head and body.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    ask(port, &format!("GET {path} HTTP/1.0\r\nHost: a\r\n\r\n"))
}

/// Sends JSON.
pub(crate) fn post(port: u16, path: &str, body: &str) -> Option<String> {
    let head = "Host: a\r\nContent-Type: application/json";
    ask(
        port,
        &format!("POST {path} HTTP/1.0\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
    )
}

fn ask(port: u16, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    // Servers of Go answer HTTP/1.0 requests in kind.
    Some(answer.replacen("HTTP/1.0", "HTTP/1.1", 1))
}

/// Metrics of a past that never was, put into the store of a Prometheus before it is started.
#[derive(Default)]
pub(crate) struct Past {
    /// By family: its type and its lines.
    families: std::collections::BTreeMap<String, (&'static str, String)>,
}

impl Past {
    /// Adds a series: labels, and points in seconds since 1970.
    pub(crate) fn add(
        &mut self,
        family: &str,
        kind: &'static str,
        series: &str,
        points: impl Iterator<Item = (i64, f64)>,
    ) {
        let (_, lines) =
            self.families.entry(family.to_owned()).or_insert_with(|| (kind, String::new()));
        for (at, value) in points {
            writeln!(lines, "{series} {value} {at}").expect("writing to a text");
        }
    }

    /// Writes the store.
    pub(crate) fn write(&self, folder: &Path) {
        let mut text = String::new();
        for (family, (kind, lines)) in &self.families {
            writeln!(text, "# TYPE {family} {kind}\n{}", lines.trim_end()).expect("text");
        }
        text.push_str("# EOF\n");
        let file = folder.join("past.om");
        std::fs::write(&file, text).expect("the file");
        let done = Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .arg(&file)
            .arg(folder.join("data"))
            .output()
            .expect("promtool is a part of the package");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
