//! A server as a child process, one message a line.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use eog::processes::ProcessGroup;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use super::notes::Notes;
use super::servers::Launch;

/// How long a server that closed its output may take to end, so that its code can be told.
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
    output: BufReader<ChildStdout>,
    /// The line that is being read. Kept here, since `receive` can be dropped half-way.
    line: Vec<u8>,
    /// The end of a line that is too long, while the rest of it is passed over.
    skipped: Option<Skipped>,
    max_line: usize,
    input: Arc<Mutex<Option<ChildStdin>>>,
    child: Child,
    _group: ProcessGroup,
    notes: Arc<Notes>,
}

/// A line that is too long to keep.
struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: usize,
}

/// A line so many times longer than the longest is not waited for.
const MAX_SKIPPED: usize = 16;

/// How much of either end of a line that is too long is looked at.
const LOOKED_AT: usize = 512;

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
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let errors = child.stderr.take().ok_or_else(missing)?;
        // Ends when nothing holds the pipe any more.
        tokio::spawn(listen(errors, Arc::clone(notes)));
        let notes = Arc::clone(notes);
        let (line, skipped) = (Vec::new(), None);
        Ok(Self { output, line, skipped, max_line, input, child, _group: group, notes })
    }

    /// The next message, or nothing at the end.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let available = match self.output.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                Ok(_) => return None,
                Err(error) => {
                    self.notes.ended(format!("its standard output broke: {error}"));
                    return None;
                }
            };
            let newline = available.iter().position(|byte| *byte == b'\n');
            let piece = available.get(..newline.unwrap_or(available.len())).unwrap_or_default();
            match &mut self.skipped {
                Some(skipped) => skipped.push(piece),
                None if self.line.len() + piece.len() > self.max_line => {
                    self.line.extend_from_slice(piece);
                    self.skipped = Some(Skipped::new(std::mem::take(&mut self.line)));
                }
                None => self.line.extend_from_slice(piece),
            }
            let used = newline.map_or(available.len(), |at| at + 1);
            self.output.consume(used);
            if let Some(skipped) = &self.skipped {
                let limit = self.max_line;
                if skipped.bytes > limit.saturating_mul(MAX_SKIPPED) {
                    self.notes.ended(format!("it wrote a line far longer than {limit} bytes"));
                    return None;
                }
                if newline.is_none() {
                    continue;
                }
                let Some(id) = skipped.id() else {
                    self.notes.ended(format!("it wrote a line longer than {limit} bytes"));
                    return None;
                };
                self.skipped = None;
                return Some(refusal(id, format!("its answer is longer than {limit} bytes")));
            }
            if newline.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(message) = self.read(&line) {
                return Some(message);
            }
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
        // An answer in a form that nobody knows ends its call, which would wait in vain.
        let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
        let answered = value
            .as_ref()
            .filter(|value| value.get("method").is_none())
            .and_then(|value| serde_json::from_value(value.get("id")?.clone()).ok());
        match answered {
            Some(id) => Some(refusal(id, format!("its answer is no message of MCP: {error}"))),
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
            Ok(Ok(status)) => format!("it ended ({status})"),
            Ok(Err(error)) => format!("it ended: {error}"),
            Err(_) => "it closed its standard output".to_owned(),
        });
        self.notes.silence().await;
    }
}

impl Skipped {
    fn new(mut line: Vec<u8>) -> Self {
        let bytes = line.len();
        let tail = line.split_off(line.len().saturating_sub(LOOKED_AT));
        let head = if line.is_empty() { tail.clone() } else { line };
        let mut skipped = Self { head, tail, bytes };
        skipped.head.truncate(LOOKED_AT);
        skipped
    }

    fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let piece = piece.get(piece.len().saturating_sub(LOOKED_AT)..).unwrap_or_default();
        self.tail.extend_from_slice(piece);
        let excess = self.tail.len().saturating_sub(LOOKED_AT);
        self.tail.drain(..excess);
    }

    /// The id of the answer, which libraries write at its very beginning or its very end.
    fn id(&self) -> Option<RequestId> {
        let (head, tail) =
            (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        let first = head.trim_start().strip_prefix('{').and_then(leading_id);
        let last = || {
            let inner = tail.trim_end().strip_suffix('}')?;
            let at = inner.rfind("\"id\"").filter(|at| inner.len() - at < 40)?;
            leading_id(inner.get(at..)?)
        };
        first.or_else(last).map(RequestId::Number)
    }
}

/// The number after `"id":` when nothing but the version stands before it.
fn leading_id(text: &str) -> Option<i64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.strip_prefix("\"jsonrpc\":\"2.0\",").unwrap_or(&text);
    let digits = text.strip_prefix("\"id\":")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    (rest.is_empty() || rest.starts_with(',')).then(|| digits.parse().ok())?
}

fn refusal(id: RequestId, reason: String) -> RxJsonRpcMessage<RoleClient> {
    JsonRpcMessage::error(ErrorData::internal_error(reason, None), Some(id))
}

async fn listen(mut errors: ChildStderr, notes: Arc<Notes>) {
    let mut buffer = [0; 1024];
    while let Ok(read) = errors.read(&mut buffer).await
        && read > 0
    {
        notes.heard(buffer.get(..read).unwrap_or_default());
    }
    notes.heard_all();
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let pipe = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            pipe.write_all(&line).await?;
            pipe.flush().await
        }
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
        if let Ok(mut input) = self.input.try_lock() {
            drop(input.take());
        }
        let _ = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(line: &str) -> Option<RequestId> {
        let bytes = line.as_bytes();
        let (head, rest) = bytes.split_at(bytes.len().min(600));
        let mut skipped = Skipped::new(head.to_vec());
        for piece in rest.chunks(100) {
            skipped.push(piece);
        }
        skipped.id()
    }

    #[test]
    fn the_id_of_a_long_answer_is_found_where_libraries_write_it() {
        let long = "x".repeat(3000);
        let found = Some(RequestId::Number(17));
        assert_eq!(
            id_of(&format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"a":"{long}"}}}}"#)),
            found
        );
        assert_eq!(
            id_of(&format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":17}}"#)),
            found
        );
        assert_eq!(id_of(&format!(r#"{{ "jsonrpc": "2.0", "id": 17, "r": "{long}" }}"#)), found);
        // Deeper ids, and ids that are no numbers, are none.
        assert_eq!(id_of(&format!(r#"{{"jsonrpc":"2.0","r":"{long}","x":{{"id":17}}}}"#)), None);
        assert_eq!(id_of(&long), None);
    }
}
