//! What goes wrong: causes, their course, and whether they are changes.

pub(super) mod changed;
pub(super) mod drawn;
pub(super) mod injected;
pub(super) mod unchanged;

use super::names::Words;

/// What a cause does to a part, from nothing at first to all of it at full strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    /// This share of its requests fails.
    Errors(f64),
    /// This share of the requests for one of its operations fails.
    OperationErrors(usize, f64),
    /// Its own work takes so many times as long, and as much more of the processor.
    Slower(f64),
    /// Its own work takes so many times as long, for waiting: on locks, or on a disk.
    Waits(f64),
    /// Its pool has so many times fewer places.
    SmallerPool(f64),
    /// This share of its places is never given back.
    HeldPlaces(f64),
    /// It calls stores so many times as often.
    MoreCalls(f64),
    /// Its memory fills; when it is full it is slow, and is killed again and again.
    Leak,
    /// Its disk fills; when it is full this share of its requests fails.
    FullDisk(f64),
    /// It sends so many times the load.
    Load(f64),
    /// All that runs on it takes so many times as long.
    SickNode(f64),
    /// It takes the processor away from all that runs on the same node, which takes so many times
    /// as long.
    Neighbour(f64),
    /// Something else takes the processor that it runs on: its own work takes so many times as long.
    Contended(f64),
    /// This share of its answers is wrong, though nothing fails here.
    Wrong(Wrong),
    /// This share of those who call it cannot connect.
    Unreachable(f64),
    /// Each message on the network to it takes so many milliseconds longer; also those that it
    /// sends, or not.
    Delay(f64, bool),
    /// It does nothing any more.
    Stuck,
}

/// Answers that are wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wrong {
    /// The share of answers.
    pub(super) share: f64,
    /// Whether it answers before it makes its calls.
    pub(super) is_early: bool,
    /// Whether callers fail with such an answer; otherwise they make no more calls for the request.
    pub(super) is_noticed: bool,
}

/// The cause of an incident.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) part: usize,
    /// When it begins: when the change is made, in seconds.
    pub(super) at: f64,
    /// Seconds until it shows at all.
    pub(super) delay: f64,
    /// Seconds from then on until it has its full strength.
    pub(super) ramp: f64,
    pub(super) effect: Effect,
    /// The change, if it is one.
    pub(super) change: Option<Words>,
    /// What kind of cause it is, for reports.
    pub(super) group: &'static str,
    /// What requests that fail for it are said to fail for.
    pub(super) says: &'static str,
}

impl Trouble {
    /// When its effect begins, in seconds.
    pub(super) fn shows(&self) -> f64 {
        self.at + self.delay
    }

    /// How much of its effect there is at a time, from 0 to 1.
    pub(super) fn strength(&self, at: f64) -> f64 {
        let since = at - self.at - self.delay;
        if since < 0.0 { 0.0 } else { ((since + 1.0) / self.ramp.max(1.0)).min(1.0) }
    }
}
