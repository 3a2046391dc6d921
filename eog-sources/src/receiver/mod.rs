//! A receiver of OTLP: what OpenTelemetry sends is kept for a while, and is captured from there.
//!
//! ```text
//! HTTP/protobuf, gRPC ──► intake: decoded, masked ──► window: bounded ──► reading: a piece
//! ```

mod columns;
mod grpc;
mod http;
mod intake;
mod limits;
mod reading;
mod window;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::config::{Otlp as Config, SourceConfig};
use crate::error::ConfigError;
use crate::metrics::Points;
use crate::period::Period;
use crate::piece::{Millis, Piece};
use crate::received::ReceivedFigures;
use intake::Taken;
use window::{Rows, Window};

/// What was received, for captures. Clones are the same.
#[derive(Clone, Debug)]
pub struct Received {
    window: Arc<Mutex<Window>>,
}

impl Received {
    fn new(config: &Config) -> Self {
        Self { window: Arc::new(Mutex::new(Window::new(config))) }
    }

    /// How much is held, and what became of the rest.
    pub fn figures(&self) -> ReceivedFigures {
        self.with(Window::figures)
    }

    /// What was received of a period.
    pub(crate) fn piece(&self, period: Period, spans: usize, lines: usize) -> Piece {
        self.with(|window| reading::piece(window, period, spans, lines))
    }

    /// A thread that panicked while it held the window left whole records behind.
    fn with<T>(&self, then: impl FnOnce(&mut Window) -> T) -> T {
        then(&mut self.window.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A receiver that listens.
#[derive(Debug)]
pub struct Receiver {
    listeners: Vec<TcpListener>,
    received: Received,
    limits: limits::Limits,
}

impl Receiver {
    /// Begins to listen where a configuration says so; nothing if it does not.
    ///
    /// # Errors
    /// [`ConfigError`] when an address cannot be used.
    pub fn bind(source: &SourceConfig) -> Result<Option<Self>, ConfigError> {
        let Some(config) = source.otlp.as_ref().filter(|it| !it.listen.is_empty()) else {
            return Ok(None);
        };
        let bind = |address: &SocketAddr| {
            let bound = TcpListener::bind(address);
            let bound = bound.and_then(|it| it.set_nonblocking(true).map(|()| it));
            bound.map_err(|error| ConfigError::new("[otlp] listen", format!("{address}: {error}")))
        };
        let listeners = config.listen.iter().map(bind).collect::<Result<_, _>>()?;
        let limits = limits::Limits::of(config);
        Ok(Some(Self { listeners, received: Received::new(config), limits }))
    }

    /// What was received.
    pub fn received(&self) -> Received {
        self.received.clone()
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|it| it.local_addr().ok()).collect()
    }

    /// Receives until it is to stop. Each address takes HTTP/protobuf and gRPC.
    ///
    /// # Errors
    /// When a listener fails.
    pub async fn run(self, stop: CancellationToken) -> std::io::Result<()> {
        let routes = http::routes(self.received.clone(), self.limits.clone())
            .merge(grpc::routes(&self.received, &self.limits));
        let routes = limits::guarded(routes, &self.limits);
        let mut servers = tokio::task::JoinSet::new();
        for listener in self.listeners {
            let (routes, stop) = (routes.clone(), stop.clone());
            let listener = tokio::net::TcpListener::from_std(listener)?;
            servers.spawn(async move {
                let served = axum::serve(listener, routes).into_future();
                tokio::select! {
                    served = served => served,
                    () = stop.cancelled() => Ok(()),
                }
            });
        }
        while let Some(ended) = servers.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        Ok(())
    }
}

/// What is captured of a request, the kind of which a byte gives.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn piece_of(kind: u8, message: &[u8], period: Period) -> Option<Piece> {
    use intake::Intake;
    use opentelemetry_proto::tonic::collector::{logs, metrics, trace};
    fn take<R: Intake>(message: &[u8], received: &Received) -> Option<()> {
        R::decode(message).ok().map(|request| drop(request.take(|_| true, received)))
    }
    let received = Received::new(&Config::default());
    match kind % 3 {
        0 => take::<trace::v1::ExportTraceServiceRequest>(message, &received)?,
        1 => take::<logs::v1::ExportLogsServiceRequest>(message, &received)?,
        _ => take::<metrics::v1::ExportMetricsServiceRequest>(message, &received)?,
    }
    Some(received.piece(period, 20, 20))
}

/// What becomes of a message that cannot be decoded.
pub(crate) const NOT_DECODED: &str = "binary, and not OTLP as protobuf";

/// Reads a message as a request of some kind.
type Reader = fn(&[u8]) -> Option<(Rows, Taken)>;

/// What a file says of requests of OTLP of any kind: one, or several, each behind its length, as the collector's file exporter
/// writes them. Nothing if it is none.
pub(crate) fn decoded(file: &[u8]) -> Option<(Piece, Points)> {
    use intake::rows_of;
    use opentelemetry_proto::tonic::collector::{logs, metrics, trace};
    let (mut piece, mut points) = (Piece::default(), Points::new());
    let (mut rest, mut is_one, mut undecoded) = (file, false, 0);
    // A request begins with its first field; a length of less than 16 MiB with a zero.
    let is_framed = file.first() == Some(&0);
    while !rest.is_empty() {
        let message = match (is_framed, rest.split_first_chunk::<4>()) {
            (true, Some((length, after))) => {
                let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
                after.split_at_checked(length)
            }
            (true, None) => None,
            (false, _) => Some((rest, &rest[rest.len()..])),
        };
        let Some((message, after)) = message else {
            piece.missing.push("1 request is cut off by the end of the file".to_owned());
            break;
        };
        rest = after;
        let readers: [Reader; 3] = [
            rows_of::<trace::v1::ExportTraceServiceRequest>,
            rows_of::<logs::v1::ExportLogsServiceRequest>,
            rows_of::<metrics::v1::ExportMetricsServiceRequest>,
        ];
        // A request may decode as another kind, of which nothing can be used.
        let (mut found, mut refused) = (None, None);
        for (rows, taken) in readers.iter().filter_map(|read| read(message)) {
            if rows.is_any() {
                found = Some((rows, taken));
                break;
            } else if taken.refused > 0 {
                refused.get_or_insert((rows, taken));
            }
        }
        let Some((rows, taken)) = found.or(refused) else {
            undecoded += 1;
            continue;
        };
        is_one = true;
        piece.spans.extend(rows.spans.into_iter().map(reading::span));
        piece.lines.extend(rows.lines.into_iter().map(reading::line));
        points.extend(rows.points);
        if taken.refused > 0 {
            let Taken { refused, reason } = taken;
            piece.missing.push(format!("{refused} records cannot be used: {reason}"));
        }
    }
    if undecoded > 0 {
        piece.missing.push(format!("{undecoded} requests hold nothing that can be decoded"));
    }
    is_one.then_some((piece, points))
}

fn now() -> Millis {
    Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests;
