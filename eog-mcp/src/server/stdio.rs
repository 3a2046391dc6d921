//! One client on standard input and output.

use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorData, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::message::{self, Refused, refused};
use super::{LAST, ServeError, Server};

/// Longest message of a client, in bytes.
const MAX_LINE: usize = 1 << 20;

/// A client that sent so much that is no message is not one of MCP.
const MAX_UNREADABLE: u32 = 100;

impl Server {
    /// Serves one client on standard input and output, until it goes or `stop` resolves.
    ///
    /// The server ends with it, within 5 seconds: what ran is cancelled, and can be resumed from its
    /// journal. When this returns nothing works for anybody any more, but for what takes longer than
    /// that and cannot be cancelled, such as reading a large folder.
    ///
    /// # Errors
    /// [`ServeError::Handshake`] when the other end does not speak MCP.
    pub async fn stdio(&self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let (read, write) = rmcp::transport::stdio_pipes();
        self.streams(read, write, stop).await
    }

    /// The same on any pair of streams.
    ///
    /// # Errors
    /// As for [`Server::stdio`].
    pub async fn streams<R, W>(
        &self,
        read: R,
        write: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let lines = Lines::new(read, write);
        let ended = self.0.stop.child_token();
        let service = serve_server_with_ct(self.clone(), lines, ended.clone());
        let served = async {
            match service.await {
                Ok(running) => running.waiting().await.map_err(io::Error::other).map(drop)?,
                // A client that goes before it has said anything is no error.
                Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
                Err(rmcp::service::ServerInitializeError::Cancelled) => {}
                Err(error) => return Err(ServeError::Handshake(error.to_string())),
            }
            Ok(())
        };
        let mut served = std::pin::pin!(served);
        let (result, by) = tokio::select! {
            result = &mut served => (result, Instant::now() + LAST),
            () = stop => {
                let by = Instant::now() + LAST;
                ended.cancel();
                // A client that does not read is not waited for any longer.
                (timeout_at(by, served).await.unwrap_or(Ok(())), by)
            }
        };
        self.close(by).await;
        result
    }
}

/// Messages as lines. A line that is no message gets an error instead of silence.
struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being passed over.
    is_passing: bool,
    unreadable: u32,
    write: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            is_passing: false,
            unreadable: 0,
            write: Arc::new(Mutex::new(Some(write))),
        }
    }

    /// The next line, in `self.line`. What was read stays when the future is dropped.
    async fn next_line(&mut self) -> io::Result<Line> {
        loop {
            let buffer = self.read.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(Line::End);
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(buffer.len(), |end| end + 1);
            if !self.is_passing {
                let room = (MAX_LINE + 1).saturating_sub(self.line.len());
                self.line.extend_from_slice(&buffer[..taken.min(room)]);
            }
            self.read.consume(taken);
            let is_long = self.line.len() > MAX_LINE;
            if is_long {
                self.is_passing = true;
                self.line.clear();
            }
            if end.is_some() {
                return Ok(if std::mem::take(&mut self.is_passing) {
                    Line::TooLong
                } else {
                    Line::Whole
                });
            }
        }
    }

    /// Sends an error. On its own, since whoever waits for a message may stop waiting at any time,
    /// and half a line would spoil the next.
    fn complain(&mut self, complaint: Refused) {
        self.unreadable += 1;
        let write = self.write.clone();
        tokio::spawn(async move { send_line(&write, &complaint).await });
    }
}

/// What was read.
enum Line {
    Whole,
    TooLong,
    End,
}

async fn send_line<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = self.write.clone();
        async move { send_line(&write, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.unreadable >= MAX_UNREADABLE {
                return None;
            }
            let complaint = match self.next_line().await {
                Ok(Line::Whole) => {
                    if self.line.trim_ascii().is_empty() {
                        self.line.clear();
                        continue;
                    }
                    let read = message::read(&self.line);
                    self.line.clear();
                    match read {
                        Ok(Some(message)) => return Some(message),
                        Ok(None) => continue,
                        Err(complaint) => complaint,
                    }
                }
                Ok(Line::TooLong) => refused(
                    ErrorData::invalid_request(
                        format!("the message is longer than {MAX_LINE} bytes; send a shorter one"),
                        None,
                    ),
                    None,
                ),
                Ok(Line::End) | Err(_) => return None,
            };
            self.complain(complaint);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever has it writes to a client that does not read, and would be waited for in vain.
        if let Ok(mut write) = self.write.try_lock() {
            write.take();
        }
        Ok(())
    }
}
