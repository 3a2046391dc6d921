//! A server as a child process, one message a line.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use eog::processes::ProcessGroup;
use futures_util::StreamExt;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::codec::FramedRead;

use super::notes::Notes;
use super::servers::Launch;
use crate::lines::{Line, Lines, Writer};

/// How long a server that closed its output may take to end, so that its exit code can be reported.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a child gets of this process's environment: what programs need to run at all. Keys and
/// tokens are handed on by name alone, in the server's `env`.
const INHERITED: [&str; 18] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    // Windows
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
];

/// The pipes of a child process. The child and all that it started end with this.
pub(super) struct Pipes {
    output: FramedRead<ChildStdout, Lines>,
    max_line: usize,
    input: Writer<ChildStdin>,
    child: Child,
    _group: ProcessGroup,
    notes: Arc<Notes>,
}

/// A line so many times longer than the longest is not waited for.
const MAX_SKIPPED: usize = 16;

impl Pipes {
    /// Starts a server. Lines longer than `max_line` bytes are not kept.
    pub(super) fn start(launch: &Launch, max_line: usize, notes: &Arc<Notes>) -> io::Result<Self> {
        let mut command = Command::new(&launch.command);
        command.args(&launch.args).env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .envs(&launch.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(folder) = &launch.cwd {
            command.current_dir(folder);
        }
        let (mut child, group) = ProcessGroup::spawn(&mut command)?;
        let missing = || io::Error::other("a pipe is missing");
        let lines = Lines::new(max_line, max_line.saturating_mul(MAX_SKIPPED));
        let output = FramedRead::new(child.stdout.take().ok_or_else(missing)?, lines);
        let input = Writer::new(child.stdin.take().ok_or_else(missing)?);
        let errors = child.stderr.take().ok_or_else(missing)?;
        // Ends when nothing holds the pipe any more.
        tokio::spawn(listen(errors, Arc::clone(notes)));
        let notes = Arc::clone(notes);
        Ok(Self { output, max_line, input, child, _group: group, notes })
    }

    /// The next message, or nothing at the end.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let limit = self.max_line;
        loop {
            let why = match self.output.next().await? {
                Ok(Line::Whole(line)) => match self.read(&line) {
                    Some(message) => return Some(message),
                    None => continue,
                },
                Ok(Line::TooLong(long)) => match long.id() {
                    Some(id) => {
                        return Some(refusal(
                            id,
                            format!("its answer is longer than {limit} bytes"),
                        ));
                    }
                    None => format!("it wrote a line longer than {limit} bytes"),
                },
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    format!("it wrote a line far longer than {limit} bytes")
                }
                Err(error) => format!("reading its standard output failed: {error}"),
            };
            self.notes.ended(why);
            return None;
        }
    }

    /// Reads one line. What is no message is noted.
    fn read(&self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let error = match serde_json::from_slice(line) {
            Ok(message) => return Some(message),
            Err(error) => error,
        };
        // An answer in an unknown form ends its call, which would otherwise wait for its time-out.
        let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
        let answered = value
            .as_ref()
            .filter(|value| value.get("method").is_none())
            .and_then(|value| serde_json::from_value(value.get("id")?.clone()).ok());
        match answered {
            Some(id) => {
                Some(refusal(id, format!("its answer is not a valid MCP message: {error}")))
            }
            None => {
                self.notes.junk(line);
                None
            }
        }
    }

    /// Notes how the server ended, with all of its standard error.
    async fn last_words(&mut self) {
        let ended = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        self.notes.ended(match ended {
            Ok(Ok(status)) => format!("it exited ({status})"),
            Ok(Err(error)) => format!("waiting for its exit failed: {error}"),
            Err(_) => "it closed its standard output".to_owned(),
        });
        self.notes.silence().await;
    }
}

fn refusal(id: RequestId, reason: String) -> RxJsonRpcMessage<RoleClient> {
    JsonRpcMessage::error(ErrorData::internal_error(reason, None), Some(id))
}

async fn listen(mut errors: ChildStderr, notes: Arc<Notes>) {
    let mut buffer = [0; 1024];
    while let Ok(read) = errors.read(&mut buffer).await
        && read > 0
    {
        notes.stderr_read(buffer.get(..read).unwrap_or_default());
    }
    notes.stderr_ended();
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let input = self.input.clone();
        async move { input.send(&message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.next().await;
        if message.is_none() {
            self.last_words().await;
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        // A server ends when its input does. What is left is killed when this is dropped.
        self.input.close();
        let _ = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        Ok(())
    }
}
