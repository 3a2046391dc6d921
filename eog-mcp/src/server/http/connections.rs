//! Connections: how many there are at once, how long a head may take, how long an answer may stay unread and
//! how much of all answers, and how they end.
//!
//! `axum::serve` has none of these bounds, and leaves them to the library below it, as here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_io_timeout::TimeoutStream;
use tokio_util::io::InspectWriter;
use tokio_util::sync::CancellationToken;

use super::settings::HttpSettings;
use super::unread::Unread;

/// Connections that were accepted.
pub(super) struct Connections {
    open: GracefulShutdown,
    /// Ends them, whatever they are doing.
    cut: CancellationToken,
}

impl Connections {
    /// Accepts connections until `stop` resolves, and lets these routes answer. Then nobody listens
    /// any more; what is open goes on.
    pub(super) async fn accept(
        listener: TcpListener,
        routes: &Router,
        settings: &HttpSettings,
        stop: impl Future<Output = ()>,
    ) -> Self {
        let all = Self { open: GracefulShutdown::new(), cut: CancellationToken::new() };
        let room = Arc::new(Semaphore::new(settings.max_connections));
        let unread = Unread::new(settings.max_unread_bytes);
        let silent = Silent::default();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(settings.head_time);
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, room) = tokio::select! {
                () = &mut stop => return all,
                accepted = next(&listener, &room, &silent) => accepted,
            };
            let cut = all.cut.child_token();
            let heard = silent.add(cut.clone());
            let answer = TowerToHyperService::new(routes.clone());
            let reader = unread.reader(cut.clone());
            let takes = reader.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                heard.remove();
                let (answer, reader) = (answer.call(request), reader.clone());
                async move {
                    let answer = answer.await?;
                    Ok::<_, std::convert::Infallible>(answer.map(|body: Body| reader.count(body)))
                }
            });
            let mut stream =
                TimeoutStream::new(InspectWriter::new(stream, move |_: &[u8]| takes.takes()));
            // Counted only while there is something to send.
            stream.set_write_timeout(Some(settings.write_time));
            let stream = TokioIo::new(Box::pin(stream));
            let connection = all.open.watch(http.serve_connection(stream, answer));
            tokio::spawn(async move {
                let _room = room;
                // How a client breaks off is its own affair.
                let _ = cut.run_until_cancelled(connection).await;
            });
        }
    }

    /// Lets what is open end, at the latest at this time.
    pub(super) async fn end(self, by: Instant) {
        let _ = timeout_at(by, self.open.shutdown()).await;
        self.cut.cancel();
    }
}

/// Connections on which no request has come yet, in the order in which they were made. Whoever says nothing must not
/// be in the way of others.
#[derive(Clone, Default)]
struct Silent(Arc<Mutex<(u64, BTreeMap<u64, CancellationToken>)>>);

/// The place of a connection among those. It is given up with the first request, and with the connection.
struct Place {
    silent: Silent,
    number: u64,
}

impl Silent {
    fn add(&self, cut: CancellationToken) -> Place {
        let (count, all) = &mut *self.lock();
        *count += 1;
        all.insert(*count, cut);
        Place { silent: self.clone(), number: *count }
    }

    /// Cuts the one that has said nothing for longest, if there is one.
    fn cut_first(&self) {
        if let Some((_, cut)) = self.lock().1.pop_first() {
            cut.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, CancellationToken>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn remove(&self) {
        self.silent.lock().1.remove(&self.number);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The next connection, once there is room for it, which one that has said nothing yet makes. A connection that breaks off at once, or a lack
/// of descriptors that passes, is not the end of a server.
async fn next(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    silent: &Silent,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                if let Ok(room) = room.clone().try_acquire_owned() {
                    return (stream, Some(room));
                }
                silent.cut_first();
                return (stream, room.clone().acquire_owned().await.ok());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
