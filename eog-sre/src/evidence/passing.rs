//! Alerts that come and go while those of the incident last.

use std::collections::BTreeSet;

use eog_core::Timestamp;
use eog_core::evidence::Signal;
use jiff::SignedDuration;

use super::spoken::signal_of;
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
    /// From the first dump to the last. Nothing when dumps do not say when they were taken, or lie
    /// too far apart to show how long an alert fired.
    pub(crate) fn of(records: &[AlertRecord]) -> Option<Self> {
        let dumps: BTreeSet<Timestamp> = records.iter().filter_map(|one| one.seen_at).collect();
        let (first, last) = (*dumps.first()?, *dumps.last()?);
        let steps = i32::try_from(dumps.len().checked_sub(1)?).ok()?;
        let dense = steps > 0 && last.duration_since(first) / steps < LONGEST_PASSING;
        dense.then_some(Self { first, last })
    }

    /// Whether an alert is one that the incident is about: it speaks of how requests fare, began
    /// while the dumps were taken, fires in the last of them, and does not come and go.
    pub(crate) fn lasts(self, firing: &[&AlertRecord]) -> bool {
        let still = firing.iter().any(|record| {
            let of_requests = matches!(
                signal_of(&record.name),
                Signal::Errors | Signal::Latency | Signal::Availability
            );
            of_requests && record.seen_at == Some(self.last) && record.active_at > self.first
        });
        still && !self.passes(firing)
    }

    /// Whether an alert comes and goes: no episode was long, and the only one is over in the last
    /// dump.
    pub(crate) fn passes(self, firing: &[&AlertRecord]) -> bool {
        let first = firing.iter().map(|record| record.active_at).min();
        let again = firing.iter().any(|record| Some(record.active_at) != first);
        let over = firing.iter().all(|record| record.seen_at != Some(self.last));
        is_short(firing) && (again || over)
    }

    /// When the last of those that the incident is about began, of alerts that have lasted for long.
    /// Nothing when none has: then the incident may just have begun.
    pub(crate) fn settled<'a>(
        self,
        alerts: impl IntoIterator<Item = &'a [&'a AlertRecord]>,
    ) -> Option<Timestamp> {
        let lasting = alerts.into_iter().filter(|firing| self.lasts(firing) && !is_short(firing));
        lasting.filter_map(began).max()
    }

    /// Whether an alert is too young to show whether it passes: it has fired for a short time, and
    /// began longer than that after those that have lasted, which are no part of one outbreak with it.
    pub(crate) fn is_young(self, firing: &[&AlertRecord], settled: Timestamp) -> bool {
        let late = |began: Timestamp| began.duration_since(settled) >= LONGEST_PASSING;
        is_short(firing) && began(firing).is_some_and(late)
    }
}

/// Whether no episode of an alert was long, as far as the dumps show.
fn is_short(firing: &[&AlertRecord]) -> bool {
    firing.iter().all(|record| {
        let lasted = record.seen_at.map(|seen| seen.duration_since(record.active_at));
        lasted.is_some_and(|lasted| lasted < LONGEST_PASSING)
    })
}

fn began(firing: &[&AlertRecord]) -> Option<Timestamp> {
    firing.iter().map(|record| record.active_at).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// An alert that fired in these minutes, in each since a minute.
    fn alert(name: &str, fired: &[(i64, i64)]) -> Vec<AlertRecord> {
        let one = |(since, seen): &(i64, i64)| AlertRecord {
            name: name.into(),
            labels: BTreeMap::new(),
            description: String::new(),
            said: Vec::new(),
            state: "firing".into(),
            active_at: at(*since),
            value: None,
            seen_at: Some(at(*seen)),
            file: String::new(),
        };
        fired.iter().map(one).collect()
    }

    #[test]
    fn what_comes_and_goes_is_distinguished_from_what_lasts() {
        let every_minute: Vec<AlertRecord> =
            (0..=30).flat_map(|minute| alert("Watchdog", &[(-60, minute)])).collect();
        let watch = Watch::of(&every_minute).unwrap();
        let cases = [
            // (alert, fired, it comes and goes, the incident is about it)
            ("RequestErrorRate", vec![(20, 21), (20, 30)], false, true),
            ("RequestErrorRate", vec![(28, 29), (28, 30)], false, true),
            ("RequestErrorRate", vec![(10, 11), (10, 13)], true, false),
            ("RequestErrorRate", vec![(10, 11), (10, 16)], false, false),
            ("RequestErrorRate", vec![(10, 12), (27, 30)], true, false),
            ("RequestErrorRate", vec![(-90, 0), (-90, 30)], false, false),
            ("KubeMemoryOvercommit", vec![(20, 21), (20, 30)], false, false),
        ];
        for (name, fired, passes, lasts) in cases {
            let records = alert(name, &fired);
            let firing: Vec<&AlertRecord> = records.iter().collect();
            assert_eq!(watch.passes(&firing), passes, "{name} {fired:?} passes");
            assert_eq!(watch.lasts(&firing), lasts, "{name} {fired:?} lasts");
        }
    }

    #[test]
    fn what_has_just_begun_is_young_when_others_have_lasted() {
        let every_minute: Vec<AlertRecord> =
            (0..=30).flat_map(|minute| alert("Watchdog", &[(-60, minute)])).collect();
        let watch = Watch::of(&every_minute).unwrap();
        let cases = [
            // (those that fired, since when they have lasted, the last of them is young)
            (vec![vec![(10, 11), (10, 30)], vec![(28, 29), (28, 30)]], Some(10), true),
            (vec![vec![(23, 24), (23, 30)], vec![(27, 28), (27, 30)]], Some(23), false),
            (vec![vec![(10, 11), (10, 30)], vec![(20, 21), (20, 30)]], Some(20), false),
            // The incident has just begun.
            (vec![vec![(27, 28), (27, 30)], vec![(28, 29), (28, 30)]], None, false),
        ];
        for (fired, since, young) in cases {
            let records: Vec<Vec<AlertRecord>> =
                fired.iter().map(|one| alert("RequestErrorRate", one)).collect();
            let firing: Vec<Vec<&AlertRecord>> =
                records.iter().map(|one| one.iter().collect()).collect();
            let settled = watch.settled(firing.iter().map(Vec::as_slice));
            assert_eq!(settled, since.map(at), "{fired:?}");
            let last = firing.last().unwrap();
            assert_eq!(settled.is_some_and(|at| watch.is_young(last, at)), young, "{fired:?}");
        }
    }

    #[test]
    fn dumps_that_are_far_apart_show_nothing() {
        assert!(Watch::of(&alert("Watchdog", &[(0, 1), (0, 31)])).is_none());
        assert!(Watch::of(&alert("Watchdog", &[(0, 1)])).is_none());
        assert!(Watch::of(&[]).is_none());
    }
}
