//! A server under its name: connected when it is needed, and again when it died.

use std::sync::Arc;

use rmcp::model::JsonObject;
use tokio::sync::Mutex;

use super::connection::{Connection, ToolAnswer, Used};
use super::error::{CallError, Cause};
use super::servers::Server;

/// A server and its present connection.
pub(super) struct Remote {
    pub(super) name: String,
    server: Server,
    /// The tools that the configuration calls.
    used: Used,
    slot: Mutex<Option<Arc<Connection>>>,
}

impl Remote {
    pub(super) fn new(name: String, server: Server, used: Used) -> Self {
        Self { name, server, used, slot: Mutex::new(None) }
    }

    /// Calls a tool. One that only reads is asked once more, of a new connection, when the
    /// connection was lost; any other never.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: &JsonObject,
    ) -> Result<ToolAnswer, CallError> {
        let lost = match self.ask(tool, arguments).await {
            Err(Attempt { error, reads: true }) if error.cause == Cause::Lost => error,
            other => return other.map_err(|attempt| self.named(tool, attempt.error)),
        };
        self.ask(tool, arguments).await.map_err(|attempt| {
            let message =
                format!("{}; the first attempt failed: {}", attempt.error.message, lost.message);
            self.named(tool, CallError { message, ..attempt.error })
        })
    }

    /// Whether a tool was declared to read only, if anything was declared.
    pub(super) fn declared_read_only(&self, tool: &str) -> Option<bool> {
        self.server.read_only(tool)
    }

    /// Connects, if there is no connection.
    pub(super) async fn connect(&self) -> Result<Arc<Connection>, CallError> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_gone()) {
            return Ok(Arc::clone(connection));
        }
        *slot = None;
        let connection = Arc::new(Connection::open(&self.server, &self.used).await?);
        *slot = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn ask(&self, tool: &str, arguments: &JsonObject) -> Result<ToolAnswer, Attempt> {
        let connection = self.connect().await.map_err(|error| Attempt { error, reads: false })?;
        let reads = self.server.read_only(tool).or_else(|| connection.says_read_only(tool));
        let bounds = self.server.bounds(tool);
        let answer = connection.call(tool, arguments.clone(), bounds).await;
        if let Err(CallError { cause: Cause::Lost | Cause::TimedOut, .. }) = &answer {
            // One that was late may be stuck. Calls that still run on it keep it.
            self.forget(&connection).await;
        }
        answer.map_err(|error| Attempt { error, reads: reads == Some(true) })
    }

    async fn forget(&self, connection: &Arc<Connection>) {
        let mut slot = self.slot.lock().await;
        if slot.as_ref().is_some_and(|present| Arc::ptr_eq(present, connection)) {
            *slot = None;
        }
    }

    fn named(&self, tool: &str, mut error: CallError) -> CallError {
        error.message = format!("server {}, tool {tool}: {}", self.name, error.message);
        error
    }
}

/// A call that failed, and whether it may be made again.
struct Attempt {
    error: CallError,
    reads: bool,
}
