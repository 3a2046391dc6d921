//! Events as they come, for each reader at its own pace: there are no queues.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog_session::watched::{Phase, Status, Watched, verdict_words};
use futures_util::Stream;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often a reader gets a sign of life, which also shows that it is gone.
const BEAT: Duration = Duration::from_secs(15);

/// A bound on how many clients read at once.
pub(crate) struct Readers {
    inside: AtomicUsize,
    most: usize,
}

/// A reader, until it is dropped.
pub(crate) struct Reader(Arc<Readers>);

impl Readers {
    pub(crate) fn new(most: usize) -> Self {
        Self { inside: AtomicUsize::new(0), most }
    }

    /// A place, if there is one.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Reader> {
        let more = |inside: usize| (inside < self.most).then_some(inside + 1);
        let entered = self.inside.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        entered.ok().map(|_| Reader(self.clone()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The position of a reader.
struct Reading {
    watched: Arc<Watched>,
    changes: watch::Receiver<u64>,
    next: u64,
    /// The state that this reader was sent last.
    sent: Option<Value>,
    is_over: bool,
    stop: CancellationToken,
    _place: Reader,
}

/// The events from entry `next` on. A part is made when the reader has taken the one before.
pub(crate) fn stream(
    watched: Arc<Watched>,
    next: u64,
    stop: CancellationToken,
    place: Reader,
) -> impl Stream<Item = Result<String, Infallible>> {
    let mut changes = watched.changes();
    changes.mark_changed();
    let reading =
        Reading { watched, changes, next, sent: None, is_over: false, stop, _place: place };
    futures_util::stream::unfold(reading, |mut reading| async {
        let part = reading.part().await?;
        Some((Ok(part), reading))
    })
}

impl Reading {
    /// The next part, once there is something to send. `None` when the server ends.
    async fn part(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        loop {
            let mut part = String::new();
            if self.changes.has_changed().unwrap_or(false) {
                self.changes.mark_unchanged();
                self.news(&mut part);
            }
            if !part.is_empty() {
                return Some(part);
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    self.is_over = true;
                    return Some("event: bye\ndata: 0\n\n".to_owned());
                }
                changed = self.changes.changed() => {
                    changed.ok()?;
                    self.changes.mark_changed();
                }
                () = tokio::time::sleep(BEAT) => return Some(": still here\n\n".to_owned()),
            }
        }
    }

    fn news(&mut self, part: &mut String) {
        let (missed, steps) = self.watched.since(self.next);
        if missed > 0 {
            part.push_str(&format!("event: missed\ndata: {missed}\n\n"));
        }
        for step in &steps {
            let data = eog_page::live_step(step);
            part.push_str(&format!("id: {}\nevent: entry\ndata: {data}\n\n", step.seq));
            self.next = step.seq + 1;
        }
        if !steps.is_empty() {
            // There may be more than are taken at once.
            self.changes.mark_changed();
        }
        let state = state(&self.watched.status());
        if self.sent.as_ref() != Some(&state) {
            part.push_str(&format!("event: state\ndata: {state}\n\n"));
            self.sent = Some(state);
        }
    }
}

/// The state of an investigation, as events send it.
pub(crate) fn state(status: &Status) -> Value {
    let why = match &status.phase {
        Phase::Running => "",
        Phase::Ended(why) => why,
    };
    let words = status.words.iter().map(|(entity, word)| {
        let text = eog_evidence::shorten(&word.text, 300);
        json!({ "entity": clean(entity.as_str()), "words": verdict_words(word.verdict), "text": clean(&text) })
    });
    let asked = status.questions.iter().map(|(entity, why)| json!([clean(entity.as_str()), why]));
    json!({
        "running": status.phase == Phase::Running,
        "why": why,
        "now": status.now,
        "notice": status.notice,
        "entries": status.entries,
        "ended": status.ended,
        "spent": status.spent,
        "budget": status.budget,
        "origins": status.origins.iter().map(|it| clean(it.as_str())).collect::<Vec<_>>(),
        "questions": asked.collect::<Vec<_>>(),
        "words": words.collect::<Vec<_>>(),
        "takes_words": status.takes_words,
        "unfinished": status.is_unfinished,
    })
}

fn clean(text: &str) -> String {
    eog_report::clean::clean_up_to(text, 600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_bounded_and_make_room() {
        let readers = Arc::new(Readers::new(2));
        let first = readers.enter().expect("room");
        let _second = readers.enter().expect("room");
        assert!(readers.enter().is_none());
        drop(first);
        assert!(readers.enter().is_some());
    }

    #[tokio::test]
    async fn a_reader_is_sent_the_state_and_when_that_ends() {
        let (watched, stop) = (Arc::new(Watched::default()), CancellationToken::new());
        let place = Arc::new(Readers::new(1)).enter().expect("room");
        let mut stream = Box::pin(stream(watched.clone(), 0, stop.clone(), place));
        let mut next = async || {
            use futures_util::StreamExt as _;
            stream.next().await.map(|part| part.expect("text"))
        };
        assert!(next().await.is_some_and(|part| part.contains("\"running\":true")));
        watched.end("converged".to_owned(), false);
        assert!(next().await.is_some_and(|part| part.contains("converged")));
        stop.cancel();
        assert!(next().await.is_some_and(|part| part.starts_with("event: bye")));
        assert_eq!(next().await, None);
    }
}
