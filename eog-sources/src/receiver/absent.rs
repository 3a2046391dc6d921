//! In place of the receiver of OTLP, in builds without it: none can be made.

use std::convert::Infallible;
use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;

use crate::config::SourceConfig;
use crate::error::ConfigError;
use crate::metrics::Points;
use crate::period::Period;
use crate::piece::Piece;
use crate::received::ReceivedFigures;

/// What was received: nothing, ever.
#[derive(Clone, Debug)]
pub struct Received(Infallible);

impl Received {
    /// How much is held, and what became of the rest.
    pub fn figures(&self) -> ReceivedFigures {
        match self.0 {}
    }

    pub(crate) fn piece(&self, _period: Period, _spans: usize, _lines: usize) -> Piece {
        match self.0 {}
    }
}

/// A receiver that cannot be made.
#[derive(Debug)]
pub struct Receiver(Infallible);

impl Receiver {
    /// Nothing where a configuration does not ask for a receiver.
    ///
    /// # Errors
    /// [`ConfigError`] where it does: this build has none.
    pub fn bind(source: &SourceConfig) -> Result<Option<Self>, ConfigError> {
        match source.otlp.as_ref().is_some_and(|it| !it.listen.is_empty()) {
            false => Ok(None),
            true => Err(ConfigError::new(
                "[otlp] listen",
                "this eog was built without the OTLP receiver; build it with --features otlp, or full",
            )),
        }
    }

    /// What was received.
    pub fn received(&self) -> Received {
        match self.0 {}
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match self.0 {}
    }

    /// Receives until it is to stop.
    ///
    /// # Errors
    /// Never.
    pub async fn run(self, _stop: CancellationToken) -> std::io::Result<()> {
        match self.0 {}
    }
}

/// What becomes of a message that cannot be decoded.
pub(crate) const NOT_DECODED: &str = "binary, and this eog was built without OTLP as protobuf; build it with --features otlp, or full";

/// Nothing: this build decodes no requests.
pub(crate) fn decoded(_file: &[u8]) -> Option<(Piece, Points)> {
    None
}
