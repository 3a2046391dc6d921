//! How much a receiver of OTLP holds.

/// Figures of what was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedFigures {
    /// Records that are held: spans, log records and points of metrics.
    pub held: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Records that were taken in since the start.
    pub taken: u64,
    /// Records that were refused since the start.
    pub refused: u64,
    /// Records that were dropped before their time since the start, because of `window_bytes`.
    pub dropped: u64,
}
