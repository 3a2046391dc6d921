//! The real binary, as the tests run it, and what they run it on.

#![allow(dead_code, unused_imports, unused_macros, reason = "several binaries share it")]

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest time that anything in a test may take, on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
pub(crate) const FLASH_SALE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/flash-sale");
pub(crate) const BOTTLING_LINE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/bottling-line");

/// The `eog` command as it was built for these tests.
pub(crate) fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

/// Arguments of a command: a text, a path or a list of texts.
pub(crate) trait Words {
    fn add_to(&self, command: &mut Command);
}

impl Words for str {
    fn add_to(&self, command: &mut Command) {
        command.arg(self);
    }
}

impl Words for Path {
    fn add_to(&self, command: &mut Command) {
        command.arg(self);
    }
}

impl Words for tempfile::TempDir {
    fn add_to(&self, command: &mut Command) {
        command.arg(self.path());
    }
}

impl<T: AsRef<OsStr>> Words for [T] {
    fn add_to(&self, command: &mut Command) {
        command.args(self);
    }
}

/// The `eog` command with these arguments.
macro_rules! command {
    ($($words:expr),* $(,)?) => {{
        use $crate::common::Words as _;
        let mut command = $crate::common::eog();
        $($words.add_to(&mut command);)*
        command
    }};
}

/// Runs the `eog` command with these arguments.
macro_rules! run {
    ($($words:expr),* $(,)?) => { $crate::common::Run::of(&mut $crate::common::command!($($words),*)) };
}

pub(crate) use {command, run};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Standard output contains all of these.
    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.out.contains(part), "{part:?} is not printed: {}\n{}", self.out, self.err);
        }
        self
    }

    /// Standard error contains all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not said: {}\n{}", self.err, self.out);
        }
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let Self { out, err, .. } = self;
        serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"))
    }
}

/// Runs `eog investigate … --format json`: exit code, result, standard error.
macro_rules! investigate_json {
    ($($words:expr),* $(,)?) => {{
        let run = $crate::common::run!("investigate", $($words),*, ["--format", "json"]);
        (run.code.unwrap(), run.json(), run.err)
    }};
}

pub(crate) use investigate_json;

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The texts of a list.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The origins that explain an alert.
pub(crate) fn causes(result: &Value) -> Vec<String> {
    let groups = result["conclusion"]["frontier"].as_array().unwrap().iter();
    let linked = groups.filter(|group| group["covers"] != json!([]));
    linked.flat_map(|group| strings(&group["origins"])).collect()
}

/// What a file of `--out` names as contributing factors.
pub(crate) fn factors(agent_output: impl AsRef<Path>) -> Vec<String> {
    let output = json_of(&read(agent_output));
    let entities = output["entities"].as_array().unwrap().iter();
    let factors = entities.filter(|entity| entity["contributing_factor"] == true);
    factors.map(|entity| entity["name"].as_str().unwrap().to_owned()).collect()
}

/// Copies a folder with everything in it.
pub(crate) fn copy_tree(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.as_ref().join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_tree(entry.path(), target),
            // A copy may be changed, whatever the rights of what it was copied from.
            false => std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}

/// Writes a bundle of entities with an alert each.
pub(crate) fn alerts_bundle(folder: &Path, name: &str, entities: &[&str], topology: &Value) {
    let mut manifest = json!({ "format": "eog-bundle", "version": 1, "name": name });
    if !topology.is_null() {
        manifest["topology"] = topology.clone();
    }
    let alert = |entity: &&str| {
        json!({ "name": "Errors", "entity": entity, "signal": "errors",
                "onset": "2026-01-01T10:05:00Z" })
    };
    let alerts: Vec<Value> = entities.iter().map(alert).collect();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("bundle.json"), manifest.to_string()).unwrap();
    std::fs::write(folder.join("alerts.json"), json!(alerts).to_string()).unwrap();
}

/// A real recording and its architecture, where there is one beside the checkout.
pub(crate) fn recording() -> Option<(PathBuf, PathBuf)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let found = (data.join("scenario-2-partial"), data.join("architecture.json"));
    if found.0.is_dir() && found.1.is_file() {
        return Some(found);
    }
    eprintln!("skipped: no recording at {}", data.display());
    None
}

/// Writes a script for the shell that can be executed, and gives it as the name of a policy.
#[cfg(unix)]
pub(crate) fn script(path: impl AsRef<Path>, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = path.as_ref();
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("command:{}", path.display())
}

/// Runs a line that starts with `eog`, as a shell does.
pub(crate) fn in_shell(line: &str, folder: &Path) -> Run {
    let rest = line.trim().strip_prefix("eog ").unwrap();
    let line = format!("'{}' {rest}", env!("CARGO_BIN_EXE_eog"));
    Run::of(Command::new("sh").arg("-c").arg(line).current_dir(folder))
}

/// A command in which files end after so many half kilobytes, as on a full disk.
pub(crate) fn on_small_disk(inner: &Command, blocks: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
    command.arg(inner.get_program()).args(inner.get_args());
    command
}

/// Starts a command whose output is read when it has ended.
pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn signal(name: &str, child: &Child) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Whether a process runs. One that has ended may wait for its parent.
pub(crate) fn runs(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    let state = String::from_utf8(state).unwrap();
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The number of lines of a file that may not be there yet.
pub(crate) fn lines(path: impl AsRef<Path>) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Sends a request as it stands, and gives the status and the whole answer.
pub(crate) fn http(address: &str, request: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    // A refusal may come before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    Some((answer.split(' ').nth(1)?.parse().ok()?, answer))
}

/// A request of HTTP/1.1 with these lines of headers, to be sent over a connection of its own.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let length = match method {
        "POST" => format!("Content-Length: {length}\r\n"),
        _ => String::new(),
    };
    format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}{length}\r\n{body}")
}

/// Sends a message of Protocol Buffers, which must be taken in.
pub(crate) fn post_protobuf(port: u16, path: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

/// What a scripted server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method and address.
    pub(crate) line: String,
    /// The lines of the headers, with their names in lower case.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The address without its query, and the query.
    pub(crate) fn address(&self) -> (&str, &str) {
        let address = self.line.split(' ').nth(1).unwrap_or_default();
        address.split_once('?').unwrap_or((address, ""))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let line =
            self.headers.iter().find_map(|line| line.split_once(':').filter(|it| it.0 == name));
        line.map_or("", |(_, value)| value.trim())
    }
}

/// Answers each request over HTTP with a status and a body, and gives its port.
pub(crate) fn answering(answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || while answer_one(&stream, &*answer).is_some() {});
        }
    });
    port
}

fn answer_one(mut stream: &TcpStream, answer: &dyn Fn(&Asked) -> (u16, String)) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    // Values keep their case: a signature depends on it.
    let name = |line: String| match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}", name.to_lowercase()),
        None => line,
    };
    let mut asked =
        Asked { line, headers: lines.into_iter().map(name).collect(), body: Vec::new() };
    asked.body = vec![0; asked.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut asked.body).ok()?;
    let (status, body) = answer(&asked);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}"
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).ok()
}
