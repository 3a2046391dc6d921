//! Answers that are being sent: how many bytes of them may wait for their readers at once, whoever they are.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// A bound on what waits for readers. When it is passed, the connections are cut whose readers have taken
/// longest, so that those who read are served.
pub(super) struct Unread {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: usize,
    /// Counts what was handed out.
    turns: u64,
    /// By its turn: how many bytes wait, and what cuts their connection.
    all: BTreeMap<u64, (usize, CancellationToken)>,
}

/// Bytes that were handed to a connection, until they are sent, which is when this is dropped.
struct Held {
    bytes: Bytes,
    unread: Arc<Unread>,
    turn: u64,
}

impl Unread {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, waiting: Mutex::default() })
    }

    /// Counts the body of an answer on a connection that `cut` ends.
    pub(super) fn count(self: &Arc<Self>, body: Body, cut: &CancellationToken) -> Body {
        Body::new(Counted { body, unread: self.clone(), cut: cut.clone() })
    }

    fn hold(self: &Arc<Self>, data: Bytes, cut: &CancellationToken) -> Held {
        let bytes = data.len();
        let mut waiting = self.waiting();
        while waiting.bytes + bytes > self.most
            && let Some((_, (less, slow))) = waiting.all.pop_first()
        {
            waiting.bytes -= less;
            slow.cancel();
        }
        waiting.turns += 1;
        waiting.bytes += bytes;
        let turn = waiting.turns;
        waiting.all.insert(turn, (bytes, cut.clone()));
        Held { bytes: data, unread: self.clone(), turn }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut waiting = self.unread.waiting();
        if let Some((bytes, _)) = waiting.all.remove(&self.turn) {
            waiting.bytes -= bytes;
        }
    }
}

/// A body whose bytes count from when they are handed out until they are sent.
struct Counted {
    body: Body,
    unread: Arc<Unread>,
    cut: CancellationToken,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let held = |data| Bytes::from_owner(self.unread.hold(data, &self.cut));
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_readers_make_room() {
        let unread = Unread::new(100);
        let cut: Vec<CancellationToken> = (0..4).map(|_| CancellationToken::new()).collect();
        let hold = |bytes: usize, at: usize| unread.hold(vec![0; bytes].into(), &cut[at]);
        let _first = hold(40, 0);
        drop(hold(40, 1));
        let _third = hold(60, 2);
        assert!(!cut[0].is_cancelled(), "what was read counts no more");
        let _fourth = hold(40, 3);
        assert!(cut[0].is_cancelled() && !cut[2].is_cancelled());
        // One that is larger than all takes all of the room, and is sent.
        let _fifth = hold(1_000, 1);
        assert!(cut[2].is_cancelled() && cut[3].is_cancelled() && !cut[1].is_cancelled());
        assert_eq!(unread.waiting().bytes, 1_000);
    }
}
