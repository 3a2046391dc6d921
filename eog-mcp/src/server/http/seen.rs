//! Answers that somebody looks at while they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Who looks at an answer.
pub(super) trait Look: Unpin + Send + 'static {
    /// A part of it goes out; what is returned goes in its place.
    fn part(&mut self, part: Bytes) -> Bytes {
        part
    }

    /// All of it was handed out.
    fn end(&mut self) {}
}

/// An answer with somebody who looks at it. It is as long as it was.
pub(super) fn seen(body: Body, look: impl Look) -> Body {
    let mut seen = Seen { body, look };
    // An empty one is never asked for.
    if seen.body.is_end_stream() {
        seen.look.end();
    }
    Body::new(seen)
}

struct Seen<L> {
    body: Body,
    look: L,
}

impl<L: Look> HttpBody for Seen<L> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.look.end();
        }
        frame.map_ok(|frame| frame.map_data(|part| self.look.part(part)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
