//! Connections: how many there are at once, how long a head may take, how long an answer may stay unread and
//! how much of all answers, who makes room when there are too many, and how they end.
//!
//! `axum::serve` has none of these bounds, and leaves them to the library below it, as here.

use std::collections::BTreeMap;
use std::convert::Infallible;
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

use super::seen::{Observer, seen};
use super::settings::HttpSettings;
use super::unread::Unread;

/// How many connections there may be beyond the bound, on which only signs of life are answered.
const RESERVE: usize = 16;

/// How long a connection is kept for a client at least, also when others need its place: the request of an honest client
/// follows its connection at once.
const LEAST: Duration = Duration::from_millis(100);

/// Connections that were accepted.
pub(super) struct Connections {
    open: GracefulShutdown,
    /// Ends them, whatever they are doing.
    cut: CancellationToken,
}

/// Connections that share a bound on their number and on their unread answers.
struct Pool {
    routes: TowerToHyperService<Router>,
    http: http1::Builder,
    room: Arc<Semaphore>,
    waiting: Waiting,
    unread: Arc<Unread>,
}

impl Connections {
    /// Accepts connections until `stop` resolves, and lets these routes answer, or where there are too many
    /// connections those of the reserve. Then it stops listening; open connections go on.
    pub(super) async fn accept(
        listener: TcpListener,
        routes: Router,
        reserve: Router,
        settings: &HttpSettings,
        stop: impl Future<Output = ()>,
    ) -> Self {
        let all = Self { open: GracefulShutdown::new(), cut: CancellationToken::new() };
        let pools = [
            Pool::new(routes, settings.max_connections, true, settings),
            // Without further requests: there may be room for the client when it comes back.
            Pool::new(reserve, RESERVE, false, settings),
        ];
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, pool, room) = tokio::select! {
                () = &mut stop => return all,
                accepted = next(&listener, &pools) => accepted,
            };
            let cut = all.cut.child_token();
            let turn = Arc::new(pool.waiting.add(cut.clone()));
            let routes = pool.routes.clone();
            let reader = pool.unread.reader(cut.clone());
            let takes = reader.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let request = request.map(|body| seen(Body::new(body), Asked(turn.clone())));
                let answer = routes.call(request);
                let (answered, reader) = (Answered(turn.clone()), reader.clone());
                async move {
                    let answer = answer.await?;
                    Ok::<_, Infallible>(answer.map(|body| reader.count(seen(body, answered))))
                }
            });
            let mut stream =
                TimeoutStream::new(InspectWriter::new(stream, move |_: &[u8]| takes.takes()));
            // Counted only while there is something to send.
            stream.set_write_timeout(Some(settings.write_time));
            let stream = TokioIo::new(Box::pin(stream));
            let connection = all.open.watch(pool.http.serve_connection(stream, answer));
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

impl Pool {
    fn new(routes: Router, most: usize, keeps_alive: bool, settings: &HttpSettings) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(settings.head_time);
        http.keep_alive(keeps_alive);
        Self {
            routes: TowerToHyperService::new(routes),
            http,
            room: Arc::new(Semaphore::new(most)),
            waiting: Waiting::default(),
            unread: Unread::new(settings.max_unread_bytes),
        }
    }

    /// A place for one more connection. If there is none, a connection is cut whose client the server waits for.
    async fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        while let Some(until) = self.waiting.first_until() {
            if let Ok(room) = timeout_at(until, self.wait()).await {
                return room;
            }
            if self.waiting.cut_first(Instant::now()) {
                return self.wait().await;
            }
        }
        match self.room.clone().try_acquire_owned() {
            Err(_) if self.unread.cut_silent() => self.wait().await,
            room => room.ok(),
        }
    }

    async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        self.room.clone().acquire_owned().await.ok()
    }
}

/// The connections on which the server waits for a request, its rest, or another one, by the turn in which it began
/// to wait. What arrives meanwhile changes no turn: otherwise the slowest client would hold its place the longest.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Turns>>);

/// Connections in the order in which waiting on them began.
#[derive(Default)]
struct Turns {
    last: u64,
    /// By turn: until when the connection is kept in any case, and what cuts it.
    all: BTreeMap<u64, (Instant, CancellationToken)>,
}

/// The turn of one connection, which is 0 while it is answered.
struct Turn {
    waiting: Waiting,
    turn: Mutex<u64>,
    cut: CancellationToken,
}

impl Waiting {
    /// A connection that was made, which `cut` ends.
    fn add(&self, cut: CancellationToken) -> Turn {
        let turn = Turn { waiting: self.clone(), turn: Mutex::new(0), cut };
        turn.set(true);
        turn
    }

    /// Until when the one may be waited for that has been waited for longest, if there is one.
    fn first_until(&self) -> Option<Instant> {
        self.turns().all.first_key_value().map(|(_, (until, _))| *until)
    }

    /// Cuts that one, if its time is up.
    fn cut_first(&self, now: Instant) -> bool {
        let mut turns = self.turns();
        let first = turns.all.first_entry().filter(|first| first.get().0 <= now);
        first.is_some_and(|first| {
            first.remove().1.cancel();
            true
        })
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Whether the server waits for its client from now on.
    fn set(&self, waits: bool) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = &mut *self.waiting.turns();
        turns.all.remove(&turn);
        *turn = 0;
        if waits {
            turns.last += 1;
            *turn = turns.last;
            turns.all.insert(turns.last, (Instant::now() + LEAST, self.cut.clone()));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// A request, until all of it has come.
struct Asked(Arc<Turn>);

impl Observer for Asked {
    fn end(&mut self) {
        self.0.set(false);
    }
}

/// An answer, until all of it was handed out.
struct Answered(Arc<Turn>);

impl Observer for Answered {}

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// The next connection, once there is room for it. A connection that breaks off at once, or a lack of descriptors
/// that passes, is not the end of a server.
async fn next<'a>(
    listener: &TcpListener,
    [all, reserve]: &'a [Pool; 2],
) -> (TcpStream, &'a Pool, Option<OwnedSemaphorePermit>) {
    let stream = loop {
        match listener.accept().await {
            Ok((stream, _)) => break stream,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let _ = stream.set_nodelay(true);
    for pool in [all, reserve] {
        if let Some(room) = pool.make_room().await {
            return (stream, pool, Some(room));
        }
    }
    tokio::select! {
        room = all.wait() => (stream, all, room),
        room = reserve.wait() => (stream, reserve, room),
    }
}
