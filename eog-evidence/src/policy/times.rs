//! Interval arithmetic on when things began.

use eog_core::belief::Explained;
use eog_core::contract::ContextPacket;
use eog_core::evidence::{EvidenceTime, PeerRole, Signal};
use eog_core::incident::Onset;
use eog_core::{Anomaly, EvidenceKind, Finding, Timestamp};
use jiff::SignedDuration;

use super::observation::{Observation, Observed};
use crate::effect_map::ABOUT_AS_NEAR;
use crate::signs::role;

/// Measured onsets that differ by no more than a step of measuring are not distinguished.
const STEP: SignedDuration = SignedDuration::from_mins(1);

/// When a change was made. Without a dated onset, objects are dumped about every five minutes: it
/// was made by then, and not longer before than that.
pub(super) fn made(change: &Finding) -> Onset {
    change.onset.unwrap_or_else(|| match change.time {
        EvidenceTime::At(at) => Onset::between(before(at, ABOUT_AS_NEAR), at),
        EvidenceTime::During(window) => Onset::between(window.start(), window.end()),
    })
}

/// The beginning of whatever began first: no earlier than the earliest bound of all, and by the
/// earliest time at which one of them had begun.
pub(super) fn first_of(onsets: impl IntoIterator<Item = Onset>) -> Option<Onset> {
    onsets
        .into_iter()
        .reduce(|a, b| Onset::between(a.earliest().min(b.earliest()), a.latest().min(b.latest())))
}

/// Whether one thing began before the other, whatever the errors of measurement.
pub(super) fn surely_before(a: &Onset, b: &Onset) -> bool {
    !b.can_precede(a)
}

/// Since when an entity does worse by measured onsets: of the kind that an alert on it speaks of, else of what users
/// notice, else of anything; its own before that of its calls. It may have begun as late as a step of measuring after it
/// stood out, and as early as an alert of its kind.
pub(super) fn harm_since(packet: &ContextPacket, observed: &[Observed<'_>]) -> Option<Onset> {
    let harms = observed.iter().filter(|one| {
        let is_harm = matches!(
            one.what,
            Observation::Worse(..)
                | Observation::Failure { .. }
                | Observation::ErrorLines { .. }
                | Observation::CallWorse(_)
        );
        is_harm && one.finding.onset.is_some()
    });
    let harms: Vec<&Finding> = harms.map(|one| one.finding).collect();
    let alerted = |harm: &Finding| packet.anomalies.iter().any(|alert| alert.signal == harm.signal);
    let own = |harm: &Finding| role(harm) != Some(PeerRole::Callee);
    let measured = |harm: &Finding| harm.kind != EvidenceKind::Log;
    let noticed = |harm: &Finding| harm.signal != Signal::Saturation;
    let of = |wanted: &dyn Fn(&Finding) -> bool| {
        let dated: Vec<&Finding> = harms.iter().copied().filter(|harm| wanted(harm)).collect();
        Some(dated).filter(|dated| !dated.is_empty())
    };
    let dated = of(&|harm| alerted(harm) && own(harm) && measured(harm))
        .or_else(|| of(&|harm| alerted(harm)))
        .or_else(|| of(&|harm| noticed(harm) && own(harm)))
        .or_else(|| of(&noticed))
        .or_else(|| of(&|_| true))?;
    let since = first_of(dated.iter().filter_map(|harm| began(harm)))?;
    let late = before(since.earliest(), ABOUT_AS_NEAR);
    let kinds = |alert: &Anomaly| dated.iter().any(|harm| harm.signal == alert.signal);
    let onsets =
        packet.anomalies.iter().flat_map(|alert| alert.onsets().map(move |at| (alert, at)));
    let alerts = onsets.filter(|(alert, at)| kinds(alert) || late <= *at).map(|(_, at)| at);
    let earliest = alerts.min().map_or(since.earliest(), |at| at.min(since.earliest()));
    let latest = since.latest().checked_add(STEP).unwrap_or(Timestamp::MAX);
    Some(Onset::between(earliest, latest))
}

/// When harm began. A series is sampled all the time; an event or a line says when the harm was noticed, and it may
/// have been there for some minutes.
fn began(harm: &Finding) -> Option<Onset> {
    let onset = harm.onset?;
    Some(match harm.kind {
        EvidenceKind::Event | EvidenceKind::Log => {
            Onset::between(before(onset.earliest(), ABOUT_AS_NEAR), onset.latest())
        }
        _ => onset,
    })
}

/// Which onsets of anomalies a cause can precede; nothing when all.
pub(super) fn explained(anomalies: &[Anomaly], since: Option<Onset>) -> Option<Vec<Explained>> {
    let onsets =
        || anomalies.iter().flat_map(|anomaly| anomaly.onsets().map(move |at| (anomaly, at)));
    let in_time = |at: Timestamp| since.is_none_or(|since| since.can_precede(&Onset::at(at)));
    if onsets().all(|(_, at)| in_time(at)) {
        return None;
    }
    let some = onsets().filter(|(_, at)| in_time(*at));
    Some(some.map(|(anomaly, onset)| Explained { anomaly: anomaly.name.clone(), onset }).collect())
}

fn before(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(a: i64, b: i64) -> Onset {
        let at = |second| Timestamp::from_second(second).unwrap();
        Onset::between(at(a), at(b))
    }

    #[test]
    fn the_first_of_several_is_known_as_well_as_the_best_of_them() {
        assert_eq!(first_of([]), None);
        assert_eq!(first_of([from(0, 300), from(120, 180)]), Some(from(0, 180)));
    }

    #[test]
    fn what_overlaps_is_not_surely_before() {
        assert!(surely_before(&from(0, 9), &from(10, 12)));
        assert!(!surely_before(&from(0, 10), &from(10, 12)));
        assert!(!surely_before(&from(11, 11), &from(10, 12)));
    }
}
