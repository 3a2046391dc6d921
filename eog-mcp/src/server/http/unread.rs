//! Answers that are being sent: how many bytes of them may wait for all their readers at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use tokio_util::sync::CancellationToken;

use super::seen::{Observer, seen};

/// How long a connection may take nothing before it counts as unread. A busy machine or a slow network may keep a
/// reader waiting for less.
const SILENT: Duration = Duration::from_secs(1);

/// A bound on what waits for readers. When it is passed, connections are cut to make room: first those that have
/// taken nothing for longest, if that is long; then those with the most waiting, so that few are cut. No connection
/// is cut to make room for itself: what one may have waiting is bounded by what the server below hands out before
/// it is sent.
pub(super) struct Unread {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: usize,
    /// Counts connections.
    connections: u64,
    /// Counts what happens: what began to wait, and what was taken.
    turns: u64,
    /// By connection, those that something waits for.
    owed: BTreeMap<u64, Owed>,
}

/// What waits for a connection.
struct Owed {
    bytes: usize,
    /// When something was taken last, or the first began to wait.
    since: Instant,
    /// The same, in an order that has no ties.
    turn: u64,
    /// Cuts it.
    cut: CancellationToken,
}

/// The reader of the answers of a connection.
pub(super) struct Reader {
    unread: Arc<Unread>,
    connection: u64,
    cut: CancellationToken,
}

/// Bytes that were handed to a connection, until they are sent, which is when this is dropped.
struct Held {
    bytes: Bytes,
    reader: Arc<Reader>,
}

impl Unread {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, waiting: Mutex::default() })
    }

    /// One more connection, which `cut` ends.
    pub(super) fn reader(self: &Arc<Self>, cut: CancellationToken) -> Arc<Reader> {
        let mut waiting = self.waiting();
        waiting.connections += 1;
        Arc::new(Reader { unread: self.clone(), connection: waiting.connections, cut })
    }

    /// Cuts the connection that has taken nothing of what waits for it for longest, if that is long.
    pub(super) fn cut_silent(&self) -> bool {
        self.cut_silent_at(Instant::now())
    }

    fn cut_silent_at(&self, now: Instant) -> bool {
        let waiting = &mut *self.waiting();
        let silent = waiting.owed.iter().filter(|(_, owed)| owed.is_silent(now));
        let first = silent.min_by_key(|(_, owed)| owed.turn).map(|(connection, _)| *connection);
        first.is_some_and(|connection| waiting.cut(connection))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// The connection that is cut first, of all but this one.
    fn first_but(&self, connection: u64, now: Instant) -> Option<u64> {
        let others = self.owed.iter().filter(|(other, _)| **other != connection);
        let first = others.min_by_key(|(_, owed)| {
            let is_silent = owed.is_silent(now);
            let bytes = if is_silent { 0 } else { owed.bytes };
            (!is_silent, Reverse(bytes), owed.turn)
        });
        first.map(|(other, _)| *other)
    }

    /// Cuts a connection, for which nothing waits any more.
    fn cut(&mut self, connection: u64) -> bool {
        let owed = self.owed.remove(&connection);
        owed.is_some_and(|owed| {
            self.bytes -= owed.bytes;
            owed.cut.cancel();
            true
        })
    }
}

impl Owed {
    fn is_silent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= SILENT
    }
}

impl Reader {
    /// Counts an answer.
    pub(super) fn count(self: Arc<Self>, body: Body) -> Body {
        seen(body, Counted(self))
    }

    /// Some bytes of what waits were taken.
    pub(super) fn takes(&self) {
        self.takes_at(Instant::now());
    }

    fn takes_at(&self, now: Instant) {
        let mut waiting = self.unread.waiting();
        let turn = waiting.turn();
        if let Some(owed) = waiting.owed.get_mut(&self.connection) {
            (owed.since, owed.turn) = (now, turn);
        }
    }

    /// Makes room for a part of an answer.
    fn hold_at(self: &Arc<Self>, now: Instant, bytes: Bytes) -> Bytes {
        let more = bytes.len();
        let waiting = &mut *self.unread.waiting();
        // Nothing of it waits any more.
        if self.cut.is_cancelled() || bytes.is_empty() {
            return bytes;
        }
        while waiting.bytes + more > self.unread.most
            && let Some(first) = waiting.first_but(self.connection, now)
            && waiting.cut(first)
        {}
        let turn = waiting.turn();
        let begins = || Owed { bytes: 0, since: now, turn, cut: self.cut.clone() };
        waiting.owed.entry(self.connection).or_insert_with(begins).bytes += more;
        waiting.bytes += more;
        Bytes::from_owner(Held { bytes, reader: self.clone() })
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let waiting = &mut *self.reader.unread.waiting();
        // What was cut is counted off already.
        let Some(owed) = waiting.owed.get_mut(&self.reader.connection) else { return };
        let less = self.bytes.len();
        owed.bytes -= less;
        if owed.bytes == 0 {
            waiting.owed.remove(&self.reader.connection);
        }
        waiting.bytes -= less;
    }
}

/// Holds every part of an answer.
struct Counted(Arc<Reader>);

impl Observer for Counted {
    fn part(&mut self, part: Bytes) -> Bytes {
        self.0.hold_at(Instant::now(), part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: usize) -> Bytes {
        vec![0; bytes].into()
    }

    /// A bound of 100 bytes, and some connections.
    fn connections<const N: usize>() -> (Arc<Unread>, [Arc<Reader>; N]) {
        let unread = Unread::new(100);
        let readers = std::array::from_fn(|_| unread.reader(CancellationToken::new()));
        (unread, readers)
    }

    fn cut<const N: usize>(readers: &[Arc<Reader>; N]) -> [bool; N] {
        std::array::from_fn(|at| readers[at].cut.is_cancelled())
    }

    #[test]
    fn those_who_take_nothing_for_longest_make_room() {
        let (unread, all) = connections();
        let began = Instant::now();
        let later = began + SILENT;
        let _first = all[0].hold_at(began, part(40));
        drop(all[1].hold_at(began, part(40)));
        let third = all[2].hold_at(began, part(60));
        assert_eq!(cut(&all), [false; 4], "what was read counts no more");
        // It takes some of what waits; the other takes nothing.
        all[0].takes_at(later);
        let _fourth = all[3].hold_at(later, part(40));
        assert_eq!(cut(&all), [false, false, true, false]);
        drop(third);
        assert_eq!(unread.waiting().bytes, 80);
        // One that is larger than all takes all of the room, and is sent.
        let _fifth = all[1].hold_at(later, part(1_000));
        assert_eq!(cut(&all), [true, false, true, true]);
        assert_eq!(unread.waiting().bytes, 1_000);
        // Nothing is counted that goes to a connection that is being cut.
        let _late = all[0].hold_at(later, part(10));
        assert_eq!(unread.waiting().bytes, 1_000);
    }

    #[test]
    fn one_who_takes_nothing_makes_room_for_another_connection() {
        let (unread, all) = connections();
        let began = Instant::now();
        let _silent = [all[0].hold_at(began, part(10)), all[1].hold_at(began, part(10))];
        drop(all[2].hold_at(began, part(10)));
        assert!(!unread.cut_silent_at(began), "all are quick");
        all[0].takes_at(began + SILENT);
        assert!(unread.cut_silent_at(began + SILENT));
        assert_eq!(cut(&all), [false, true, false]);
        assert!(!unread.cut_silent_at(began + SILENT), "the others take, or have all");
    }

    #[test]
    fn where_all_are_quick_the_longest_answers_make_room() {
        let (_, all) = connections();
        let began = Instant::now();
        let _small = all[0].hold_at(began, part(20));
        let _large = all[1].hold_at(began, part(60));
        let _next = all[2].hold_at(began, part(30));
        assert_eq!(cut(&all), [false, true, false, false]);
        // One that is silent goes first, however small.
        all[2].takes_at(began + SILENT);
        let _last = all[3].hold_at(began + SILENT, part(60));
        assert_eq!(cut(&all), [true, true, false, false]);
    }

    #[test]
    fn an_answer_in_several_parts_does_not_cut_itself() {
        let (unread, all) = connections();
        let now = Instant::now();
        let parts = [all[0].hold_at(now, part(60)), all[0].hold_at(now, part(60))];
        assert_eq!(cut(&all), [false; 2]);
        let other = all[1].hold_at(now, part(60));
        assert_eq!(cut(&all), [true, false], "another answer needs the room");
        drop((parts, other));
        let left = unread.waiting();
        assert_eq!((left.bytes, left.owed.len()), (0, 0));
    }

    #[test]
    fn one_who_reads_outlives_all_who_do_not() {
        let (unread, all) = connections::<50>();
        let mut now = Instant::now();
        let mut own = vec![all[0].hold_at(now, part(15))];
        let mut left = Vec::new();
        for other in &all[1..] {
            // It takes some now and then, and its parts wait for longer than those of the others.
            now += SILENT / 2;
            all[0].takes_at(now);
            left.push(other.hold_at(now, part(60)));
            own.push(all[0].hold_at(now, part(15)));
            own.remove(0);
            assert!(unread.waiting().bytes <= 100);
        }
        let cut = cut(&all);
        assert!(!cut[0] && !cut[49] && cut[1..49].iter().all(|cut| *cut), "{cut:?}");
    }
}
