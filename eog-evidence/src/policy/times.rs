//! Interval arithmetic on when things began.

use eog_core::evidence::EvidenceTime;
use eog_core::incident::Onset;
use eog_core::{Finding, Timestamp};
use jiff::SignedDuration;

use crate::effect_map::ABOUT_AS_NEAR;

/// A change that lies longer than this before the harm needs evidence for the delay. Ten minutes is
/// the time after which Kubernetes by default gives up a rollout that makes no progress
/// (`progressDeadlineSeconds`).
pub(super) const LONG: SignedDuration = SignedDuration::from_mins(10);

/// Measured onsets that differ by no more than a step of measuring are not told apart.
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

/// The beginning of measured harm, as far as it is told apart from those of causes and effects: what stands out soonest is
/// what is measured best, not what came first, so that harm may have begun as late as a step of measuring after it stood out.
pub(super) fn told(harm: Onset) -> Onset {
    let latest = harm.latest().checked_add(STEP).unwrap_or(Timestamp::MAX);
    Onset::between(harm.earliest(), latest)
}

/// How long harm comes after a change, and how exactly that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// The least time that can lie between, never negative.
    pub(super) least: SignedDuration,
    /// Delays that differ by less are not told apart.
    resolution: SignedDuration,
    /// How late the times may be told.
    slack: SignedDuration,
}

impl Delay {
    /// From a change to harm. Where no onset was measured, it is to the time at which the harm was
    /// told: that of an alert, or of the split of a comparison. Those, and that of the change then,
    /// are known to some five minutes.
    pub(super) fn to(made: &Onset, harm: Option<Onset>, told: Timestamp) -> Self {
        let since = |at: Timestamp| at.duration_since(made.latest()).max(SignedDuration::ZERO);
        match harm {
            Some(harm) => {
                let width = harm.latest().duration_since(harm.earliest());
                let resolution = STEP.saturating_add(width);
                Self { least: since(harm.earliest()), resolution, slack: SignedDuration::ZERO }
            }
            None => {
                let slack = ABOUT_AS_NEAR.saturating_add(ABOUT_AS_NEAR);
                Self { least: since(told), resolution: ABOUT_AS_NEAR, slack }
            }
        }
    }

    /// Whether the delay needs evidence of its own.
    pub(super) fn is_long(&self) -> bool {
        self.least > LONG.saturating_add(self.slack)
    }

    /// Whether another, longer delay fits as well: it is not longer by more than the resolution, or
    /// not by more than half. The same comparison orders changes of different entities.
    pub(super) fn fits_alike(&self, longer: &Self) -> bool {
        let more = longer.least.saturating_sub(self.least);
        more <= self.resolution.max(longer.resolution) || more <= self.least / 2
    }
}

pub(super) fn before(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn from(a: i64, b: i64) -> Onset {
        Onset::between(at(a), at(b))
    }

    #[test]
    fn the_first_of_several_is_known_as_well_as_the_best_of_them() {
        assert_eq!(first_of([]), None);
        assert_eq!(first_of([from(0, 300), from(120, 180)]), Some(from(0, 180)));
    }

    #[test]
    fn an_effect_a_step_before_its_cause_may_have_begun_with_it() {
        assert!(!surely_before(&told(from(0, 40)), &from(100, 120)));
        assert!(surely_before(&told(from(0, 39)), &from(100, 120)), "more than a step");
    }

    #[test]
    fn what_overlaps_is_not_surely_before() {
        assert!(surely_before(&from(0, 9), &from(10, 12)));
        assert!(!surely_before(&from(0, 10), &from(10, 12)));
        assert!(!surely_before(&from(11, 11), &from(10, 12)));
    }

    #[test]
    fn delays_are_compared_as_exactly_as_they_are_known() {
        let measured = |made| Delay::to(&from(made, made), Some(from(3_600, 3_610)), at(0));
        assert!(measured(3_580).fits_alike(&measured(3_540)));
        assert!(!measured(3_580).fits_alike(&measured(3_300)));
        assert!(measured(2_800).fits_alike(&measured(2_500)), "less than half as long again");
        assert!(!measured(3_000).is_long());
        assert!(measured(2_999).is_long());
        let alert = |made| Delay::to(&from(made, made), None, at(3_600));
        assert!(alert(3_580).fits_alike(&alert(3_300)));
        assert!(!alert(2_999).is_long() && alert(2_399).is_long());
    }
}
