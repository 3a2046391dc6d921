//! What holds of messages of a stream, whatever is in them. The target of `fuzz/` and a test call the same.

use async_nats::{HeaderMap, HeaderValue};
use bytes::Bytes;

use crate::jetstream::record;
use crate::record::Body;
use crate::{Block, Replay};

/// Messages, each a few headers, an empty line and a body, with a zero byte between, are refused or lead to
/// no more bytes than they have.
///
/// # Panics
/// When they do not.
pub fn records(bytes: &[u8]) {
    let mut replay = Replay::default();
    for (sequence, message) in (1..).zip(bytes.split(|byte| *byte == 0)) {
        let end = message.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) =
            end.map_or((message, &[][..]), |at| (&message[..at], &message[at + 2..]));
        let mut headers = HeaderMap::new();
        for line in String::from_utf8_lossy(head).lines() {
            let Some((name, value)) = line.split_once(": ") else { continue };
            let is_name = |name: &str| name.parse::<async_nats::HeaderName>().is_ok();
            if let (true, Ok(value)) = (is_name(name), value.parse::<HeaderValue>()) {
                headers.insert(name, value);
            }
        }
        let Ok(record) = record(Some(&headers), Bytes::copy_from_slice(body)) else { return };
        let inline = match &record.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Block(block) => {
                let again: Block = block.to_string().parse().expect("it was read a moment ago");
                assert_eq!(again, *block);
                Bytes::new()
            }
        };
        match replay.counts(record.after) {
            Ok(true) if replay.apply(sequence, record.at, &inline).is_ok() => {}
            Ok(false) => {}
            _ => return,
        }
    }
    let (last, led) = replay.end();
    assert!(led.len() <= bytes.len() && last <= bytes.len() as u64 + 1);
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_is_read() {
        super::replay::replay("nats_record", super::records);
    }
}
