//! The habits of a variable by itself: its values, its range, its stays.

use std::collections::BTreeMap;

use super::law::{MIN_CASES, SKEW, at_least};
use super::track::{Change, Track, code};
use super::{Departure, occasions};

/// Values that normal times do not have. How often new values come by chance is told by those that came
/// once in normal times (Good and Turing), over the time since.
pub(super) fn novel(track: &Track) -> Option<Departure> {
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for stretch in &track.usual {
        let values = stretch.found.into_iter().chain(stretch.changes.iter().map(|one| one.value));
        for value in values {
            *seen.entry(code(value)).or_default() += 1;
        }
    }
    let is_new = |change: &&Change| !seen.contains_key(&code(change.value));
    let change = track.now.changes.iter().rfind(is_new)?;
    let once = match seen.len() {
        // What never moved was seen as often as it was recorded.
        0 | 1 => 0,
        _ => seen.values().filter(|count| **count == 1).count(),
    };
    // Of counters, texts and measurements a new value is the rule.
    if 2 * once > track.usual_changes() {
        return None;
    }
    let usual = track.usual_seconds();
    let since = (track.now.length - change.at).max(1.0);
    let expected = (once + 1) as f64 * since / (usual + since);
    let at = track.instant(change.at);
    let text = format!(
        "{} became {}, which it never was in {} changes",
        track.name,
        track.word(change.value),
        track.usual_changes()
    );
    Some(departure(track, (change.at, change.at), expected, text)).filter(|one| one.at == at)
}

/// A measurement outside the range that it keeps in normal times. Neighbouring values are alike: what
/// counts is how often it went from one side of its middle to the other and back.
pub(super) fn beyond(track: &Track) -> Option<Departure> {
    if !track.is_number() {
        return None;
    }
    let values =
        || track.usual.iter().flat_map(|one| one.changes.iter().map(|change| change.value));
    let middle = crate::stats::median(values())?;
    let (low, high) =
        values().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let steps = || track.usual.iter().flat_map(|one| one.changes.windows(2));
    let swings = steps().filter(|pair| is_between(middle, pair)).count() / 2;
    let up = steps().filter(|pair| is_rising(pair)).count();
    // What moves in one direction, as a counter does, has no range.
    let is_one_way = 10 * up.min(steps().count() - up) < steps().count();
    if values().count() < MIN_CASES || is_one_way {
        return None;
    }
    let outside = |value: f64| (low - value).max(value - high);
    // Where it went out for the last time and stayed: what came back is over.
    let inside = track.now.changes.iter().rposition(|change| outside(change.value) <= 0.0);
    let out = track.now.changes.get(inside.map_or(0, |place| place + 1)..)?;
    let first = out.first()?;
    let furthest = out.iter().map(|change| outside(change.value)).fold(0.0, f64::max);
    let range = high - low;
    // Beyond the extreme the probability falls no faster than by the distance.
    let probability = range / (range + furthest) / (swings + 1) as f64;
    let text = format!(
        "{} left its range {} to {}: {}",
        track.name,
        track.word(low),
        track.word(high),
        track.word(out.last()?.value)
    );
    Some(departure(track, (first.at, first.at), probability, text))
}

fn is_rising(pair: &[Change]) -> bool {
    matches!(pair, [a, b] if a.value < b.value)
}

fn is_between(middle: f64, pair: &[Change]) -> bool {
    matches!(pair, [a, b] if (a.value < middle) != (b.value < middle))
}

/// A state that is not left although a measurement that acts on it is beyond all levels at which it
/// was left in normal times: the variable should have moved.
pub(super) fn not_switched(track: &Track, others: &[&Track]) -> Vec<Departure> {
    if !track.is_coded() {
        return Vec::new();
    }
    let measured = others.iter().enumerate().filter(|(_, other)| other.is_measured());
    measured.filter_map(|(place, other)| held_beyond(track, other, place)).collect()
}

/// The levels of a measurement at which a state is left, all on one side of where it is entered.
struct Exits {
    low: f64,
    high: f64,
    /// Where the state is entered, in the mean.
    entry: f64,
    cases: usize,
}

impl Exits {
    /// Nothing when there are few cases, or other levels as well: then something else ends the state.
    fn of(track: &Track, state: u64, other: &Track) -> Option<Self> {
        let (mut entries, mut exits) = (Vec::new(), Vec::new());
        for (own, part) in track.usual.iter().zip(&other.usual) {
            let mut before = own.found.map(code);
            for change in &own.changes {
                if let Some(level) = part.before(change.at + SKEW) {
                    if before == Some(state) {
                        exits.push(level);
                    } else if code(change.value) == state {
                        entries.push(level);
                    }
                }
                before = Some(code(change.value));
            }
        }
        let entry = crate::stats::median(entries.iter().copied())?;
        let (low, high) = exits
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
        let is_enough = exits.len() >= MIN_CASES && entries.len() >= MIN_CASES;
        let is_apart = low > entry || high < entry;
        (is_enough && is_apart).then_some(Self { low, high, entry, cases: exits.len() })
    }
}

/// Whether the present state is one that a measurement ends.
pub(super) fn is_left_by_level(track: &Track, others: &[&Track]) -> bool {
    let Some(entered) = track.now.changes.last().filter(|_| track.is_coded()) else {
        return false;
    };
    let mut measured = others.iter().filter(|other| other.is_measured());
    measured.any(|other| Exits::of(track, code(entered.value), other).is_some())
}

fn held_beyond(track: &Track, other: &Track, place: usize) -> Option<Departure> {
    let entered = track.now.changes.last()?;
    let Exits { low, high, entry, cases } = Exits::of(track, code(entered.value), other)?;
    let sign = if low > entry { 1.0 } else { -1.0 };
    let (nearest, furthest) = if sign > 0.0 { (low, high) } else { (high, low) };
    let is_past = |change: &Change, level: f64| sign * (change.value - level) > 0.0;
    let held = other.now.changes.iter().filter(|change| change.at > entered.at + SKEW);
    let held: Vec<&Change> = held.collect();
    let inside = held.iter().rposition(|change| !is_past(change, nearest));
    let out = held.get(inside.map_or(0, |place| place + 1)..)?;
    let due = out.first()?;
    let past = out.iter().find(|change| is_past(change, furthest))?;
    let most = out.iter().map(|change| sign * (change.value - furthest)).fold(0.0, f64::max);
    let width = (high - low).max(0.1 * (entry - furthest).abs());
    let probability = width / (width + most) / (cases + 1) as f64;
    let text = format!(
        "{} stays {} although {} of what acts on it is {}: it was left at {} to {} ({cases} cases)",
        track.name,
        track.word(entered.value),
        other.name,
        other.word(past.value),
        other.word(low),
        other.word(high),
    );
    let at = (due.at, past.at);
    Some(Departure { given: Some(place), ..departure(track, at, probability, text) })
}

/// A state that is held longer than usual: up to the alarm or, where the recording goes on as usual, as
/// long as it is held.
pub(super) fn stay(track: &Track, goes_on: bool) -> Option<Departure> {
    let mut lengths: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for stretch in &track.usual {
        for pair in stretch.changes.windows(2) {
            if let [from, to] = pair {
                lengths.entry(track.token(from.value)).or_default().push(to.at - from.at);
            }
        }
    }
    let after = track.after.changes.first().map_or(track.after.length, |change| change.at);
    let end = track.now.length + if goes_on { after } else { 0.0 };
    let ends = track.now.changes.iter().skip(1).map(|change| change.at);
    let stays = track.now.changes.iter().zip(ends.chain([end]));
    let judged = stays.filter_map(|(change, end)| {
        let known = lengths.get(&track.token(change.value))?;
        if known.len() < MIN_CASES {
            return None;
        }
        let length = end - change.at;
        let longest = known.iter().copied().fold(0.0, f64::max);
        let expected = at_least(known, length) * occasions(track, change.at);
        let text = format!(
            "{} is {} for {length:.1} s, usually for {longest:.1} s at most ({} cases)",
            track.name,
            track.word(change.value),
            known.len()
        );
        (length > longest).then(|| {
            let due = change.at + longest;
            Departure {
                at: track.instant(due),
                ..departure(track, (change.at, due), expected, text)
            }
        })
    });
    judged.min_by(|a, b| a.expected.total_cmp(&b.expected))
}

fn departure(track: &Track, between: (f64, f64), expected: f64, text: String) -> Departure {
    Departure {
        at: track.instant(between.0),
        between: (track.instant(between.0), track.instant(between.1)),
        until: track.instant(track.now.length),
        expected,
        given: None,
        kind: track.kind,
        query: track.query.clone(),
        text,
    }
}
