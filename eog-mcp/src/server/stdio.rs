//! One client on standard input and output.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::codec::FramedRead;

use super::message::{self, Refused, refused};
use super::{LAST, ServeError, Server};
use eog_mcp_client::lines::{Line, Lines, Writer};

/// Longest message of a client, in bytes.
const MAX_LINE: usize = 1 << 20;

/// Most requests that are not answered yet. What comes after them is not read: its client waits, not
/// this server's memory.
const MAX_OPEN: usize = 64;

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
struct Pipes<R, W> {
    read: FramedRead<R, Lines>,
    unreadable: u32,
    write: Writer<W>,
    open: Arc<Open>,
}

/// The requests that are not answered yet.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once there is room for one more.
    async fn room(&self) {
        loop {
            let answered = self.answered.notified();
            if self.ids().len() < MAX_OPEN {
                return;
            }
            answered.await;
        }
    }

    fn begin(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => drop(self.ids().insert(request.id.clone())),
            // What is cancelled may not be answered.
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.end(id);
                }
            }
            _ => {}
        }
    }

    fn end(&self, id: &RequestId) {
        self.ids().remove(id);
        self.answered.notify_one();
    }
}

/// The request that a message answers.
fn answered(message: &TxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    }
}

impl<R: AsyncRead, W: AsyncWrite + Send + Unpin + 'static> Pipes<R, W> {
    fn new(read: R, write: W) -> Self {
        let read = FramedRead::new(read, Lines::new(MAX_LINE, usize::MAX));
        Self { read, unreadable: 0, write: Writer::new(write), open: Arc::default() }
    }

    /// Sends an error. On its own, since whoever waits for a message may stop waiting at any time.
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
        let (write, open) = (self.write.clone(), self.open.clone());
        async move {
            let sent = write.send(&message).await;
            if let Some(id) = answered(&message) {
                open.end(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.unreadable < MAX_UNREADABLE {
            self.open.room().await;
            let complaint = match self.read.next().await?.ok()? {
                Line::Whole(line) if line.trim_ascii().is_empty() => continue,
                Line::Whole(line) => match message::read(&line) {
                    Ok(Some(message)) => {
                        self.open.begin(&message);
                        return Some(message);
                    }
                    Ok(None) => continue,
                    Err(complaint) => complaint,
                },
                Line::TooLong(_) => refused(
                    ErrorData::invalid_request(
                        format!("the message is longer than {MAX_LINE} bytes; send a shorter one"),
                        None,
                    ),
                    None,
                ),
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
