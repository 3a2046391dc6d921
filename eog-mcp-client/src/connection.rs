//! One connection to a server, from its greeting to its end.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jsonschema::Validator;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientConfig, ClientRequest, ContentBlock, Implementation, JsonObject, ProtocolVersion,
    RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RoleClient, RunningService, ServiceError,
};
use serde_json::Value;

use super::error::{CallError, Cause};
use super::notes::Notes;
use super::offered::no_tool;
use super::servers::{Bounds, Protocol, Reach, Server};
use super::stdio::Pipes;
use super::web;

/// Most pages of a list of tools that are read.
const MAX_PAGES: usize = 100;

/// How much of what a server says of an error is kept, in characters.
const MAX_SAID: usize = 500;

/// Errors by which servers over HTTP say that they do not know a session.
const NO_SESSION: [i32; 2] = [-32000, -32001];

/// How much longer than its limit a call is waited for, so that the server is notified of the end.
const GRACE: Duration = Duration::from_secs(2);

/// A server that has greeted, and its tools.
pub(super) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    tools: BTreeMap<String, Tool>,
    notes: Arc<Notes>,
    has_stderr: bool,
}

/// A tool as its server describes it.
pub(super) struct Tool {
    pub(super) description: String,
    /// What it takes, as JSON schema.
    pub(super) input: Arc<JsonObject>,
    says_read_only: bool,
    output: Option<Result<Validator, String>>,
}

/// The tools whose answers are checked against their schemas.
#[derive(Clone, Debug)]
pub(super) enum Used {
    These(BTreeSet<String>),
    Any,
}

impl Used {
    fn holds(&self, tool: &str) -> bool {
        match self {
            Self::These(tools) => tools.contains(tool),
            Self::Any => true,
        }
    }
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolAnswer {
    pub(super) structured: Option<Value>,
    pub(super) text: String,
}

impl Connection {
    /// Connects, greets and lists tools. The schemas of the `used` ones are made ready.
    pub(super) async fn open(server: &Server, used: &Used) -> Result<Self, CallError> {
        let first_notes = Arc::new(Notes::default());
        let lifecycles = match server.protocol {
            Protocol::Either => vec![handshake(), stateless()],
            Protocol::Handshake => vec![handshake()],
            Protocol::Stateless => vec![stateless()],
        };
        let opened = tokio::time::timeout(server.startup, async {
            let mut first = None;
            for lifecycle in lifecycles {
                let notes = match &first {
                    None => Arc::clone(&first_notes),
                    Some(_) => Arc::default(),
                };
                match greet(server, lifecycle, &notes).await {
                    Ok(service) => return list(service, used, notes, server).await,
                    // Only a server that answered may speak the other generation.
                    Err(error) => {
                        let said_no = error.says_no;
                        first.get_or_insert(error);
                        if !said_no {
                            break;
                        }
                    }
                }
            }
            Err(first.map_or_else(String::new, |error| error.reason))
        });
        let (cause, reason) = match opened.await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(reason)) => (Cause::Lost, reason),
            Err(_) => {
                let seconds = server.startup.as_secs_f64();
                (Cause::TimedOut, format!("it was not ready within {seconds} s"))
            }
        };
        if matches!(server.reach, Reach::Process(_)) {
            first_notes.silence().await;
        }
        let what = match server.reach {
            Reach::Process(_) => "it could not be started",
            Reach::Http { .. } => "it could not be reached",
        };
        let message = explained(what, &reason, &first_notes);
        Err(CallError { cause, message })
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_gone(&self) -> bool {
        self.service.is_transport_closed() || self.notes.end().is_some()
    }

    /// The names of the tools that the server offers, in order.
    pub(super) fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// A tool as the server describes it, if it offers it.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Whether the server says of a tool that it only reads, if it offers it.
    pub(super) fn says_read_only(&self, tool: &str) -> Option<bool> {
        self.tools.get(tool).map(|tool| tool.says_read_only)
    }

    /// Calls a tool. Notifies the server when the answer is late or no longer wanted.
    pub(super) async fn call(
        self: &Arc<Self>,
        name: &str,
        arguments: JsonObject,
        bounds: Bounds,
    ) -> Result<ToolAnswer, CallError> {
        let Some(tool) = self.tools.get(name) else {
            let message = no_tool(name, self.tools());
            return Err(CallError { cause: Cause::Refused, message });
        };
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(
            CallToolRequestParams::new(name.to_owned()).with_arguments(arguments),
        ));
        let options = PeerRequestOptions::with_timeout(bounds.quiet)
            .reset_timeout_on_progress()
            .with_max_total_timeout(bounds.total);
        let asked = async {
            let handle = self.service.send_request_with_option(request, options).await?;
            let mut abandoned = Abandoned::new(self, handle.id.clone());
            let result = handle.await_response().await;
            abandoned.0 = None;
            result
        };
        // The library's own bounds need a server that reads; this one does not.
        let result = match tokio::time::timeout(bounds.total + GRACE, asked).await {
            Ok(result) => result,
            Err(_) => Err(ServiceError::Timeout { timeout: bounds.total }),
        };
        match result {
            Ok(ServerResult::CallToolResult(result)) => {
                read(tool, result).map_err(|reason| self.failed(Cause::Refused, &reason))
            }
            Ok(ServerResult::InputRequiredResult(_)) => {
                Err(self
                    .failed(Cause::Refused, "it asks for input from a person, and there is none"))
            }
            Ok(ServerResult::CreateTaskResult(_)) => {
                Err(self.failed(Cause::Refused, "it returned a task, which was not requested"))
            }
            Ok(_) => Err(self.failed(Cause::Refused, "unexpected response type")),
            Err(error) => {
                if let (ServiceError::TransportSend(_), true) = (&error, self.has_stderr) {
                    self.notes.silence().await;
                }
                Err(self.service_failed(&error, bounds))
            }
        }
    }

    fn service_failed(&self, error: &ServiceError, bounds: Bounds) -> CallError {
        match error {
            ServiceError::Timeout { timeout } => {
                let reason = if *timeout >= bounds.total {
                    format!("no answer within {} s", bounds.total.as_secs_f64())
                } else {
                    format!("no answer and no progress for {} s", timeout.as_secs_f64())
                };
                self.failed(Cause::TimedOut, &reason)
            }
            ServiceError::McpError(error) => {
                let said = eog_evidence::mask_text(&error.message);
                let said = eog_evidence::shorten(&said, MAX_SAID);
                let code = error.code.0;
                // With these, not only with HTTP 404, servers say that a session has expired.
                let may_be_session = !self.has_stderr && NO_SESSION.contains(&code);
                let cause = if may_be_session { Cause::Lost } else { Cause::Refused };
                self.failed(cause, &format!("it returned error {code}: {said}"))
            }
            ServiceError::UnexpectedResponse => {
                self.failed(Cause::Refused, "unexpected response type")
            }
            ServiceError::TransportSend(error) => {
                self.failed(Cause::Lost, &chain(error.error.as_ref()))
            }
            ServiceError::TransportClosed => {
                let why =
                    self.notes.end().unwrap_or_else(|| "the connection was closed".to_owned());
                self.failed(Cause::Lost, &why)
            }
            other => self.failed(Cause::Lost, &chain(other)),
        }
    }

    fn failed(&self, cause: Cause, reason: &str) -> CallError {
        CallError { cause, message: format!("{reason}{}", self.notes.for_failure()) }
    }
}

/// A pending request. Dropped before its answer, it notifies the server.
struct Abandoned(Option<(Arc<Connection>, RequestId)>);

impl Abandoned {
    fn new(connection: &Arc<Connection>, id: RequestId) -> Self {
        Self(Some((Arc::clone(connection), id)))
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some((connection, id)) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let reason = Some("the answer is no longer needed".to_owned());
                let note = CancelledNotificationParam::new(Some(id), reason);
                let peer: &Peer<RoleClient> = connection.service.peer();
                // A server that does not read is not waited for.
                let _ = tokio::time::timeout(GRACE, peer.notify_cancelled(note)).await;
            });
        }
    }
}

/// Why greeting failed.
struct Unwelcome {
    reason: String,
    /// The server is there, and said no.
    says_no: bool,
}

fn handshake() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn stateless() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::NO_INITIALIZE] }
}

async fn greet(
    server: &Server,
    lifecycle: ClientLifecycleMode,
    notes: &Arc<Notes>,
) -> Result<RunningService<RoleClient, ClientConfig>, Unwelcome> {
    let unusable = |reason: String| Unwelcome { reason, says_no: false };
    let mut config = ClientConfig::default();
    config.client_info = Implementation::new("eog", env!("CARGO_PKG_VERSION"));
    config.protocol_version = match lifecycle {
        ClientLifecycleMode::Initialize => ProtocolVersion::LATEST_WITH_INITIALIZE,
        _ => ProtocolVersion::LATEST,
    };
    let greeted = match &server.reach {
        Reach::Process(launch) => {
            let pipes = Pipes::start(launch, server.max_answer, notes)
                .map_err(|error| unusable(format!("{}: {error}", launch.command)))?;
            config.serve_with_lifecycle(pipes, lifecycle).await
        }
        Reach::Http { url, headers } => {
            let transport =
                web::transport(url, headers, server.max_answer, notes).map_err(unusable)?;
            config.serve_with_lifecycle(transport, lifecycle).await
        }
    };
    greeted.map_err(|error| {
        let says_no = matches!(
            error,
            ClientInitializeError::JsonRpcError(_)
                | ClientInitializeError::ExpectedInitResult(_)
                | ClientInitializeError::NoCompatibleProtocolVersion { .. }
                | ClientInitializeError::TransportError { .. }
        );
        Unwelcome { reason: eog_evidence::shorten(&chain(&error), MAX_SAID), says_no }
    })
}

async fn list(
    service: RunningService<RoleClient, ClientConfig>,
    used: &Used,
    notes: Arc<Notes>,
    server: &Server,
) -> Result<Connection, String> {
    let has_stderr = matches!(server.reach, Reach::Process(_));
    let mut tools = BTreeMap::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut page = rmcp::model::PaginatedRequestParams::default();
        page.cursor = cursor;
        let listed = service
            .list_tools(Some(page))
            .await
            .map_err(|error| format!("its tools could not be listed: {}", chain(&error)))?;
        for tool in listed.tools {
            let annotations = tool.annotations.as_ref();
            let says_read_only = annotations.and_then(|hints| hints.read_only_hint) == Some(true);
            let schema = tool.output_schema.filter(|_| used.holds(&tool.name));
            let output = schema.map(|schema| validator(&Value::Object(schema.as_ref().clone())));
            let description = tool.description.map(Cow::into_owned).unwrap_or_default();
            let input = tool.input_schema;
            let listed_tool = Tool { description, input, says_read_only, output };
            tools.insert(tool.name.into_owned(), listed_tool);
        }
        cursor = listed.next_cursor;
        if cursor.is_none() {
            return Ok(Connection { service, tools, notes, has_stderr });
        }
    }
    Err(format!("its list of tools has more than {MAX_PAGES} pages"))
}

/// Patterns of a schema come from the server: only those are allowed whose time is bounded.
pub(super) fn validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| {
            let error = eog_evidence::shorten(&error.to_string(), MAX_SAID);
            format!("its output schema cannot be used: {error}")
        })
}

/// Checks an answer and takes what can be mapped.
fn read(tool: &Tool, result: CallToolResult) -> Result<ToolAnswer, String> {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        return Err(format!(
            "the tool reported an error: {}",
            eog_evidence::shorten(&eog_evidence::mask_text(&text), MAX_SAID)
        ));
    }
    if let Some(output) = &tool.output {
        let output = output.as_ref().map_err(Clone::clone)?;
        let Some(structured) = &result.structured_content else {
            return Err(
                "its answer lacks the structured content that its output schema requires".into()
            );
        };
        if let Err(error) = output.validate(structured) {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "its root".to_owned() } else { place };
            let error = eog_evidence::shorten(&error.masked().to_string(), MAX_SAID);
            return Err(format!(
                "its answer does not match its own output schema at {place}: {error}"
            ));
        }
    }
    Ok(ToolAnswer { structured: result.structured_content, text })
}

/// A reason with what the server said beside it.
fn explained(what: &str, reason: &str, notes: &Notes) -> String {
    let end = notes.end().map(|end| format!(" ({end})")).unwrap_or_default();
    format!("{what}: {reason}{end}{}", notes.for_failure())
}

/// An error with its causes, without secrets: its text may come from a server.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    eog_evidence::mask_text(&text)
}
