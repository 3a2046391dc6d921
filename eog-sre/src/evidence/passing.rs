//! Alerts that come and go while those of the incident last.

use eog_core::{Signal, Timestamp};
use jiff::SignedDuration;

use super::alerts::signal_of;
use crate::read::AlertRecord;

/// An alert each of whose episodes is over after this time passes by itself: alerting rules are
/// commonly evaluated over 5 minutes, and what ends sooner was hardly more than one value.
const LONGEST_PASSING: SignedDuration = SignedDuration::from_mins(5);

/// What is known of the time that the dumps cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    first: Timestamp,
    last: Timestamp,
}

impl Watch {
    /// From the first dump to the last. Nothing when no dump says when it was taken, or there is
    /// but one.
    pub(crate) fn of(records: &[AlertRecord]) -> Option<Self> {
        let seen = || records.iter().filter_map(|record| record.seen_at);
        let (first, last) = (seen().min()?, seen().max()?);
        (first < last).then_some(Self { first, last })
    }

    /// Whether an alert is one that the incident is about: it speaks of how requests fare, began
    /// while the dumps were taken, and fires in the last of them.
    pub(crate) fn lasts(self, firing: &[&AlertRecord]) -> bool {
        firing.iter().any(|record| {
            let of_requests = matches!(
                signal_of(&record.name),
                Signal::Errors | Signal::Latency | Signal::Availability
            );
            of_requests && record.seen_at == Some(self.last) && record.active_at > self.first
        })
    }

    /// Whether an alert comes and goes: no episode was long, and the only one is over in the last
    /// dump.
    pub(crate) fn passes(self, firing: &[&AlertRecord]) -> bool {
        let short = firing.iter().all(|record| {
            let lasted = record.seen_at.map(|seen| seen.duration_since(record.active_at));
            lasted.is_some_and(|lasted| lasted < LONGEST_PASSING)
        });
        let first = firing.iter().map(|record| record.active_at).min();
        let again = firing.iter().any(|record| Some(record.active_at) != first);
        let over = firing.iter().all(|record| record.seen_at != Some(self.last));
        short && (again || over)
    }
}
