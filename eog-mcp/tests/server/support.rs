//! An incident, a policy that can be held, and clients.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure, Label};
use eog_mcp::server::{Alone, ForRun, Judge, JudgeError, Policies, Server, Settings};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::{ServiceExt, model::JsonObject};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// Longest time that anything in a test may take, on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Roots with one incident in them, called `incident`, and a state folder.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_incident(&folder.path().join("roots/incident"));
        Self { folder }
    }

    pub(crate) fn settings(&self) -> Settings {
        let path = self.folder.path();
        let mut settings = Settings::new(vec![path.join("roots")], path.join("state"));
        settings.max_running = 2.try_into().unwrap();
        settings.toolset = eog_mcp::server::Toolset::Full;
        settings
    }

    pub(crate) fn server(&self, policies: &Held) -> Server {
        open(self.settings(), policies)
    }

    /// The files of an investigation.
    pub(crate) fn stored(&self, id: &str) -> std::path::PathBuf {
        self.folder.path().join("state").join(id)
    }
}

pub(crate) fn open(settings: Settings, policies: &Held) -> Server {
    Server::open(settings, Arc::new(policies.clone())).unwrap()
}

/// How many evaluations the incident takes without operator input: three entities, and each twice again before the
/// end, since nothing explains its alert.
pub(crate) const EVALUATIONS: usize = 9;

/// Three entities without any edge, each with an alert of its own.
fn write_incident(folder: &Path) {
    let entities = ["one", "three", "two"];
    let manifest = json!({"format": "eog-bundle", "version": 1, "name": "three alerts",
        "topology": {"entities": entities, "edges": []}});
    let alerts = entities.map(|entity| {
        json!({"name": "ErrorRate", "entity": entity, "signal": "errors",
            "onset": "2026-01-01T10:00:00Z"})
    });
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("bundle.json"), manifest.to_string()).unwrap();
    std::fs::write(folder.join("alerts.json"), json!(alerts).to_string()).unwrap();
}

/// A policy that puts everything off unless a person has said something, and that makes only as
/// many decisions as it is allowed to.
#[derive(Clone)]
pub(crate) struct Held {
    allowed: Arc<Semaphore>,
    /// Decisions that were asked for, and those that are waited for at this moment.
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) waiting: Arc<AtomicUsize>,
}

impl Held {
    pub(crate) fn allowing(decisions: usize) -> Self {
        let (asked, waiting) = (Arc::default(), Arc::default());
        Self { allowed: Arc::new(Semaphore::new(decisions)), asked, waiting }
    }

    /// One that never waits.
    pub(crate) fn free() -> Self {
        Self::allowing(Semaphore::MAX_PERMITS)
    }

    pub(crate) fn allow(&self, decisions: usize) {
        self.allowed.add_permits(decisions);
    }

    /// Waits until so many decisions are waited for.
    pub(crate) async fn until_waiting(&self, decisions: usize) {
        until(|| self.waiting.load(Ordering::SeqCst) == decisions).await;
    }
}

/// Waits until something holds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("it comes to hold");
}

impl Policies for Held {
    fn name(&self) -> String {
        "held".to_owned()
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(Alone(self.clone())))
    }
}

/// Counts one that waits, until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl AbductivePolicy for Held {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let waits = Counted(&self.waiting);
            self.allowed.acquire().await.unwrap().forget();
            drop(waits);
            let said = packet
                .context
                .findings
                .iter()
                .find(|finding| matches!(finding.source.as_str(), "person" | "remark"));
            Ok(match said {
                Some(said) => {
                    Decision::new(Label::Healthy, format!("said: {}", said.excerpt)).citing([said])
                }
                None => Decision::new(Label::Defer, "nothing is known"),
            }
            .into())
        })
    }
}

/// A client on a pair of pipes, and the task that serves it.
pub(crate) async fn connect<H: ClientHandler>(
    server: &Server,
    handler: H,
) -> (RunningService<RoleClient, H>, tokio::task::JoinHandle<()>) {
    let (theirs, serving) = serve(server);
    (handler.serve(theirs).await.unwrap(), serving)
}

/// The client's end of a pair of pipes, and the task that serves it.
pub(crate) fn serve(server: &Server) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(ours);
    let server = server.clone();
    let serving = tokio::spawn(async move {
        server.streams(read, write, std::future::pending()).await.unwrap();
    });
    (theirs, serving)
}

pub(crate) fn client() -> ClientConfig {
    ClientConfig::default()
}

#[expect(clippy::needless_pass_by_value, reason = "tests write the arguments where they call")]
pub(crate) fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(object(&arguments))
}

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

pub(crate) fn incident() -> Value {
    json!({"path": "incident"})
}

/// The structured content of a result that is none of an error.
pub(crate) fn content(result: Result<CallToolResult, ServiceError>) -> Value {
    let result = result.unwrap();
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    result.structured_content.unwrap()
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| &*text.text).collect()
}
