//! Answers that are observed while they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Observes an answer.
pub(super) trait Observer: Unpin + Send + 'static {
    /// A part of it goes out; what is returned goes in its place.
    fn part(&mut self, part: Bytes) -> Bytes {
        part
    }

    /// All of it was handed out.
    fn end(&mut self) {}
}

/// An answer with its observer. It is as long as it was.
pub(super) fn seen(body: Body, observer: impl Observer) -> Body {
    let mut seen = Seen { body, observer };
    // An empty one is never asked for.
    if seen.body.is_end_stream() {
        seen.observer.end();
    }
    Body::new(seen)
}

struct Seen<L> {
    body: Body,
    observer: L,
}

impl<L: Observer> HttpBody for Seen<L> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.observer.end();
        }
        frame.map_ok(|frame| frame.map_data(|part| self.observer.part(part)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
