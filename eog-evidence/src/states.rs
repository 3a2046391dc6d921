//! States of objects over time: what worked when, and at the end.

use std::fmt;

use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::shorten;

/// What an object is in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ObjectState {
    /// It does what it is for.
    Ready,
    /// It is on its way there: it starts, or waits for its turn.
    Pending,
    /// It does not do what it is for.
    Failing,
    /// It ran to its end, or is not meant to run.
    Done,
    /// It is no more.
    Gone,
}

impl ObjectState {
    /// Whether nothing is to be mended.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Ready | Self::Done)
    }
}

impl fmt::Display for ObjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Failing => "failing",
            Self::Done => "done",
            Self::Gone => "gone",
        })
    }
}

/// That an object was in a state at a time. It stays so until the next record of the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateRecord {
    /// When it was seen so, or since when it was.
    pub time: Timestamp,
    /// The object.
    pub entity: EntityId,
    /// Its state.
    pub state: ObjectState,
    /// Why, such as `CrashLoopBackOff`; empty where nothing says so.
    pub reason: String,
}

/// The records of one object, by time.
#[derive(Clone, Copy, Debug)]
pub struct StateHistory<'a>(&'a [StateRecord]);

impl<'a> StateHistory<'a> {
    /// A history from records of one object, by time.
    pub fn new(records: &'a [StateRecord]) -> Self {
        Self(records)
    }

    /// The records.
    pub fn records(self) -> &'a [StateRecord] {
        self.0
    }

    /// The last record up to a time.
    pub fn at(self, time: Timestamp) -> Option<&'a StateRecord> {
        self.0.iter().rev().find(|record| record.time <= time)
    }

    /// Since when it has been well without a break up to a time; nothing if it is not well then, or nothing was recorded
    /// until then.
    ///
    /// ```
    /// use eog_core::EntityId;
    /// use eog_evidence::{ObjectState, StateHistory, StateRecord};
    /// let record = |time: &str, state| StateRecord {
    ///     time: time.parse().unwrap(),
    ///     entity: EntityId::new("cart").unwrap(),
    ///     state,
    ///     reason: String::new(),
    /// };
    /// let all = [
    ///     record("2026-01-01T10:00:00Z", ObjectState::Failing),
    ///     record("2026-01-01T10:05:00Z", ObjectState::Ready),
    ///     record("2026-01-01T10:30:00Z", ObjectState::Ready),
    /// ];
    /// let healed = StateHistory::new(&all).well_since("2026-01-01T11:00:00Z".parse()?);
    /// assert_eq!(healed, Some(all[1].time));
    /// assert_eq!(StateHistory::new(&all).well_since("2026-01-01T10:01:00Z".parse()?), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn well_since(self, time: Timestamp) -> Option<Timestamp> {
        self.run(time, ObjectState::is_well).map(|(first, _)| first.time)
    }

    /// The first record of those that hold without a break up to a time, and the one before it.
    fn run(
        self,
        until: Timestamp,
        holds: fn(ObjectState) -> bool,
    ) -> Option<(&'a StateRecord, Option<&'a StateRecord>)> {
        let mut before = self.0.iter().rev().skip_while(|record| record.time > until).peekable();
        let mut first = None;
        while let Some(record) = before.next_if(|record| holds(record.state)) {
            first = Some(record);
        }
        Some((first?, before.next()))
    }

    /// What the state at the end of a window says: that the object fails, since when, however long before the window that
    /// was; or that it is well, so that failures before are history. Nothing of an object that is pending or gone.
    pub(crate) fn finding(self, window: Window, source: &str) -> Option<Finding> {
        let last = self.at(window.end())?;
        let is_failing = last.state == ObjectState::Failing;
        let holds =
            |state: ObjectState| matches!(state, ObjectState::Failing | ObjectState::Pending);
        let (first, before) = match is_failing {
            true => self.run(window.end(), holds)?,
            false => self.run(window.end(), ObjectState::is_well)?,
        };
        let time = match Window::new(first.time, window.end()) {
            Ok(window) => EvidenceTime::During(window),
            Err(_) => EvidenceTime::At(first.time),
        };
        let reason = match (is_failing, last.reason.as_str()) {
            (true, reason) if !reason.is_empty() => format!(": {reason}"),
            _ => String::new(),
        };
        let (entity, kind) = (first.entity.clone(), EvidenceKind::Event);
        Some(Finding::new(FindingContent {
            trend: if is_failing { Trend::Rising } else { Trend::Falling },
            onset: before.filter(|_| is_failing).map(|it| Onset::between(it.time, first.time)),
            source: source.to_owned(),
            query: format!("entity={} state={}", first.entity, last.state),
            excerpt: shorten(&format!("{} since {}{reason}", last.state, first.time), MAX_EXCERPT),
            ..FindingContent::new(entity, kind, Signal::Availability, time)
        }))
    }
}

/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(60 * minute).unwrap()
    }

    /// What is said of the states of an object, each with its minute, at the end of a window from 60 to 90.
    fn said(states: &[(i64, ObjectState)]) -> Option<(Trend, String, Option<Onset>)> {
        let record = |(minute, state): &(i64, ObjectState)| StateRecord {
            time: at(*minute),
            entity: EntityId::new("cart").unwrap(),
            state: *state,
            reason: "CrashLoopBackOff".to_owned(),
        };
        let records: Vec<StateRecord> = states.iter().map(record).collect();
        let window = Window::new(at(60), at(90)).unwrap();
        let finding = StateHistory::new(&records).finding(window, "states.csv")?;
        Some((finding.trend, finding.excerpt.clone(), finding.onset))
    }

    #[test]
    fn what_counts_is_the_state_at_the_end() {
        use ObjectState::{Failing, Gone, Pending, Ready};
        let text = "failing since 1970-01-01T01:10:00Z: CrashLoopBackOff".to_owned();
        let onset = Some(Onset::between(at(65), at(70)));
        let crashed = [(65, Ready), (70, Failing), (75, Pending), (80, Failing)];
        assert_eq!(said(&crashed), Some((Trend::Rising, text, onset)));
        // It stands however long before the window it began, and then it is not known when.
        let text = "failing since 1970-01-01T00:10:00Z: CrashLoopBackOff".to_owned();
        assert_eq!(said(&[(10, Failing)]), Some((Trend::Rising, text, None)));
        let text = "ready since 1970-01-01T01:15:00Z".to_owned();
        assert_eq!(
            said(&[(70, Failing), (75, Ready), (80, Ready)]),
            Some((Trend::Falling, text, None))
        );
        // Later states are not those of the window, and who is gone or starts is not judged.
        assert_eq!(said(&[(95, Failing)]), None);
        assert_eq!(said(&[(70, Failing), (75, Gone)]), None);
        assert_eq!(said(&[(70, Pending)]), None);
    }
}
