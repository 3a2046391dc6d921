//! What a variable usually follows: learnt from normal times without any model of the machine.
//!
//! A law says: when this variable comes to a value, another one has just come to a certain value, and
//! the other way round. How unusual a departure is, is told by ranks alone: among n normal cases, one
//! more is as extreme as the most extreme with probability 1/(n + 1), whatever the distribution
//! (conformal prediction; Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005).

use std::collections::{BTreeMap, BTreeSet};

use super::track::{Stretch, Track, code};

/// Records of one scan of a controller come in any order, in seconds.
pub(super) const SKEW: f64 = 0.1;

/// Fewest normal cases that make a law.
pub(crate) const MIN_CASES: usize = 4;

/// A law holds in this share of its normal cases at least …
const HOLDS: f64 = 0.8;

/// … and leaves open this share of the time at most: what always holds tells nothing.
const OPEN: f64 = 0.25;

/// This variable comes to a value soon after another one came to a value.
pub(super) struct Law {
    /// The value of this variable, as a token.
    pub(super) effect: u64,
    /// The place of the other variable, and its value.
    pub(super) trigger: usize,
    pub(super) cause: u64,
    /// Seconds after the trigger of every normal case of the effect; infinite where it had another one.
    pub(super) after_trigger: Vec<f64>,
    /// Seconds until the effect of every normal trigger; infinite where it did not come.
    pub(super) until_effect: Vec<f64>,
    /// The values that other coded variables had at the effect.
    pub(super) states: BTreeMap<usize, BTreeSet<u64>>,
}

impl Law {
    /// Whether triggers bring the effect about.
    pub(super) fn is_answered(&self) -> bool {
        let answered = self.until_effect.iter().filter(|delay| delay.is_finite()).count();
        self.until_effect.len() >= MIN_CASES
            && answered as f64 >= HOLDS * self.until_effect.len() as f64
    }

    /// The shortest normal delay of an answer.
    pub(super) fn shortest(&self) -> f64 {
        self.until_effect.iter().copied().fold(f64::MAX, f64::min).max(0.0)
    }

    /// The longest normal delay of an answer.
    pub(super) fn longest(&self) -> f64 {
        self.until_effect.iter().copied().filter(|delay| delay.is_finite()).fold(0.0, f64::max)
    }
}

/// The probability that one more case is at least as large as this one: by its rank among others and,
/// beyond the largest of them, falling by the distance in units of their range, which is slower than
/// with any tail that has a mean.
pub(super) fn at_least(cases: &[f64], value: f64) -> f64 {
    let as_large = cases.iter().filter(|case| **case + SKEW >= value).count();
    let rank = (as_large + 1) as f64 / (cases.len() + 1) as f64;
    let finite = || cases.iter().copied().filter(|case| case.is_finite());
    let (low, high) =
        finite().fold((f64::MAX, f64::MIN), |(low, high), case| (low.min(case), high.max(case)));
    rank * beyond(low, high, value)
}

/// How much less likely a value is than the largest of a range.
pub(super) fn beyond(low: f64, high: f64, value: f64) -> f64 {
    let range = (high - low).max(0.0) + SKEW;
    range / (range + (value - high).max(0.0))
}

/// The law of each value of a variable, by the one among others that tells most; none where nothing
/// tells enough.
pub(super) fn laws(own: &Track, others: &[&Track]) -> Vec<Law> {
    let mut effects: BTreeMap<u64, usize> = BTreeMap::new();
    for change in own.usual.iter().flat_map(|stretch| &stretch.changes) {
        *effects.entry(own.token(change.value)).or_default() += 1;
    }
    let common = effects.into_iter().filter(|(_, count)| *count >= MIN_CASES);
    common.filter_map(|(effect, _)| law_of(own, others, effect)).collect()
}

fn law_of(own: &Track, others: &[&Track], effect: u64) -> Option<Law> {
    let candidates = others.iter().enumerate().filter_map(|(place, other)| {
        let triggers = triggers(own, other, effect);
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for (token, _) in triggers.iter().flatten() {
            *counts.entry(*token).or_default() += 1;
        }
        let (cause, count) = counts.into_iter().max_by_key(|(token, count)| (*count, *token))?;
        let share = count as f64 / triggers.len() as f64;
        let delays: Vec<f64> = triggers
            .iter()
            .map(|trigger| match trigger {
                Some((token, delay)) if *token == cause => *delay,
                _ => f64::INFINITY,
            })
            .collect();
        let covered = covered(other, cause, nearly_all(&delays)?);
        let fits = share >= HOLDS && covered <= OPEN;
        fits.then_some((covered / share, place, cause, delays))
    });
    let best = candidates.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
    let (_, trigger, cause, after_trigger) = best;
    let other = others.get(trigger)?;
    let pairs = own.usual.iter().zip(&other.usual);
    let until_effect =
        pairs.flat_map(|(own_part, part)| answers(own, own_part, other, part, cause, effect));
    let until_effect = until_effect.map(|answer| answer.delay.unwrap_or(f64::INFINITY)).collect();
    let states = states_at(own, others, effect);
    Some(Law { effect, trigger, cause, after_trigger, until_effect, states })
}

/// For each normal case of an effect what another variable came to last, and how long before.
fn triggers(own: &Track, other: &Track, effect: u64) -> Vec<Option<(u64, f64)>> {
    let pairs = own.usual.iter().zip(&other.usual);
    pairs
        .flat_map(|(own_part, part)| {
            let cases = own_part.changes.iter().filter(|one| own.token(one.value) == effect);
            cases.map(|case| trigger(other, part, case.at))
        })
        .collect()
}

/// What a variable came to last before an instant, and how long before.
pub(super) fn trigger(other: &Track, part: &Stretch, at: f64) -> Option<(u64, f64)> {
    let last = part.last(at + SKEW)?;
    Some((other.token(last.value), at - last.at))
}

/// The time within which nine of ten cases lie; nothing when not so many have any.
fn nearly_all(delays: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = delays.iter().copied().filter(|delay| delay.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * 9).div_ceil(10).checked_sub(1)?).copied()
}

/// The share of normal time that lies within so many seconds after a variable came to a value and
/// before it moved on: by chance an effect would fall into it as often.
fn covered(other: &Track, cause: u64, within: f64) -> f64 {
    let mut sum = 0.0;
    for part in &other.usual {
        for (place, change) in part.changes.iter().enumerate() {
            if other.token(change.value) == cause {
                let next = part.changes.get(place + 1).map_or(part.length, |next| next.at);
                sum += (next - change.at + SKEW).min(within + 2.0 * SKEW);
            }
        }
    }
    sum / other.usual_seconds().max(1e-9)
}

/// One trigger, and what came of it.
pub(super) struct Answer {
    /// Second of the trigger.
    pub(super) at: f64,
    /// How long it was waited for, until the effect, the next change of the trigger or the end.
    pub(super) waited: f64,
    /// Seconds to the effect, if it came.
    pub(super) delay: Option<f64>,
}

/// What came of each trigger in a stretch, where the effect was not there before. The last one of a
/// stretch of normal time, which may still be waited for at its end, is left out by the caller.
pub(super) fn answers(
    own: &Track,
    own_part: &Stretch,
    other: &Track,
    part: &Stretch,
    cause: u64,
    effect: u64,
) -> Vec<Answer> {
    let mut found = Vec::new();
    for (place, change) in part.changes.iter().enumerate() {
        if other.token(change.value) != cause {
            continue;
        }
        let is_there = own_part.before(change.at - SKEW).map(|value| own.token(value));
        if own.is_coded() && is_there.is_none_or(|token| token == effect) {
            continue;
        }
        let next = part.changes.get(place + 1).map(|next| next.at);
        let end = next.unwrap_or(own_part.length);
        let mut at = change.at - SKEW;
        let mut delay = None;
        while let Some(own_change) = own_part.next(at).filter(|own_change| own_change.at <= end) {
            if own.token(own_change.value) == effect {
                delay = Some(own_change.at - change.at);
                break;
            }
            at = own_change.at;
        }
        found.push(Answer { at: change.at, waited: end - change.at, delay });
    }
    found
}

/// What other coded variables were at whenever the effect came about.
fn states_at(own: &Track, others: &[&Track], effect: u64) -> BTreeMap<usize, BTreeSet<u64>> {
    let mut states: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (place, other) in others.iter().enumerate().filter(|(_, other)| other.is_coded()) {
        for (own_part, part) in own.usual.iter().zip(&other.usual) {
            let cases = own_part.changes.iter().filter(|one| own.token(one.value) == effect);
            for case in cases {
                // Either side of the instant: records of one scan come in any order.
                let seen = [part.before(case.at - SKEW), part.before(case.at + SKEW)];
                states.entry(place).or_default().extend(seen.into_iter().flatten().map(code));
            }
        }
    }
    states
}
