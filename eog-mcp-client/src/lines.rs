//! Messages over pipes: one JSON object a line, of bounded length.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::SinkExt;
use rmcp::model::RequestId;
use serde::Serialize;
use tokio::io::AsyncWrite;
use tokio::sync::Mutex;
use tokio_util::codec::{
    AnyDelimiterCodec, AnyDelimiterCodecError, BytesCodec, Decoder, FramedWrite,
};

/// How much of either end of a line that is too long is kept.
const KEPT: usize = 512;

/// Splits what is read into lines. Of one that is too long only the ends are kept.
pub struct Lines {
    codec: AnyDelimiterCodec,
    max: usize,
    most: usize,
    /// The line that is too long, while it is being read.
    long: Option<LongLine>,
}

/// A line that was read, without its end.
#[derive(Debug)]
pub enum Line {
    Whole(Bytes),
    TooLong(LongLine),
}

/// A line that is too long to keep.
#[derive(Debug, Default)]
pub struct LongLine {
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) bytes: usize,
}

impl Lines {
    /// Lines of at most `max` bytes. One of more than `most` is not waited for: it is an error of the
    /// kind [`io::ErrorKind::InvalidData`].
    pub fn new(max: usize, most: usize) -> Self {
        Self { codec: codec(max), max, most, long: None }
    }

    /// Goes on with a line that is too long.
    fn go_on(&mut self, mut long: LongLine, read: &mut BytesMut) -> io::Result<Option<Line>> {
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = read.split_to(end.map_or(read.len(), |end| end + 1));
        long.push(piece.strip_suffix(b"\n").unwrap_or(&piece));
        if long.bytes > self.most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if end.is_some() {
            return Ok(Some(Line::TooLong(long)));
        }
        self.long = Some(long);
        Ok(None)
    }
}

fn codec(max: usize) -> AnyDelimiterCodec {
    AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), max)
}

impl Decoder for Lines {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, read: &mut BytesMut) -> io::Result<Option<Line>> {
        if let Some(long) = self.long.take() {
            return self.go_on(long, read);
        }
        match self.codec.decode(read) {
            Ok(line) => Ok(line.map(Line::Whole)),
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                // It would throw the line away, and with it the end.
                self.codec = codec(self.max);
                self.go_on(LongLine::default(), read)
            }
            Err(AnyDelimiterCodecError::Io(error)) => Err(error),
        }
    }

    /// A line without its end was cut off, and is no message.
    fn decode_eof(&mut self, read: &mut BytesMut) -> io::Result<Option<Line>> {
        let line = self.decode(read)?;
        if line.is_none() {
            read.clear();
        }
        Ok(line)
    }
}

impl LongLine {
    fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let room = KEPT - self.head.len();
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(KEPT)..]);
        let excess = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..excess);
    }

    /// The id of an answer, which libraries write at its very beginning or its very end.
    pub fn id(&self) -> Option<RequestId> {
        let (head, tail) =
            (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        let first = head.trim_start().strip_prefix('{').and_then(leading_id);
        let last = || {
            let inner = tail.trim_end().strip_suffix('}')?;
            let at = inner.rfind("\"id\"").filter(|at| inner.len() - at < 40)?;
            leading_id(inner.get(at..)?)
        };
        first.or_else(last).map(RequestId::Number)
    }
}

/// The number after `"id":` when nothing but the version stands before it.
fn leading_id(text: &str) -> Option<i64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.strip_prefix("\"jsonrpc\":\"2.0\",").unwrap_or(&text);
    let digits = text.strip_prefix("\"id\":")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    (rest.is_empty() || rest.starts_with(',')).then(|| digits.parse().ok())?
}

/// Where messages are written to, by one after the other. Clones are the same.
pub struct Writer<W>(Arc<Mutex<Option<FramedWrite<W, BytesCodec>>>>);

impl<W> Clone for Writer<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub fn new(write: W) -> Self {
        Self(Arc::new(Mutex::new(Some(FramedWrite::new(write, BytesCodec::new())))))
    }

    /// Writes one message. What is left of it when this is dropped half-way goes before the next one.
    pub async fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut write = self.0.lock().await;
        write.as_mut().ok_or(io::ErrorKind::NotConnected)?.send(Bytes::from(line)).await
    }

    /// Closes the pipe, unless a write to a reader that does not read is pending: waiting for it would never end.
    pub fn close(&self) {
        if let Ok(mut write) = self.0.try_lock() {
            write.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::io::AsyncWriteExt;
    use tokio_util::codec::FramedRead;

    use super::*;

    /// What is read of pieces that are written one after the other: lines, and the ids of those that
    /// are too long.
    async fn read(pieces: &[&str], max: usize, most: usize) -> Vec<String> {
        let (mut write, read) = tokio::io::duplex(64);
        let written = async move {
            for piece in pieces {
                // Fails when the reader has given up.
                let _ = write.write_all(piece.as_bytes()).await;
            }
        };
        let lines = FramedRead::new(read, Lines::new(max, most)).map(|line| match line {
            Ok(Line::Whole(line)) => String::from_utf8_lossy(&line).into_owned(),
            Ok(Line::TooLong(long)) => format!("{} bytes, id {:?}", long.bytes, long.id()),
            Err(error) => format!("{:?}", error.kind()),
        });
        let (lines, ()) = tokio::join!(lines.collect(), written);
        lines
    }

    #[tokio::test]
    async fn lines_are_read_within_their_bounds() {
        let pieces = ["on", "e\n\ntwo\nthr", "ee 6789\n1234567890\n", "cut off"];
        let expected = ["one", "", "two", "three 6789", "1234567890"];
        assert_eq!(read(&pieces, 10, 100).await, expected);
        let long = "x".repeat(300);
        let pieces = ["before\n", &long, &long, "\nafter\n12345678901\nlast\n"];
        let expected = ["before", "600 bytes, id None", "after", "11 bytes, id None", "last"];
        assert_eq!(read(&pieces, 10, 600).await, expected);
        assert_eq!(read(&pieces, 10, 599).await, ["before", "InvalidData"]);
        assert_eq!(read(&[&long, "cut off"], 10, 1000).await, [""; 0]);
    }

    fn id_of(line: &str) -> Option<RequestId> {
        let mut long = LongLine::default();
        let (head, rest) = line.as_bytes().split_at(line.len().min(600));
        long.push(head);
        rest.chunks(100).for_each(|piece| long.push(piece));
        assert_eq!(long.bytes, line.len());
        long.id()
    }

    #[test]
    fn the_id_of_a_long_answer_is_found_where_libraries_write_it() {
        let long = "x".repeat(3000);
        let found = Some(RequestId::Number(17));
        assert_eq!(
            id_of(&format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"a":"{long}"}}}}"#)),
            found
        );
        assert_eq!(
            id_of(&format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":17}}"#)),
            found
        );
        assert_eq!(id_of(&format!(r#"{{ "jsonrpc": "2.0", "id": 17, "r": "{long}" }}"#)), found);
        // Deeper ids, and ids that are no numbers, are none.
        assert_eq!(id_of(&format!(r#"{{"jsonrpc":"2.0","r":"{long}","x":{{"id":17}}}}"#)), None);
        assert_eq!(id_of(&long), None);
    }

    #[tokio::test]
    async fn half_a_message_never_spoils_the_next() {
        let (write, mut read) = tokio::io::duplex(16);
        let writer = Writer::new(write);
        let long = "x".repeat(40);
        tokio::select! {
            biased;
            _ = writer.send(&long) => panic!("nothing reads"),
            () = tokio::task::yield_now() => {}
        }
        let sending = async {
            writer.send(&"second").await.unwrap();
            writer.close();
            assert_eq!(writer.send(&1).await.unwrap_err().kind(), io::ErrorKind::NotConnected);
        };
        let mut all = String::new();
        let (all, ()) = tokio::join!(
            async {
                tokio::io::AsyncReadExt::read_to_string(&mut read, &mut all).await.unwrap();
                all
            },
            sending
        );
        assert_eq!(all, format!("\"{long}\"\n\"second\"\n"));
    }
}
