//! A client on standard input and output, or on any pair of streams.

use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use rmcp::model::ErrorData;
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use tokio_util::codec::FramedRead;

use super::message::{self, Refused, refused};
use super::open::Open;
use super::{LAST, ServeError, Server};
use eog_mcp_client::lines::{Line, Lines, Writer};

/// Longest message of a client, in bytes.
const MAX_LINE: usize = 1 << 20;

/// A client that sent so much that is no message is not one of MCP.
const MAX_UNREADABLE: u32 = 100;

impl Server {
    /// Serves one client on standard input and output, until it disconnects or `stop` resolves.
    ///
    /// It returns within 5 seconds of `stop`; when the client disconnects, answers that are under way get
    /// up to 5 seconds more. What was running is cancelled and can be resumed from its journal. Nothing
    /// runs any more then, except work that takes longer and cannot be cancelled, such as reading a
    /// large bundle.
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
        let mut by = None;
        let stop = async {
            stop.await;
            by = Some(Instant::now() + LAST);
        };
        let result = self.session(read, write, stop).await;
        self.close_by(by.unwrap_or_else(|| Instant::now() + LAST)).await;
        result
    }

    /// Serves one of several clients on any pair of streams, until it disconnects, `stop` resolves or the server is
    /// [closed](Server::close), which is left to the caller.
    ///
    /// It returns within 5 seconds of `stop`; when the client disconnects, answers that are under way get
    /// up to 5 seconds. Then its calls are cancelled, and their investigations can be resumed from their
    /// journals. Other clients notice nothing, and tasks go on, as they do over HTTP.
    ///
    /// # Errors
    /// As for [`Server::stdio`].
    pub async fn session<R, W>(
        &self,
        read: R,
        write: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let pipes = Pipes::new(read, write);
        let ended = self.0.stop.child_token();
        let service = serve_server_with_ct(self.clone(), pipes, ended.clone());
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
        tokio::select! {
            result = &mut served => result,
            () = stop => {
                ended.cancel();
                // A client that does not read is not waited for any longer.
                timeout(LAST, served).await.unwrap_or(Ok(()))
            }
        }
    }
}

/// Messages as lines. A line that is no message gets an error instead of silence.
struct Pipes<R, W> {
    read: FramedRead<R, Lines>,
    unreadable: u32,
    write: Writer<W>,
    open: Arc<Open>,
    /// A request that there is no room for yet.
    next: Option<RxJsonRpcMessage<RoleServer>>,
}

/// The message of a line.
fn read(line: Line) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refused> {
    match line {
        Line::Whole(line) if line.trim_ascii().is_empty() => Ok(None),
        Line::Whole(line) => message::read(&line),
        Line::TooLong(_) => {
            let message =
                format!("the message is longer than {MAX_LINE} bytes; send a shorter one");
            Err(refused(ErrorData::invalid_request(message, None), None))
        }
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Pipes<R, W> {
    fn new(read: R, write: W) -> Self {
        let read = FramedRead::new(read, Lines::new(MAX_LINE, usize::MAX));
        Self { read, unreadable: 0, write: Writer::new(write), open: Arc::default(), next: None }
    }

    /// The next message that there is room for, nothing for one to be passed over, or the answer that says
    /// what is wrong with it. May be dropped at any time.
    async fn ask(&mut self) -> Option<Result<Option<RxJsonRpcMessage<RoleServer>>, Refused>> {
        if self.next.is_none() {
            match read(self.read.next().await?.ok()?) {
                Ok(None) => return Some(Ok(None)),
                Ok(Some(message)) => self.next = Some(message),
                Err(complaint) => return Some(Err(complaint)),
            }
        }
        let room = match &self.next {
            Some(message) if Open::takes_room(message) => Some(self.open.room().await),
            _ => None,
        };
        let message = self.next.take()?;
        Some(self.open.take(message, room).map(Some))
    }

    /// Sends an error. On its own, since the wait for a message may end at any time.
    fn complain(&mut self, complaint: Refused) {
        self.unreadable += 1;
        let write = self.write.clone();
        tokio::spawn(async move { write.send(&complaint).await });
    }
}

impl<R, W> Transport<RoleServer> for Pipes<R, W>
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
        // Kept until the client has read it: answers that are not read take up room, too.
        let place = self.open.answered(&message);
        async move {
            let sent = write.send(&message).await;
            drop(place);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.unreadable < MAX_UNREADABLE {
            // Answers are sent while this waits for messages. Those that are ready go first, so that they cannot
            // pile up before they are counted.
            yield_now().await;
            let complaint = match self.ask().await? {
                Ok(None) => continue,
                Ok(Some(message)) => return Some(message),
                Err(complaint) => complaint,
            };
            self.complain(complaint);
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.close();
        Ok(())
    }
}
