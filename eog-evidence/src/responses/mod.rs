//! How unusual what a variable did is, given what those did that act on it.
//!
//! A fault of a machine is seldom a state never seen. It is a command without a response, a response
//! without a command, a transition that is late, a value that leaves its range, or one that no longer
//! moves; and most of what moves for the first time in a window is normal. So each variable is judged
//! by what it usually follows ([`law`]), and by its own habits where it follows nothing.
//!
//! Each departure has an *expected number*: how many as extreme and as recent are to be expected by
//! chance. It is the probability by ranks among normal cases, times the number of later occasions.

mod habit;
mod law;
#[cfg(test)]
mod tests;
mod track;

use eog_core::{EvidenceKind, Timestamp};

use crate::attribution::Measured;
use crate::series::Periods;
pub(crate) use law::MIN_CASES;
use law::{Law, SKEW, answers, at_least, laws, trigger};
use track::Cut;
pub(crate) use track::Track;

/// Something a variable did that it does not usually do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Departure {
    /// When it is seen.
    pub(crate) at: Timestamp,
    /// When it can have begun at the earliest, and at the latest.
    pub(crate) between: (Timestamp, Timestamp),
    /// How many as extreme and as recent are expected by chance.
    pub(crate) expected: f64,
    /// When it was over; the limit while it was not.
    pub(crate) until: Timestamp,
    /// The place of the variable upstream that it did not follow: that one does not explain it.
    pub(crate) given: Option<usize>,
    pub(crate) kind: EvidenceKind,
    pub(crate) query: String,
    pub(crate) text: String,
}

/// What is known of an entity.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// How it departs from the usual, given those that act on it; the least expected first.
    pub(crate) departures: Vec<Departure>,
    /// Whether it usually follows any of them.
    pub(crate) has_laws: bool,
    /// Whether it changed often enough in normal times to be judged.
    pub(crate) is_moving: bool,
    /// How often it changed in normal times; nothing when nothing was recorded.
    pub(crate) changes: Option<usize>,
}

/// The variables of an entity; none where nothing is normal.
pub(crate) fn tracks(measured: &Measured<'_>, periods: &Periods, limit: Timestamp) -> Vec<Track> {
    let cut = Cut::of(periods, limit);
    cut.map_or_else(Vec::new, |cut| Track::all(measured, &cut))
}

/// Judges an entity, given those that act on it.
///
/// `goes_on` says that what was recorded after the limit counts for what is still held then.
pub(crate) fn judge(own: &[Track], upstream: &[&Track], goes_on: bool) -> Judged {
    let mut found = Vec::new();
    let mut has_laws = false;
    for (place, track) in own.iter().enumerate() {
        let siblings = own.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<&Track> =
            upstream.iter().copied().chain(siblings.map(|(_, track)| track)).collect();
        let laws = laws(track, &others);
        has_laws |= !laws.is_empty();
        for law in &laws {
            found.extend(unasked(track, &others, law));
            found.extend(unanswered(track, &others, law));
        }
        found.extend(habit::novel(track));
        found.extend(habit::beyond(track));
        found.extend(habit::not_switched(track, &others));
        if !is_driven(track, &laws) && !habit::is_left_by_level(track, &others) {
            found.extend(habit::stay(track, goes_on));
        }
    }
    // What chance gives anyway tells nothing.
    found.retain(|departure| departure.expected < 1.0);
    found.sort_by(|a, b| {
        a.expected
            .total_cmp(&b.expected)
            .then_with(|| (a.at, &a.query, &a.text).cmp(&(b.at, &b.query, &b.text)))
    });
    let is_moving = own.iter().any(|track| track.usual_changes() >= law::MIN_CASES);
    let changes = own.iter().map(Track::usual_changes).max();
    Judged { departures: found, has_laws, is_moving, changes }
}

/// Fewest changes to be expected of a variable to tell whether it still moves.
const MIN_EXPECTED: f64 = 4.0;

/// Whether what moves still does after the limit, most of it at half its usual rate at least. Where a
/// machine stops with an alarm everything hangs, and that tells nothing.
pub(crate) fn goes_on<'a>(tracks: impl Iterator<Item = &'a Track>) -> bool {
    let (mut judged, mut moving) = (0_usize, 0_usize);
    for track in tracks {
        let rate = track.usual_changes() as f64 / track.usual_seconds().max(1e-9);
        let expected = rate * track.after.length;
        if expected >= MIN_EXPECTED {
            judged += 1;
            moving += usize::from(track.after.changes.len() as f64 >= 0.5 * expected);
        }
    }
    judged > 0 && 2 * moving >= judged
}

/// Whether nearly all that a variable does follows from others: then its times are theirs.
fn is_driven(track: &Track, laws: &[Law]) -> bool {
    let changes = || track.usual.iter().flat_map(|stretch| &stretch.changes);
    let follows = |value: f64| laws.iter().any(|law| law.effect == track.token(value));
    let driven = changes().filter(|change| follows(change.value)).count();
    let all = changes().count();
    all > 0 && driven as f64 >= 0.8 * all as f64
}

/// How many changes of a variable came after a second of the window, this one counted.
fn occasions(track: &Track, second: f64) -> f64 {
    let later = track.now.changes.iter().filter(|change| change.at > second).count();
    (later + 1) as f64
}

/// When a variable moved next, else the end of what is looked at.
fn next_change(track: &Track, second: f64) -> f64 {
    track.now.next(second).map_or(track.now.length, |next| next.at)
}

/// Changes that did not follow what they usually follow.
fn unasked(track: &Track, others: &[&Track], law: &Law) -> Vec<Departure> {
    let Some(other) = others.get(law.trigger) else { return Vec::new() };
    let cases = track.now.changes.iter().filter(|change| track.token(change.value) == law.effect);
    let judge = |change: &track::Change| {
        // What came before the recording is not known.
        let (token, _) = trigger(other, &other.now, change.at)?;
        if token == law.cause || is_triggered_otherwise(others, law, change.at) {
            return None;
        }
        let causes = other.now.changes.iter().rev().filter(|one| one.at <= change.at + SKEW);
        let last = causes.map(|one| (other.token(one.value), one.at));
        let last = last.filter(|(token, _)| *token == law.cause).map(|(_, at)| at).next();
        let since = change.at - last.unwrap_or(0.0);
        let cases = law.after_trigger.len();
        let without = law.after_trigger.iter().filter(|delay| delay.is_infinite()).count();
        let rank = (without + 1) as f64 / (cases + 1) as f64;
        let delays = || law.after_trigger.iter().copied().filter(|delay| delay.is_finite());
        let (low, high) =
            delays().fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(one), high.max(one)));
        let probability = rank * law::beyond(low, high, since);
        let text = format!(
            "{} became {} without {} of what acts on it, which it followed in {} of {cases} cases",
            track.name,
            track.word(change.value),
            other.name,
            cases - without
        );
        let at = track.instant(change.at);
        Some(Departure {
            at,
            between: (at, at),
            until: track.instant(next_change(track, change.at)),
            expected: probability * occasions(track, change.at),
            given: None,
            kind: track.kind,
            query: track.query.clone(),
            text,
        })
    };
    cases.filter_map(judge).collect()
}

/// Whether another coded variable moved as shortly before: it may have brought the change about.
fn is_triggered_otherwise(others: &[&Track], law: &Law, at: f64) -> bool {
    let delays = law.after_trigger.iter().copied().filter(|delay| delay.is_finite());
    let since = at - delays.fold(SKEW, f64::max);
    others.iter().enumerate().any(|(place, other)| {
        let last = other.now.last(at + SKEW).filter(|last| last.at >= since);
        place != law.trigger && other.is_coded() && last.is_some()
    })
}

/// Triggers that were not answered, or later than usual.
fn unanswered(track: &Track, others: &[&Track], law: &Law) -> Vec<Departure> {
    let Some(other) = others.get(law.trigger).filter(|_| law.is_answered()) else {
        return Vec::new();
    };
    let found = answers(track, &track.now, other, &other.now, law.cause, law.effect);
    let judge = |answer: law::Answer| {
        let waited = answer.delay.unwrap_or(answer.waited);
        let probability = at_least(&law.until_effect, waited);
        if waited > law.longest() && is_excused(others, law, answer.at + law.longest()) {
            return None;
        }
        let what = match answer.delay {
            Some(delay) => format!("late, after {delay:.1} s"),
            None => format!("not at all in {waited:.1} s"),
        };
        let text = format!(
            "{} followed {} {what}; usually within {:.1} s ({} cases)",
            track.name,
            other.name,
            law.longest(),
            law.until_effect.len()
        );
        let due = answer.at + law.longest().min(waited);
        Some(Departure {
            at: track.instant(due),
            between: (track.instant(answer.at + law.shortest().min(waited)), track.instant(due)),
            until: track.instant(answer.at + waited),
            expected: probability * occasions(track, answer.at + SKEW),
            given: Some(law.trigger),
            kind: track.kind,
            query: track.query.clone(),
            text,
        })
    };
    found.into_iter().filter_map(judge).collect()
}

/// Whether something else that acts on a variable was as it never is when the effect comes about.
fn is_excused(others: &[&Track], law: &Law, at: f64) -> bool {
    others.iter().enumerate().filter(|(place, _)| *place != law.trigger).any(|(place, other)| {
        let known = law.states.get(&place).filter(|known| !known.is_empty());
        let is_unknown =
            |state: f64| known.is_some_and(|known| !known.contains(&track::code(state)));
        [at, at + 2.0 * SKEW].iter().any(|at| other.now.before(*at).is_some_and(is_unknown))
    })
}
